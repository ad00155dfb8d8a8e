// search.h: initialisation of a call, and one search: its steps, its end, and the best end so far. Part of solve.cpp.
#pragma once
#include "kernels/methods/sweeps.h"
#include "run/polish.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// The posture is inactive until the goals are reached. It then moves the body in the remaining freedom, one step at a
// time; if such a step violates the goals, the next ones restore them without the posture. So it never affects whether
// a search succeeds, and the result is the best posture among the poses that reach.
Posture<S> wish_of(const SolverData& solver) {
  return solver.state.at_goal ? solver.posture() : Posture<S>{nullptr, nullptr};
}

// The derivative of the Jacobian of custom goals along the damped step d with which Halley's rule begins, by
// differences of their columns: (J(q + e d) - J(q - e d)) / 2 e.
void bend_custom_rows(SolverData& solver) {
  SearchState<S>& state = solver.state;
  const auto problem = solver.problem();
  const int size = problem.n_rows * problem.n_v;
  S *ahead = solver.bend.data(), *behind = ahead + size, *q = behind + size;
  Settings<S> first = solver.settings;
  first.method = METHOD_DLS;
  first.damping = square_root(damping_of_step(solver.settings, state.cost));
  propose(problem, first, wish_of(solver), solver.targets.data(), state);
  S largest = 0.0;
  for (int c = 0; c < problem.n_v; ++c) largest = maximum(largest, absolute(state.dq[c]));
  state.bend = largest > 0.0 ? ahead : nullptr;
  if (!state.bend) return;
  const S share = 1e-4 / largest;
  for (S* columns : {ahead, behind}) {
    const S sign = columns == ahead ? share : -share;
    for (int c = 0; c < problem.n_v; ++c) state.dq[c] *= sign;
    copy_configuration(problem, state.q, q);
    take_step(problem, state.q, state.dq, false, q);
    solver.custom_columns(q, columns, static_cast<int>(solver.goals.size()));
    for (int c = 0; c < problem.n_v; ++c) state.dq[c] /= sign;
  }
  for (int k = 0; k < size; ++k) ahead[k] = (ahead[k] - behind[k]) / (2.0 * share);
}

void advance(SolverData& solver) {
  const auto problem = solver.problem();
  SearchState<S>& state = solver.state;
  switch (state.phase) {
    case Phase::FRESH:
      look(solver);
      note(solver);
      judge(problem, solver.settings, solver.posture(), state);
      return;
    case Phase::EVALUATED:
      if (is_sweep(solver.settings.method)) {
        const bool moved = sweep(problem, solver.settings, solver.targets.data(), state);
        if (!moved) state.outcome = Outcome::STALLED;
        state.phase = moved ? Phase::PROPOSED : Phase::DONE;
        return;
      }
      assemble_all(solver);
      if (!solver.bend.empty()) bend_custom_rows(solver);
      propose(problem, solver.settings, wish_of(solver), solver.targets.data(), state);
      nudge_if_stuck(problem, solver.settings, state);
      state.phase = Phase::PROPOSED;
      return;
    case Phase::PROPOSED:
      copy_configuration(problem, state.q, state.trial_q);
      step_to(solver, state.trial_q, state.q);
      ++state.steps;
      look(solver);
      note(solver);
      judge(problem, solver.settings, solver.posture(), state);
      return;
    case Phase::DONE:
      return;
  }
}

void restart(SolverData& solver) {
  copy_configuration(solver.problem(), solver.start.data(), solver.state.q);
  move_as_forced(solver, 1.0, solver.state.q);
  begin_search(solver.problem(), solver.state);
}

// a joint outside its range only by rounding is set to the end of it
void round_start(SolverData& solver) {
  if (solver.settings.limits == LIMITS_OFF) return;
  for (const Freedom<S>& f : solver.freedoms) {
    if (f.q_index < 0) continue;
    double& x = solver.start[static_cast<std::size_t>(f.q_index)];
    const double inside = minimum(maximum(x, f.lower), f.upper);
    if (absolute(x - inside) < 1e-15 * (absolute(x) + (f.angular ? 1.0 : solver.scale))) x = inside;
  }
}

// joints that no goal depends on, moved back into their ranges as far as one call may move them
void bring_back_idle(SolverData& solver, bool tethered) {
  if (solver.settings.limits == LIMITS_OFF) return;
  for (std::size_t k = 0; k < solver.idle.size(); ++k) {
    const Freedom<S>& f = solver.idle[k];
    double& x = solver.start[static_cast<std::size_t>(f.q_index)];
    const double inside = minimum(maximum(x, f.lower), f.upper);
    if (inside == x) continue;
    double most = tethered ? solver.span * (f.angular ? 1.0 : solver.scale) : 1e300, least = -most;
    if (!solver.window.empty()) {
      const auto v = static_cast<std::size_t>(solver.idle_velocities[k]);
      least = solver.window[2 * v] * (1.0 - 1e-12);
      most = solver.window[2 * v + 1] * (1.0 - 1e-12);
    }
    x = minimum(maximum(inside, x + least), x + most);
  }
}

// initialises one call
void begin(SolverData& solver) {
  solver.total_steps = 0;
  solver.total_searches = 0;
  solver.history.clear();
  solver.out_of_time = false;
  solver.colliding = 0;
  solver.nearly_clear = false;
  solver.bounds_used = solver.early_bounds;
  solver.proved_unreachable = proved_unreachable(solver, static_cast<int>(solver.goals.size()));
  const bool tethered = solver.mode == Mode::CONTINUOUS;
  round_start(solver);
  bring_back_idle(solver, tethered);
  solver.state.origin = tethered ? solver.start.data() : nullptr;
  solver.state.work.held = tethered ? solver.held.data() : nullptr;  // elsewhere other searches succeed
  solver.state.span = solver.span;
  solver.state.window = nullptr;
  if (solver.window.empty()) return;
  for (std::size_t c = 0; c < solver.velocities.size(); ++c) {
    const auto v = static_cast<std::size_t>(solver.velocities[c]);
    solver.own_window[2 * c] = solver.window[2 * v];
    solver.own_window[2 * c + 1] = solver.window[2 * v + 1];
  }
  solver.state.window = solver.own_window.data();
}

// runs the current search; true if time ran out
bool run(SolverData& solver, Clock::time_point begun) {
  // ends: a search is done after max_steps steps, of two phases each
  while (solver.state.phase != Phase::DONE) {
    advance(solver);
    if (solver.state.phase == Phase::EVALUATED && late(solver, begun)) return true;
  }
  return false;
}

// the best of all searches so far
void keep(SolverData& solver, bool first) {
  const SearchState<S>& state = solver.state;
  solver.total_steps += state.steps;
  const bool closer = first || state.best_outside < solver.best_outside;
  const bool better = closer || (state.best_outside == solver.best_outside &&
                                 (state.best_reached || state.best_cost < solver.best_cost));
  if (!better) return;
  solver.best_outside = state.best_outside;
  solver.winner = solver.total_searches;
  solver.best_cost = state.best_cost;
  for (std::size_t k = 0; k < solver.best_q.size(); ++k) solver.best_q[k] = state.best_q[k];
  for (std::size_t k = 0; k < solver.best_errors.size(); ++k) solver.best_errors[k] = state.best_errors[k];
  solver.outcome = state.best_reached ? Outcome::REACHED : state.outcome;
}

// One search from state.q; its end is kept if it is the best so far. A relaxed search aims at the region of the
// tolerances; a miss is compared with other ends by its usual cost.
void search_once(SolverData& solver, bool relaxed, Clock::time_point begun) {
  SearchState<S>& s = solver.state;
  const bool first = ++solver.total_searches == 1;
  if (relaxed) relax(solver, 0, static_cast<int>(solver.goals.size()));
  solver.out_of_time = run(solver, begun);
  if (relaxed) {
    relax(solver, 0, 0);
    copy_configuration(solver.problem(), s.best_q, s.q);
    look(solver);
    s.best_cost = s.cost;
  }
  keep(solver, first);
}

// ---------------------------------------------------------------------------------------------- the end of a miss

constexpr int most_doubts = 3;  // rounds of refining a miss and searching on from there
constexpr S no_nearer = 1e-6;   // relative to the cost: a search that gains less has not come nearer

// Searches on from a stalled pose, with nudges that leave saddles, in the steps that are left. True if that comes no
// nearer, or the steps ran out; otherwise the better end is taken.
bool ends_here(SolverData& solver, Clock::time_point begun) {
  const int searches = solver.total_searches, winner = solver.winner, max_steps = solver.settings.max_steps;
  const bool record = solver.record;
  const S before = solver.best_cost;
  const long long left = 1LL * max_steps * searches - solver.total_steps;
  solver.settings.max_steps = static_cast<int>(std::clamp<long long>(left, 0, max_steps));
  solver.record = false;
  copy_configuration(solver.problem(), solver.best_q.data(), solver.state.q);
  begin_search(solver.problem(), solver.state);
  search_once(solver, solver.loose, begun);
  solver.settings.max_steps = max_steps;
  solver.total_searches = searches;
  solver.winner = winner;
  solver.record = record;
  if (solver.outcome != Outcome::REACHED) solver.outcome = solver.state.outcome;
  return solver.outcome != Outcome::STALLED || !(solver.best_cost < before * (1.0 - no_nearer));
}

// Refines a miss to its minimum. It has stalled if a further search from there comes no nearer.
void finish_miss(SolverData& solver, Clock::time_point begun) {
  for (int round = 0; round < most_doubts; ++round) {
    polish(solver, begun);
    polish_within(solver, begun);
    const bool doubtful = solver.outcome == Outcome::STALLED && solver.mode != Mode::CONTINUOUS;
    if (!doubtful || solver.proved_unreachable || late(solver, begun) || ends_here(solver, begun)) return;
  }
  solver.outcome = Outcome::OUT_OF_STEPS;
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
