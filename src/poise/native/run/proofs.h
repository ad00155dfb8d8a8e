// proofs.h: the use of reachability proofs in the searches, to stop at a pose that is good enough.
#pragma once
#include "memory/solver_data.h"

namespace poise {

// whether a bound of the first `goals` goals proves that they cannot all be reached
inline bool proved_unreachable(const SolverData& solver, int goals) {
  const auto problem = solver.problem();
  for (std::size_t i = 0; i < solver.bounds_used; ++i) {
    const Reachable<double>& r = solver.reachable[i];
    if (r.goal < goals && r.other < goals && beyond_reach(problem, r, solver.targets.data())) return true;
  }
  return false;
}

// Computes the bounds that were postponed until a search missed.
inline void find_more_proofs(SolverData& solver) {
  if (solver.more_proofs && !solver.proofs_complete) solver.more_proofs();
  solver.bounds_used = solver.reachable.size();
}

// The number of missed searches before closed forms are used: with a free joint they take as long as a search or two.
inline int patience_with(const SolverData& solver) {
  int most = 1;
  for (const ClosedForm<double>& form : solver.closed) most = form.spec.free_joint == FREE_NONE ? most : 3;
  return most;
}

// the joint values of a closed form in q, inside their ranges
inline void take_joints(const ClosedForm<double>& form, const double* values, double* q) {
  for (int k = 0; k < form.joints; ++k) {
    q[form.q_index[k]] = (inside_of(axis_of(form.spec, k), values[k]) - form.bias[k]) / form.gain[k];
  }
}

inline FamilyTarget<double> asked_of(const SolverData& solver, const ClosedForm<double>& form, const double* targets) {
  const GoalSpec<double>& goal = solver.goals[static_cast<std::size_t>(form.goal)];
  const double none[3] = {0.0, 0.0, 0.0};
  return target_of<double>(targets + goal.target, none, goal.tolerance);
}

// Whether some goal is proved out of reach immediately, without listing its branches.
inline bool decide_at_once(const SolverData& solver, const double* targets) {
  const auto problem = solver.problem();
  for (const Reachable<double>& r : solver.reachable) {
    if (beyond_reach(problem, r, targets)) return true;
  }
  for (const ClosedForm<double>& form : solver.closed) {
    if (never_so_far(form.spec, asked_of(solver, form, targets))) return true;
  }
  return false;
}

// Evaluates the closed forms of goals that a search missed. PROVED: some goal cannot be reached within its tolerances.
// Otherwise q has the joints of the first goal with a closed form at a pose that reaches it, or nearly.
inline Verdict decide_goals(const SolverData& solver, const double* targets, double* q) {
  constexpr int most_cells = 1000;
  Verdict all = Verdict::OPEN;
  for (std::size_t i = 0; i < solver.closed.size(); ++i) {
    const ClosedForm<double>& form = solver.closed[i];
    double values[7] = {};
    int cells = 0;
    const Verdict verdict = decide(form.spec, asked_of(solver, form, targets), most_cells, values, cells);
    if (verdict == Verdict::PROVED) return verdict;
    if (i > 0) continue;
    all = verdict;
    take_joints(form, values, q);
  }
  return all;
}

// Whether a bound proves that no pose has smaller errors: one goal, or two together, are as near as possible, and the
// others are reached.
inline bool at_the_bound(const SolverData& solver, const double* targets, const double* errors) {
  const auto problem = solver.problem();
  for (std::size_t i = 0; i < solver.bounds_used; ++i) {
    const Reachable<double>& r = solver.reachable[i];
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

// Searches for the best pose if no pose reaches. They end at a bound, after a few with the same cost, or at a limit.
struct Tries {
  double best = 0.0;  // the lowest cost so far
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
