// guard.h: what a trial pose must keep: the limits, and everything that the levels above have reached. Part of solve.cpp.
#pragma once
#include "run/strict/step.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

constexpr double guard_slack = 5e-10;

void follow_strictly(SolverData& solver, const StrictPoint& from, StrictPoint& to, int level) {
  StrictState& t = solver.strictly;
  if (t.assembled == to.q) t.assembled = nullptr;
  copy_configuration(solver.problem(), from.q, solver.state.trial_q);
  step_to(solver, solver.state.trial_q, to.q);
  look_at(solver, to, level);
}

S largest_step(const SolverData& solver) {
  S most = 0.0;
  for (int c = 0; c < solver.n_v; ++c) {
    const S unit = solver.freedoms[static_cast<std::size_t>(c)].angular ? 1.0 : 1.0 / solver.scale;
    most = maximum(most, absolute(solver.state.dq[c]) * unit);
  }
  return most;
}

// nothing above `level` is farther off than it was, each goal in metres and radians and each level in what it minimises
bool above_kept(const SolverData& solver, const StrictPoint& p, int level) {
  const StrictState& t = solver.strictly;
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  for (int k = 0; k < level && k < levels; ++k) {
    if (p.costs[k] > t.cost_guard[k]) return false;
  }
  return goals_within(p, 0, t.level_goals[static_cast<std::size_t>(level)], t.guard);
}

// how much of that is missing: metres over the body's length, radians, and what is left of the limits
S excess_of(const SolverData& solver, const StrictPoint& from, const StrictPoint& p, int level) {
  const StrictState& t = solver.strictly;
  S worst = 0.0;
  for (int g = 0; g < t.level_goals[static_cast<std::size_t>(level)]; ++g) {
    worst = maximum(worst, (p.errors[2 * g] - t.guard[2 * g]) / solver.scale);
    worst = maximum(worst, p.errors[2 * g + 1] - t.guard[2 * g + 1]);
  }
  for (std::size_t i = 0; i < solver.limits.size(); ++i)
    worst = maximum(worst, minimum(from.gaps[i], hair) - p.gaps[i]);
  return worst;
}

// Whether a pose breaks a limit that the start kept, or breaks one further. A search from a seed may, while it is better in another.
bool breaks_anew(const SolverData& solver, const StrictPoint& p) {
  for (std::size_t i = 0; i < solver.limits.size(); ++i) {
    if (p.gaps[i] < minimum(solver.strictly.start_gaps[i], 0.0)) return true;
  }
  return false;
}

// Corrects `there` until no limit is broken and nothing above `level` is worse; true if that worked. At first by the joints that stand off
// their bounds, which is cheap and mostly enough.
bool settle(SolverData& solver, int level, S trust) {
  StrictState& t = solver.strictly;
  const auto kept = [&] { return limits_kept(solver, t.here, t.there) && above_kept(solver, t.there, level); };
  // what does not come near quickly is better answered by a shorter step
  const bool goes_on = solver.mode == Mode::CONTINUOUS;
  const S slowest = goes_on ? 0.5 : 1.0;
  S excess = excess_of(solver, t.here, t.there, level);
  t.hold_bounds = !goes_on && !(broken(solver, t.there) > 0.0);
  for (int k = 0; k < 5 && !kept() && !late(solver); ++k) {
    const bool easy = t.hold_bounds;
    strict_step(solver, t.there, level - 1, trust);
    const S before = excess, moved = largest_step(solver);
    if (moved < 1e-15 && !easy) break;
    follow_strictly(solver, t.there, t.there, level);
    excess = excess_of(solver, t.here, t.there, level);
    t.hold_bounds = easy && excess < 0.1 * before;
    if (!easy && excess > slowest * before) break;
  }
  t.hold_bounds = false;
  return kept();
}

// What is above stays as it is where that is missed, and is served on where it is reached. A level with several goals that is not quite at
// its minimum would else give a little to the one and take it from the other, which none of them may suffer.
void keep_above(SolverData& solver, int level, bool all) {
  StrictState& t = solver.strictly;
  t.serving = level;
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  for (int k = 0; k < level && k < levels; ++k) {
    const auto i = static_cast<std::size_t>(k);
    bool reached = !all;
    for (int g = t.level_goals[i]; reached && g < t.level_goals[i + 1]; ++g) {
      const auto& goal = solver.goals[static_cast<std::size_t>(g)];
      reached = t.here.errors[2 * g] <= goal.tolerance[0] && t.here.errors[2 * g + 1] <= goal.tolerance[1];
    }
    t.kept[i] = !reached;
    for (int r = t.level_rows[i]; r < t.level_rows[i + 1]; ++r) t.kept_rows[r] = t.here.rows[r];
  }
}

bool none_touched(const SolverData& solver, const StrictPoint& p) {
  for (std::size_t i = 0; i < solver.limits.size(); ++i) {
    if (p.gaps[i] < hair) return false;
  }
  return true;
}

// closed loops are rules as well: coming back from another limit must not open them
bool loops_open(const SolverData& solver, const StrictPoint& from, const StrictPoint& to, int level) {
  if (level > 0 || solver.goals[0].level >= 0) return false;
  const int last = solver.strictly.level_goals[1];
  for (int g = 0; g < 2 * last; ++g) {
    if (to.errors[g] > maximum(from.errors[g], solver.goals[static_cast<std::size_t>(g / 2)].tolerance[g % 2]))
      return true;
  }
  return false;
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
