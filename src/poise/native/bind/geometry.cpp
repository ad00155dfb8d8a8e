// geometry.cpp: geometry of the kernels for Python code that prepares problems and must agree with them.
#define NO_IMPORT_ARRAY
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind/bindings.h"
#include "bind/limits.h"
#include "kernels/algebra/pivots.h"
#include "kernels/methods/two_bone.h"
#include "run/ops.h"

namespace poise {
namespace {

Array as_points(nb::handle x, const char* name) {
  Array points = as_array<double>(x, name);
  if (points.ndim() != 2 || points.dim(1) != 3)
    refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(points) + "; it must be (n, 3).");
  return points;
}

// the smallest distances between n segments and n others, (n,)
NumpyArray segment_distances(nb::handle a0, nb::handle a1, nb::handle b0, nb::handle b1) {
  const Array ends[4] = {as_points(a0, "a0"), as_points(a1, "a1"), as_points(b0, "b0"), as_points(b1, "b1")};
  npy_intp n = ends[0].dim(0);
  for (const Array& points : ends) {
    if (points.dim(0) != n) refuse("ShapeMismatch", "segments must be as many on both sides.");
  }
  Array out(PyArray_SimpleNew(1, &n, NPY_DOUBLE));
  for (npy_intp i = 0; i < n; ++i) {
    Contact<double> at;
    nearest_of_segments(ends[0].data<double>() + 3 * i, ends[1].data<double>() + 3 * i, ends[2].data<double>() + 3 * i,
                        ends[3].data<double>() + 3 * i, at);
    out.data<double>()[i] = at.distance;
  }
  return out.release();
}

// points (n, 3) slid along their axes (n, 3), so that the path through them is short
NumpyArray shorten(nb::handle points, nb::handle axes) {
  const Array from = as_points(points, "points"), along = as_points(axes, "axes");
  const npy_intp n = from.dim(0), shape[2] = {n, 3};
  if (along.dim(0) != n) refuse("ShapeMismatch", "points and axes must be as many.");
  Array out(PyArray_SimpleNew(2, shape, NPY_DOUBLE));
  std::copy_n(from.data<double>(), 3 * n, out.data<double>());
  std::vector<double> work(static_cast<std::size_t>(4 * n));
  shorten_path(static_cast<int>(n), along.data<double>(), out.data<double>(), work.data());
  return out.release();
}

void make_cloud(SharedObstacle* self, nb::handle points, double radius) {
  const Array a = as_points(points, "points");
  auto data = std::make_shared<ObstacleData>();
  {
    const nb::gil_scoped_release release;
    data->cloud = make_point_data(a.data<double>(), static_cast<int>(a.dim(0)), 3);
  }
  data->radius = radius;
  new (self) SharedObstacle{std::move(data)};
}

// from faces (n, 17), as in kernels/limits/obstacles.h
SharedObstacle make_hull(nb::handle faces, bool solid) {
  const Array a = as_array<double>(faces, "faces");
  if (a.ndim() != 2 || a.dim(1) != hull_face_size) refuse("ShapeMismatch", "faces has shape " + shape_text(a) + ".");
  auto data = std::make_shared<ObstacleData>();
  data->faces.assign(a.data<double>(), a.data<double>() + a.size());
  data->solid = solid;
  return {std::move(data)};
}

// The smallest gap of each configuration, (b,); infinite without rules.
NumpyArray least_gaps(const Body& body, const AnyDict& table, nb::handle q) {
  const Array all = as_array<double>(q, "q");
  if (all.ndim() != 2 || all.dim(1) != body.n_q) refuse("ShapeMismatch", "q must be (b, n_q).");
  std::vector<CapsuleData<double>> capsules;
  std::vector<LimitSpec<double>> specs;
  std::vector<char> scaled;
  for (const Primitive<double>& b : body.f64.primitives) scaled.push_back(b.scaled);
  ObstacleList obstacles;
  std::vector<double> numbers;
  const SurfaceRules rules = read_surfaces(body, table, {}, capsules, obstacles);
  SurfaceData surfaces = add_surfaces(rules, capsules, scaled, specs, numbers);
  npy_intp n = all.dim(0);
  Array out(PyArray_SimpleNew(1, &n, NPY_DOUBLE));
  std::vector<PlacedCapsule<double>> placed(capsules.size());
  std::vector<double> placements(12 * body.f64.primitives.size());
  LimitList<double> limits{specs.data(), static_cast<int>(specs.size()), capsules.data()};
  limits.n_capsules = static_cast<int>(placed.size());
  limits.placed = placed.data();
  limits.numbers = numbers.data();
  limits.obstacles = obstacles.views.data();
  double* gaps = out.data<double>();
  nb::gil_scoped_release release;
  solver_ops().least_gaps(body.f64.view(body.n_q, body.n_v), limits, surfaces.list(), all.data<double>(),
                          static_cast<std::size_t>(n), placements.data(), gaps);
  return out.release();
}

// The velocities of the limb that ends in a frame, from the outside: joints beyond the elbow, the elbow, the shoulder;
// empty without a limb. `moves`: the velocities that may change, (n_v,); `scale`: the body's length.
std::vector<int> limb_velocities(const Body& body, int frame, nb::handle q, nb::handle moves, double scale) {
  const Array at = as_array<double>(q, "q"), may = as_array<double>(moves, "moves");
  if (at.size() != body.n_q || may.size() != body.n_v) refuse("ShapeMismatch", "q or moves is not one of this body.");
  if (frame < 0 || static_cast<std::size_t>(frame) >= body.f64.frames.size()) refuse("InvalidValue", "no such frame.");
  std::vector<Primitive<double>> primitives = body.f64.primitives;
  for (Primitive<double>& b : primitives) {
    if (b.gain == 0.0 || may.data<double>()[b.v_index] == 0.0) b.v_index = -1;
  }
  std::vector<double> placements(12 * primitives.size());
  place_all(body.f64.view(body.n_q, body.n_v), at.data<double>(), placements.data());
  GoalSpec<double> goal{};
  goal.frame = frame;
  const int count = static_cast<int>(primitives.size());
  const Problem<double, BodyView<double>, GoalList<double>> problem{
      {primitives.data(), nullptr, count, body.n_q, body.n_v, false},
      {&goal, body.f64.frames.data(), 1},
      nullptr,
      0,
      nullptr,
      body.n_q,
      body.n_v,
      0,
      scale};
  Limb limb{};
  std::vector<int> out;
  if (!find_limb(problem, placements.data(), 0, limb)) return out;
  const auto velocity = [&](int i) { return primitives[static_cast<std::size_t>(i)].v_index; };
  for (int k = limb.n_beyond; k-- > 0;) out.push_back(velocity(limb.beyond[k]));
  out.push_back(velocity(limb.elbow));
  for (int k = limb.n_shoulder; k-- > 0;) out.push_back(velocity(limb.shoulder[k]));
  return out;
}

}  // namespace

void bind_geometry(nb::module_& m) {
  nb::class_<SharedObstacle>(m, "Obstacle", "A point cloud or a convex hull as the kernels see it.")
      .def("__init__", make_cloud, nb::arg("points"), nb::arg("radius"))
      .def_static("make_hull", make_hull, nb::arg("faces"), nb::arg("solid"));
  m.def("segment_distances", segment_distances, nb::arg("a0"), nb::arg("a1"), nb::arg("b0"), nb::arg("b1"),
        "Return the least distances between segments a0 a1 and b0 b1, (n, 3) each, points included [m].");
  m.def("shorten_path", shorten, nb::arg("points"), nb::arg("axes"),
        "Return points (n, 3), each slid along its axis (zero: fixed) so that the path through all of them is short.");
  m.def("least_gaps", least_gaps, nb::arg("body"), nb::arg("table"), nb::arg("q"),
        "Return the least gap of configurations (b, n_q) by the arrays of a clearance, (b,) [m].");
  m.def("limb_velocities", limb_velocities, nb::arg("body"), nb::arg("frame"), nb::arg("q"), nb::arg("moves"),
        nb::arg("scale"), "Return the velocities of the limb that ends in a frame, outermost first; none: no limb.");
}

}  // namespace poise
