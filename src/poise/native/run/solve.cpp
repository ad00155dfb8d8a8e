// solve.cpp: from a start to the best pose: searches, restarts, polish. Compiled once per instruction level.
#include "run/branches.h"
#include "run/find.h"
#include "run/ops.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// ---------------------------------------------------------------------------------------------- the whole solve

// a call that leaves such a joint outside its range has not reached
void doubt_reached(SolverData& solver) {
  if (solver.outcome != Outcome::REACHED || solver.settings.limits == LIMITS_OFF) return;
  for (const Freedom<S>& f : solver.idle) {
    const double x = solver.start[static_cast<std::size_t>(f.q_index)];
    if (x < f.lower || x > f.upper) solver.outcome = Outcome::OUT_OF_STEPS;  // the next call brings it further
  }
}

void polish_best(SolverData& solver) {
  begin_watch(solver);
  if (solver.polish) finish_miss(solver, solver.watch.begun);
}

void take_end(SolverData& solver, const S* q, const S* errors, S cost, S outside, Outcome outcome, int winner) {
  for (std::size_t k = 0; k < solver.best_q.size(); ++k) solver.best_q[k] = q[k];
  for (std::size_t k = 0; k < solver.best_errors.size(); ++k) solver.best_errors[k] = errors[k];
  solver.best_cost = cost;
  solver.best_outside = outside;
  solver.outcome = outcome;
  solver.winner = winner;
}

// If no pose reaches, a search that ended with a higher cost may only have stopped earlier: each continues to its
// minimum, and the minima are compared. Of equal minima, such as those of two branches of an arm, the first one is kept
// regardless of rounding. True if there are enough of them.
bool polish_try(SolverData& solver, Tries& tries, Clock::time_point begun) {
  SearchState<S>& s = solver.state;
  Kept& kept = solver.kept;
  take_end(solver, s.best_q, s.best_errors, s.best_cost, s.best_outside, s.outcome, solver.total_searches);
  if (solver.polish) polish(solver, begun);
  constexpr S equal = 1e-6;  // relative difference of costs
  const S cost = solver.best_cost;
  const bool worse =
      tries.count > 0 && (solver.best_outside > kept.outside ||
                          (solver.best_outside == kept.outside && !(cost < (S(1.0) - equal) * kept.cost)));
  if (worse) {
    take_end(solver, kept.q.data(), kept.errors.data(), kept.cost, kept.outside, kept.outcome, kept.winner);
  } else {
    std::copy(solver.best_q.begin(), solver.best_q.end(), kept.q.begin());
    std::copy(solver.best_errors.begin(), solver.best_errors.end(), kept.errors.begin());
    kept.cost = cost;
    kept.outside = solver.best_outside;
    kept.outcome = solver.outcome;
    kept.winner = solver.winner;
  }
  return tries.enough(cost, at_the_bound(solver, solver.targets.data(), solver.best_errors.data()), solver.tries);
}

// after the first search has missed
void note_proof(SolverData& solver) {
  find_more_proofs(solver);
  solver.proved_unreachable = proved_unreachable(solver, static_cast<int>(solver.goals.size()));
}

// Evaluates the closed forms, if any: a proof, or the start of the next search (in kept.q), in which case it returns
// true.
bool ask_closed_forms(SolverData& solver) {
  if (solver.closed.empty()) return false;
  std::copy(solver.start.begin(), solver.start.end(), solver.kept.q.begin());
  solver.proved_unreachable = decide_goals(solver, solver.targets.data(), solver.kept.q.data()) == Verdict::PROVED;
  return !solver.proved_unreachable;
}

// If the first search has missed a region: continues into it, from the end of that search.
void search_region(SolverData& solver, Clock::time_point begun) {
  const bool ended = solver.outcome == Outcome::REACHED || solver.out_of_time || solver.proved_unreachable;
  if (!solver.loose || ended) return;
  copy_configuration(solver.problem(), solver.best_q.data(), solver.state.q);
  begin_search(solver.problem(), solver.state);
  search_once(solver, true, begun);
}

// Searches from the start, then from other poses, until one reaches.
void search_all(SolverData& solver, Clock::time_point begun) {
  const bool tethered = solver.mode == Mode::CONTINUOUS;
  const int searches = tethered || solver.n_v == 0 ? 1 : solver.searches;
  Tries tries;
  bool asked = false;  // a closed form gives the start of the next search
  for (int search = 0; search < searches; ++search) {
    restart(solver);
    if (search > 0 && !asked) seed_start(solver, static_cast<unsigned>(search), solver.state.q);
    if (asked) copy_configuration(solver.problem(), solver.kept.q.data(), solver.state.q);
    asked = false;
    search_once(solver, search > 0 && solver.loose && !solver.proved_unreachable, begun);
    if (search == 0) search_region(solver, begun);
    if (solver.outcome == Outcome::REACHED || solver.out_of_time || search + 1 == searches) break;
    if (search == 0) note_proof(solver);
    if (search == 0 && !solver.proved_unreachable) {
      solver.proved_unreachable = decide_at_once(solver, solver.targets.data());
    }
    if (!solver.proved_unreachable && search + 1 == patience_with(solver)) asked = ask_closed_forms(solver);
    if (solver.proved_unreachable && polish_try(solver, tries, begun)) break;
  }
  const bool polished = solver.proved_unreachable && tries.count == solver.total_searches;
  if (solver.outcome != Outcome::REACHED && solver.polish && !solver.out_of_time && !polished) {
    finish_miss(solver, begun);
    solver.out_of_time = late(solver, begun) && solver.outcome != Outcome::REACHED;
  }
}

void solve_plainly(SolverData& solver) {
  begin_watch(solver);
  const Clock::time_point begun = solver.watch.begun;
  begin(solver);
  const bool listed = solver.branches && solver.mode != Mode::CONTINUOUS && !solver.proved_unreachable;
  if (!listed || !search_branches(solver, begun)) search_all(solver, begun);
  doubt_stalled(solver);
  doubt_reached(solver);
  solver.seconds = seconds_since(begun);
}

void solve(SolverData& solver) {
  if (!solver.strict) {
    solve_plainly(solver);
    return;
  }
  begin_watch(solver);
  const Clock::time_point begun = solver.watch.begun;
  begin(solver);
  solver.strict_state.here.is_measured = solver.strict_state.there.is_measured = false;
  const bool found = may_find(solver) && find_start(solver, begun);
  if (found ? !answer_at_start(solver) : !answer_blocked(solver)) solve_strictly(solver, begun, solve_plainly);
  if (solver.outcome != Outcome::REACHED && !solver.proved_unreachable) {  // from intermediate results
    solver.proved_unreachable = proved_unreachable(solver, static_cast<int>(solver.goals.size()));
  }
  if (solver.outcome == Outcome::REACHED || solver.proved_unreachable) solver.colliding = 0;
  solver.seconds = seconds_since(begun);
}

void least_gaps(const BodyView<double>& body, const LimitList<double>& limits, const SurfaceList<double>& list,
                const double* q, std::size_t count, double* placements, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    place_all(body, q + i * static_cast<std::size_t>(body.n_q), placements);
    out[i] = least_gap<NativePack<S>>(limits, list, placements, HUGE_VAL, -HUGE_VAL);
  }
}

}  // namespace

extern const SolverOps solver_table;
const SolverOps solver_table = {solve,         restart,     advance,   begin,     seed_start,
                                place_nearest, polish_best, keeps_all, least_gaps};

}  // namespace POISE_LEVEL
}  // namespace poise
