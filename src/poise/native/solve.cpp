// solve.cpp: from a start to the best pose: searches, restarts, polish. Compiled once per instruction level.
#include "kernels/sweeps.h"
#include "ops.h"
#include "strict.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// ---------------------------------------------------------------------------------------------- one search

// The posture waits until the goals are reached, then moves the body in what they leave free, a step at a time: where such a step
// leads off the goals, the next ones bring it back without the posture. So it can never cost them a search, and what is kept is the
// best posture among the poses that reach.
Posture<S> wish_of(const SolverData& solver) {
  return solver.state.at_goal ? solver.posture() : Posture<S>{nullptr, nullptr};
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

// ---------------------------------------------------------------------------------------------- the whole solve

// runs the search that has begun; true if time ran out
bool run(SolverData& solver, Clock::time_point begun) {
  while (solver.state.phase != Phase::DONE) {
    advance(solver);
    if (solver.time_limit >= 0.0 && solver.state.phase == Phase::EVALUATED && late(solver, begun)) return true;
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

bool proved_unreachable(const SolverData& solver) {
  const auto problem = solver.problem();
  for (const Reachable<S>& r : solver.reachable) {
    if (beyond_reach(problem, r, solver.targets.data())) return true;
  }
  return false;
}

constexpr int most_polished = 8;  // steps in continuous mode

// Downhill only, with damping that grows when a step fails and shrinks when it works (Marquardt 1963): from the best pose to the
// minimum itself, so that a goal out of reach is answered by the same still pose every time. In continuous mode a few steps: the
// next call goes on. True if it came to the end.
template <int M> bool polish_rows(SolverData& solver, Clock::time_point begun) {
  const auto problem = solver.problem();
  SearchState<S>& s = solver.state;
  copy_configuration(problem, solver.best_q.data(), s.q);
  look(solver);
  S damping = 1e-3 * s.cost + solver.settings.damping_floor;
  s.damping = damping;
  note(solver);
  const int most = solver.mode == Mode::CONTINUOUS ? most_polished : 4 * solver.settings.max_steps;
  int quiet = 0, k = 0;
  for (; k < most && damping < 1e12 && quiet < 4 && !late(solver, begun); ++k) {
    assemble_all(solver);
    find_room(problem, solver.settings, s);
    if (stands_still(problem, s)) break;
    const S before = s.cost;
    copy_configuration(problem, s.q, s.trial_q);
    for (int r = 0; r < solver.n_rows; ++r) s.trial_rows[r] = s.rows[r];
    bool better = false;
    for (; damping < 1e12 && !better; damping *= better ? 1.0 : 4.0) {
      bounded_step<M>(problem, s.trial_q, s.J, s.trial_rows, damping, Posture<S>{nullptr, nullptr},
                      solver.settings.rounds, s.work, s.dq);
      step_to(solver, s.trial_q, s.q);
      look(solver);
      better = s.cost < before;
    }
    if (!better) {
      copy_configuration(problem, s.trial_q, s.q);
      break;
    }
    quiet = s.cost > before * (1.0 - 1e-13) ? quiet + 1 : 0;
    s.damping = damping;
    note(solver);
    damping *= 0.2;
    ++solver.total_steps;
  }
  look(solver);
  const S outside = outside_of(problem, solver.settings, s.q);
  if (outside > solver.best_outside || (outside == solver.best_outside && !(s.cost <= solver.best_cost))) {
    return k < most;
  }
  solver.best_outside = outside;
  solver.best_cost = s.cost;
  for (std::size_t k = 0; k < solver.best_q.size(); ++k) solver.best_q[k] = s.q[k];
  for (std::size_t k = 0; k < solver.best_errors.size(); ++k) solver.best_errors[k] = s.errors[k];
  if (within_tolerance(problem, s.errors, 1.0) && !(outside > 0.0)) solver.outcome = Outcome::REACHED;
  return k < most;
}

bool polish_plainly(SolverData& solver, Clock::time_point begun) {
  return solver.n_rows == 6   ? polish_rows<6>(solver, begun)
         : solver.n_rows == 3 ? polish_rows<3>(solver, begun)
                              : polish_rows<0>(solver, begun);
}

bool some_joint_at_bound(const SolverData& solver) {
  for (const Freedom<S>& f : solver.freedoms) {
    if (f.q_index < 0) continue;
    const S x = solver.best_q[static_cast<std::size_t>(f.q_index)], rounding = 1e-12 * (f.angular ? 1.0 : solver.scale);
    if (x <= f.lower + rounding || x >= f.upper - rounding) return true;
  }
  return false;
}

// The default step fixes joints at their bounds by a rule of thumb and can stand still where it should not; the exact active set
// (active_set.h) says whether there is a way on.
void polish(SolverData& solver, Clock::time_point begun) {
  const bool ended = polish_plainly(solver, begun);
  StrictState& t = solver.strictly;
  const bool asked = ended && solver.outcome == Outcome::STALLED && solver.settings.limits == LIMITS_ACTIVE;
  const bool short_steps =
      solver.settings.reach < 1.0;  // what the user bounds is not to be left to another way of stepping
  if (!asked || short_steps || !some_joint_at_bound(solver)) return;
  copy_configuration(solver.problem(), solver.best_q.data(), t.here.q);
  t.assembled = nullptr;
  t.solved = 0;
  set_bars(solver, 0, false);
  descend(solver, 0, begun);
  if (broken(solver, t.here) > solver.best_outside || !(t.here.costs[0] < solver.best_cost)) return;
  copy_configuration(solver.problem(), t.here.q, solver.best_q.data());
  polish_plainly(solver, begun);
}

// a joint that rounding alone has put outside its range stands at the end of it
void round_start(SolverData& solver) {
  if (solver.settings.limits == LIMITS_OFF) return;
  for (const Freedom<S>& f : solver.freedoms) {
    if (f.q_index < 0) continue;
    double& x = solver.start[static_cast<std::size_t>(f.q_index)];
    const double inside = minimum(maximum(x, f.lower), f.upper);
    if (absolute(x - inside) < 1e-15 * (absolute(x) + (f.angular ? 1.0 : solver.scale))) x = inside;
  }
}

// joints on which no goal depends, brought back into their ranges, as far as one call may lead
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

// a call that had to leave such a joint outside its range has not reached
void doubt_reached(SolverData& solver) {
  if (solver.outcome != Outcome::REACHED || solver.settings.limits == LIMITS_OFF) return;
  for (const Freedom<S>& f : solver.idle) {
    const double x = solver.start[static_cast<std::size_t>(f.q_index)];
    if (x < f.lower || x > f.upper) solver.outcome = Outcome::STALLED;
  }
}

void polish_best(SolverData& solver) {
  if (solver.polish) polish(solver, Clock::now());
}

// everything that one call starts with
void begin(SolverData& solver) {
  solver.total_steps = 0;
  solver.total_searches = 0;
  solver.history.clear();
  solver.out_of_time = false;
  solver.proved_unreachable = proved_unreachable(solver);
  const bool tethered = solver.mode == Mode::CONTINUOUS;
  round_start(solver);
  bring_back_idle(solver, tethered);
  solver.state.origin = tethered ? solver.start.data() : nullptr;
  solver.state.work.held = tethered ? solver.held.data() : nullptr;  // elsewhere other searches find the way
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

void solve_plainly(SolverData& solver) {
  const Clock::time_point begun = Clock::now();
  begin(solver);
  const bool tethered = solver.mode == Mode::CONTINUOUS;
  const int searches = solver.proved_unreachable || tethered || solver.n_v == 0 ? 1 : solver.searches;
  for (int search = 0; search < searches; ++search) {
    restart(solver);
    if (search > 0) seed_start(solver, static_cast<unsigned>(search), solver.state.q);
    ++solver.total_searches;
    solver.out_of_time = run(solver, begun);
    keep(solver, search == 0);
    if (solver.outcome == Outcome::REACHED || solver.out_of_time) break;
  }
  if (solver.outcome != Outcome::REACHED && solver.polish && !solver.out_of_time) {
    polish(solver, begun);
    solver.out_of_time = late(solver, begun) && solver.outcome != Outcome::REACHED;
  }
  doubt_reached(solver);
  solver.seconds = seconds_since(begun);
}

void solve(SolverData& solver) {
  if (!solver.strict) {
    solve_plainly(solver);
    return;
  }
  const Clock::time_point begun = Clock::now();
  begin(solver);
  solve_strictly(solver, begun, solve_plainly);
  solver.seconds = seconds_since(begun);
}

}  // namespace

extern const SolverOps solver_table;
const SolverOps solver_table = {solve, restart, advance, begin, seed_start, polish_best};

}  // namespace POISE_LEVEL
}  // namespace poise
