// gpu.cpp: a prepared problem as numbers, from which native/gpu/source.py generates the source code for a device.
#define NO_IMPORT_ARRAY
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <limits>
#include <utility>

#include "bind/bindings.h"
#include "bind/layout.h"
#include "bind/prepared.h"
#include "kernels/loop/gpu_call.h"
#include "run/batch/batch.h"
#include "run/ops.h"

namespace poise {
namespace {

template <class T> nb::list listed(const T* x, int n) {
  nb::list out;
  for (int k = 0; k < n; ++k) out.append(x[k]);
  return out;
}

// a struct by the names of its members; source.py writes designated initialisers from it
nb::dict members() { return {}; }
template <class T, class... Rest> nb::dict members(const char* name, const T& value, const Rest&... rest) {
  nb::dict out;
  out[name] = value;
  out.update(members(rest...));
  return out;
}
#define MEMBER(of, name) #name, of.name
#define ARRAY(of, name, size) #name, listed(of.name, size)

nb::dict axis_in(const FamilyAxis<double>& x) {
  return members(ARRAY(x, h, 3), ARRAY(x, p, 3), MEMBER(x, middle), MEMBER(x, half), MEMBER(x, slides));
}

nb::dict chain_in(const FamilyChain<double>& x) {
  nb::list axes;
  for (const auto& axis : x.axes) axes.append(axis_in(axis));
  return members("axes", axes, ARRAY(x, center, 3), ARRAY(x, meet, 3), MEMBER(x, plan), MEMBER(x, prune),
                 MEMBER(x, length), MEMBER(x, lowest), MEMBER(x, highest));
}

nb::dict spec_in(const FamilySpec<double>& x) {
  return members("chain", chain_in(x.chain), MEMBER(x, backwards), MEMBER(x, free_joint), "free", axis_in(x.free),
                 ARRAY(x, R0, 9), ARRAY(x, p0, 3), MEMBER(x, point_error), MEMBER(x, turn_error), MEMBER(x, nearest),
                 MEMBER(x, farthest));
}

nb::dict form_in(const ClosedForm<double>& x) {
  return members(MEMBER(x, goal), MEMBER(x, joints), "spec", spec_in(x.spec), ARRAY(x, q_index, 7), ARRAY(x, gain, 7),
                 ARRAY(x, bias, 7));
}

template <class T> nb::dict primitive_in(const Primitive<T>& x) {
  return members(MEMBER(x, kind), MEMBER(x, parent), MEMBER(x, subtree_end), MEMBER(x, q_index), MEMBER(x, v_index),
                 MEMBER(x, turn), MEMBER(x, gain), MEMBER(x, bias), MEMBER(x, pitch), ARRAY(x, R, 9), ARRAY(x, p, 3));
}

template <class T> nb::dict frame_in(const FrameData<T>& x) {
  return members(MEMBER(x, primitive), ARRAY(x, R, 9), ARRAY(x, p, 3));
}

template <class T> nb::dict goal_in(const GoalSpec<T>& x) {
  return members(MEMBER(x, op), MEMBER(x, frame), MEMBER(x, base), MEMBER(x, first_row), MEMBER(x, target),
                 MEMBER(x, exact), ARRAY(x, weight, 6), ARRAY(x, tolerance, 2), MEMBER(x, level), MEMBER(x, local),
                 MEMBER(x, n_rows), MEMBER(x, first_point), MEMBER(x, n_points), ARRAY(x, axis, 3));
}

template <class T> nb::dict mass_in(const Mass<T>& x) { return members(MEMBER(x, mass), ARRAY(x, moment, 3)); }

template <class T> nb::dict freedom_in(const Freedom<T>& x) {
  return members(MEMBER(x, q_index), MEMBER(x, angular), MEMBER(x, lower), MEMBER(x, upper), MEMBER(x, weight),
                 MEMBER(x, unit2));
}

nb::dict coordinate_in(const Coordinate& x) {
  return members(MEMBER(x, q_index), MEMBER(x, v_index), MEMBER(x, quaternion));
}

template <class T> nb::dict settings_in(const Settings<T>& x) {
  return members(MEMBER(x, method), MEMBER(x, limits), MEMBER(x, damping), MEMBER(x, damping_floor), MEMBER(x, reach),
                 MEMBER(x, max_steps), MEMBER(x, stall_steps), MEMBER(x, stall_ratio), MEMBER(x, rounds));
}

// the bounds of a goal's target; centres are like targets: from the origin of the world, or from the other frame
nb::dict reachable_in(const SolverData& solver, const Reachable<double>& r, const double* origin) {
  double center[3];
  const bool world = r.other < 0 && solver.goals[static_cast<std::size_t>(r.goal)].base < 0;
  for (int k = 0; k < 3; ++k) center[k] = r.center[k] - (world ? origin[k] : 0.0);
  return members(MEMBER(r, goal), MEMBER(r, other), "center", listed(center, 3), ARRAY(r, local, 3), MEMBER(r, nearest),
                 MEMBER(r, farthest));
}

// whether a row begins at a branch of its only goal: the branches are all poses
bool begins_at_branch(const SolverData& solver) {
  return solver.branches && solver.branches->exact && solver.goals.size() == 1;
}

template <class T> AnyDict problem_in(const SolverData& solver) {
  const LaneProblem<T> lanes(solver);
  AnyDict out;
  nb::list primitives, frames, goals, freedoms, coordinates, reachable, idle, closed, masses;
  for (const auto& b : lanes.primitives) primitives.append(primitive_in(b));
  for (const auto& f : lanes.frames) frames.append(frame_in(f));
  for (const auto& g : lanes.goals) goals.append(goal_in(g));
  for (const auto& f : lanes.freedoms) freedoms.append(freedom_in(f));
  for (const auto& c : solver.coordinates) coordinates.append(coordinate_in(c));
  for (const auto& r : solver.reachable) reachable.append(reachable_in(solver, r, lanes.origin));
  for (const auto& f : solver.idle) idle.append(freedom_in(f));
  for (const auto& form : solver.closed) closed.append(form_in(form));
  for (const auto& part : lanes.masses) masses.append(mass_in(part));
  out["masses"] = masses;
  out["points"] = listed(solver.points.data(), static_cast<int>(solver.points.size()));
  out["n_targets"] = lanes.n_targets;
  out["primitives"] = primitives;
  out["frames"] = frames;
  out["goals"] = goals;
  out["freedoms"] = freedoms;
  out["coordinates"] = coordinates;
  out["reachable"] = reachable;
  out["idle"] = idle;
  out["wanted"] = listed(lanes.posture_wanted.data(), static_cast<int>(lanes.posture_wanted.size()));
  out["gain"] = listed(lanes.posture_gain.data(), static_cast<int>(lanes.posture_gain.size()));
  out["settings"] = settings_in(lanes.settings);
  out["origin"] = listed(lanes.origin, 3);
  out["fraction"] = lanes.fraction;
  out["scale"] = T(solver.scale);
  out["n_q"] = solver.n_q;
  out["n_v"] = solver.n_v;
  out["n_rows"] = solver.n_rows;
  out["searches"] = solver.searches;
  out["shared_columns"] = solver.shared_columns;
  out["closed"] = closed;
  out["branch"] = begins_at_branch(solver) ? nb::object(form_in(solver.branches->form)) : nb::none();
  out["units"] = begins_at_branch(solver) ? listed(solver.branches->joints.unit, 6) : nb::list();
  out["targets"] = listed(solver.targets.data(), static_cast<int>(solver.targets.size()));
  return out;
}

AnyDict problem_of(const PreparedSolver& solver, bool single) {
  return single ? problem_in<float>(solver.data) : problem_in<double>(solver.data);
}

// the starts of searches 1, 2, ... for a body at the model's zero: (searches - 1, n_q)
NumpyArray seeds_of(const PreparedSolver& solver) {
  SolverData own = solver.data;
  allot(own);
  const npy_intp shape[2] = {own.searches - 1, own.n_q};
  Array out(PyArray_SimpleNew(2, shape, NPY_DOUBLE));
  for (int search = 1; search < own.searches; ++search) {
    double* q = out.data<double>() + (search - 1) * own.n_q;
    for (int k = 0; k < own.n_q; ++k) q[k] = 0.0;
    solver_ops().seed(own, static_cast<unsigned>(search), q);
  }
  return out.release();
}

// the layout of a kernel's argument for a number of goals, for numpy.dtype
AnyDict device_call(int goals) {
  Layout layout;
#define ADD(member, format) layout.add(#member, format, offsetof(DeviceCall, member))
  ADD(starts, "u8");
  ADD(start_stride, "i8");
  ADD(q, "u8");
  ADD(finished, "u8");
  ADD(errors, "u8");
  ADD(reached, "u8");
  ADD(codes, "u8");
  ADD(steps, "u8");
  ADD(searches, "u8");
  ADD(best, "u8");
  ADD(seeds, "u8");
  ADD(counters, "u8");
  ADD(hard, "u8");
  ADD(open, "u8");
  ADD(rows, "i4");
  ADD(early, "i4");
  ADD(most, "i4");
#undef ADD
  std::string many(1, '(');  // g++ 12 warns of a sum
  many.append(std::to_string(goals)).append(",)");
  const std::size_t each = sizeof(void*) * static_cast<std::size_t>(goals);
  layout.add("targets", many + "u8", sizeof(DeviceCall));
  layout.add("strides", many + "i8", sizeof(DeviceCall) + each);
  return layout.for_dtype(sizeof(DeviceCall) + 2 * each);
}

template <class R> nb::bytes bytes_of(const std::vector<R>& rows) {
  return nb::bytes(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(R));
}

// a ball around a region of the world: its center and radius, infinite for a half-space
template <class T> void add_ball(const RegionData<double>& region, std::vector<T>& balls) {
  const double* x = region.numbers;
  double center[3], half[3];
  for (int k = 0; k < 3; ++k) {
    center[k] = region.op == LIMIT_SEGMENT ? 0.5 * (x[k] + x[3 + k]) : x[9 + k];
    half[k] = region.op == LIMIT_SEGMENT ? 0.5 * (x[3 + k] - x[k]) : x[12 + k];
  }
  const double length = square_root(dot(half, half));  // of a cylinder: radius, half length and zero
  const double radius = region.op == LIMIT_PLANE ? HUGE_VAL : region.op == LIMIT_SEGMENT ? length + x[6] : length;
  for (double c : center) balls.push_back(T(c));
  balls.push_back(T(radius * (1.0 + 16.0 * std::numeric_limits<T>::epsilon())));
}

template <class T> void convert(const double* from, T* to, int n) {
  for (int k = 0; k < n; ++k) to[k] = T(from[k]);
}

// Point clouds and hulls of a problem, whose addresses are in bytes from the first of `numbers`.
template <class T> std::vector<Obstacle<T>> write_obstacles(const SolverData& solver, std::vector<T>& numbers) {
  static_assert(sizeof(Obstacle<T>) == 64 && offsetof(Obstacle<T>, faces) == 48);
  std::vector<Obstacle<T>> out;
  const auto add = [&](const double* from, int count) {
    const auto at = reinterpret_cast<const T*>(numbers.size() * sizeof(T));
    for (int k = 0; k < count; ++k) numbers.push_back(T(from[k]));
    return at;
  };
  for (const Obstacle<double>& of : solver.obstacles.views) {
    const PointTree<double>& tree = of.cloud;
    const int boxes = tree.n > 0 ? (2 << tree.depth) - 1 : 0;
    const PointTree<T> cloud{add(tree.points, 3 * tree.n), nullptr, add(tree.boxes, 6 * boxes), tree.n, 3, tree.depth};
    out.push_back({cloud, T(of.radius), add(of.faces, hull_face_size * of.n_faces), of.n_faces, of.solid});
  }
  return out;
}

// The first clearance of a problem: arrays of bytes in the kernels' layout, and numbers by their names in ClearanceCall.
// The least gap leaves room for the rounding of placements, or a CPU, which rounds otherwise, might find a collision.
template <class T> AnyTuple write_clearance(const PreparedSolver& solver) {
  const SurfaceData& of = solver.data.surfaces.at(0);
  std::vector<T> balls;
  std::vector<RegionData<T>> regions;
  for (const RegionData<double>& region : of.regions) {
    add_ball(region, balls);
    regions.push_back({region.op, {}});
    convert(region.numbers, regions.back().numbers, most_numbers);
  }
  std::vector<SurfaceLink<T>> links;
  for (const SurfaceLink<double>& link : of.links) {
    links.push_back({link.primitive, link.first, link.last, link.world_row, {}, T(link.radius)});
    convert(link.center, links.back().center, 3);
  }
  std::vector<CapsuleData<T>> capsules;
  for (const CapsuleData<double>& capsule : solver.data.capsules) {
    capsules.push_back({capsule.primitive, {}, T(capsule.radius)});
    for (int i = 0; i < 2; ++i) convert(capsule.ends[i], capsules.back().ends[i], 3);
  }
  std::vector<T> numbers;
  const std::vector<Obstacle<T>> obstacles = write_obstacles(solver.data, numbers);
  const AnyDict arrays =
      members("numbers", bytes_of(numbers), "obstacles", bytes_of(obstacles), "balls", bytes_of(balls), "links",
              bytes_of(links), "capsules", bytes_of(capsules), "pairs", bytes_of(of.pairs), "pair_capsules",
              bytes_of(of.pair_capsules), "regions", bytes_of(regions));
  const double least = (sizeof(T) == 4 ? 1e-5 : 1e-12) * solver.data.scale;
  const AnyDict values = members(MEMBER(of, distance), "least", least, "n_links", of.links.size(), "n_pairs",
                                 of.pairs.size(), "certain", !solver.data.loose);
  return nb::make_tuple(arrays, values);
}

AnyTuple clearance_of(const PreparedSolver& solver, bool single) {
  return single ? write_clearance<float>(solver) : write_clearance<double>(solver);
}

// the layout of ClearanceCall, for numpy.dtype: addresses, numbers, whole numbers
template <class T> AnyDict lay_out_clearance() {
  using Call = ClearanceCall<T>;
  Layout layout;
  std::size_t at = 0;
  for (const char* name : {"links", "capsules", "pairs", "pair_capsules", "regions", "obstacles", "balls", "places",
                           "targets", "rows", "counters"})
    layout.add(name, "u8", std::exchange(at, at + 8));
  static_assert(offsetof(Call, counters) == 80 && offsetof(Call, distance) == 88);
  for (const char* name : {"distance", "least", "deep", "far"})
    layout.add(name, sizeof(T) == 4 ? "f4" : "f8", std::exchange(at, at + sizeof(T)));
  static_assert(offsetof(Call, n_links) == 88 + 4 * sizeof(T) && offsetof(Call, above) == 116 + 4 * sizeof(T));
  for (const char* name : {"n_links", "n_pairs", "n_places", "goal_primitive", "last", "certain", "fixed", "above"})
    layout.add(name, "i4", std::exchange(at, at + 4));
  return layout.for_dtype(sizeof(Call));
}

AnyDict clearance_call(bool single) { return single ? lay_out_clearance<float>() : lay_out_clearance<double>(); }

}  // namespace

#undef MEMBER
#undef ARRAY

void bind_gpu(nb::module_& m) {
  m.def("problem_of", problem_of, nb::arg("solver"), nb::arg("single"));
  m.def("device_call", device_call, nb::arg("goals"));
  m.def("clearance_of", clearance_of, nb::arg("solver"), nb::arg("single"));
  m.def("clearance_call", clearance_call, nb::arg("single"));
  m.def("seeds_of", seeds_of, nb::arg("solver"));
}

}  // namespace poise
