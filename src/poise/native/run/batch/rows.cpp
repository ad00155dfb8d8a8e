// rows.cpp: the way of one row: read, searched again and again, checked in double, written. One row at a time, so it is
// compiled once, for every machine.
#include <limits>

#include "kernels/goals/targets.h"
#include "run/batch/batch.h"
#include "run/ops.h"
#include "run/proofs.h"
#include "run/rounding.h"

namespace poise {
namespace {

constexpr double distinct = 0.1;  // radians, and times L metres: two answers differ if some joint differs by more

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// ---------------------------------------------------------------------------------------------- reading

// the row's targets into the worker's solver; false if one is none
bool read_targets(Worker& worker, std::size_t row) {
  SolverData& own = worker.own;
  for (const TargetRows& given : worker.job.targets) {
    const GoalSpec<double>& goal = own.goals[given.goal];
    double* to = own.targets.data() + goal.target;
    const std::size_t first = row * given.stride;
    bool good = true;
    if (given.raw) {
      const bool last = given.goal + 1 == own.goals.size();
      const int end = last ? static_cast<int>(own.targets.size()) : own.goals[given.goal + 1].target;
      for (int k = 0; k < end - goal.target; ++k) to[k] = static_cast<const double*>(given.data)[first + index(k)];
    } else if (given.single) {
      good = read_target(goal.op, static_cast<const float*>(given.data) + first, to);
    } else {
      good = read_target(goal.op, static_cast<const double*>(given.data) + first, to);
    }
    if (!good) return false;
  }
  return true;
}

// the row's start; false if a number is not finite or a quaternion has no direction
bool read_start(Worker& worker, std::size_t row) {
  SolverData& own = worker.own;
  const double* x = worker.job.starts + row * worker.job.start_stride;
  double sum = 0.0;
  for (int k = 0; k < own.n_q; ++k) {
    own.start[index(k)] = x[k];
    sum += x[k] - x[k];
  }
  if (!(sum == 0.0)) return false;
  for (const Coordinate& c : own.coordinates) {
    if (!c.quaternion) continue;
    double* w = own.start.data() + c.q_index;
    const double n2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + w[3] * w[3];
    if (!(n2 > 1e-12 && n2 < 1e12)) return false;
    quaternion_normalize(w);
  }
  return true;
}

// angles beyond what the packs' own sine serves
bool far_turned(const Worker& worker) {
  const double most = worker.job.q32 ? 500.0 : 5e4;
  for (const Freedom<double>& f : worker.own.freedoms) {
    if (f.q_index >= 0 && f.angular && absolute(worker.own.start[index(f.q_index)]) > most) return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------- writing

void write_pose(BatchJob& job, std::size_t at, const double* q, const double* errors, RowStatus status) {
  const std::size_t n_q = job.solver->best_q.size(), n_e = job.solver->best_errors.size();
  for (std::size_t k = 0; k < n_q; ++k) {
    if (job.q32) {
      job.q32[at * n_q + k] = static_cast<float>(q[k]);
    } else {
      job.q64[at * n_q + k] = q[k];
    }
  }
  for (std::size_t k = 0; k < n_e; ++k) job.errors[at * n_e + k] = errors[k];
  job.status[at] = status;
}

void write_counts(BatchJob& job, std::size_t row, int steps, int searches) {
  job.steps[row] = steps;
  job.searches[row] = searches;
  job.done.fetch_add(1, std::memory_order_relaxed);
}

// what there is no answer for
void write_nothing(Worker& worker, std::size_t at, RowStatus status, const double* q) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  for (double& e : worker.end_errors) e = none;
  for (double& x : worker.end_q) x = none;
  write_pose(worker.job, at, q ? q : worker.end_q.data(), worker.end_errors.data(), status);
}

void write_invalid(Worker& worker, std::size_t row, const double* q) {
  const auto k = static_cast<std::size_t>(worker.job.solutions);
  for (std::size_t i = 0; i < k; ++i) write_nothing(worker, row * k + i, ROW_INVALID, i == 0 ? q : nullptr);
  write_counts(worker.job, row, 0, 0);
}

RowStatus status_of(const SolverData& solver) {
  if (solver.outcome == Outcome::REACHED) return ROW_REACHED;
  if (solver.proved_unreachable) return ROW_UNREACHABLE;
  if (solver.out_of_time) return ROW_OUT_OF_TIME;
  return solver.outcome == Outcome::OUT_OF_STEPS ? ROW_OUT_OF_STEPS : ROW_STALLED;
}

// the solver's answer in the precision that was asked for, inside the ranges still, and judged as it is handed out
void round_answer(SolverData& own) {
  round_pose(own, own.best_q.data());
  const bool good = check_pose(own, own.targets.data(), own.best_q.data(), own.best_errors.data());
  if (own.outcome == Outcome::REACHED && !good) own.outcome = Outcome::STALLED;
}

// the answer that the worker's solver holds
void write_own(Worker& worker, std::size_t row) {
  SolverData& own = worker.own;
  if (worker.job.q32) round_answer(own);
  const auto k = static_cast<std::size_t>(worker.job.solutions);
  write_pose(worker.job, row * k, own.best_q.data(), own.best_errors.data(), status_of(own));
  for (std::size_t i = 1; i < k; ++i) write_nothing(worker, row * k + i, ROW_STALLED, nullptr);
  write_counts(worker.job, row, own.total_steps, own.total_searches);
}

// ---------------------------------------------------------------------------------------------- the end of a row

// the slot's best pose into the worker's solver
void take_slot(Worker& worker, const Slot& slot) {
  SolverData& own = worker.own;
  for (std::size_t k = 0; k < own.targets.size(); ++k) own.targets[k] = slot.targets[k];
  for (std::size_t k = 0; k < own.best_q.size(); ++k) own.best_q[k] = slot.best_q[k];
  for (std::size_t k = 0; k < own.best_errors.size(); ++k) own.best_errors[k] = slot.best_errors[k];
  own.best_cost = slot.best_cost;
  own.best_outside = slot.best_outside;
  own.outcome = slot.outcome;
  own.proved_unreachable = false;
  own.total_steps = slot.steps;
  own.total_searches = slot.searches;
}

// the same, polished where it misses
void polish_slot(Worker& worker, const Slot& slot) {
  take_slot(worker, slot);
  if (slot.outcome != Outcome::REACHED) solver_ops().polish(worker.own);
}

// A pose that should reach, judged in double; where that says no, a few steps in double are tried.
bool verify(Worker& worker, Slot& slot) {
  SolverData& own = worker.own;
  const auto problem = own.problem();
  slot.best_cost = evaluate(problem, slot.best_q, slot.targets, own.state.placements, own.state.rows, slot.best_errors);
  if (within_tolerance(problem, slot.best_errors, 1.0)) return true;
  slot.outcome = Outcome::STALLED;
  polish_slot(worker, slot);
  slot.steps = own.total_steps;
  if (own.outcome != Outcome::REACHED) return false;
  if (worker.job.q32) round_answer(own);
  slot.outcome = own.outcome;
  for (std::size_t k = 0; k < own.best_q.size(); ++k) slot.best_q[k] = own.best_q[k];
  for (std::size_t k = 0; k < own.best_errors.size(); ++k) slot.best_errors[k] = own.best_errors[k];
  return own.outcome == Outcome::REACHED;
}

// ---------------------------------------------------------------------------------------------- several answers

// the longest way of a joint between two poses, radians or metres over L
double distance_between(Worker& worker, const double* a, const double* b) {
  SolverData& own = worker.own;
  double* d = own.state.dq;
  difference(own.coordinates.data(), static_cast<int>(own.coordinates.size()), a, b, d);
  double most = 0.0;
  for (int c = 0; c < own.n_v; ++c) {
    most = maximum(most, absolute(d[c]) / (own.freedoms[index(c)].angular ? 1.0 : own.scale));
  }
  return most;
}

// whether the slot's pose is one of those found before
bool is_known(Worker& worker, const Slot& slot) {
  const int width = worker.own.n_q + static_cast<int>(worker.end_errors.size()) + 1;
  for (int i = 0; i < slot.found; ++i) {
    if (distance_between(worker, slot.solutions + i * width, slot.best_q) <= distinct) return true;
  }
  return false;
}

// keeps the slot's pose in order of its distance from the start; true: there are enough
bool keep_solution(Worker& worker, Slot& slot) {
  const int n_q = worker.own.n_q, n_e = static_cast<int>(worker.end_errors.size()), width = n_q + n_e + 1;
  const double far = distance_between(worker, slot.start, slot.best_q);
  int at = slot.found++;
  for (; at > 0 && slot.solutions[at * width - 1] > far; --at) {
    for (int k = 0; k < width; ++k) slot.solutions[at * width + k] = slot.solutions[(at - 1) * width + k];
  }
  double* to = slot.solutions + at * width;
  for (int k = 0; k < n_q; ++k) to[k] = slot.best_q[k];
  for (int k = 0; k < n_e; ++k) to[n_q + k] = slot.best_errors[k];
  to[width - 1] = far;
  return slot.found == worker.job.solutions;
}

void write_solutions(Worker& worker, const Slot& slot) {
  const int n_q = worker.own.n_q, width = n_q + static_cast<int>(worker.end_errors.size()) + 1;
  const auto k = static_cast<std::size_t>(worker.job.solutions);
  for (int i = 0; i < slot.found; ++i) {
    double* pose = slot.solutions + i * width;
    write_pose(worker.job, slot.row * k + index(i), pose, pose + n_q, ROW_REACHED);
  }
  for (std::size_t i = index(slot.found); i < k; ++i) write_nothing(worker, slot.row * k + i, ROW_STALLED, nullptr);
  write_counts(worker.job, slot.row, slot.steps, slot.searches);
}

// Answers the slot's row by what its closed form lists; false: that is nothing.
bool answer_by_list(Worker& worker, Slot& slot) {
  const SolverData& own = worker.own;
  const ClosedForm<double>& form = own.closed[0];
  std::vector<ListedPose>& listed = worker.listed;
  list_poses(own, slot.targets + own.goals[0].target, slot.start, worker.job.solutions, listed);
  std::size_t kept = 0;  // these are first in the list
  slot.best_outside = 0.0;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (is_listed(own, form, listed.data(), kept, listed[i], distinct)) continue;
    for (std::size_t k = 0; k < own.best_q.size(); ++k) slot.best_q[k] = slot.start[k];
    place_listed(own, form, listed[i], slot.best_q);
    if (worker.job.q32) round_pose(own, slot.best_q);
    const int before = slot.steps;
    ++slot.searches;  // it may be polished, with as many steps as a search has
    if (!verify(worker, slot) || (slot.steps != before && is_known(worker, slot))) continue;
    listed[kept] = listed[i];
    read_joints(form, slot.best_q, listed[kept++].values);
    if (keep_solution(worker, slot)) break;
  }
  if (slot.found > 0) {
    write_solutions(worker, slot);
    return true;
  }
  slot.searches = slot.steps = 0;
  return false;
}

}  // namespace

// ---------------------------------------------------------------------------------------------- the way of a row

Worker::Worker(BatchJob& shared, int lanes) : job(shared), own(*shared.solver) {
  own.watch.asks = job.asks;
  own.watch.caller = &job;
  allot(own);
  // An arm that is proved not to come there has a pose for its row, but no long search for the best of all.
  if (!own.closed.empty()) own.tries = 1;
  if (own.first) {
    first = std::make_unique<SolverData>(*own.first);
    first->watch = own.watch;
    allot(*first);
    own.first = first.get();
  }
  const std::size_t n_q = own.best_q.size(), n_e = own.best_errors.size(), n_t = own.targets.size();
  const std::size_t many = job.solutions > 1 ? index(job.solutions) * (n_q + n_e + 1) : 0;
  const std::size_t each = 3 * n_q + n_e + n_t + many;
  slots.resize(index(lanes));
  memory.assign(each * slots.size(), 0.0);
  end_q.assign(n_q, 0.0);
  end_errors.assign(n_e, 0.0);
  if (job.solutions > 1 && lists_serve(own)) listed.reserve(most_listed(own.closed[0], job.solutions));
  double* next = memory.data();
  const auto take = [&next](std::size_t size) {
    double* at = next;
    next += size;
    return at;
  };
  for (Slot& slot : slots) {
    slot.start = take(n_q);
    slot.q = take(n_q);
    slot.best_q = take(n_q);
    slot.best_errors = take(n_e);
    slot.targets = take(n_t);
    slot.solutions = take(many);
  }
}

bool check_pose(SolverData& own, const double* targets, const double* q, double* errors) {
  const auto problem = own.problem();
  evaluate(problem, q, targets, own.state.placements, own.state.rows, errors);
  return within_tolerance(problem, errors, 1.0) && !(outside_of(problem, own.settings, q) > 0.0);
}

namespace {

// the next row's start and targets in the worker's solver; what cannot be read is written as invalid
bool read_row(Worker& worker, std::size_t& row) {
  // ends: every round takes a row, and there are so many
  while (!worker.job.stop.load(std::memory_order_relaxed)) {
    row = worker.job.next.fetch_add(1, std::memory_order_relaxed);
    if (row >= worker.job.rows) return false;
    if (!read_start(worker, row)) {
      write_invalid(worker, row, nullptr);
    } else if (!read_targets(worker, row)) {
      write_invalid(worker, row, worker.own.start.data());
    } else {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_called_off(Worker& worker) {
  Watch& watch = worker.own.watch;
  if (--watch.patience < 0) {
    watch.patience = 256;
    if (watch.called_off()) worker.job.stop = true;
  }
  return worker.job.stop.load(std::memory_order_relaxed);
}

bool take_row(Worker& worker, Slot& slot) {
  SolverData& own = worker.own;
  // ends: every round takes a row
  while (read_row(worker, slot.row)) {
    const bool far = far_turned(worker);
    if (!far) solver_ops().begin(own);
    // What no pose reaches is searched for the best one, not for the first that does; but of arms there are so many such rows that the
    // best of the first search is taken.
    if (far || (own.proved_unreachable && own.closed.empty())) {
      solver_ops().solve(own);
      write_own(worker, slot.row);
      continue;
    }
    if (worker.job.q32) round_idle(own, own.start.data());
    slot.searches = slot.steps = slot.found = 0;
    for (std::size_t k = 0; k < own.targets.size(); ++k) slot.targets[k] = own.targets[k];
    for (std::size_t k = 0; k < own.start.size(); ++k) slot.start[k] = slot.q[k] = own.start[k];
    if (worker.listed.capacity() > 0 && answer_by_list(worker, slot)) continue;
    return true;
  }
  return false;
}

bool next_search(Worker& worker, Slot& slot, const SearchEnd& end) {
  SolverData& own = worker.own;
  const bool first = slot.searches++ == 0, closer = first || end.outside < slot.best_outside;
  slot.steps += end.steps;
  bool reached = end.reached;
  if (closer || (end.outside == slot.best_outside && (end.reached || end.cost < slot.best_cost))) {
    slot.best_outside = end.outside;
    slot.best_cost = end.cost;
    slot.outcome = end.outcome;
    for (std::size_t k = 0; k < own.best_q.size(); ++k) slot.best_q[k] = end.q[k];
    for (std::size_t k = 0; k < own.best_errors.size(); ++k) slot.best_errors[k] = end.errors[k];
    if (reached && worker.job.q32) reached = verify(worker, slot);
  }
  const bool last = slot.searches >= own.searches;
  const bool enough =
      reached && (worker.job.solutions == 1 || (!is_known(worker, slot) && keep_solution(worker, slot)));
  if (enough || last) {
    if (slot.found > 0) {
      write_solutions(worker, slot);
    } else {
      polish_slot(worker, slot);
      write_own(worker, slot.row);
    }
    return false;
  }
  for (std::size_t k = 0; k < own.start.size(); ++k) own.start[k] = slot.q[k] = slot.start[k];
  own.proved_unreachable = false;  // of another row, perhaps: seeds depend on it
  const bool whole = slot.searches == patience_with(own);
  if (slot.found == 0 && !own.closed.empty() && (whole || slot.searches == 1)) {
    const bool at_once = slot.searches == 1 && decide_at_once(own, slot.targets);
    const Verdict verdict = at_once ? Verdict::PROVED : whole ? decide_goals(own, slot.targets, slot.q) : Verdict::OPEN;
    // what is proved keeps the best pose of the searches: to polish it would take longer than all of them
    if (verdict == Verdict::PROVED) {
      take_slot(worker, slot);
      own.proved_unreachable = true;
      write_own(worker, slot.row);
      return false;
    }
    if (whole) return true;
  }
  solver_ops().seed(own, static_cast<unsigned>(slot.searches), slot.q);
  return true;
}

void run_alone(Worker& worker) {
  std::size_t row = 0;
  // ends: every round takes a row
  while (read_row(worker, row)) {
    solver_ops().solve(worker.own);
    write_own(worker, row);
  }
}

}  // namespace poise
