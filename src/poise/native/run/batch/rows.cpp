// rows.cpp: the processing of one row: read, search repeatedly, check in double, write. It handles one row at a time,
// so it is compiled once, for every machine.
#include <algorithm>
#include <limits>

#include "kernels/goals/targets.h"
#include "run/batch/rows.h"
#include "run/ops.h"
#include "run/proofs.h"
#include "run/rounding.h"

namespace poise {

// ---------------------------------------------------------------------------------------------- reading

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

bool read_places(Worker& worker, std::size_t row) {
  for (const PlaceRows& place : worker.job.places) {
    const double* T = place.data + row * place.stride;
    double sum = 0.0;
    for (int k = 0; k < 16; ++k) sum += T[k] - T[k];
    if (!(sum == 0.0)) return false;
    move_region(worker.own.surfaces[place.surfaces], worker.own.numbers, place.region, T);
  }
  return true;
}

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

bool far_turned(const Worker& worker) {
  constexpr double most = 5e4;
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

void write_nothing(BatchJob& job, std::size_t at, std::size_t count, RowStatus status) {
  const std::size_t n_q = job.solver->best_q.size(), n_e = job.solver->best_errors.size();
  if (job.q32) {
    std::fill_n(job.q32 + at * n_q, count * n_q, std::numeric_limits<float>::quiet_NaN());
  } else {
    std::fill_n(job.q64 + at * n_q, count * n_q, std::numeric_limits<double>::quiet_NaN());
  }
  std::fill_n(job.errors + at * n_e, count * n_e, std::numeric_limits<double>::quiet_NaN());
  std::fill_n(job.status + at, count, status);
}

namespace {

RowStatus status_of(const SolverData& solver) {
  if (solver.outcome == Outcome::REACHED) return ROW_REACHED;
  if (solver.proved_unreachable) return ROW_UNREACHABLE;
  if (solver.colliding > 0) return ROW_IN_COLLISION;
  if (solver.out_of_time) return ROW_OUT_OF_TIME;
  return solver.outcome == Outcome::OUT_OF_STEPS ? ROW_OUT_OF_STEPS : ROW_STALLED;
}

// the solver's answer in the requested precision, still inside the ranges, and checked as returned
void round_answer(SolverData& own) {
  round_pose(own, own.best_q.data());
  const bool good = check_pose(own, own.targets.data(), own.best_q.data(), own.best_errors.data()) &&
                    (own.surfaces.empty() || solver_ops().keeps_limits(own, own.best_q.data()));
  if (own.outcome == Outcome::REACHED && !good) own.outcome = Outcome::STALLED;
}

}  // namespace

void write_own(Worker& worker, std::size_t row) {
  SolverData& own = worker.own;
  if (worker.job.q32) round_answer(own);
  const auto k = static_cast<std::size_t>(worker.job.solutions);
  write_pose(worker.job, row * k, own.best_q.data(), own.best_errors.data(), status_of(own));
  write_nothing(worker.job, row * k + 1, k - 1, ROW_STALLED);
  write_counts(worker.job, row, own.total_steps, own.total_searches);
}

namespace {

// ---------------------------------------------------------------------------------------------- the end of a row

// copies the slot's best pose to the worker's solver
void take_slot(Worker& worker, const Slot& slot) {
  SolverData& own = worker.own;
  for (std::size_t k = 0; k < own.targets.size(); ++k) own.targets[k] = slot.targets[k];
  for (std::size_t k = 0; k < own.best_q.size(); ++k) own.best_q[k] = slot.best_q[k];
  for (std::size_t k = 0; k < own.best_errors.size(); ++k) own.best_errors[k] = slot.best_errors[k];
  own.best_cost = slot.best_cost;
  own.best_outside = slot.best_outside;
  own.outcome = slot.outcome;
  own.proved_unreachable = own.out_of_time = false;
  own.total_steps = slot.steps;
  own.total_searches = slot.searches;
}

// the same, refined if it misses
void polish_slot(Worker& worker, const Slot& slot) {
  take_slot(worker, slot);
  if (slot.outcome != Outcome::REACHED) solver_ops().polish(worker.own);
}

// Solves a row that lanes have missed with the single solver, which searches the whole region of tolerance, not only
// its centre.
void search_alone(Worker& worker, const Slot& slot) {
  std::copy_n(slot.start, worker.own.start.size(), worker.own.start.begin());
  std::copy_n(slot.targets, worker.own.targets.size(), worker.own.targets.begin());
  solver_ops().solve(worker.own);
  worker.own.total_steps += slot.steps;
  worker.own.total_searches += slot.searches;
  write_own(worker, slot.row);
}

// Ends a row's search without its limits: the end is the answer if it keeps them, otherwise the single solver answers.
void end_limited(Worker& worker, Slot& slot, const SearchEnd& end) {
  SolverData& own = worker.own;
  const double* errors = own.strict_state.there.errors;
  double* q = worker.end_q.data();
  if (worker.job.q32) round_pose(own, q);
  for (std::size_t k = 0; k < own.targets.size(); ++k) own.targets[k] = slot.targets[k];
  read_places(worker, slot.row);
  slot.steps = end.steps;
  slot.searches = 1;
  const bool kept = end.reached && solver_ops().keeps_limits(own, q);  // also fills `errors`
  const bool reached = end.reached && within_tolerance(own.problem(), errors, 1.0) &&
                       !(outside_of(own.problem(), own.settings, q) > 0.0);
  if (!kept || !reached) {
    own.searched = reached || !end.reached;  // unless rounding has moved the end out of tolerance
    own.known_end = reached ? q : nullptr;
    search_alone(worker, slot);
    own.searched = false;
    return;
  }
  write_pose(worker.job, slot.row, q, errors, ROW_REACHED);
  write_counts(worker.job, slot.row, slot.steps, slot.searches);
}

}  // namespace

bool verify(Worker& worker, Slot& slot) {
  SolverData& own = worker.own;
  if (worker.job.q32) round_pose(own, slot.best_q);
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

// ---------------------------------------------------------------------------------------------- the way of a row

Worker::Worker(BatchJob& shared, int lanes) : job(shared), own(*shared.solver) {
  own.watch.asks = job.asks;
  own.watch.caller = &job;
  allot(own);
  // An arm that provably cannot reach gets a pose for its row, but no long search for the best one.
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
  const bool lists = job.solutions > 1 ? lists_serve(own) && own.posture_gain.empty()
                                       : own.branches && own.branches->exact && !own.strict;
  if (lists) allot_lists(*this);
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

bool read_given(Worker& worker, std::size_t row) {
  const bool started = read_start(worker, row);
  if (started && read_targets(worker, row) && read_places(worker, row)) return true;
  const std::size_t k = index(worker.job.solutions);
  write_nothing(worker.job, row * k, k, ROW_INVALID);
  for (double& e : worker.end_errors) e = std::numeric_limits<double>::quiet_NaN();
  if (started) write_pose(worker.job, row * k, worker.own.start.data(), worker.end_errors.data(), ROW_INVALID);
  write_counts(worker.job, row, 0, 0);
  return false;
}

namespace {

// reads the next row's start and targets into the worker's solver; an invalid row is written as such
bool read_row(Worker& worker, std::size_t& row) {
  // ends: every round takes a row, and there are so many
  while (!worker.job.stop.load(std::memory_order_relaxed)) {
    row = worker.job.next.fetch_add(1, std::memory_order_relaxed);
    if (row >= worker.job.rows) return false;
    if (read_given(worker, row)) return true;
  }
  return false;
}

// the next row that its closed form does not answer
bool read_unlisted(Worker& worker, Slot& slot) {
  ListBlock& lists = worker.lists;
  // ends: every round takes some rows
  while (lists.next_left == lists.left.size()) {
    if (worker.job.stop.load(std::memory_order_relaxed) || !answer_block(worker, slot)) return false;
  }
  slot.row = lists.left[lists.next_left++];
  return read_given(worker, slot.row);
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

// Whether the first search of a row begins at a branch of the family that its chain is nearly in.
static bool begins_at_guess(const Worker& worker) {
  return worker.job.solutions == 1 && worker.own.branches && !worker.own.branches->exact && !worker.own.strict;
}

bool take_row(Worker& worker, Slot& slot) {
  SolverData& own = worker.own;
  // ends: every round takes a row
  while (worker.lists.serve ? read_unlisted(worker, slot) : read_row(worker, slot.row)) {
    const bool far = far_turned(worker);
    if (!far) solver_ops().begin(own);
    // A row without a reaching pose is searched for the best pose, not for the first that reaches. Arms have so many
    // such rows that the best pose of the first search is used.
    if (far || (own.proved_unreachable && (own.strict || own.closed.empty()))) {
      solver_ops().solve(own);
      write_own(worker, slot.row);
      continue;
    }
    slot.searches = slot.steps = slot.found = 0;
    for (std::size_t k = 0; k < own.targets.size(); ++k) slot.targets[k] = own.targets[k];
    for (std::size_t k = 0; k < own.start.size(); ++k) slot.start[k] = slot.q[k] = own.start[k];
    if (begins_at_guess(worker) && !check_pose(own, own.targets.data(), slot.q, slot.best_errors)) {
      solver_ops().place_nearest(own, slot.q);
    }
    return true;
  }
  return false;
}

bool next_search(Worker& worker, Slot& slot, const SearchEnd& end) {
  SolverData& own = worker.own;
  if (own.strict) {
    end_limited(worker, slot, end);
    return false;
  }
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
  const double far = reached && worker.job.solutions > 1 ? distance_between(worker, slot.start, slot.best_q) : 0.0;
  const bool enough =
      reached && (worker.job.solutions == 1 || (!is_known(worker, slot, far) && keep_solution(worker, slot, far)));
  if (enough || last) {
    if (slot.found > 0) {
      write_solutions(worker, slot);
    } else if (own.loose && !reached) {
      search_alone(worker, slot);
    } else {
      polish_slot(worker, slot);
      write_own(worker, slot.row);
    }
    return false;
  }
  for (std::size_t k = 0; k < own.start.size(); ++k) own.start[k] = slot.q[k] = slot.start[k];
  own.proved_unreachable = false;  // possibly of another row: seeds depend on it
  if (slot.searches == 1 && begins_at_guess(worker)) return true;
  const bool whole = slot.searches == patience_with(own);
  if (slot.found == 0 && !own.closed.empty() && (whole || slot.searches == 1)) {
    const bool at_once = slot.searches == 1 && decide_at_once(own, slot.targets);
    const Verdict verdict = at_once ? Verdict::PROVED : whole ? decide_goals(own, slot.targets, slot.q) : Verdict::OPEN;
    // a proved row keeps the best pose of the searches: refining it would take longer than all of them
    if (verdict == Verdict::PROVED) {
      take_slot(worker, slot);
      own.proved_unreachable = true;
      write_own(worker, slot.row);
      return false;
    }
    if (whole) return true;
  }
  if (own.loose && worker.job.solutions == 1) {
    search_alone(worker, slot);
    return false;
  }
  solver_ops().seed(own, static_cast<unsigned>(slot.searches), slot.q);
  return true;
}

void run_alone(Worker& worker) {
  Slot& slot = worker.slots[0];
  // ends: every round takes a row
  while (worker.lists.serve ? read_unlisted(worker, slot) : read_row(worker, slot.row)) {
    solver_ops().solve(worker.own);
    write_own(worker, slot.row);
  }
}

}  // namespace poise
