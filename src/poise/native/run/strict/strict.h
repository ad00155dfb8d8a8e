// strict.h: goals of several strict levels, and limits other than joint ranges. Part of solve.cpp.
//
// Each level descends from the result of the level before it. hierarchy.h makes a step for all levels so far, then a
// few steps correct the levels above. The step is taken only if no goal above is farther off than at the end of its
// level (up to tuning.guard_slack of its scale), no limit is violated or further violated, and the level's own cost
// decreases; otherwise it is shortened. So adding a level never degrades those above, and a feasible pose stays
// feasible.
//
// The process of one level, in the states of Descent (solver_data.h):
//
//   LEVEL --reached--------------------------------------------> its errors become the guard; the next level
//     |                                                             ^                     |
//     missed: searches from seeds, as many as given or a few        |                     after the last one: POSTURE
//     |   RETURN for each level above --lost--> the next seed       |
//     |   LEVEL --better--> the new best, else the next seed        |
//     v                                                             |
//   the best of them --reached, or continuous mode------------------+
//     |                                                             |
//     FINISH: to the minimum itself---------------------------------+
//
// The ordinary search, with restarts, solves the first level alone if it has no limits other than joint ranges.
#pragma once
#include "run/strict/descent.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// Sets the guard of the goals up to a level: their current errors, or better ones from before.
void guard_levels(SolverData& solver, int level) {
  StrictState& t = solver.strict_state;
  for (int g = 0; g < 2 * t.level_goals[static_cast<std::size_t>(level) + 1]; ++g) {
    const S now = t.here.errors[g] + tuning.guard_slack * (g % 2 ? 1.0 : solver.scale);
    const bool fresh = g >= 2 * t.level_goals[static_cast<std::size_t>(level)];
    t.error_guard[g] = fresh ? now : minimum(t.error_guard[g], now);
  }
  const S root = square_root(t.here.costs[level]) + tuning.guard_slack;
  t.cost_guard[level] = root * root;
  if (level > 0 || solver.goals[0].level >= 0) return;
  for (int g = 0; g < 2 * t.level_goals[1]; ++g) {  // a loop counts as closed anywhere within its tolerance
    const S close = solver.goals[static_cast<std::size_t>(g / 2)].tolerance[g % 2];
    t.error_guard[g] = maximum(t.here.errors[g], close);
    const S part = g % 2 ? close : close / solver.scale;
    t.cost_guard[0] += part * part;
  }
}

// Sets the tolerances that the goals of a level have to reach.
void set_bars(SolverData& solver, int level, Bars bars) {
  StrictState& t = solver.strict_state;
  t.bars = bars;
  for (int g = 2 * t.level_goals[static_cast<std::size_t>(level)];
       g < 2 * t.level_goals[static_cast<std::size_t>(level) + 1]; ++g)
    t.error_bar[g] =
        bars == Bars::GUARD ? t.error_guard[g] : solver.goals[static_cast<std::size_t>(g / 2)].tolerance[g % 2];
}

// Stores the pose `here` as the best one so far of a level.
void keep_best(SolverData& solver, int level) {
  StrictState& t = solver.strict_state;
  solver.best_outside = measure_violation(solver, t.here);
  solver.winner = solver.total_searches;
  solver.best_cost = t.here.costs[level];
  for (std::size_t k = 0; k < solver.best_q.size(); ++k) solver.best_q[k] = t.here.q[k];
}

// Restores the best pose so far of a level.
void return_to_best(SolverData& solver, int level) {
  StrictState& t = solver.strict_state;
  copy_configuration(solver.problem(), solver.best_q.data(), t.here.q);
  t.assembled = nullptr;
  evaluate_point(solver, t.here, level);
}

// Descends for a level; true if it is reached. A relaxed level descends into the region within its tolerances.
bool descend_level(SolverData& solver, int level, bool relaxed, Clock::time_point begun) {
  StrictState& t = solver.strict_state;
  if (!relaxed) return descend(solver, level, Descent::LEVEL, begun);
  if (late(solver, begun)) return false;
  relax(solver, t.level_goals[static_cast<std::size_t>(level)], t.level_goals[static_cast<std::size_t>(level) + 1]);
  t.assembled = nullptr;
  const bool reached = descend(solver, level, Descent::LEVEL, begun);
  relax(solver, 0, 0);
  t.assembled = nullptr;
  evaluate_point(solver, t.here, level);
  return reached;
}

// The result of a search from a seed: the levels above were lost, reached, or reached with a better pose of its level.
enum class Search : int { LOST, CAME, BETTER };

// Searches from a seed: the levels above return to their known result, then the level itself descends.
Search search_level(SolverData& solver, int level, int search, Clock::time_point begun) {
  StrictState& t = solver.strict_state;
  const bool loops = level == 0 && solver.goals[0].level < 0;
  copy_configuration(solver.problem(), solver.start.data(), t.here.q);
  seed_start(solver, static_cast<unsigned>(search), t.here.q);
  t.assembled = nullptr;
  ++solver.total_searches;
  for (int k = 0; k < level; ++k) {
    set_bars(solver, k, Bars::GUARD);
    if (!descend(solver, k, Descent::RETURN, begun)) return Search::LOST;
  }
  set_bars(solver, level, Bars::TOLERANCE);
  const bool any_cost = solver.loose || solver.best_outside > 0.0;
  t.cost_to_beat = any_cost ? -1.0 : tuning.worth_beating * solver.best_cost;
  const bool inside = descend_level(solver, level, solver.loose, begun) && solver.loose;
  t.cost_to_beat = -1.0;
  const S outside = measure_violation(solver, t.here);
  if (!keeps_above(solver, t.here, level) || breaks_anew(solver, t.here)) return Search::LOST;
  if (loops) {  // loops that are closed in the best pose must not be open
    copy_configuration(solver.problem(), solver.best_q.data(), t.there.q);
    evaluate_point(solver, t.there, 0);
    if (opens_loops(solver, t.there, t.here, 0)) return Search::LOST;
  }
  const bool closer = outside < solver.best_outside;
  const bool less = outside == solver.best_outside && t.here.costs[level] < tuning.better * solver.best_cost;
  return closer || less || inside ? Search::BETTER : Search::CAME;
}

// Solves one level from the result of those above it, and by searches from seeds if that misses. So the answer of the
// levels above is a stage of this one, independent of the levels below.
void solve_level(SolverData& solver, int level, Clock::time_point begun) {
  StrictState& t = solver.strict_state;
  const long long before = solver.watch.poses;
  set_bars(solver, level, Bars::TOLERANCE);
  bool reached = descend(solver, level, Descent::LEVEL, begun);
  keep_best(solver, level);
  if (!reached && solver.loose) {
    reached = descend_level(solver, level, true, begun);
    if (reached) keep_best(solver, level);
  }
  const bool single = solver.mode == Mode::CONTINUOUS || solver.searches == 1 || solver.n_v == 0;
  if (!reached && !single) find_more_proofs(solver);
  // if all listed poses collide, seeds seldom lead to another one (a free joint is listed at many values); a proof for a
  // goal of a lower level does not affect the levels above it
  const bool alone = single || is_hopeless(solver) || (level == 0 && solver.colliding > 0) ||
                     proved_unreachable(solver, cut_problem(solver, level).goals.n);
  const bool counted = solver.counted && level == 0;
  const int most = counted ? solver.searches - solver.total_searches + 1 : std::min(solver.searches, tuning.searches);
  const int searches = alone ? 1 : most;
  int same = 0;  // searches with the same result as the best one
  const auto tired = [&] {
    const bool sought = level == 0 && solver.first && solver.watch.poses - before > tuning.search_poses;
    return !counted && (sought || same >= tuning.same_ends);
  };
  for (int search = 1; search < searches && !reached && !tired() && !late(solver, begun); ++search) {
    const Search found = search_level(solver, level, search, begun);
    same +=
        found == Search::CAME && absolute(t.here.costs[level] - solver.best_cost) <= tuning.same_end * solver.best_cost;
    if (found != Search::BETTER) continue;
    same = 0;
    keep_best(solver, level);
    reached = !(solver.best_outside > 0.0) &&
              are_goals_within(t.here, t.level_goals[static_cast<std::size_t>(level)],
                               t.level_goals[static_cast<std::size_t>(level) + 1], t.error_bar);
  }
  return_to_best(solver, level);
  // the bars are those of the last descent: where the last search was lost on its way back, the guard and its few steps
  const bool finish = !reached && solver.mode != Mode::CONTINUOUS && !is_hopeless(solver) && !late(solver, begun);
  if (finish) reached = descend(solver, level, Descent::FINISH, begun);
  t.unfinished = t.unfinished || (!reached && t.cut);
  guard_levels(solver, level);
}

// Records the first level's history with the errors of all goals.
void record_first_level(SolverData& solver, const SolverData& first) {
  if (!solver.record) return;
  const std::size_t width = history_width(first);
  const int searches = solver.total_searches;
  for (std::size_t at = 0; at + width <= first.history.size(); at += width) {
    const double* row = first.history.data() + at;
    solver.total_searches = static_cast<int>(row[HISTORY_SEARCH]);
    solver.state.damping = row[HISTORY_DAMPING];
    copy_configuration(solver.problem(), row + history_q(first), solver.strict_state.here.q);
    record_here(solver);
  }
  solver.total_searches = searches;
}

// Solves the first level alone by the ordinary search, with restarts.
void solve_first_level(SolverData& solver, void (*solve_plainly)(SolverData&)) {
  SolverData& first = *solver.first;
  first.start = solver.start;
  first.window = solver.window;
  for (std::size_t k = 0; k < first.targets.size(); ++k) first.targets[k] = solver.targets[k];
  solve_plainly(first);
  solver.strict_state.unfinished = first.outcome == Outcome::OUT_OF_STEPS;
  solver.total_steps = first.total_steps;
  solver.total_searches = first.total_searches - 1;
  record_first_level(solver, first);
  for (std::size_t k = 0; k < first.best_q.size(); ++k) solver.strict_state.here.q[k] = first.best_q[k];
}

// Moves joints that cannot stop at once, as far as the limits allow, which come first.
void move_where_forced(SolverData& solver, int levels) {
  StrictState& t = solver.strict_state;
  evaluate_point(solver, t.here, levels);
  for (std::size_t i = 0; i < solver.limits.size(); ++i) t.start_gaps[i] = t.here.gaps[i];
  if (!solver.state.window) return;
  S share = 1.0;
  for (int k = 0; k < tuning.forced_trials; ++k, share *= tuning.forced_share) {
    copy_configuration(solver.problem(), t.here.q, t.there.q);
    move_as_forced(solver, share, t.there.q);
    evaluate_point(solver, t.there, levels);
    if (!keeps_limits(t.here, t.there)) continue;
    std::swap(t.here, t.there);
    return;
  }
}

// Solves for all levels from solver.start; the answer is in best_q, best_errors and outcome.
void solve_strictly(SolverData& solver, Clock::time_point begun, void (*solve_plainly)(SolverData&)) {
  StrictState& t = solver.strict_state;
  const int levels = static_cast<int>(t.level_rows.size()) - 1;
  t.assembled = nullptr;
  t.steps_solved = 0;
  t.unfinished = false;
  copy_configuration(solver.problem(), solver.start.data(), t.here.q);
  const bool plain = solver.first && solver.limits.empty();
  if (plain) solve_first_level(solver, solve_plainly);
  ++solver.total_searches;
  move_where_forced(solver, levels);
  if (!plain) record_here(solver);
  if (plain) guard_levels(solver, 0);
  for (int k = plain ? 1 : 0; k < levels; ++k) solve_level(solver, k, begun);
  if (!solver.posture_gain.empty() && !(measure_violation(solver, t.here) > 0.0))
    descend(solver, levels, Descent::POSTURE, begun);
  keep_best(solver, levels);
  evaluate_point(solver, t.here, levels);
  for (std::size_t k = 0; k < solver.best_errors.size(); ++k) solver.best_errors[k] = t.here.errors[k];
  const bool all = within_tolerance(solver.problem(), t.here.errors, 1.0) && !(solver.best_outside > 0.0);
  solver.outcome = all ? Outcome::REACHED : t.unfinished ? Outcome::OUT_OF_STEPS : Outcome::STALLED;
  doubt_stalled(solver);
  solver.out_of_time = late(solver, begun) && !all;
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
