// answers.cpp: every pose of a transform as a solver answers it: listed by the closed form, brought there by the solver's own search, sorted.
#define NO_IMPORT_ARRAY
#include <algorithm>
#include <vector>

#include "bind/bindings.h"
#include "bind/listing.h"
#include "run/alike.h"
#include "run/ops.h"

namespace poise {
namespace {

using Spec = FamilySpec<double>;
using Question = FamilyQuestion<double>;

constexpr int most_phases = 64;

// What a chain's joints are in q: v = gain q + bias, and what a unit of v counts. Rows of a (4, 7) array.
struct Reading { const double *q_index, *gain, *bias, *scale; };

// One question: the solver that judges, and from where. While it lasts the goal tolerates next to nothing.
class Listing {
 public:
  Listing(PreparedSolver& solver, const Spec& spec, nb::handle reading, nb::handle start, nb::handle targets)
      : data_(solver.data), spec_(spec), table_(as_array<double>(reading, "reading")) {
    if (table_.size() != 28 || data_.goals.size() != 1) refuse("ShapeMismatch", "reading must be (4, 7), of one goal.");
    read_start(solver, start);
    take_numbers(solver, as_array<double>(targets, "targets"));
    const auto* x = table_.data<double>();
    reading_ = {x, x + 7, x + 14, x + 21};
    base_ = data_.start;
    joints_ = spec.free_joint == FREE_NONE ? 6 : 7;
    for (int k = 0; k < joints_; ++k) values_[k] = reading_.gain[k] * base_[place(k)] + reading_.bias[k];
    for (int i = 0; i < 2; ++i) {
      tolerated_[i] = data_.goals[0].tolerance[i];
      data_.goals[0].tolerance[i] = minimum(tolerated_[i], wanted_pose * unit(i == 0));
    }
  }
  ~Listing() {
    for (int i = 0; i < 2; ++i) data_.goals[0].tolerance[i] = tolerated_[i];
  }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  ListStart start() const { return {values_, reading_.scale}; }
  // Whether a solve that begins at an answer ends there and has reached, for every one: a search for next to nothing has, and no other joint
  // stands outside its range.
  bool settled() const {
    for (const Freedom<double>& f : data_.idle) {
      const double x = base_[static_cast<std::size_t>(f.q_index)];
      if (x < f.lower || x > f.upper) return false;
    }
    return settled_;
  }
  int joints() const { return joints_; }
  Question question(const Spec& spec) const {
    const double* t = data_.targets.data() + data_.goals[0].target;
    return question_of(spec, target_without_errors(t, t + 9));
  }

  // Takes a pose of the chain's joints in if it is an answer; false if not. The joints may be off by as much as they are not known.
  bool take(const double* joints, const double* slacks = nullptr) {
    std::copy(base_.begin(), base_.end(), data_.start.begin());
    for (int k = 0; k < joints_; ++k) {
      const FamilyAxis<double>& axis = axis_of(spec_, k);
      const double v = minimum(maximum(joints[k], axis.middle - axis.half), axis.middle + axis.half);
      data_.start[place(k)] = (v - reading_.bias[k]) / reading_.gain[k];
    }
    for (const Freedom<double>& f : data_.freedoms) {  // to the last bit
      if (f.q_index < 0) continue;
      double& x = data_.start[static_cast<std::size_t>(f.q_index)];
      x = minimum(maximum(x, f.lower), f.upper);
    }
    if (!search(slacks)) return false;
    found_.push_back({way_of(found_q_.data()), static_cast<int>(found_.size())});
    all_.insert(all_.end(), found_q_.begin(), found_q_.end());
    return true;
  }

  // (k, nq): the answers, the nearest to the start first, those that are one but once
  NumpyArray sorted() {
    const auto n = static_cast<std::size_t>(data_.n_q);
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.way < b.way; });
    std::vector<Found> kept;
    kept.reserve(found_.size());
    const double alike = alike_ways();
    for (const Found& one : found_) {
      bool again = false;
      for (std::size_t i = kept.size(); i-- > 0 && one.way - kept[i].way <= alike && !again;) {
        again = are_one(kept[i].at, one.at);
      }
      if (!again) kept.push_back(one);
    }
    npy_intp shape[2] = {static_cast<npy_intp>(kept.size()), data_.n_q};
    Array out(PyArray_SimpleNew(2, shape, NPY_DOUBLE));
    for (std::size_t i = 0; i < kept.size(); ++i) {
      std::copy_n(all_.data() + static_cast<std::size_t>(kept[i].at) * n, n, out.data<double>() + i * n);
    }
    return out.release();
  }

 private:
  struct Found {
    double way;
    int at;
  };

  double unit(bool length) const { return length ? spec_.chain.length : 1.0; }
  std::size_t place(int k) const { return static_cast<std::size_t>(reading_.q_index[k]); }

  // The solver's search from data.start; the best pose of it in found_q_. False: it leads nowhere, or too far away.
  bool search(const double* slacks) {
    solver_ops().restart(data_);
    double best = -1.0, errors[2] = {0.0, 0.0};
    for (int i = 0; i < most_phases && data_.state.phase != Phase::DONE; ++i) {
      solver_ops().advance(data_);
      const double *e = data_.state.errors, left = maximum(e[0], e[1]);
      if (data_.state.phase == Phase::PROPOSED || !(best < 0.0 || left < best)) continue;
      best = left;
      std::copy(e, e + 2, errors);
      found_q_.assign(data_.state.q, data_.state.q + data_.n_q);
    }
    bool near = best >= 0.0;
    for (int k = 0; k < joints_ && near; ++k) {
      const double by = absolute(reading_.gain[k] * (found_q_[place(k)] - data_.start[place(k)]));
      const double own = slacks == nullptr ? 0.0 : 2.0 * slacks[k];  // it may have begun at one end and be at the other
      near = by < own + known_branch * unit(axis_of(spec_, k).slides != 0);
    }
    near = near && errors[0] <= maximum(tolerated_[0], exact_pose * unit(true)) &&
           errors[1] <= maximum(tolerated_[1], exact_pose);
    settled_ = settled_ && (!near || data_.state.best_reached);
    return near;
  }

  double way_of(const double* q) const {
    double way = 0.0;
    for (int k = 0; k < joints_; ++k) {
      const double v = reading_.gain[k] * q[place(k)] + reading_.bias[k];
      way = maximum(way, absolute(v - values_[k]) * reading_.scale[k]);
    }
    return way;
  }

  // how much the ways of poses that are one can differ
  double alike_ways() const {
    double most = 0.0;
    for (int k = 0; k < joints_; ++k) {
      most = maximum(most, unit(axis_of(spec_, k).slides != 0) * reading_.scale[k]);
    }
    return same_pose * most;
  }

  bool are_one(int a, int b) const {
    const double *x = all_.data() + a * data_.n_q, *y = all_.data() + b * data_.n_q;
    return are_alike(
        joints_, same_pose, [&](int k) { return reading_.gain[k] * (x[place(k)] - y[place(k)]); },
        [&](int k) { return unit(axis_of(spec_, k).slides != 0); });
  }

  SolverData& data_;
  const Spec& spec_;
  Array table_;
  Reading reading_{};
  std::vector<double> base_, found_q_, all_;
  std::vector<Found> found_;
  double values_[7] = {}, tolerated_[2] = {};
  int joints_;
  bool settled_ = true;
};

// Whether a branch of six joints is inside, and whether that, or the branch itself, is in doubt.
void judge_branch(const Spec& spec, const BranchRow& row, bool& inside, bool& doubt) {
  const double *excess = row.excesses, *slack = row.slacks;
  bool may_be_inside = true, near = false;
  inside = true;
  doubt = row.certain == 0;
  for (int k = 0; k < 6; ++k) {
    const double unit = axis_of(spec, k).slides ? spec.chain.length : 1.0;
    inside = inside && excess[k] <= 0.0;
    doubt = doubt || slack[k] > known_branch * unit;
    near = near || absolute(excess[k]) <= slack[k] + near_limit * unit;
    may_be_inside = may_be_inside && excess[k] <= slack[k] + near_limit * unit;
  }
  doubt = doubt || (near && may_be_inside);
}

// every branch of six joints: the answers, whether they are complete, and whether they are settled
AnyTuple list_branches(PreparedSolver& solver, Spec spec, nb::handle reading, nb::handle start, nb::handle targets) {
  const Use use(solver);
  spec.chain.prune = 0;
  Listing listing(solver, spec, reading, start, targets);
  bool complete = true;
  visit_rows(listing.question(spec), 0.0, all_branches, listing.start(), [&](const BranchRow& row) {
    bool inside, doubt;
    judge_branch(spec, row, inside, doubt);
    const bool taken = (inside || doubt) && listing.take(row.joints);
    complete = complete && !doubt && taken == inside;
  });
  return nb::make_tuple(listing.sorted(), complete, listing.settled());
}

// of each arc (branch, low, high) of seven joints the nearest answer and those along it; how many arcs have one, and whether they are settled
AnyTuple list_along(PreparedSolver& solver, const Spec& spec, nb::handle reading, nb::handle start, nb::handle targets,
                    nb::handle arcs, int samples) {
  const Use use(solver);
  const Array given = as_array<double>(arcs, "arcs");
  Listing listing(solver, spec, reading, start, targets);
  const Question question = listing.question(spec);
  AlongArcs along(question, samples, listing.start());
  int served = 0;
  for (npy_intp i = 0; i + 2 < given.size(); i += 3) {
    const double* x = given.data<double>() + i;
    bool any = false;
    for (const ArcPose& pose : along.sample({static_cast<int>(x[0]), x[1], x[2]}))
      any = listing.take(pose.joints, pose.slacks) || any;
    served += any;
  }
  return nb::make_tuple(listing.sorted(), served, listing.settled());
}

// an answer of each branch of seven joints that is inside with the free joint at a value, and whether they are settled
AnyTuple list_at(PreparedSolver& solver, const Spec& spec, nb::handle reading, nb::handle start, nb::handle targets,
                 double value) {
  const Use use(solver);
  Listing listing(solver, spec, reading, start, targets);
  visit_rows(listing.question(spec), value, all_branches, listing.start(),
             [&](const BranchRow& row) { listing.take(row.joints); });
  return nb::make_tuple(listing.sorted(), listing.settled());
}

}  // namespace

void bind_answers(nb::class_<PreparedSolver>& solver) {
  solver
      .def(
          "list_branches", list_branches, nb::arg("form"), nb::arg("reading"), nb::arg("start"), nb::arg("targets"),
          "Return the answers of six joints, the nearest first (k, nq), whether they are complete, and whether a solve "
          "from each ends there.")
      .def("list_along", list_along, nb::arg("form"), nb::arg("reading"), nb::arg("start"), nb::arg("targets"),
           nb::arg("arcs"), nb::arg("samples"),
           "Return the answers of seven joints along arcs, the nearest first (k, nq), how many arcs have one, and "
           "whether a "
           "solve from each ends there.")
      .def("list_at", list_at, nb::arg("form"), nb::arg("reading"), nb::arg("start"), nb::arg("targets"),
           nb::arg("value"),
           "Return (k, nq), an answer of each branch at a value of the free joint, and whether a solve from each ends "
           "there.");
}

}  // namespace poise
