// problem_bytes.h: a body and a prepared problem as bytes, for programs without Python such as a page.
//
// The same function visits all members for writing and for reading, so the two cannot differ. Numbers are little-endian;
// structures with padding are written member by member, so equal problems have equal bytes.
#pragma once
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "memory/body_data.h"
#include "memory/solver_data.h"

namespace poise {

class ByteWriter {
 public:
  static constexpr bool reads = false;
  std::vector<char> bytes;

  void raw(const void* from, std::size_t size) {
    const char* first = static_cast<const char*>(from);
    bytes.insert(bytes.end(), first, first + size);
  }
  bool good() const { return true; }
};

class ByteReader {
 public:
  static constexpr bool reads = true;
  ByteReader(const char* bytes, std::size_t size) : at_(bytes), left_(size) {}

  void raw(void* to, std::size_t size) {
    good_ = good_ && size <= left_;
    if (!good_) return;
    std::memcpy(to, at_, size);
    at_ += size;
    left_ -= size;
  }
  bool good() const { return good_; }
  bool is_complete() const { return good_ && left_ == 0; }
  std::size_t left() const { return left_; }

 private:
  const char* at_;
  std::size_t left_;
  bool good_ = true;
};

template <class A, class... T> void visit_plain(A& archive, T&... values) {
  static_assert((std::is_trivially_copyable_v<T> && ...));
  (archive.raw(&values, sizeof(T)), ...);
}

// a size, as 32 bits; a reader resizes the list to it, unless the bytes end before
template <class A, class T> void visit_size(A& archive, std::vector<T>& list) {
  int size = static_cast<int>(list.size());
  visit_plain(archive, size);
  if constexpr (A::reads) {
    const bool fits = archive.good() && size >= 0 && static_cast<std::size_t>(size) <= archive.left();
    list.resize(fits ? static_cast<std::size_t>(size) : 0);
    if (!fits) archive.raw(nullptr, archive.left() + 1);
  }
}

template <class A, class... T> void visit_lists(A& archive, std::vector<T>&... lists) {
  static_assert((std::is_trivially_copyable_v<T> && ...));
  ((visit_size(archive, lists), archive.raw(lists.data(), lists.size() * sizeof(T))), ...);
}

template <class A> void visit_curves(A& archive, std::shared_ptr<const CurveStore>& curves) {
  auto store = std::make_shared<CurveStore>();
  if (!A::reads && curves) *store = *curves;
  visit_size(archive, store->pieces);
  store->curves.resize(store->pieces.size());
  for (std::size_t i = 0; i < store->pieces.size(); ++i) {
    Curve& curve = store->curves[i];
    visit_lists(archive, store->pieces[i]);
    visit_plain(archive, curve.length, curve.closed);
    curve.pieces = store->pieces[i].data();
    curve.n = static_cast<int>(store->pieces[i].size());
  }
  if (A::reads) curves = store;
}

template <class A> void visit_primitives(A& archive, std::vector<Primitive<double>>& list,
                                         const std::shared_ptr<const CurveStore>& curves) {
  visit_size(archive, list);
  for (Primitive<double>& b : list) {
    int curve = b.curve ? static_cast<int>(b.curve - curves->curves.data()) : -1;
    visit_plain(archive, b.kind, b.parent, b.subtree_end, b.q_index, b.v_index, b.turn, b.scaled, b.gain, b.bias,
                b.pitch, b.R, b.p, curve);
    const bool known = curve >= 0 && static_cast<std::size_t>(curve) < curves->curves.size();
    if (A::reads) b.curve = known ? &curves->curves[static_cast<std::size_t>(curve)] : nullptr;
  }
}

template <class A> void visit_frames(A& archive, std::vector<FrameData<double>>& list) {
  visit_size(archive, list);
  for (FrameData<double>& f : list) visit_plain(archive, f.primitive, f.scaled, f.R, f.p, f.point);
}

template <class A> void visit_body(A& archive, Body& body) {
  visit_plain(archive, body.n_q, body.n_v, body.f64.shared_columns);
  visit_curves(archive, body.curves);
  visit_primitives(archive, body.f64.primitives, body.curves);
  visit_frames(archive, body.f64.frames);
  visit_lists(archive, body.f64.masses, body.coordinates);
}

template <class A> void visit_obstacles(A& archive, ObstacleList& list) {
  visit_size(archive, list.data);
  const ObstacleList given = std::move(list);
  list = {};
  for (const auto& each : given.data) {
    const auto data = std::make_shared<ObstacleData>();
    if (each) *data = *each;
    visit_plain(archive, data->cloud.dim, data->cloud.depth, data->radius, data->solid);
    visit_lists(archive, data->cloud.points, data->cloud.boxes, data->cloud.rows, data->faces);
    list.add(A::reads ? data : each);
  }
}

template <class A> void visit_limits(A& archive, SolverData& d) {
  visit_size(archive, d.limits);
  for (LimitSpec<double>& x : d.limits) visit_plain(archive, x.op, x.first, x.second, x.at, x.distance);
  visit_size(archive, d.capsules);
  for (CapsuleData<double>& x : d.capsules) visit_plain(archive, x.primitive, x.ends, x.radius);
  visit_lists(archive, d.numbers, d.cones, d.terms);
  visit_obstacles(archive, d.obstacles);
}

template <class A> void visit_options(A& archive, SolverData& d) {
  Settings<double>& s = d.settings;
  visit_plain(archive, s.method, s.limits, s.damping, s.damping_floor, s.reach, s.max_steps, s.stall_steps,
              s.stall_ratio, s.rounds, s.options, s.gain);
  visit_plain(archive, d.mode, d.searches, d.counted, d.seed, d.time_limit, d.span, d.polish, d.extra, d.loose,
              d.tries);
}

// the bounds of reach, and the closed forms if they are known
template <class A> void visit_proofs(A& archive, SolverData& d) {
  int early = static_cast<int>(d.early_bounds);
  visit_plain(archive, early, d.proofs_complete);
  visit_lists(archive, d.reachable, d.closed);
  if (A::reads) d.early_bounds = d.bounds_used = static_cast<std::size_t>(early);
}

// everything but the first level alone and the memory, which `allot` provides
template <class A> void visit_problem(A& archive, SolverData& d) {
  visit_plain(archive, d.n_q, d.n_v, d.n_rows, d.scale, d.shared_columns, d.posture_power, d.ranged, d.strict);
  visit_curves(archive, d.curves);
  visit_primitives(archive, d.primitives, d.curves);
  visit_frames(archive, d.frames);
  visit_lists(archive, d.goals, d.coordinates, d.freedoms, d.periods, d.idle, d.idle_velocities, d.posture_wanted,
              d.posture_gain, d.masses, d.points, d.velocities, d.targets);
  visit_limits(archive, d);
  visit_options(archive, d);
  visit_proofs(archive, d);
}

}  // namespace poise
