// answers.cpp: every pose of a transform, found by the closed form, refined by the solver's own search, and sorted.
#define NO_IMPORT_ARRAY
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bind/bindings.h"
#include "bind/family.h"
#include "bind/listing.h"
#include "run/alike.h"
#include "run/ops.h"

namespace poise {
namespace {

using Spec = FamilySpec<double>;
using Question = FamilyQuestion<double>;

constexpr int most_phases = 64;

// The chain's joints in q: v = gain q + bias, and the weight of a unit of v in the distance between poses.
struct ChainReading {
  std::vector<std::size_t> q;
  std::vector<double> gain, bias, scale;
};

// Poses, the nearest first (k, nq). complete: every branch or arc has one for certain; settled: a solve from each ends there.
struct PoseList {
  NumpyArray q;
  bool complete, settled;
};

constexpr int most_axes = 16;

// The axes of a chain, with their ranges, and its length.
struct ListedAxes {
  int count = 0;
  FamilyAxis<double> axis[most_axes];
  double length = 1.0;
};

ListedAxes axes_of(const Spec& spec) {
  ListedAxes out;
  out.count = spec.free_joint == FREE_NONE ? 6 : 7;
  for (int k = 0; k < out.count; ++k) out.axis[k] = axis_of(spec, k);
  out.length = spec.chain.length;
  return out;
}

// One query: the solver that checks the poses, and the start. While it exists, the goals' tolerances are nearly zero.
class Listing {
 public:
  Listing(PreparedSolver& solver, const ListedAxes& axes, const ChainReading& reading, nb::handle start,
          nb::handle targets)
      : data_(solver.data), axes_(axes), reading_(reading), joints_(axes.count) {
    for (std::size_t size : {reading.q.size(), reading.gain.size(), reading.bias.size(), reading.scale.size()})
      if (static_cast<int>(size) != joints_) refuse("ShapeMismatch", "reading must have a number for each joint.");
    read_start(solver, start);
    take_numbers(solver, as_array<double>(targets, "targets"));
    base_ = data_.start;
    for (int k = 0; k < joints_; ++k) values_[k] = gain(k) * base_[place(k)] + bias(k);
    for (auto& goal : data_.goals) {
      for (int i = 0; i < 2; ++i) {
        tolerated_.push_back(goal.tolerance[i]);
        goal.tolerance[i] = minimum(goal.tolerance[i], wanted_pose * unit(i == 0));
      }
    }
  }
  ~Listing() {
    for (std::size_t i = 0; i < tolerated_.size(); ++i) data_.goals[i / 2].tolerance[i % 2] = tolerated_[i];
  }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  ListStart start() const { return {values_, reading_.scale.data()}; }
  // Whether a solve from any of the answers ends there and reaches the goal: the search from each answer does,
  // and every joint outside the chain is inside its range.
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

  // Whether searches may come from far: then only exact poses are answers, and of singular ones one.
  void guess(bool guessed) {
    guessed_ = guessed;
    same_ = guessed ? same_guess : same_pose;
  }

  // Adds a pose of the chain's joints if it is an answer; otherwise returns false. `slacks`: uncertainty of each joint.
  bool take(const double* joints, const double* slacks = nullptr) {
    place_start(joints);
    if (!search(slacks)) return false;
    add();
    return true;
  }

  // Adds the poses of arcs that are answers; returns whether every arc has one. Most need no search, which one look at
  // all of them tells.
  bool take_arcs(std::vector<AlongArc>& arcs) {
    const auto n = static_cast<std::size_t>(data_.n_q);
    std::vector<double> poses, errors;
    for (AlongArc& arc : arcs) {
      for (const ArcPose& pose : arc.poses()) {
        place_start(pose.joints);
        poses.insert(poses.end(), data_.start.begin(), data_.start.end());
      }
    }
    errors.resize(2 * (poses.size() / n));
    list_ops().judge(data_, data_.targets.data() + data_.goals[0].target, 0, poses.data(),
                     static_cast<int>(poses.size() / n), scratch_, errors.data());
    bool complete = true;
    const double *q = poses.data(), *own = errors.data();
    for (AlongArc& arc : arcs) {
      bool any = false;
      for (const ArcPose& pose : arc.poses()) {
        any = take_judged(q, own, pose.slacks) || any;
        q += n;
        own += 2;
      }
      complete = complete && any;
    }
    return complete;
  }

  // the answers without duplicates
  PoseList sorted(bool complete) {
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
    return {out.release(), complete, settled()};
  }

 private:
  struct Found {
    double way;
    int at;
  };

  // moves data.start to a pose of the chain's joints, inside their ranges
  void place_start(const double* joints) {
    std::copy(base_.begin(), base_.end(), data_.start.begin());
    for (int k = 0; k < joints_; ++k) {
      const FamilyAxis<double>& axis = axes_.axis[k];
      const double v = minimum(maximum(joints[k], axis.middle - axis.half), axis.middle + axis.half);
      data_.start[place(k)] = (v - bias(k)) / gain(k);
    }
    for (const Freedom<double>& f : data_.freedoms) {  // to the last bit
      if (f.q_index < 0) continue;
      double& x = data_.start[static_cast<std::size_t>(f.q_index)];
      x = minimum(maximum(x, f.lower), f.upper);
    }
  }
  void add() {
    found_.push_back({way_of(found_q_.data()), static_cast<int>(found_.size())});
    all_.insert(all_.end(), found_q_.begin(), found_q_.end());
  }
  // takes a pose with known errors, and searches from there unless it is an answer itself
  bool take_judged(const double* q, const double* errors, const double* slacks) {
    const auto problem = data_.problem();
    if (within_tolerance(problem, errors, 1.0) && !(outside_of(problem, data_.settings, q) > 0.0)) {
      found_q_.assign(q, q + data_.n_q);
    } else {
      std::copy_n(q, data_.n_q, data_.start.begin());
      if (!search(slacks)) return false;
    }
    add();
    return true;
  }

  double unit(bool length) const { return length ? axes_.length : 1.0; }
  std::size_t place(int k) const { return reading_.q[static_cast<std::size_t>(k)]; }
  double gain(int k) const { return reading_.gain[static_cast<std::size_t>(k)]; }
  double bias(int k) const { return reading_.bias[static_cast<std::size_t>(k)]; }
  double scale(int k) const { return reading_.scale[static_cast<std::size_t>(k)]; }

  // Runs the solver's search from data.start; found_q_ is its best pose. False if it fails or ends too far away.
  bool search(const double* slacks) {
    solver_ops().restart(data_);
    const std::size_t count = tolerated_.size();
    double best = -1.0;
    errors_.resize(count);
    for (int i = 0; i < most_phases && data_.state.phase != Phase::DONE; ++i) {
      solver_ops().advance(data_);
      const double* e = data_.state.errors;
      const double left = *std::max_element(e, e + count);
      if (data_.state.phase == Phase::PROPOSED || !(best < 0.0 || left < best)) continue;
      best = left;
      std::copy(e, e + count, errors_.begin());
      found_q_.assign(data_.state.q, data_.state.q + data_.n_q);
    }
    bool near = best >= 0.0;
    for (int k = 0; k < joints_ && near; ++k) {
      const double by = absolute(gain(k) * (found_q_[place(k)] - data_.start[place(k)]));
      const double own = slacks == nullptr ? 0.0 : 2.0 * slacks[k];  // it may have begun at one end and be at the other
      near = by < own + known_branch * unit(axes_.axis[k].slides != 0);
    }
    for (std::size_t i = 0; i < count && near; ++i) {
      near = errors_[i] <= maximum(guessed_ ? 0.0 : tolerated_[i], exact_pose * unit(i % 2 == 0));
    }
    settled_ = settled_ && (!near || data_.state.best_reached);
    return near;
  }

  double way_of(const double* q) const {
    double way = 0.0;
    for (int k = 0; k < joints_; ++k) {
      const double v = gain(k) * q[place(k)] + bias(k);
      way = maximum(way, absolute(v - values_[k]) * scale(k));
    }
    return way;
  }

  // the largest difference in distance between two poses that count as the same
  double alike_ways() const {
    double most = 0.0;
    for (int k = 0; k < joints_; ++k) {
      most = maximum(most, unit(axes_.axis[k].slides != 0) * scale(k));
    }
    return same_ * most;
  }

  bool are_one(int a, int b) const {
    const double *x = all_.data() + a * data_.n_q, *y = all_.data() + b * data_.n_q;
    return are_alike(
        joints_, same_, [&](int k) { return gain(k) * (x[place(k)] - y[place(k)]); },
        [&](int k) { return unit(axes_.axis[k].slides != 0); });
  }

  SolverData& data_;
  const ListedAxes axes_;
  const ChainReading& reading_;
  int joints_;
  std::vector<double> base_, found_q_, all_, tolerated_, errors_;
  std::vector<Found> found_;
  double values_[most_axes] = {};
  bool settled_ = true, guessed_ = false;
  double same_ = same_pose;
  Scratch scratch_;
};

// Whether a branch of six joints is inside the ranges, and whether that, or the branch itself, is uncertain.
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

// every branch of six joints
PoseList list_branches(PreparedSolver& solver, Spec spec, const ChainReading& reading, nb::handle start,
                       nb::handle targets) {
  const Use use(solver);
  spec.chain.prune = 0;
  Listing listing(solver, axes_of(spec), reading, start, targets);
  bool complete = true;
  visit_rows(listing.question(spec), 0.0, all_branches, listing.start(), [&](const BranchRow& row) {
    bool inside, doubt;
    judge_branch(spec, row, inside, doubt);
    const bool taken = (inside || doubt) && listing.take(row.joints);
    complete = complete && !doubt && taken == inside;
  });
  return listing.sorted(complete);
}

// the nearest answer of each arc of seven joints, and those along it
PoseList list_along(PreparedSolver& solver, const Spec& spec, const ChainReading& reading, nb::handle start,
                    nb::handle targets, const ArcList& arcs, int samples) {
  const Use use(solver);
  Listing listing(solver, axes_of(spec), reading, start, targets);
  const Question question = listing.question(spec);
  std::vector<AlongArc> along = sample_arcs(question, arcs.arcs, samples, listing.start());
  return listing.sorted(listing.take_arcs(along));
}

// an answer of each branch of seven joints that is inside with the free joint at a value
PoseList list_at(PreparedSolver& solver, const Spec& spec, const ChainReading& reading, nb::handle start,
                 nb::handle targets, double value) {
  const Use use(solver);
  Listing listing(solver, axes_of(spec), reading, start, targets);
  bool complete = true;
  visit_rows(listing.question(spec), value, all_branches, listing.start(),
             [&](const BranchRow& row) { complete = listing.take(row.joints) && complete; });
  return listing.sorted(complete);
}

// The answers among given poses of the joints, (k, joints). Guesses may move far. `complete`: whether no pose is lacking.
PoseList list_given(PreparedSolver& solver, const ListedAxes& axes, const ChainReading& reading, nb::handle start,
                    nb::handle targets, nb::handle poses, bool guessed, bool complete) {
  const Use use(solver);
  const Array given = as_array<double>(poses, "poses");
  if (given.size() % axes.count) refuse("ShapeMismatch", "poses must have a number for each joint.");
  Listing listing(solver, axes, reading, start, targets);
  listing.guess(guessed);
  double joints[most_axes], slacks[most_axes];
  for (int k = 0; k < axes.count; ++k) slacks[k] = guessed ? one_pi * (axes.axis[k].slides ? axes.length : 1.0) : 0.0;
  for (const double *row = given.data<double>(), *end = row + given.size(); row != end; row += axes.count) {
    bool inside = true;
    for (int k = 0; k < axes.count; ++k) {
      const FamilyAxis<double>& axis = axes.axis[k];
      const double excess = absolute(turns_off(axis, row[k])) - axis.half, unit = axis.slides ? axes.length : 1.0;
      inside = inside && (guessed || excess <= at_limit * unit);
      complete = complete && absolute(excess) > at_limit * unit;
      joints[k] = bring_near(axis, row[k], listing.start().values[k]);
    }
    if (inside) complete = listing.take(joints, slacks) && complete;
  }
  return listing.sorted(complete);
}

}  // namespace

void bind_answers(nb::module_& m, nb::class_<PreparedSolver>& solver) {
  const auto make = [](ChainReading* self, std::vector<std::size_t> q, std::vector<double> gain,
                       std::vector<double> bias, std::vector<double> scale) {
    new (self) ChainReading{std::move(q), std::move(gain), std::move(bias), std::move(scale)};
  };
  nb::class_<ChainReading>(m, "ChainReading", "The joints of a chain in q, each with the value gain q + bias.")
      .def("__init__", make, nb::kw_only(), nb::arg("q"), nb::arg("gain"), nb::arg("bias"), nb::arg("scale"))
      .def_ro("scale", &ChainReading::scale, "The weight of a unit of each value in the distance between poses.");
  const auto make_axes = [](ListedAxes* self, const nb::typed<nb::list, nb::any>& axes, double length) {
    if (axes.size() < 1 || axes.size() > most_axes) refuse("ShapeMismatch", "a chain has one to sixteen axes.");
    new (self) ListedAxes();
    for (nb::handle axis : axes) read_axis(axis, self->axis[self->count++]);
    self->length = length;
  };
  nb::class_<ListedAxes>(m, "ListedAxes", "The axes of a chain, and its length.")
      .def("__init__", make_axes, nb::arg("axes"), nb::arg("length"));
  nb::class_<PoseList>(m, "PoseList", "The answers of a transform.")
      .def_ro("q", &PoseList::q, "(k, nq), the nearest first.")
      .def_ro("complete", &PoseList::complete, "Whether every branch or arc certainly has an answer here.")
      .def_ro("settled", &PoseList::settled, "Whether a solve from each ends there.");
  solver
      .def("list_branches", list_branches, nb::arg("form"), nb::arg("reading"), nb::arg("start"), nb::arg("targets"),
           "Return the answers of six joints.")
      .def("list_along", list_along, nb::arg("form"), nb::arg("reading"), nb::arg("start"), nb::arg("targets"),
           nb::arg("arcs"), nb::arg("samples"), "Return the answers of seven joints along arcs.")
      .def("list_at", list_at, nb::arg("form"), nb::arg("reading"), nb::arg("start"), nb::arg("targets"),
           nb::arg("value"), "Return an answer of each branch at a value of the free joint.")
      .def("list_given", list_given, nb::arg("axes"), nb::arg("reading"), nb::arg("start"), nb::arg("targets"),
           nb::arg("poses"), nb::arg("guessed"), nb::arg("complete"), "Return the answers among poses of the joints.");
}

}  // namespace poise
