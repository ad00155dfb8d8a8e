// hulls.cpp: pairs of convex hulls of a body, measured in many poses.
#define NO_IMPORT_ARRAY
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "bind/bindings.h"
#include "bind/layout.h"
#include "kernels/limits/contacts.h"
#include "kernels/limits/hulls.h"
#include "kernels/limits/separation.h"

namespace poise {
namespace {

Array shaped(nb::handle x, const char* name, std::vector<npy_intp> shape) {
  Array a = as_array<double>(x, name);
  bool fits = a.ndim() == static_cast<int>(shape.size());
  for (int i = 0; fits && i < a.ndim(); ++i)
    fits = shape[static_cast<std::size_t>(i)] < 0 || a.dim(i) == shape[static_cast<std::size_t>(i)];
  if (!fits) refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(a) + ".");
  return a;
}

// two hulls that are near each other in a pose; Python reads and writes the members by name
struct NearRow {
  std::int64_t pair, pose;
  double turn[9], shift[3];  // the first one's frame in that of the second
  double axes[9];            // of the second one's frame, in the world
  double depth, normal[3];   // the normal is in the frame of the second
  double point[3];           // in the frame of the first
};

// numpy's type of NearRow
nb::object make_dtype() {
  Layout layout;
  layout.add("pair", "i8", offsetof(NearRow, pair));
  layout.add("pose", "i8", offsetof(NearRow, pose));
  layout.add("turn", "(3,3)f8", offsetof(NearRow, turn));
  layout.add("shift", "3f8", offsetof(NearRow, shift));
  layout.add("axes", "(3,3)f8", offsetof(NearRow, axes));
  layout.add("depth", "f8", offsetof(NearRow, depth));
  layout.add("normal", "3f8", offsetof(NearRow, normal));
  layout.add("point", "3f8", offsetof(NearRow, point));
  PyArray_Descr* type = nullptr;
  if (!PyArray_DescrConverter(layout.for_dtype(sizeof(NearRow)).ptr(), &type)) throw nb::python_error();
  return nb::steal(reinterpret_cast<PyObject*>(type));
}

// the rows of an array of `find`, or of a copy of some of them, in place
std::span<NearRow> view_rows(nb::handle rows) {
  auto* a = reinterpret_cast<PyArrayObject*>(rows.ptr());
  const bool ours = PyArray_Check(rows.ptr()) && PyArray_TYPE(a) == NPY_VOID && PyArray_NDIM(a) == 1 &&
                    PyArray_ITEMSIZE(a) == static_cast<npy_intp>(sizeof(NearRow)) && PyArray_ISCARRAY(a);
  if (!ours) refuse("ShapeMismatch", "rows are not those of near pairs.");
  return {static_cast<NearRow*>(PyArray_DATA(a)), static_cast<std::size_t>(PyArray_DIM(a, 0))};
}

// the hulls of a body, and pairs of them; a capsule around each is measured first
class HullPairs {
 public:
  HullPairs(nb::handle balls, const std::vector<int>& counts, const std::vector<std::pair<int, int>>& pairs,
            nb::handle capsules, const std::vector<int>& frames)
      : pairs_(pairs), frames_(frames), dtype_(make_dtype()) {
    const Array all = shaped(balls, "balls", {-1, 4});
    const auto solids = static_cast<npy_intp>(counts.size());
    const Array around = shaped(capsules, "capsules", {solids, 7});
    capsules_.assign(around.data<double>(), around.data<double>() + around.size());
    for (npy_intp i = 0; i < solids; ++i) {
      const double* own = capsules_.data() + 7 * i;
      halves_.push_back(0.5 * std::hypot(own[3] - own[0], own[4] - own[1], own[5] - own[2]));
    }
    const double* from = all.data<double>();
    const double* end = from + all.size();
    for (const int count : counts) {
      if (count < 1 || count > (end - from) / 4) refuse("ShapeMismatch", "counts are not those of balls.");
      add_hull(from, count);
      from += 4 * count;
    }
    for (const auto& [one, other] : pairs) {
      if (std::min(one, other) < 0 || std::max(one, other) >= solids)
        refuse("InvalidValue", "pairs: a number is not that of a solid.");
    }
    if (frames.size() != counts.size()) refuse("ShapeMismatch", "frames are not those of solids.");
  }

  AnyTuple find(nb::handle transforms, double margin, nb::handle last) const;
  NumpyArray overlaps(nb::handle rows, nb::handle ways) const;
  void refine(nb::handle rows) const;
  void find_points(nb::handle rows, double edge) const;
  void follow(nb::handle rows, nb::handle transforms) const;
  NumpyArray displace(const Body& body, nb::handle q, nb::handle rows, nb::handle columns, nb::handle moved,
                      nb::handle wanted, double soft) const;

 private:
  struct Solid {
    std::size_t first;
    int own, count;  // balls, without and with repeated ones
    double middle[3];
  };

  void add_hull(const double* from, int count);
  void find_rows(const double* T, npy_intp poses, double margin, double* last, std::vector<NearRow>& out) const;
  bool is_close(int one, int other, const double* ends, double margin) const;
  BallHull<double> hull(int solid) const {
    const Solid& own = solids_[static_cast<std::size_t>(solid)];
    const double* x = numbers_.data() + own.first;
    return {x, x + own.count, x + 2 * own.count, x + 3 * own.count, own.count};
  }
  const std::pair<int, int>& pair(const NearRow& row) const { return pairs_.at(static_cast<std::size_t>(row.pair)); }
  HullPair<double> at(const NearRow& row) const {
    HullPair<double> out{hull(pair(row).first), hull(pair(row).second), {}, {}};
    std::copy_n(row.turn, 9, out.turn);
    std::copy_n(row.shift, 3, out.shift);
    return out;
  }

  std::vector<std::pair<int, int>> pairs_;
  std::vector<int> frames_;  // of the solids
  nb::object dtype_;         // of NearRow; making it takes longer than measuring a pose
  std::vector<Solid> solids_;
  std::vector<double> numbers_, capsules_, halves_;  // capsules: two ends and a radius; half the distance of the ends
};

void HullPairs::add_hull(const double* from, int count) {
  const int padded = (count + hull_lanes - 1) / hull_lanes * hull_lanes;
  Solid own{numbers_.size(), count, padded, {}};
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < padded; ++i) numbers_.push_back(from[4 * (i < count ? i : 0) + k]);
  }
  for (int k = 0; k < 3; ++k) {
    const auto x = numbers_.begin() + static_cast<std::ptrdiff_t>(own.first) + k * padded;
    own.middle[k] = 0.5 * (*std::min_element(x, x + padded) + *std::max_element(x, x + padded));
  }
  solids_.push_back(own);
}

// whether the capsules of two solids are near each other; `ends` are theirs in the world
bool HullPairs::is_close(int one, int other, const double* ends, double margin) const {
  const double *a = ends + 6 * one, *b = ends + 6 * other;
  const double thick =
      capsules_[static_cast<std::size_t>(7 * one + 6)] + capsules_[static_cast<std::size_t>(7 * other + 6)] + margin;
  double apart = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double off = 0.5 * (a[k] + a[3 + k] - b[k] - b[3 + k]);
    apart += off * off;
  }
  const double reach = thick + halves_[static_cast<std::size_t>(one)] + halves_[static_cast<std::size_t>(other)];
  if (reach <= 0.0 || apart >= reach * reach) return false;
  Contact<double> nearest;
  nearest_of_segments(a, a + 3, b, b + 3, nearest);
  return nearest.distance < thick;
}

// the rotation and position of frame a in frame b, from their transforms
void relate(const double* a, const double* b, double* turn, double* shift) {
  for (int r = 0; r < 3; ++r) {
    shift[r] = 0.0;
    for (int k = 0; k < 3; ++k) shift[r] += b[4 * k + r] * (a[4 * k + 3] - b[4 * k + 3]);
    for (int c = 0; c < 3; ++c) turn[3 * r + c] = b[r] * a[c] + b[4 + r] * a[4 + c] + b[8 + r] * a[8 + c];
  }
}

// a point of the first hull's frame in that of the second
void place(const NearRow& row, const double* point, double* out) {
  for (int k = 0; k < 3; ++k) out[k] = dot(row.turn + 3 * k, point) + row.shift[k];
}

void copy_axes(const double* T, double* out) {
  for (int k = 0; k < 9; ++k) out[k] = T[4 * (k / 3) + k % 3];
}

// `last`: for each pair the direction of the pose before, zero if unknown; updated
void HullPairs::find_rows(const double* T, npy_intp poses, double margin, double* last,
                          std::vector<NearRow>& out) const {
  const auto solids = static_cast<npy_intp>(solids_.size());
  std::vector<double> ends(static_cast<std::size_t>(6 * poses * solids));
  for (npy_intp i = 0; i < poses * solids; ++i) {
    const double *own = capsules_.data() + 7 * (i % solids), *at = T + 16 * i;
    for (int e = 0; e < 2; ++e) {
      for (int k = 0; k < 3; ++k) {
        ends[static_cast<std::size_t>(6 * i + 3 * e + k)] = dot(at + 4 * k, own + 3 * e) + at[4 * k + 3];
      }
    }
  }
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const auto [one, other] = pairs_[p];
    double middles[6], *way = last + 3 * p;
    for (int k = 0; k < 6; ++k) middles[k] = solids_[static_cast<std::size_t>(k < 3 ? one : other)].middle[k % 3];
    HullPair<double> pair{hull(one), hull(other), {}, {}};
    for (npy_intp t = 0; t < poses; ++t) {
      if (!is_close(one, other, ends.data() + 6 * t * solids, margin)) continue;
      const double *a = T + 16 * (t * solids + one), *b = T + 16 * (t * solids + other);
      relate(a, b, pair.turn, pair.shift);
      if (dot(way, way) > 0.0 && overlap_along(pair, way) <= -margin) continue;  // still apart
      Parting<double> at{{}, far_away};
      const bool near = find_parting(pair, middles, margin, at);
      std::copy_n(at.normal, 3, way);
      if (!near) continue;
      NearRow row{static_cast<std::int64_t>(p), t, {}, {}, {}, at.depth, {}, {}};
      std::copy_n(pair.turn, 9, row.turn);
      std::copy_n(pair.shift, 3, row.shift);
      std::copy_n(at.normal, 3, row.normal);
      copy_axes(b, row.axes);
      out.push_back(row);
    }
  }
}

// the middle of the balls of a hull that are farthest along n, on their surface; balls whose height differs from the
// largest by `edge` have a share of 1/e
void find_contact(const BallHull<double>& hull, int count, const double* n, double edge, double* out) {
  double sum = 0.0, ball = 0.0;
  const double most = support(hull, n);
  std::fill_n(out, 3, 0.0);
  for (int i = 0; i < count; ++i) {
    const double share = std::exp((height_of(hull, n, i) - most) / edge);
    sum += share;
    ball += share * hull.radius[i];
    out[0] += share * hull.x[i];
    out[1] += share * hull.y[i];
    out[2] += share * hull.z[i];
  }
  for (int k = 0; k < 3; ++k) out[k] = (out[k] + ball * n[k]) / sum;
}

// Near pairs in transforms of the solids (poses, solids, 4, 4), without their points, and the directions of all pairs in
// the last pose.
AnyTuple HullPairs::find(nb::handle transforms, double margin, nb::handle last) const {
  const Array T = shaped(transforms, "transforms", {-1, static_cast<npy_intp>(solids_.size()), 4, 4});
  const Array given = shaped(last, "last", {static_cast<npy_intp>(pairs_.size()), 3});
  Array ways(PyArray_SimpleNew(2, given.dims(), NPY_DOUBLE));
  std::copy_n(given.data<double>(), given.size(), ways.data<double>());
  std::vector<NearRow> rows;
  {
    const nb::gil_scoped_release release;
    find_rows(T.data<double>(), T.dim(0), margin, ways.data<double>(), rows);
  }
  auto* type = reinterpret_cast<PyArray_Descr*>(nb::object(dtype_).release().ptr());
  const auto n = static_cast<npy_intp>(rows.size());
  Array out(PyArray_NewFromDescr(&PyArray_Type, type, 1, &n, nullptr, nullptr, 0, nullptr));
  std::copy(rows.begin(), rows.end(), out.data<NearRow>());
  return nb::make_tuple(out.release(), ways.release());
}

// The overlaps (n, d) of rows along directions (n, d, 3).
NumpyArray HullPairs::overlaps(nb::handle rows, nb::handle ways) const {
  const std::span<NearRow> near = view_rows(rows);
  const Array w = shaped(ways, "ways", {static_cast<npy_intp>(near.size()), -1, 3});
  Array out(PyArray_SimpleNew(2, w.dims(), NPY_DOUBLE));
  const double* way = w.data<double>();
  double* to = out.data<double>();
  {
    const nb::gil_scoped_release release;
    for (const NearRow& row : near) {
      const HullPair<double> own = at(row);
      for (npy_intp k = 0; k < w.dim(1); ++k, way += 3) *to++ = overlap_along(own, way);
    }
  }
  return out.release();
}

// Replaces the depths and normals of rows by the least overlaps near these normals.
void HullPairs::refine(nb::handle rows) const {
  for (NearRow& row : view_rows(rows)) {
    Parting<double> best{{row.normal[0], row.normal[1], row.normal[2]}, row.depth};
    narrow(at(row), far_away, best);
    row.depth = best.depth;
    std::copy_n(best.normal, 3, row.normal);
  }
}

// Writes the points of rows: the middles of the balls of the first solids that are deepest along the normals. Balls
// within about `edge` of the deepest one count.
void HullPairs::find_points(nb::handle rows, double edge) const {
  for (NearRow& row : view_rows(rows)) {
    double inward[3];
    turn_back(at(row), row.normal, inward);
    const int one = pair(row).first;
    find_contact(hull(one), solids_[static_cast<std::size_t>(one)].own, inward, edge, row.point);
  }
}

// Moves rows of single poses to a pose with transforms of the solids (solids, 4, 4): contacts keep their points and
// planes.
void HullPairs::follow(nb::handle rows, nb::handle transforms) const {
  const Array T = shaped(transforms, "transforms", {static_cast<npy_intp>(solids_.size()), 4, 4});
  for (NearRow& row : view_rows(rows)) {
    const auto& [one, other] = pair(row);
    double before[3], after[3];
    place(row, row.point, before);
    relate(T.data<double>() + 16 * one, T.data<double>() + 16 * other, row.turn, row.shift);
    place(row, row.point, after);
    for (int k = 0; k < 3; ++k) row.depth -= row.normal[k] * (after[k] - before[k]);
    copy_axes(T.data<double>() + 16 * other, row.axes);
  }
}

// The displacement of joints (their columns of v) nearest to `wanted` that parts the pairs of rows in pose q, which has
// the displacement `moved`.
NumpyArray HullPairs::displace(const Body& body, nb::handle q, nb::handle rows, nb::handle columns, nb::handle moved,
                               nb::handle wanted, double soft) const {
  const std::span<NearRow> near = view_rows(rows);
  const Array own = shaped(columns, "columns", {-1}), x = shaped(q, "q", {body.n_q});
  const npy_intp n = static_cast<npy_intp>(near.size()), c = own.dim(0);
  const Array was = shaped(moved, "moved", {c}), next = shaped(wanted, "wanted", {c});
  const BodyView<double> view = body.f64.view(body.n_q, body.n_v);
  const auto size = [](npy_intp k) { return static_cast<std::size_t>(k); };
  for (npy_intp k = 0; k < c; ++k) {
    if (!(own.data<double>()[k] >= 0.0 && own.data<double>()[k] < body.n_v))
      refuse("InvalidValue", "columns: a number is not that of a velocity.");
  }
  std::vector<double> J(size(6 * body.n_v)), rates(size(body.n_v)), matrix, least;
  for (const NearRow& row : near) {
    const auto& [one, other] = pair(row);
    double along[3], there[3];
    for (int k = 0; k < 3; ++k) along[k] = dot(row.axes + 3 * k, row.normal);
    place(row, row.point, there);
    std::fill(rates.begin(), rates.end(), 0.0);
    add_rates(view, body.f64.frames.at(size(frames_[size(one)])), row.point, along, 1.0, x.data<double>(), J.data(),
              rates.data());
    add_rates(view, body.f64.frames.at(size(frames_[size(other)])), there, along, -1.0, x.data<double>(), J.data(),
              rates.data());
    least.push_back(row.depth);
    for (npy_intp k = 0; k < c; ++k) {
      matrix.push_back(rates.at(size(static_cast<npy_intp>(own.data<double>()[k]))));
      least.back() += matrix.back() * was.data<double>()[k];
    }
  }
  std::vector<int> active(size(n));
  std::vector<double> work(size(n * (n + 7) / 2));
  Array out(PyArray_SimpleNew(1, own.dims(), NPY_DOUBLE));
  poise::displace(static_cast<int>(n), static_cast<int>(c), matrix.data(), least.data(), next.data<double>(), soft,
                  active.data(), work.data(), out.data<double>());
  return out.release();
}

}  // namespace

void bind_hulls(nb::module_& m) {
  nb::class_<HullPairs>(m, "HullPairs", "Pairs of convex hulls. Private: see poise.limits.convex_parts.")
      .def(nb::init<nb::handle, const std::vector<int>&, const std::vector<std::pair<int, int>>&, nb::handle,
                    const std::vector<int>&>(),
           nb::arg("balls"), nb::arg("counts"), nb::arg("pairs"), nb::arg("capsules"), nb::arg("frames"))
      .def("find", &HullPairs::find, nb::arg("transforms"), nb::arg("margin"), nb::arg("last"))
      .def("overlaps", &HullPairs::overlaps, nb::arg("rows"), nb::arg("ways"))
      .def("refine", &HullPairs::refine, nb::arg("rows"))
      .def("find_points", &HullPairs::find_points, nb::arg("rows"), nb::arg("edge"))
      .def("follow", &HullPairs::follow, nb::arg("rows"), nb::arg("transforms"))
      .def("displace", &HullPairs::displace, nb::arg("body"), nb::arg("q"), nb::arg("rows"), nb::arg("columns"),
           nb::arg("moved"), nb::arg("wanted"), nb::arg("soft"));
}

}  // namespace poise
