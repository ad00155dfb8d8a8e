// descent.h: the descent of one level: steps, their trials, and a nudge at a ridge. Part of solve.cpp.
//
// A step is made for all levels so far (step.h). It is taken only if no limit is violated or further violated, no
// higher level gets worse, and the level's own cost decreases; otherwise a shorter one is tried. If the usual step is
// slow, Newton's step (newton.h) is tried first.
#pragma once
#include <utility>

#include "run/strict/newton.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// Whether no pose is known to reach the only level, in a row of a batch: it gets a pose that keeps the limits, but no long search.
bool is_hopeless(const SolverData& solver) {
  const bool single = solver.strict_state.level_rows.size() == 2;
  return single && solver.tries == 1 && (solver.colliding > 0 || solver.nearly_clear || solver.proved_unreachable);
}

// The pace of a descent, from its phase and the mode of the call.
const Pace& pace_of(const SolverData& solver) {
  const bool posture = solver.strict_state.phase == Descent::POSTURE;
  if (solver.mode == Mode::CONTINUOUS) return posture ? tuning.frame_posture : tuning.frame;
  if (is_hopeless(solver)) return tuning.hopeless;
  if (posture) return tuning.whole_posture;
  if (solver.strict_state.phase == Descent::LEAVE) return tuning.leave;
  return solver.strict_state.phase == Descent::FINISH ? tuning.finish : tuning.whole;
}

// Makes a trial from `here` in `there`, at most `trust` long and corrected for the levels above. True if it may be
// taken; otherwise `trust` is the length of the next trial (times tuning.shorten), or 0 if no trial is useful.
bool try_step(SolverData& solver, int level, S& trust) {
  StrictState& t = solver.strict_state;
  // a step with its corrections is no longer than the user's bound
  if (solver.mode != Mode::CONTINUOUS && solver.settings.reach < 1.0) {
    solver.state.origin = t.here.q;
    solver.state.span = solver.settings.reach;
  }
  const S before = measure_violation(solver, t.here);
  make_strict_step(solver, t.here, level, trust);
  const S predicted = t.predicted_cost;
  const bool posture = t.phase == Descent::POSTURE, finish = t.phase == Descent::FINISH;
  const S least = (1.0 - pace_of(solver).least_gain) * t.here.costs[level];
  const bool still = finish ? measure_step(solver) < tuning.still_step : predicted > least;
  // A limit may be touched exactly, as at a start of zeros. The step first leaves it by a tiny margin.
  const bool touching = !(before > 0.0) && t.n_returning > 0;
  if (!(before > 0.0) && !touching && t.work.n_basis_above >= t.work.n) {  // the levels above leave no freedom
    trust = 0.0;
    return false;
  }
  if (!(before > 0.0) && !touching && !posture && still) {
    trust = trust > tuning.short_step ? tuning.short_step / tuning.shorten : 0.0;
    return false;
  }
  if (!touching) trust = minimum(trust, maximum(measure_step(solver), tuning.shortest_step));
  follow_step(solver, t.here, t.there, level);
  if (!correct_trial(solver, level, trust)) return false;
  if (before > 0.0 && measure_violation(solver, t.there) < tuning.comes_back * before)
    return !opens_loops(solver, t.here, t.there, level);
  if (touching && t.there.costs[level] <= t.here.costs[level] * (1.0 + tuning.touching_slack) &&
      touches_nothing(t.there))
    return true;
  if (!(t.there.costs[level] < t.here.costs[level] * (finish ? 1.0 + tuning.finish_slack : 1.0))) return false;
  const S fell = t.here.costs[level] - t.there.costs[level];
  const bool as_predicted = fell > tuning.as_predicted * (t.here.costs[level] - predicted);
  if (!posture && solver.mode != Mode::CONTINUOUS) {
    t.damping_share =
        as_predicted ? tuning.less_damping * t.damping_share : minimum(tuning.more_damping * t.damping_share, 1.0);
  }
  return true;
}

// Records the pose `here` with the errors of all goals, if the call is recorded.
void record_here(SolverData& solver) {
  if (!solver.record) return;
  SearchState<S>& s = solver.state;
  evaluate_point(solver, solver.strict_state.here, static_cast<int>(solver.strict_state.level_rows.size()) - 1);
  copy_configuration(solver.problem(), solver.strict_state.here.q, s.q);
  s.cost = 0.0;
  for (std::size_t k = 0; k + 1 < solver.strict_state.level_rows.size(); ++k)
    s.cost += solver.strict_state.here.costs[k];
  for (std::size_t k = 0; k < 2 * solver.goals.size(); ++k) s.errors[k] = solver.strict_state.here.errors[k];
  note(solver);
}

// Rotates every joint a little, each by a different amount, in the null space of the levels above, so that the next
// step finds a descent direction: for a missed level that cannot descend from its pose. True if that was possible.
bool nudge_level(SolverData& solver, int level) {
  StrictState& t = solver.strict_state;
  HierarchyWork<S>& w = t.work;
  make_strict_step(solver, t.here, level - 1, tuning.nudge_trust);
  for (int c = 0; c < w.n; ++c) {
    const S spread = (c + 1) * tuning.golden;
    const S turn = tuning.nudge + tuning.nudge_spread * (spread - static_cast<int>(spread));
    t.wanted[c] = w.x[c] + (c % 2 ? -1.0 : 1.0) * turn;
  }
  serve_posture(w, t.wanted, tuning.nudge_trust);
  for (int c = 0; c < w.n; ++c)
    solver.state.dq[c] = minimum(maximum(w.x[c] * w.scale[c], solver.state.work.low[c]), solver.state.work.high[c]);
  follow_step(solver, t.here, t.there, level);
  return correct_trial(solver, level, tuning.nudge_trust);
}

// Whether the goals of a level are within their bars, and no limit is violated.
bool is_reached(const SolverData& solver, int level) {
  const StrictState& t = solver.strict_state;
  return t.phase != Descent::POSTURE && !(measure_violation(solver, t.here) > 0.0) &&
         are_goals_within(t.here, t.level_goals[static_cast<std::size_t>(level)],
                          t.level_goals[static_cast<std::size_t>(level) + 1], t.error_bar) &&
         !(t.bars == Bars::GUARD && t.here.costs[level] > t.cost_guard[level]);
}

// The number of steps that a descent may take.
int count_steps(const SolverData& solver) {
  const StrictState& t = solver.strict_state;
  const int all = solver.settings.max_steps;
  const int whole = t.bars == Bars::GUARD ? std::min(all, tuning.return_steps) : all;
  return std::min(steps_left(solver), pace_of(solver).steps > 0 ? pace_of(solver).steps : whole);
}

// Descends one level as far as its phase requires; true if it is then reached. The posture is the level after the last.
bool descend(SolverData& solver, int level, Descent phase, Clock::time_point begun) {
  StrictState& t = solver.strict_state;
  t.phase = phase;
  const bool posture = phase == Descent::POSTURE, finish = phase == Descent::FINISH;
  evaluate_point(solver, t.here, level);
  freeze_above(solver, level, false);
  const bool goes_on = solver.mode == Mode::CONTINUOUS;
  const Pace& pace = pace_of(solver);
  const S longest =
      goes_on && posture ? minimum(solver.settings.reach, tuning.frame_posture_step) : solver.settings.reach;
  S trust = goes_on ? minimum(longest, solver.span) : longest;
  const int most = count_steps(solver);
  // Newton's step is for complete descents. Only the usual step keeps the user's own bound of a step.
  const bool bends = !posture && !goes_on && !(solver.settings.reach < 1.0);
  bool creeping = finish;
  S newton_trust = longest;
  int quiet = 0;
  S nudged = -1.0;  // the cost at the nudge
  t.damping_share = 1.0;
  const int until = std::max(tuning.frame_steps, t.steps_solved + tuning.frame_level_steps);
  const auto tired = [&] { return goes_on && level > 0 && t.steps_solved >= until; };
  int steps = 0;
  for (; steps < most && !is_reached(solver, level) && quiet < pace.patience && !tired() && !late(solver, begun);
       ++steps) {
    if (posture && t.here.costs[level] < tuning.posture_at_rest) break;
    const S before = t.here.costs[level], outside = measure_violation(solver, t.here);
    bool taken = false, at_once = true;
    if (creeping && bends && !(outside > 0.0)) {  // the usual step first leaves a touched limit
      const S worth = finish ? tuning.finish_newton_gain : tuning.newton_gain;
      const Newton newton = try_newton_step(solver, level, newton_trust, worth, begun);
      if (newton == Newton::STILL) break;
      taken = newton == Newton::TAKEN;
    }
    for (int attempt = 0;
         attempt < pace.attempts && !taken && trust > tuning.shortest_trust && !tired() && !late(solver, begun);
         ++attempt) {
      taken = try_step(solver, level, trust);
      if (taken) continue;
      trust *= tuning.shorten;
      at_once = false;
      t.damping_share = minimum(tuning.more_damping * t.damping_share, 1.0);
      if (attempt == 0) freeze_above(solver, level, true);
    }
    if (!taken) {
      if (posture || finish || nudged >= 0.0 || goes_on || late(solver, begun)) break;
      nudged = before;
      copy_configuration(solver.problem(), t.here.q, solver.state.best_q);
      solver.state.origin = nullptr;
      if (!nudge_level(solver, level)) break;
      ++solver.total_steps;
      std::swap(t.here, t.there);
      trust = solver.settings.reach;
      continue;
    }
    ++solver.total_steps;
    std::swap(t.here, t.there);
    record_here(solver);
    if (at_once || !goes_on) trust = minimum(tuning.lengthen * trust + tuning.lengthen_by, longest);
    // a step that reduces the violation of a limit is useful at any cost
    const bool came_back = outside > 0.0 && measure_violation(solver, t.here) < tuning.comes_back * outside;
    quiet = !came_back && t.here.costs[level] > before * (1.0 - pace.enough) ? quiet + 1 : 0;
    creeping = finish || t.here.costs[level] > creeps * before;
  }
  t.cut = steps >= most || tired();
  if (!goes_on) solver.state.origin = nullptr;
  if (nudged >= 0.0 && !is_reached(solver, level) && t.here.costs[level] > nudged) {
    copy_configuration(solver.problem(), solver.state.best_q, t.here.q);
    t.assembled = nullptr;
    evaluate_point(solver, t.here, level);
  }
  return is_reached(solver, level);
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
