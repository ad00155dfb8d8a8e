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

// After how many searches that missed closed forms are asked: with a free joint they take as long as a search or two.
inline int patience_with(const SolverData& solver) {
  int most = 1;
  for (const ClosedGoal& form : solver.closed) most = form.spec.free_joint == FREE_NONE ? most : 3;
  return most;
}

// the joints' values of a closed form in q, inside their ranges
inline void take_joints(const ClosedGoal& form, const double* values, double* q) {
  const int shift = form.spec.free_joint == FREE_FIRST;
  for (int k = 0; k < form.joints; ++k) {
    const int six = k - shift;
    const bool free = six < 0 || six > 5;
    const FamilyAxis<double>& axis = free ? form.spec.free : form.spec.chain.axes[form.spec.backwards ? 5 - six : six];
    const double inside = axis.middle + minimum(maximum(turns_off(axis, values[k]), -axis.half), axis.half);
    q[form.q_index[k]] = (inside - form.bias[k]) / form.gain[k];
  }
}

// Asks the closed forms of goals that a search has missed. PROVED: some goal cannot be reached within its tolerances. Else the joints
// of the first goal that has a form stand in q where it is reached, or nearly.
inline Verdict decide_goals(const SolverData& solver, const double* targets, double* q) {
  constexpr int most_cells = 1000;
  Verdict all = Verdict::OPEN;
  for (std::size_t i = 0; i < solver.closed.size(); ++i) {
    const ClosedGoal& form = solver.closed[i];
    const GoalSpec<double>& goal = solver.goals[static_cast<std::size_t>(form.goal)];
    FamilyTarget<double> target;
    const double* from = targets + goal.target;
    for (int k = 0; k < 9; ++k) target.R[k] = from[k];
    for (int k = 0; k < 3; ++k) target.p[k] = from[9 + k];
    target.metres = goal.tolerance[0];
    target.radians = goal.tolerance[1];
    double values[7] = {};
    int cells = 0;
    const Verdict verdict = decide(form.spec, target, most_cells, values, cells);
    if (verdict == Verdict::PROVED) return verdict;
    if (i > 0) continue;
    all = verdict;
    take_joints(form, values, q);
  }
  return all;
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

  bool enough(double cost, bool met, int most) {
    constexpr int repeats = 5;
    constexpr double alike = 1e-3;
    const bool better = count == 0 || cost < (1.0 - alike) * best;
    same = better ? 0 : same + (cost <= (1.0 + alike) * best);
    best = better || cost < best ? cost : best;
    ++count;
    return met || same >= repeats || count >= most;
  }
};

}  // namespace poise
