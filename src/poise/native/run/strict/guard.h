// guard.h: the conditions of a trial pose: the limits, and the results of the levels above. Part of solve.cpp.
#pragma once
#include "run/strict/step.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// Takes the step in state.dq from one point to another, and evaluates it for the levels up to `level`.
void follow_step(SolverData& solver, const StrictPoint& from, StrictPoint& to, int level) {
  StrictState& t = solver.strict_state;
  if (t.assembled == to.q) t.assembled = nullptr;
  copy_configuration(solver.problem(), from.q, solver.state.trial_q);
  step_to(solver, solver.state.trial_q, to.q);
  evaluate_point(solver, to, level);
}

// Returns the largest motion of a joint in state.dq [rad, or lengths of the body].
S measure_step(const SolverData& solver) {
  S most = 0.0;
  for (int c = 0; c < solver.n_v; ++c) {
    const S unit = solver.freedoms[static_cast<std::size_t>(c)].angular ? 1.0 : 1.0 / solver.scale;
    most = maximum(most, absolute(solver.state.dq[c]) * unit);
  }
  return most;
}

// Whether nothing above `level` exceeds its guard: each goal in metres and radians, each level in its cost.
bool keeps_above(const SolverData& solver, const StrictPoint& p, int level) {
  const StrictState& t = solver.strict_state;
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  for (int k = 0; k < level && k < levels; ++k) {
    if (p.costs[k] > t.cost_guard[k]) return false;
  }
  return are_goals_within(p, 0, t.level_goals[static_cast<std::size_t>(level)], t.error_guard);
}

// Returns the largest violation of that, or of a limit: metres over the body's length, radians or gaps.
S measure_excess(const SolverData& solver, const StrictPoint& from, const StrictPoint& p, int level) {
  const StrictState& t = solver.strict_state;
  S worst = 0.0;
  for (int g = 0; g < t.level_goals[static_cast<std::size_t>(level)]; ++g) {
    worst = maximum(worst, (p.errors[2 * g] - t.error_guard[2 * g]) / solver.scale);
    worst = maximum(worst, p.errors[2 * g + 1] - t.error_guard[2 * g + 1]);
  }
  for (int k = 0; k < p.n_near; ++k)
    worst = maximum(worst, minimum(from.gaps[p.near[k]], tuning.hair) - p.gaps[p.near[k]]);
  return worst;
}

// Whether a pose violates a limit that the start kept, or violates one further. A search from a seed may do so.
bool breaks_anew(const SolverData& solver, const StrictPoint& p) {
  for (int k = 0; k < p.n_near; ++k) {
    if (p.gaps[p.near[k]] < minimum(solver.strict_state.start_gaps[p.near[k]], 0.0)) return true;
  }
  return false;
}

// Lengthens a correction in state.dq by `share` of the previous one to the sum of all that would follow. Newton's method
// halves its steps where the levels above are singular (Decker, Keller and Kelley 1983). True if it is lengthened.
bool lengthen_halved(SolverData& solver, S share) {
  if (!(share > tuning.least_halved && share < tuning.most_halved)) return false;
  const StepWorkspace<S>& work = solver.state.work;
  for (int c = 0; c < solver.n_v; ++c)
    solver.state.dq[c] = minimum(maximum(solver.state.dq[c] / (1.0 - share), work.low[c]), work.high[c]);
  return true;
}

// Corrects `there` until no limit is violated and nothing above `level` is worse; true if that worked. It begins with
// the joints off their bounds, which is cheap and usually enough.
bool correct_trial(SolverData& solver, int level, S trust) {
  StrictState& t = solver.strict_state;
  const auto kept = [&] { return keeps_limits(t.here, t.there) && keeps_above(solver, t.there, level); };
  const bool goes_on = solver.mode == Mode::CONTINUOUS;
  const S slowest = goes_on ? tuning.frame_convergence : tuning.convergence;
  S excess = measure_excess(solver, t.here, t.there, level), last = HUGE_VAL;
  t.bounds_held = !goes_on && !(measure_violation(solver, t.there) > 0.0);
  for (int k = 0; k < (goes_on ? tuning.frame_corrections : tuning.corrections) && !kept() && !late(solver); ++k) {
    const bool easy = t.bounds_held;
    make_strict_step(solver, t.there, level - 1, trust);
    const S before = excess, moved = measure_step(solver);
    if (moved < tuning.no_correction && !easy) break;
    const bool lengthened = !goes_on && lengthen_halved(solver, moved / last);
    last = lengthened ? HUGE_VAL : moved;
    follow_step(solver, t.there, t.there, level);
    excess = measure_excess(solver, t.here, t.there, level);
    t.bounds_held = easy && excess < tuning.easy_convergence * before;
    if (!easy && !lengthened && excess > slowest * before) break;
  }
  t.bounds_held = false;
  return kept();
}

// Freezes each higher level that misses its goals at its current residual; one that reaches them may move within its
// tolerance, unless `all` is set. A level with several goals near its minimum would otherwise trade one goal for
// another.
void freeze_above(SolverData& solver, int level, bool all) {
  StrictState& t = solver.strict_state;
  t.level = level;
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  for (int k = 0; k < level && k < levels; ++k) {
    const auto i = static_cast<std::size_t>(k);
    bool reached = !all;
    for (int g = t.level_goals[i]; reached && g < t.level_goals[i + 1]; ++g) {
      const auto& goal = solver.goals[static_cast<std::size_t>(g)];
      reached = t.here.errors[2 * g] <= goal.tolerance[0] && t.here.errors[2 * g + 1] <= goal.tolerance[1];
    }
    t.frozen[i] = !reached;
    for (int r = t.level_rows[i]; r < t.level_rows[i + 1]; ++r) t.frozen_rows[r] = t.here.rows[r];
  }
}

// Whether every limit of a point has at least a tiny gap.
bool touches_nothing(const StrictPoint& p) {
  for (int k = 0; k < p.n_near; ++k) {
    if (p.gaps[p.near[k]] < tuning.hair) return false;
  }
  return true;
}

// Whether a step opens a closed loop, which is also a limit: the return from another limit must not.
bool opens_loops(const SolverData& solver, const StrictPoint& from, const StrictPoint& to, int level) {
  if (level > 0 || solver.goals[0].level >= 0) return false;
  const int last = solver.strict_state.level_goals[1];
  for (int g = 0; g < 2 * last; ++g) {
    if (to.errors[g] > maximum(from.errors[g], solver.goals[static_cast<std::size_t>(g / 2)].tolerance[g % 2]))
      return true;
  }
  return false;
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
