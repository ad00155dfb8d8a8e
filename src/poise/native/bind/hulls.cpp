// hulls.cpp: pairs of convex hulls of a body, measured in many poses.
#define NO_IMPORT_ARRAY
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "bind/bindings.h"
#include "kernels/limits/contacts.h"
#include "kernels/limits/hulls.h"
#include "kernels/limits/separation.h"

namespace poise {
namespace {

constexpr double far_away = std::numeric_limits<double>::infinity();

Array shaped(nb::handle x, const char* name, std::vector<npy_intp> shape) {
  Array a = as_array<double>(x, name);
  bool fits = a.ndim() == static_cast<int>(shape.size());
  for (int i = 0; fits && i < a.ndim(); ++i)
    fits = shape[static_cast<std::size_t>(i)] < 0 || a.dim(i) == shape[static_cast<std::size_t>(i)];
  if (!fits) refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(a) + ".");
  return a;
}

struct NearRow {
  std::int64_t pair, pose;
  double turn[9], shift[3], axes[9];
  Parting<double> at;
};

// the hulls of a body, and pairs of them; a capsule around each is measured first
class HullPairs {
 public:
  HullPairs(nb::handle balls, const std::vector<int>& counts, const std::vector<std::pair<int, int>>& pairs,
            nb::handle capsules, const std::vector<int>& frames)
      : pairs_(pairs), frames_(frames) {
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
  NumpyArray overlaps(nb::handle pair, nb::handle turn, nb::handle shift, nb::handle ways) const;
  AnyTuple refine(nb::handle pair, nb::handle turn, nb::handle shift, nb::handle depth, nb::handle normal) const;
  NumpyArray points(nb::handle pair, nb::handle turn, nb::handle normal, double edge) const;
  AnyTuple follow(nb::handle transforms, nb::handle pair, nb::handle turn, nb::handle shift, nb::handle depth,
                  nb::handle normal, nb::handle point) const;
  NumpyArray displace(const Body& body, nb::handle q, nb::handle pair, nb::handle turn, nb::handle shift,
                      nb::handle axes, nb::handle depth, nb::handle normal, nb::handle point, nb::handle columns,
                      nb::handle moved, nb::handle wanted, double soft) const;

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
  const std::pair<int, int>& pair(double index) const {
    if (!(index >= 0.0 && index < static_cast<double>(pairs_.size()))) throw std::out_of_range("pair: no such pair");
    return pairs_[static_cast<std::size_t>(index)];
  }
  HullPair<double> at(const double* index, const double* turn, const double* shift) const {
    const auto& [one, other] = pair(*index);
    HullPair<double> out{hull(one), hull(other), {}, {}};
    std::copy_n(turn, 9, out.turn);
    std::copy_n(shift, 3, out.shift);
    return out;
  }

  std::vector<std::pair<int, int>> pairs_;
  std::vector<int> frames_;  // of the solids
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
      NearRow row{static_cast<std::int64_t>(p), t, {}, {}, {}, at};
      std::copy_n(pair.turn, 9, row.turn);
      std::copy_n(pair.shift, 3, row.shift);
      for (int k = 0; k < 9; ++k) row.axes[k] = b[4 * (k / 3) + k % 3];
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

Array make_array(std::vector<npy_intp> shape, int type = NPY_DOUBLE) {
  return Array(PyArray_SimpleNew(static_cast<int>(shape.size()), shape.data(), type));
}

// Near pairs in transforms of the solids (poses, solids, 4, 4): pair, pose, turn, shift, axes, depth, normal, and the
// directions of all pairs in the last pose.
AnyTuple HullPairs::find(nb::handle transforms, double margin, nb::handle last) const {
  const Array T = shaped(transforms, "transforms", {-1, static_cast<npy_intp>(solids_.size()), 4, 4});
  const Array given = shaped(last, "last", {static_cast<npy_intp>(pairs_.size()), 3});
  Array ways = make_array({given.dim(0), 3});
  std::copy_n(given.data<double>(), given.size(), ways.data<double>());
  std::vector<NearRow> rows;
  {
    const nb::gil_scoped_release release;
    find_rows(T.data<double>(), T.dim(0), margin, ways.data<double>(), rows);
  }
  const auto n = static_cast<npy_intp>(rows.size());
  Array pair = make_array({n}, NPY_INT64), pose = make_array({n}, NPY_INT64), turn = make_array({n, 3, 3});
  Array shift = make_array({n, 3}), axes = make_array({n, 3, 3}), depth = make_array({n}), normal = make_array({n, 3});
  for (npy_intp i = 0; i < n; ++i) {
    const NearRow& row = rows[static_cast<std::size_t>(i)];
    pair.data<std::int64_t>()[i] = row.pair;
    pose.data<std::int64_t>()[i] = row.pose;
    std::copy_n(row.turn, 9, turn.data<double>() + 9 * i);
    std::copy_n(row.shift, 3, shift.data<double>() + 3 * i);
    std::copy_n(row.axes, 9, axes.data<double>() + 9 * i);
    depth.data<double>()[i] = row.at.depth;
    std::copy_n(row.at.normal, 3, normal.data<double>() + 3 * i);
  }
  return nb::make_tuple(pair.release(), pose.release(), turn.release(), shift.release(), axes.release(),
                        depth.release(), normal.release(), ways.release());
}

// The overlaps (n, d) of rows along directions (n, d, 3).
NumpyArray HullPairs::overlaps(nb::handle pair, nb::handle turn, nb::handle shift, nb::handle ways) const {
  const Array index = shaped(pair, "pair", {-1});
  const npy_intp n = index.dim(0);
  const Array R = shaped(turn, "turn", {n, 3, 3}), p = shaped(shift, "shift", {n, 3}),
              w = shaped(ways, "ways", {n, -1, 3});
  Array out = make_array({n, w.dim(1)});
  {
    const nb::gil_scoped_release release;
    for (npy_intp i = 0; i < n; ++i) {
      const HullPair<double> own = at(index.data<double>() + i, R.data<double>() + 9 * i, p.data<double>() + 3 * i);
      for (npy_intp k = i * w.dim(1); k < (i + 1) * w.dim(1); ++k) {
        out.data<double>()[k] = overlap_along(own, w.data<double>() + 3 * k);
      }
    }
  }
  return out.release();
}

// The least overlaps near the directions of rows, and their directions.
AnyTuple HullPairs::refine(nb::handle pair, nb::handle turn, nb::handle shift, nb::handle depth,
                           nb::handle normal) const {
  const Array index = shaped(pair, "pair", {-1});
  const npy_intp n = index.dim(0);
  const Array R = shaped(turn, "turn", {n, 3, 3}), p = shaped(shift, "shift", {n, 3});
  const Array deep = shaped(depth, "depth", {n}), way = shaped(normal, "normal", {n, 3});
  Array depths = make_array({n}), ways = make_array({n, 3});
  for (npy_intp i = 0; i < n; ++i) {
    const double* from = way.data<double>() + 3 * i;
    Parting<double> best{{from[0], from[1], from[2]}, deep.data<double>()[i]};
    narrow(at(index.data<double>() + i, R.data<double>() + 9 * i, p.data<double>() + 3 * i), far_away, best);
    depths.data<double>()[i] = best.depth;
    std::copy_n(best.normal, 3, ways.data<double>() + 3 * i);
  }
  return nb::make_tuple(depths.release(), ways.release());
}

// The middles of the balls of the first solids that are deepest along the directions of rows, in their frames, (n, 3).
// Balls within about `edge` of the deepest one count.
NumpyArray HullPairs::points(nb::handle pair, nb::handle turn, nb::handle normal, double edge) const {
  const Array index = shaped(pair, "pair", {-1});
  const npy_intp n = index.dim(0);
  const Array R = shaped(turn, "turn", {n, 3, 3}), way = shaped(normal, "normal", {n, 3});
  Array out = make_array({n, 3});
  for (npy_intp i = 0; i < n; ++i) {
    double inward[3];
    const double *w = way.data<double>() + 3 * i, *r = R.data<double>() + 9 * i;
    for (int k = 0; k < 3; ++k) inward[k] = -(w[0] * r[k] + w[1] * r[3 + k] + w[2] * r[6 + k]);
    const int one = this->pair(index.data<double>()[i]).first;
    find_contact(hull(one), solids_[static_cast<std::size_t>(one)].own, inward, edge, out.data<double>() + 3 * i);
  }
  return out.release();
}

// Rows of single poses in a new pose with transforms of the solids (solids, 4, 4), in which contacts keep their points
// and planes: turn, shift, axes and depth.
AnyTuple HullPairs::follow(nb::handle transforms, nb::handle pair, nb::handle turn, nb::handle shift, nb::handle depth,
                           nb::handle normal, nb::handle point) const {
  const Array T = shaped(transforms, "transforms", {static_cast<npy_intp>(solids_.size()), 4, 4});
  const Array index = shaped(pair, "pair", {-1});
  const npy_intp n = index.dim(0);
  const Array R = shaped(turn, "turn", {n, 3, 3}), p = shaped(shift, "shift", {n, 3});
  const Array deep = shaped(depth, "depth", {n}), way = shaped(normal, "normal", {n, 3});
  const Array at = shaped(point, "point", {n, 3});
  Array turns = make_array({n, 3, 3}), shifts = make_array({n, 3}), axes = make_array({n, 3, 3}),
        depths = make_array({n});
  for (npy_intp i = 0; i < n; ++i) {
    const auto& [one, other] = this->pair(index.data<double>()[i]);
    const double *b = T.data<double>() + 16 * other, *x = at.data<double>() + 3 * i, *w = way.data<double>() + 3 * i;
    double *to = turns.data<double>() + 9 * i, *there = shifts.data<double>() + 3 * i, gap = deep.data<double>()[i];
    relate(T.data<double>() + 16 * one, b, to, there);
    for (int k = 0; k < 3; ++k) {
      const double was = dot(R.data<double>() + 9 * i + 3 * k, x) + p.data<double>()[3 * i + k];
      gap -= w[k] * (dot(to + 3 * k, x) + there[k] - was);
    }
    depths.data<double>()[i] = gap;
    for (int k = 0; k < 9; ++k) axes.data<double>()[9 * i + k] = b[4 * (k / 3) + k % 3];
  }
  return nb::make_tuple(turns.release(), shifts.release(), axes.release(), depths.release());
}

// The displacement of joints (their columns of v) nearest to `wanted` that parts the pairs of rows in pose q, which has
// the displacement `moved`.
NumpyArray HullPairs::displace(const Body& body, nb::handle q, nb::handle pair, nb::handle turn, nb::handle shift,
                               nb::handle axes, nb::handle depth, nb::handle normal, nb::handle point,
                               nb::handle columns, nb::handle moved, nb::handle wanted, double soft) const {
  const Array index = shaped(pair, "pair", {-1}), own = shaped(columns, "columns", {-1});
  const npy_intp n = index.dim(0), c = own.dim(0);
  const Array x = shaped(q, "q", {body.n_q}), R = shaped(turn, "turn", {n, 3, 3}), p = shaped(shift, "shift", {n, 3});
  const Array A = shaped(axes, "axes", {n, 3, 3}), deep = shaped(depth, "depth", {n});
  const Array way = shaped(normal, "normal", {n, 3}), at = shaped(point, "point", {n, 3});
  const Array was = shaped(moved, "moved", {c}), next = shaped(wanted, "wanted", {c});
  const BodyView<double> view = body.f64.view(body.n_q, body.n_v);
  const auto size = [](npy_intp k) { return static_cast<std::size_t>(k); };
  for (npy_intp k = 0; k < c; ++k) {
    if (!(own.data<double>()[k] >= 0.0 && own.data<double>()[k] < body.n_v))
      refuse("InvalidValue", "columns: a number is not that of a velocity.");
  }
  std::vector<double> J(size(6 * body.n_v)), row(size(body.n_v)), rows(size(n * c)), least(size(n));
  for (npy_intp i = 0; i < n; ++i) {
    const auto& [one, other] = this->pair(index.data<double>()[i]);
    const double *w = way.data<double>() + 3 * i, *from = at.data<double>() + 3 * i;
    double along[3], there[3];
    for (int k = 0; k < 3; ++k) {
      along[k] = dot(A.data<double>() + 9 * i + 3 * k, w);
      there[k] = dot(R.data<double>() + 9 * i + 3 * k, from) + p.data<double>()[3 * i + k];
    }
    std::fill(row.begin(), row.end(), 0.0);
    add_rates(view, body.f64.frames.at(size(frames_[size(one)])), from, along, 1.0, x.data<double>(), J.data(),
              row.data());
    add_rates(view, body.f64.frames.at(size(frames_[size(other)])), there, along, -1.0, x.data<double>(), J.data(),
              row.data());
    least[size(i)] = deep.data<double>()[i];
    for (npy_intp k = 0; k < c; ++k) {
      rows[size(i * c + k)] = row.at(size(static_cast<npy_intp>(own.data<double>()[k])));
      least[size(i)] += rows[size(i * c + k)] * was.data<double>()[k];
    }
  }
  std::vector<int> active(size(n));
  std::vector<double> work(size(n * (n + 7) / 2));
  Array out = make_array({c});
  poise::displace(static_cast<int>(n), static_cast<int>(c), rows.data(), least.data(), next.data<double>(), soft,
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
      .def("overlaps", &HullPairs::overlaps, nb::arg("pair"), nb::arg("turn"), nb::arg("shift"), nb::arg("ways"))
      .def("refine", &HullPairs::refine, nb::arg("pair"), nb::arg("turn"), nb::arg("shift"), nb::arg("depth"),
           nb::arg("normal"))
      .def("points", &HullPairs::points, nb::arg("pair"), nb::arg("turn"), nb::arg("normal"), nb::arg("edge"))
      .def("follow", &HullPairs::follow, nb::arg("transforms"), nb::arg("pair"), nb::arg("turn"), nb::arg("shift"),
           nb::arg("depth"), nb::arg("normal"), nb::arg("point"))
      .def("displace", &HullPairs::displace, nb::arg("body"), nb::arg("q"), nb::arg("pair"), nb::arg("turn"),
           nb::arg("shift"), nb::arg("axes"), nb::arg("depth"), nb::arg("normal"), nb::arg("point"), nb::arg("columns"),
           nb::arg("moved"), nb::arg("wanted"), nb::arg("soft"));
}

}  // namespace poise
