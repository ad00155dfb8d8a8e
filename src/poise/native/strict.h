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

#include "strict_step.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

constexpr double guard_slack = 5e-10;

// ---------------------------------------------------------------------------------------------- one level

void follow_strictly(SolverData& solver, const StrictPoint& from, StrictPoint& to, int level) {
  StrictState& t = solver.strictly;
  if (t.assembled == to.q) t.assembled = nullptr;
  if (&from != &to) copy_configuration(solver.problem(), from.q, to.q);
  take_step(solver.problem(), from.q, solver.state.dq, solver.settings.limits != LIMITS_OFF, to.q);
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

// corrects `there` until no limit is broken and nothing above `level` is worse; true if that worked
bool settle(SolverData& solver, int level, S trust) {
  StrictState& t = solver.strictly;
  const int above = t.level_goals[static_cast<std::size_t>(level)];
  const auto kept = [&] { return limits_kept(solver, t.here, t.there) && goals_within(t.there, 0, above, t.guard); };
  for (int k = 0; k < 5 && !kept(); ++k) {
    strict_step(solver, t.there, level - 1, trust);
    if (largest_step(solver) < 1e-15) break;
    follow_strictly(solver, t.there, t.there, level);
  }
  return kept();
}

// a trial from here at most `trust` long, corrected for what is above; true if it may be taken
bool try_strictly(SolverData& solver, int level, S& trust) {
  StrictState& t = solver.strictly;
  const S before = broken(solver, t.here);
  strict_step(solver, t.here, level, trust);
  trust = minimum(trust, maximum(largest_step(solver), 1e-12));
  follow_strictly(solver, t.here, t.there, level);
  if (!settle(solver, level, trust)) return false;
  if (before > 0.0 && broken(solver, t.there) < 0.999 * before) return true;
  return t.there.costs[level] < t.here.costs[level];
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
  const auto reached = [&] {
    return !posture && !(broken(solver, t.here) > 0.0) &&
           goals_within(t.here, t.level_goals[static_cast<std::size_t>(level)],
                        t.level_goals[static_cast<std::size_t>(level) + 1], t.bar);
  };
  const S enough = posture ? (solver.mode == Mode::CONTINUOUS ? 1e-2 : 1e-4) : 1e-7;
  S trust = solver.settings.reach;
  const int most = posture && solver.mode == Mode::CONTINUOUS ? 2 : solver.settings.max_steps;  // the next call goes on
  int quiet = 0;
  S nudged = -1.0;  // the cost where it was nudged
  for (int steps = 0; steps < most && !reached() && quiet < 3 && !late(solver, begun); ++steps) {
    if (posture && t.here.costs[level] < 1e-12) return false;
    const S before = t.here.costs[level];
    bool taken = false;
    for (int attempt = 0; attempt < 12 && !taken && trust > 1e-9; ++attempt) {
      taken = try_strictly(solver, level, trust);
      if (!taken) trust *= 0.3;
    }
    ++solver.total_steps;
    if (!taken) {
      if (posture || nudged >= 0.0 || solver.mode == Mode::CONTINUOUS) break;
      nudged = before;
      copy_configuration(solver.problem(), t.here.q, solver.state.best_q);
      if (!nudge_strictly(solver, level)) break;
      std::swap(t.here, t.there);
      trust = solver.settings.reach;
      continue;
    }
    std::swap(t.here, t.there);
    note_strictly(solver);
    trust = minimum(2.0 * trust + 1e-3, solver.settings.reach);
    quiet = t.here.costs[level] > before * (1.0 - enough) ? quiet + 1 : 0;
  }
  if (nudged >= 0.0 && !reached() && t.here.costs[level] > nudged) {
    copy_configuration(solver.problem(), solver.state.best_q, t.here.q);
    t.assembled = nullptr;
    look_at(solver, t.here, level);
  }
  return reached();
}

// ---------------------------------------------------------------------------------------------- the whole solve

// what the goals of a level must stay within from now on: where they are
void guard_level(SolverData& solver, int level) {
  StrictState& t = solver.strictly;
  for (int g = t.level_goals[static_cast<std::size_t>(level)]; g < t.level_goals[static_cast<std::size_t>(level) + 1];
       ++g) {
    t.guard[2 * g] = t.here.errors[2 * g] + guard_slack * solver.scale;
    t.guard[2 * g + 1] = t.here.errors[2 * g + 1] + guard_slack;
  }
}

// all levels from `first` on, and the posture; true if every goal is reached
bool descend_all(SolverData& solver, int first, Clock::time_point begun) {
  StrictState& t = solver.strictly;
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  for (int k = 0; k < first; ++k) guard_level(solver, k);
  for (int k = first; k < levels; ++k) {
    descend(solver, k, begun);
    guard_level(solver, k);
  }
  if (!solver.posture_gain.empty() && !(broken(solver, solver.strictly.here) > 0.0)) descend(solver, levels, begun);
  look_at(solver, t.here, levels);
  return within_tolerance(solver.problem(), t.here.errors, 1.0);
}

// Whether `here` is better than the best so far: the first level that tells them apart decides.
bool is_better(const SolverData& solver) {
  const StrictState& t = solver.strictly;
  const S now = broken(solver, t.here);
  if (now != solver.best_outside) return now < solver.best_outside;
  for (std::size_t k = 0; k + 1 < t.level_goals.size(); ++k) {
    bool worse = false, missed = false;
    for (int g = 2 * t.level_goals[k]; g < 2 * t.level_goals[k + 1]; ++g) {
      const S slack = guard_slack * (g % 2 ? 1.0 : solver.scale);
      worse = worse || t.here.errors[g] > solver.best_errors[static_cast<std::size_t>(g)] + slack;
      missed = missed || solver.best_errors[static_cast<std::size_t>(g)] >
                             solver.goals[static_cast<std::size_t>(g / 2)].tolerance[g % 2];
    }
    if (worse) return false;
    if (missed && t.here.costs[k] < 0.999 * t.best_costs[k]) return true;
  }
  return false;
}

void keep_strictly(SolverData& solver, bool all) {
  StrictState& t = solver.strictly;
  solver.best_outside = broken(solver, t.here);
  solver.winner = solver.total_searches;
  solver.best_cost = 0.0;
  for (std::size_t k = 0; k + 1 < t.level_rows.size(); ++k) {
    t.best_costs[k] = t.here.costs[k];
    solver.best_cost += t.here.costs[k];
  }
  for (std::size_t k = 0; k < solver.best_q.size(); ++k) solver.best_q[k] = t.here.q[k];
  for (std::size_t k = 0; k < solver.best_errors.size(); ++k) solver.best_errors[k] = t.here.errors[k];
  solver.outcome = all && !(solver.best_outside > 0.0) ? Outcome::REACHED : Outcome::STALLED;
}

constexpr int most_strict_searches = 16;

void solve_strictly(SolverData& solver, Clock::time_point begun, void (*solve_plainly)(SolverData&)) {
  StrictState& t = solver.strictly;
  t.assembled = nullptr;
  for (std::size_t g = 0; g < solver.goals.size(); ++g) {
    for (std::size_t k = 0; k < 2; ++k) t.bar[2 * g + k] = solver.goals[g].tolerance[k];
  }
  const int everything = static_cast<int>(t.level_rows.size()) - 1;
  int begin_at = 0;
  bool reached = true;
  if (solver.first) {
    SolverData& first = *solver.first;
    first.start = solver.start;
    first.window = solver.window;
    for (std::size_t k = 0; k < first.targets.size(); ++k) first.targets[k] = solver.targets[k];
    solve_plainly(first);
    solver.proved_unreachable = first.proved_unreachable;
    solver.total_steps = first.total_steps;
    solver.total_searches = first.total_searches - 1;
    reached = first.outcome == Outcome::REACHED;
    for (std::size_t k = 0; k < first.best_q.size(); ++k) t.here.q[k] = first.best_q[k];
    begin_at = 1;
  } else {
    copy_configuration(solver.problem(), solver.start.data(), t.here.q);
  }
  look_at(solver, t.here, everything);
  ++solver.total_searches;
  note_strictly(solver);
  bool all = descend_all(solver, begin_at, begun);
  keep_strictly(solver, all);
  const bool alone = !reached || solver.mode == Mode::CONTINUOUS || solver.proved_unreachable || solver.n_v == 0;
  const int searches = alone ? 1 : (solver.searches < most_strict_searches ? solver.searches : most_strict_searches);
  for (int search = 1; search < searches && !all && !late(solver, begun); ++search) {
    for (std::size_t k = 0; k < solver.best_errors.size(); ++k) {
      const S slack = guard_slack * (k % 2 ? 1.0 : solver.scale);
      const S tolerance = solver.goals[k / 2].tolerance[k % 2];
      t.bar[k] = solver.best_errors[k] > tolerance ? tolerance : minimum(tolerance, solver.best_errors[k] + slack);
    }
    copy_configuration(solver.problem(), solver.start.data(), t.here.q);
    seed_start(solver, static_cast<unsigned>(search), t.here.q);
    t.assembled = nullptr;
    look_at(solver, t.here, everything);
    ++solver.total_searches;
    note_strictly(solver);
    const bool here = descend_all(solver, 0, begun);
    if (!is_better(solver)) continue;
    all = here;
    keep_strictly(solver, all);
  }
  solver.out_of_time = late(solver, begun) && !all;
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
