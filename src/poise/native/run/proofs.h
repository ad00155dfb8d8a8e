// proofs.h: what a proof that the goals cannot all be reached means for the searches: which pose is good enough.
#pragma once
#include "memory/solver_data.h"

namespace poise {

// whether some bound about the first `goals` goals says that they cannot all be reached
inline bool proved_unreachable(const SolverData& solver, int goals) {
  const auto problem = solver.problem();
  for (const Reachable<double>& r : solver.reachable) {
    if (r.goal < goals && r.other < goals && beyond_reach(problem, r, solver.targets.data())) return true;
  }
  return false;
}

// A search has missed: the bounds that were left for then.
inline void find_more_proofs(SolverData& solver) {
  if (solver.more_proofs && !solver.proofs_complete) solver.more_proofs();
}

// Whether a bound says that no pose has smaller errors: one goal is as near as it can be, or two are together, and the others are reached.
inline bool at_the_bound(const SolverData& solver, const double* targets, const double* errors) {
  const auto problem = solver.problem();
  for (const Reachable<double>& r : solver.reachable) {
    double slack;
    const double excess = excess_of_reach(problem, r, targets, slack);
    if (!(excess > slack) || dot(r.local, r.local) > 0.0) continue;
    double left = 0.0;
    bool others = true;
    for (int g = 0; g < problem.goals.count(); ++g) {
      const bool about = g == r.goal || g == r.other;
      left += about ? errors[2 * g] : 0.0;
      others = others && (about || errors[2 * g] <= problem.goals[g].tolerance[0]) &&
               errors[2 * g + 1] <= problem.goals[g].tolerance[1];
    }
    if (others && left <= excess + slack) return true;
  }
  return false;
}

// Searches for the best pose where no pose reaches. They end where a bound is met, or after a few that end at the same cost, or a number.
struct Tries {
  double best = 0.0;  // the cost so far
  int count = 0, same = 0;

  bool enough(double cost, bool met) {
    constexpr int most = 20, repeats = 5;
    constexpr double alike = 1e-3;
    const bool better = count == 0 || cost < (1.0 - alike) * best;
    same = better ? 0 : same + (cost <= (1.0 + alike) * best);
    best = better || cost < best ? cost : best;
    ++count;
    return met || same >= repeats || count >= most;
  }
};

}  // namespace poise
