// strict.h: goals of several levels, the first served first; and limits beyond the joints' ranges. Part of solve.cpp.
//
// Level after level goes downhill from where the one before it ended. A step is made by hierarchy.h for all levels so far, then the levels
// above are corrected by a few steps of their own, and it is taken only if no goal above is farther off than it was when its level ended
// (to 5e-10 of its scale), no limit is broken or further broken, and the level's own cost has fallen; else it is made shorter.
// So adding a level cannot cost those above anything, and a feasible pose stays feasible.
//
// The first level alone is solved by the ordinary search, restarts and all, where nothing but joint ranges limits it.
#pragma once
#include <utility>

#include "run/strict/newton.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// Steps that one call of continuous mode solves for, and that every level may in any case: the next call goes on.
constexpr int most_solved = 12, least_solved = 3;
// Radians (and lengths of the body) of a step towards the posture there. What is above has to be kept on the way: a long step often fails
// at that, and a body that waits in one frame and leaps in the next one shakes.
constexpr double posture_step = 0.015;

// Steps in which a search from a seed comes to what the levels above are known to reach, or is given up.
constexpr int most_brought = 40;

// ---------------------------------------------------------------------------------------------- one level

// a trial from here at most `trust` long, corrected for what is above; true if it may be taken
bool try_strictly(SolverData& solver, int level, S& trust) {
  StrictState& t = solver.strictly;
  // a step that the user bounds is no longer with its corrections
  if (solver.mode != Mode::CONTINUOUS && solver.settings.reach < 1.0) {
    solver.state.origin = t.here.q;
    solver.state.span = solver.settings.reach;
  }
  const S before = broken(solver, t.here);
  strict_step(solver, t.here, level, trust);
  const S predicted = t.predicted;
  const bool posture = level + 1 == static_cast<int>(t.level_rows.size());
  const S worth = solver.mode == Mode::CONTINUOUS ? 1e-4 : 1e-9;
  const S least = (1.0 - worth) * t.here.costs[level];
  const bool still = t.last ? largest_step(solver) < 1e-11 : predicted > least;
  // A limit may be touched exactly, as at a start of zeros. The step first leaves it by a hair's breadth, and is free after that.
  const bool touching = !(before > 0.0) && t.brought > 0;
  if (!(before > 0.0) && !touching && t.work.n_basis_above >= t.work.n) {  // the levels above leave nothing free
    trust = 0.0;
    return false;
  }
  if (!(before > 0.0) && !touching && !posture && still) {
    // It stands still: nothing that is left free makes it better. A long step may only have been bent by its bounds, so ask for a short one.
    trust = trust > 0.02 ? 0.02 / 0.3 : 0.0;
    return false;
  }
  if (!touching) trust = minimum(trust, maximum(largest_step(solver), 1e-12));
  follow_strictly(solver, t.here, t.there, level);
  if (!settle(solver, level, trust)) return false;
  if (before > 0.0 && broken(solver, t.there) < 0.999 * before) return !loops_open(solver, t.here, t.there, level);
  if (touching && t.there.costs[level] <= t.here.costs[level] * (1.0 + 1e-6) && none_touched(solver, t.there))
    return true;
  if (!(t.there.costs[level] < t.here.costs[level] * (t.last ? 1.0 + 4e-15 : 1.0))) return false;
  // where the step did what was predicted, the next one needs less damping: a level that cannot be reached would else creep
  const bool as_predicted = t.here.costs[level] - t.there.costs[level] > 0.9 * (t.here.costs[level] - predicted);
  if (!posture && solver.mode != Mode::CONTINUOUS) t.ease = as_predicted ? 0.1 * t.ease : minimum(10.0 * t.ease, 1.0);
  return true;
}

void note_strictly(SolverData& solver) {
  if (!solver.record) return;
  SearchState<S>& s = solver.state;
  look_at(solver, solver.strictly.here, static_cast<int>(solver.strictly.level_rows.size()) - 1);
  copy_configuration(solver.problem(), solver.strictly.here.q, s.q);
  s.cost = 0.0;
  for (std::size_t k = 0; k + 1 < solver.strictly.level_rows.size(); ++k) s.cost += solver.strictly.here.costs[k];
  for (std::size_t k = 0; k < 2 * solver.goals.size(); ++k) s.errors[k] = solver.strictly.here.errors[k];
  note(solver);
}

// A level that cannot go down where it stands, and is not reached: turn every joint a little, each by its own amount, in what the levels
// above leave free, so that the next step sees a way. True if that was possible.
bool nudge_strictly(SolverData& solver, int level) {
  StrictState& t = solver.strictly;
  HierarchyWork<S>& w = t.work;
  strict_step(solver, t.here, level - 1, 0.1);
  for (int c = 0; c < w.n; ++c) {
    const S spread = (c + 1) * 0.6180339887498949;
    t.wanted[c] = w.x[c] + (c % 2 ? -1.0 : 1.0) * (0.03 + 0.04 * (spread - static_cast<int>(spread)));
  }
  serve_posture(w, t.wanted, 0.1);
  for (int c = 0; c < w.n; ++c)
    solver.state.dq[c] = minimum(maximum(w.x[c] * w.scale[c], solver.state.work.low[c]), solver.state.work.high[c]);
  follow_strictly(solver, t.here, t.there, level);
  return settle(solver, level, 0.1);
}

// Goes down as far as it can for one level; true if its goals are within their bars. The posture is the level behind the last.
bool descend(SolverData& solver, int level, Clock::time_point begun) {
  StrictState& t = solver.strictly;
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  const bool posture = level == levels;
  look_at(solver, t.here, level);
  keep_above(solver, level, false);
  const auto reached = [&] {
    return !posture && !(broken(solver, t.here) > 0.0) &&
           goals_within(t.here, t.level_goals[static_cast<std::size_t>(level)],
                        t.level_goals[static_cast<std::size_t>(level) + 1], t.bar) &&
           !(t.guarded && t.here.costs[level] > t.cost_guard[level]);
  };
  // in continuous mode the next call goes on from here, so what hardly pays waits for it
  const bool goes_on = solver.mode == Mode::CONTINUOUS;
  const S enough = posture ? (goes_on ? 1e-2 : 1e-4) : t.last ? 1e-13 : (goes_on ? 1e-2 : 1e-7);
  const int attempts = goes_on ? 4 : 12, patience = goes_on && !posture ? 1 : 3;
  const S longest = goes_on && posture ? minimum(solver.settings.reach, posture_step) : solver.settings.reach;
  S trust = goes_on ? minimum(longest, solver.span) : longest;
  const int whole = t.guarded ? std::min(solver.settings.max_steps, most_brought) : solver.settings.max_steps;
  const int most = std::min(steps_left(solver), !goes_on ? whole : posture ? 2 : 8);
  // where a limit is touched the usual step leaves it first; the user's own bound of a step is held by it alone
  const bool bends = !posture && !goes_on && !(solver.settings.reach < 1.0);
  bool creeping = t.last;
  S newton_trust = longest;
  int quiet = 0;
  S nudged = -1.0;  // the cost where it was nudged
  t.ease = 1.0;
  const int until = std::max(most_solved, t.solved + least_solved);
  const auto tired = [&] { return goes_on && level > 0 && t.solved >= until; };
  for (int steps = 0; steps < most && !reached() && quiet < patience && !tired() && !late(solver, begun); ++steps) {
    if (posture && t.here.costs[level] < 1e-12) break;
    const S before = t.here.costs[level], outside = broken(solver, t.here);
    bool taken = false, at_once = true;
    if (creeping && bends && !(outside > 0.0)) {
      const Newton newton = step_by_newton(solver, level, newton_trust, t.last ? 1e-15 : 1e-9, begun);
      if (newton == Newton::STILL) break;
      taken = newton == Newton::TAKEN;
    }
    for (int attempt = 0; attempt < attempts && !taken && trust > 1e-9 && !tired() && !late(solver, begun); ++attempt) {
      taken = try_strictly(solver, level, trust);
      if (taken) continue;
      trust *= 0.3;
      at_once = false;
      t.ease = minimum(10.0 * t.ease, 1.0);
      if (attempt == 0) keep_above(solver, level, true);
    }
    if (!taken) {
      if (posture || t.last || nudged >= 0.0 || goes_on || late(solver, begun)) break;
      nudged = before;
      copy_configuration(solver.problem(), t.here.q, solver.state.best_q);
      solver.state.origin = nullptr;
      if (!nudge_strictly(solver, level)) break;
      ++solver.total_steps;
      std::swap(t.here, t.there);
      trust = solver.settings.reach;
      continue;
    }
    ++solver.total_steps;
    std::swap(t.here, t.there);
    note_strictly(solver);
    if (at_once || !goes_on) trust = minimum(2.0 * trust + 1e-3, longest);
    // a step that brings a broken limit back is not in vain, whatever it costs
    const bool came_back = outside > 0.0 && broken(solver, t.here) < 0.999 * outside;
    quiet = !came_back && t.here.costs[level] > before * (1.0 - enough) ? quiet + 1 : 0;
    creeping = t.last || t.here.costs[level] > creeps * before;
  }
  if (!goes_on) solver.state.origin = nullptr;
  if (nudged >= 0.0 && !reached() && t.here.costs[level] > nudged) {
    copy_configuration(solver.problem(), solver.state.best_q, t.here.q);
    t.assembled = nullptr;
    look_at(solver, t.here, level);
  }
  return reached();
}

// ---------------------------------------------------------------------------------------------- the whole solve

// what the goals up to a level must stay within from now on: where they are now, or what was better before
void guard_levels(SolverData& solver, int level) {
  StrictState& t = solver.strictly;
  for (int g = 0; g < 2 * t.level_goals[static_cast<std::size_t>(level) + 1]; ++g) {
    const S now = t.here.errors[g] + guard_slack * (g % 2 ? 1.0 : solver.scale);
    const bool fresh = g >= 2 * t.level_goals[static_cast<std::size_t>(level)];
    t.guard[g] = fresh ? now : minimum(t.guard[g], now);
  }
  const S root = square_root(t.here.costs[level]) + guard_slack;
  t.cost_guard[level] = root * root;
  if (level > 0 || solver.goals[0].level >= 0) return;
  for (int g = 0; g < 2 * t.level_goals[1]; ++g) {  // a loop is closed within its tolerance, wherever in that
    const S close = solver.goals[static_cast<std::size_t>(g / 2)].tolerance[g % 2];
    t.guard[g] = maximum(t.here.errors[g], close);
    const S part = g % 2 ? close : close / solver.scale;
    t.cost_guard[0] += part * part;
  }
}

// goals of a level are wished to be within their tolerance or, where `guarded`, within what they are known to reach
void set_bars(SolverData& solver, int level, bool guarded) {
  StrictState& t = solver.strictly;
  t.guarded = guarded;
  for (int g = 2 * t.level_goals[static_cast<std::size_t>(level)];
       g < 2 * t.level_goals[static_cast<std::size_t>(level) + 1]; ++g)
    t.bar[g] = guarded ? t.guard[g] : solver.goals[static_cast<std::size_t>(g / 2)].tolerance[g % 2];
}

void keep_strictly(SolverData& solver, int level) {
  StrictState& t = solver.strictly;
  solver.best_outside = broken(solver, t.here);
  solver.winner = solver.total_searches;
  solver.best_cost = t.here.costs[level];
  for (std::size_t k = 0; k < solver.best_q.size(); ++k) solver.best_q[k] = t.here.q[k];
}

void go_back_to_best(SolverData& solver, int level) {
  StrictState& t = solver.strictly;
  copy_configuration(solver.problem(), solver.best_q.data(), t.here.q);
  t.assembled = nullptr;
  look_at(solver, t.here, level);
}

enum class Search : int { LOST, CAME, BETTER };

// From a seed to what the levels above are known to reach, then the level itself: did it come there, and is it better than the best?
Search search_level(SolverData& solver, int level, int search, Clock::time_point begun) {
  StrictState& t = solver.strictly;
  const bool loops = level == 0 && solver.goals[0].level < 0;
  copy_configuration(solver.problem(), solver.start.data(), t.here.q);
  seed_start(solver, static_cast<unsigned>(search), t.here.q);
  t.assembled = nullptr;
  ++solver.total_searches;
  for (int k = 0; k < level; ++k) {
    set_bars(solver, k, true);
    if (!descend(solver, k, begun)) return Search::LOST;
  }
  set_bars(solver, level, false);
  t.beat = solver.best_outside > 0.0 ? -1.0 : 1.001 * solver.best_cost;
  descend(solver, level, begun);
  t.beat = -1.0;
  const S outside = broken(solver, t.here);
  if (!above_kept(solver, t.here, level) || breaks_anew(solver, t.here)) return Search::LOST;
  if (loops) {  // nor may another way round, against the best so far
    copy_configuration(solver.problem(), solver.best_q.data(), t.there.q);
    look_at(solver, t.there, 0);
    if (loops_open(solver, t.there, t.here, 0)) return Search::LOST;
  }
  const bool closer = outside < solver.best_outside;
  const bool less = outside == solver.best_outside && t.here.costs[level] < 0.999 * solver.best_cost;
  return closer || less ? Search::BETTER : Search::CAME;
}

// In trials with the built-in figure no search after the eighth came lower than those before it.
constexpr int most_strict_searches = 8;

// One level from where those above it ended, by other ways round where that misses it. So the answer of the levels above alone is a
// stage of this one, whatever stands below.
void solve_level_strictly(SolverData& solver, int level, Clock::time_point begun) {
  StrictState& t = solver.strictly;
  set_bars(solver, level, false);
  bool reached = descend(solver, level, begun);
  keep_strictly(solver, level);
  const bool single = solver.mode == Mode::CONTINUOUS || solver.searches == 1 || solver.n_v == 0;
  if (!reached && !single) find_more_proofs(solver);
  // a proof about a goal of a level below says nothing about the levels above it
  const bool alone = single || proved_unreachable(solver, problem_up_to(solver, level).goals.n);
  const int searches = alone ? 1 : (solver.searches < most_strict_searches ? solver.searches : most_strict_searches);
  int same = 0;  // searches that ended where the best one did
  for (int search = 1; search < searches && !reached && same < 1 && !late(solver, begun); ++search) {
    const Search found = search_level(solver, level, search, begun);
    same += found == Search::CAME && absolute(t.here.costs[level] - solver.best_cost) <= 1e-6 * solver.best_cost;
    if (found != Search::BETTER) continue;
    same = 0;
    keep_strictly(solver, level);
    reached = !(solver.best_outside > 0.0) && goals_within(t.here, t.level_goals[static_cast<std::size_t>(level)],
                                                           t.level_goals[static_cast<std::size_t>(level) + 1], t.bar);
  }
  go_back_to_best(solver, level);
  if (!reached && solver.mode != Mode::CONTINUOUS) {
    t.last = true;
    descend(solver, level, begun);
    t.last = false;
  }
  guard_levels(solver, level);
}

// the first level's history with the errors of all goals
void note_first(SolverData& solver, const SolverData& first) {
  if (!solver.record) return;
  const std::size_t width = history_width(first);
  const int searches = solver.total_searches;
  for (std::size_t at = 0; at + width <= first.history.size(); at += width) {
    const double* row = first.history.data() + at;
    solver.total_searches = static_cast<int>(row[HISTORY_SEARCH]);
    solver.state.damping = row[HISTORY_DAMPING];
    copy_configuration(solver.problem(), row + history_q(first), solver.strictly.here.q);
    note_strictly(solver);
  }
  solver.total_searches = searches;
}

// the first level alone, as the ordinary search has it
void begin_with_first(SolverData& solver, void (*solve_plainly)(SolverData&)) {
  SolverData& first = *solver.first;
  first.start = solver.start;
  first.window = solver.window;
  for (std::size_t k = 0; k < first.targets.size(); ++k) first.targets[k] = solver.targets[k];
  solve_plainly(first);
  solver.total_steps = first.total_steps;
  solver.total_searches = first.total_searches - 1;
  note_first(solver, first);
  for (std::size_t k = 0; k < first.best_q.size(); ++k) solver.strictly.here.q[k] = first.best_q[k];
}

// What cannot stop at once moves on, as far as the limits let it: they come first.
void begin_as_forced(SolverData& solver, int levels) {
  StrictState& t = solver.strictly;
  look_at(solver, t.here, levels);
  for (std::size_t i = 0; i < solver.limits.size(); ++i) t.start_gaps[i] = t.here.gaps[i];
  if (!solver.state.window) return;
  S share = 1.0;
  for (int k = 0; k < 30; ++k, share *= 0.7) {
    copy_configuration(solver.problem(), t.here.q, t.there.q);
    move_as_forced(solver, share, t.there.q);
    look_at(solver, t.there, levels);
    if (!limits_kept(solver, t.here, t.there)) continue;
    std::swap(t.here, t.there);
    return;
  }
}

void solve_strictly(SolverData& solver, Clock::time_point begun, void (*solve_plainly)(SolverData&)) {
  StrictState& t = solver.strictly;
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  t.assembled = nullptr;
  t.solved = 0;
  copy_configuration(solver.problem(), solver.start.data(), t.here.q);
  if (solver.first) begin_with_first(solver, solve_plainly);
  ++solver.total_searches;
  begin_as_forced(solver, levels);
  if (!solver.first) note_strictly(solver);
  if (solver.first) guard_levels(solver, 0);
  for (int k = solver.first ? 1 : 0; k < levels; ++k) solve_level_strictly(solver, k, begun);
  if (!solver.posture_gain.empty() && !(broken(solver, t.here) > 0.0)) descend(solver, levels, begun);
  keep_strictly(solver, levels);
  look_at(solver, t.here, levels);
  for (std::size_t k = 0; k < solver.best_errors.size(); ++k) solver.best_errors[k] = t.here.errors[k];
  const bool all = within_tolerance(solver.problem(), t.here.errors, 1.0) && !(solver.best_outside > 0.0);
  solver.outcome = all ? Outcome::REACHED : Outcome::STALLED;
  solver.out_of_time = late(solver, begun) && !all;
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
