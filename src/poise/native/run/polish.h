// polish.h: from the best pose of the searches to the minimum, if a goal is missed. Part of solve.cpp.
//
// The minimum depends on the weights of the goals. If it misses by little, a nearby pose may still be within every
// tolerance: that is searched at the end, with each error relative to its tolerance.
//
// Steps only go downhill, with damping that grows after a failed step and shrinks after a success (Marquardt 1963), so
// that a goal out of reach always gives the same pose. If this is slow, Newton's step (newton.h) over the free joints
// is tried first, and taken if it reduces the cost.
#pragma once
#include "run/strict/strict.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

constexpr int most_polished = 8;                // steps in continuous mode
constexpr int most_attempts = 48;               // dampings to try for one step
constexpr double least_polish_damping = 1e-12;  // less would be lost in the rounding of J D^-1 J^T
constexpr double least_fall = 1e-14;      // relative to the cost: less is rounding, and must not decide at a saddle
constexpr int weighings = 5;              // iterations of the weights
constexpr std::size_t most_weighed = 16;  // goals weighted by their tolerances
constexpr int newton_rounds = 6;          // iterations of fixing joints at a bound and solving Newton's step again

// ---------------------------------------------------------------------------------------------- Newton's step

// Sets work.inverse_D of the joints that may move downhill to the square of their unit over their weight, others to 0.
void find_free(SolverData& solver, const NewtonWork& w) {
  StepWorkspace<S>& work = solver.state.work;
  for (int c = 0; c < solver.n_v; ++c) {
    const auto& f = solver.freedoms[static_cast<std::size_t>(c)];
    const S low = work.low[c], high = work.high[c];
    const bool outside = low > 0.0 || high < 0.0;
    const bool pressed = (high <= 0.0 && w.pull[c] > 0.0) || (low >= 0.0 && w.pull[c] < 0.0);
    work.inverse_D[c] = outside || pressed ? 0.0 : f.unit2 / f.weight;
    w.fixed[c] = outside ? (low > 0.0 ? low : high) : 0.0;
  }
}

// the free joints: the square of their unit, 0 for fixed ones; bounds are not checked along the way
struct FreeJoints {
  SolverData& solver;
  const NewtonWork& w;
  const S* unit;
  void aim(const S* left, S* way) const {
    for (int c = 0; c < solver.n_v; ++c) way[c] = unit[c] * left[c];
  }
  void bend() const { POISE_LEVEL::bend(solver, w, solver.state.trial_q, nullptr); }
  S square_of(const S* way) const {
    S sum = 0.0;
    for (int c = 0; c < solver.n_v; ++c) sum += unit[c] > 0.0 ? way[c] * way[c] / unit[c] : 0.0;
    return sum;
  }
  S flattest() const { return 1e-9; }
  // flat or negative curvature: the step so far is the result
  Met meet(S curve, S least, S&) const { return curve > least ? Met::NOTHING : Met::END; }
};

// w.sum of the free joints, with the others moved by w.fixed
void solve_newton(SolverData& solver, const NewtonWork& w, Clock::time_point begun) {
  FreeJoints joints{solver, w, solver.state.work.inverse_D};
  for (int c = 0; c < solver.n_v; ++c) w.way[c] = w.fixed[c];
  joints.bend();
  for (int c = 0; c < solver.n_v; ++c) {
    w.left[c] = w.pull[c] - w.bent[c];
    w.sum[c] = w.fixed[c];
  }
  conjugate(solver, w, joints, solver.n_v + 2, 1e-8, begun);
}

// fixes joints that would leave their room at its end; true if there are new ones
bool fix_crossing(SolverData& solver, const NewtonWork& w) {
  StepWorkspace<S>& work = solver.state.work;
  bool crossed = false;
  for (int c = 0; c < solver.n_v; ++c) {
    if (!(work.inverse_D[c] > 0.0) || (w.sum[c] >= work.low[c] && w.sum[c] <= work.high[c])) continue;
    w.fixed[c] = w.sum[c] = minimum(maximum(w.sum[c], work.low[c]), work.high[c]);
    work.inverse_D[c] = 0.0;
    crossed = true;
  }
  return crossed;
}

// Newton's step from trial_q into w.sum, within the room of every joint; overwrites state.J and rows of that pose.
void find_newton(SolverData& solver, const NewtonWork& w, Clock::time_point begun) {
  pull_of(solver, w, w.pull);
  find_free(solver, w);
  solve_newton(solver, w, begun);
  for (int round = 0; round < newton_rounds && fix_crossing(solver, w); ++round) solve_newton(solver, w, begun);
  fix_crossing(solver, w);
}

// takes Newton's step, or a part of it, if that reduces the cost; updates and evaluates state.q
bool step_by_newton(SolverData& solver, S before, Clock::time_point begun) {
  SearchState<S>& s = solver.state;
  const NewtonWork w = newton_work(solver, 0, solver.n_rows, static_cast<int>(solver.goals.size()));
  find_newton(solver, w, begun);
  S share = 1.0;
  for (int attempt = 0; attempt < 3 && !late(solver, begun); ++attempt, share *= 0.25) {
    for (int c = 0; c < solver.n_v; ++c) s.dq[c] = share * w.sum[c];
    step_to(solver, s.trial_q, s.q);
    look(solver);
    if (s.cost < before * (1.0 - least_fall)) return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------- downhill

// moves state.q one step downhill from the best pose, by Newton's step or shorter and shorter ones; false if none does
template <int M> bool step_down(SolverData& solver, bool creeping, S& damping, Clock::time_point begun) {
  const auto problem = solver.problem();
  SearchState<S>& s = solver.state;
  const S before = s.cost;
  assemble_all(solver);
  find_room(problem, solver.settings, s);
  if (stands_still(problem, s)) return false;
  copy_configuration(problem, s.q, s.trial_q);
  for (int r = 0; r < solver.n_rows; ++r) s.trial_rows[r] = s.rows[r];
  if (creeping) {
    if (step_by_newton(solver, before, begun)) return true;
    copy_configuration(problem, s.trial_q, s.q);
    look(solver);
    assemble_all(solver);
  }
  bool better = false;
  for (int attempt = 0; attempt < most_attempts && !better && !late(solver, begun); ++attempt) {
    if (attempt > 0) damping *= 4.0;
    bounded_step<M>(problem, s.trial_q, s.J, s.trial_rows, damping, Posture<S>{nullptr, nullptr},
                    solver.settings.rounds, s.work, s.dq);
    step_to(solver, s.trial_q, s.q);
    look(solver);
    better = s.cost < before * (1.0 - least_fall);
  }
  s.damping = damping;
  damping = maximum(0.2 * damping, minimum(least_polish_damping, solver.settings.damping_floor));
  if (!better) copy_configuration(problem, s.trial_q, s.q);
  return better;
}

// stores the pose state.q if it is the best so far
void keep_polished(SolverData& solver) {
  SearchState<S>& s = solver.state;
  look(solver);
  const S outside = outside_of(solver.problem(), solver.settings, s.q);
  if (outside > solver.best_outside || (outside == solver.best_outside && !(s.cost <= solver.best_cost))) return;
  solver.best_outside = outside;
  solver.best_cost = s.cost;
  for (std::size_t k = 0; k < solver.best_q.size(); ++k) solver.best_q[k] = s.q[k];
  for (std::size_t k = 0; k < solver.best_errors.size(); ++k) solver.best_errors[k] = s.errors[k];
  if (within_tolerance(solver.problem(), s.errors, 1.0) && !(outside > 0.0)) solver.outcome = Outcome::REACHED;
}

// From the best pose to the minimum; in continuous mode a few steps, and the next call continues. True if it converged.
template <int M> bool polish_rows(SolverData& solver, Clock::time_point begun) {
  SearchState<S>& s = solver.state;
  copy_configuration(solver.problem(), solver.best_q.data(), s.q);
  look(solver);
  S damping = 1e-3 * s.cost + solver.settings.damping_floor;
  s.damping = damping;
  note(solver);
  const int left = steps_left(solver);
  const int most = solver.mode == Mode::CONTINUOUS ? std::min(most_polished, left) : left;
  bool creeping = false, ended = false;
  for (int k = 0, quiet = 0; k < most && !ended && !late(solver, begun); ++k) {
    const S before = s.cost;
    ended = !step_down<M>(solver, creeping, damping, begun);
    if (ended) break;
    creeping = s.cost > creeps * before;
    quiet = s.cost > before * (1.0 - 1e-13) ? quiet + 1 : 0;
    note(solver);
    ++solver.total_steps;
    ended = quiet >= 4;
  }
  keep_polished(solver);
  return ended;
}

bool polish_plainly(SolverData& solver, Clock::time_point begun) {
  return solver.n_rows == 6   ? polish_rows<6>(solver, begun)
         : solver.n_rows == 3 ? polish_rows<3>(solver, begun)
                              : polish_rows<0>(solver, begun);
}

bool some_joint_at_bound(const SolverData& solver) {
  for (const Freedom<S>& f : solver.freedoms) {
    if (f.q_index < 0) continue;
    const S x = solver.best_q[static_cast<std::size_t>(f.q_index)], rounding = 1e-12 * (f.angular ? 1.0 : solver.scale);
    if (x <= f.lower + rounding || x >= f.upper - rounding) return true;
  }
  return false;
}

// The default step fixes joints at their bounds heuristically and can stop too early; the exact active set
// (active_set.h) decides whether the cost can decrease further. True if it converged.
bool polish_to_minimum(SolverData& solver, Clock::time_point begun) {
  const bool ended = polish_plainly(solver, begun);
  StrictState& t = solver.strict_state;
  const bool asked = ended && solver.outcome == Outcome::STALLED && solver.settings.limits == LIMITS_ACTIVE;
  const bool short_steps = solver.settings.reach < 1.0;  // other steps would ignore the user's step limit
  if (!asked || short_steps || !some_joint_at_bound(solver)) return ended;
  copy_configuration(solver.problem(), solver.best_q.data(), t.here.q);
  t.assembled = nullptr;
  t.steps_solved = 0;
  set_bars(solver, 0, Bars::TOLERANCE);
  descend(solver, 0, Descent::LEVEL, begun);
  if (measure_violation(solver, t.here) > solver.best_outside || !(t.here.costs[0] < solver.best_cost)) return ended;
  copy_configuration(solver.problem(), t.here.q, solver.best_q.data());
  return polish_plainly(solver, begun);
}

// The same, with its outcome: a missed goal has stalled at a minimum, or the steps ran out on the way there.
void polish(SolverData& solver, Clock::time_point begun) {
  const bool ended = polish_to_minimum(solver, begun);
  if (solver.outcome != Outcome::REACHED) solver.outcome = ended ? Outcome::STALLED : Outcome::OUT_OF_STEPS;
}

// ---------------------------------------------------------------------------------------------- within the tolerances

// Calls visit(weight, tolerance over the length scale) for every positive weight of a goal.
template <class F> void for_weights(SolverData& solver, GoalSpec<S>& goal, F&& visit) {
  for (int k = goal.op == GOAL_ROTATION ? 3 : 0; k < (goal.op == GOAL_POSITION ? 3 : 6); ++k) {
    if (goal.weight[k] > 0.0) visit(goal.weight[k], k < 3 ? goal.tolerance[0] / solver.scale : goal.tolerance[1]);
  }
}

// Weights every error by its tolerance, keeping the largest weight; false if nothing changes, or for other goals.
bool weigh_by_tolerance(SolverData& solver) {
  S largest = 0.0, least = 1e300;
  bool plain = true, changed = false;
  for (GoalSpec<S>& goal : solver.goals) {
    plain = plain && is_plain(goal.op);
    for_weights(solver, goal, [&](S weight, S tolerance) {
      largest = maximum(largest, weight);
      least = minimum(least, tolerance);
    });
  }
  if (!plain || !(least > 0.0)) return false;
  for (GoalSpec<S>& goal : solver.goals) {
    for_weights(solver, goal, [&](S& weight, S tolerance) {
      const S wanted = largest * least / tolerance;
      changed = changed || absolute(wanted - weight) > 1e-3 * wanted;
      weight = wanted;
    });
  }
  return changed;
}

// Increases the weights of errors beyond their tolerance, since least squares do not minimise the largest error.
void weigh_missed(SolverData& solver) {
  for (std::size_t g = 0; g < solver.goals.size(); ++g) {
    GoalSpec<S>& goal = solver.goals[g];
    for (int k = 0; k < 6; ++k) {
      const S ratio = solver.best_errors[2 * g + static_cast<std::size_t>(k / 3)] / goal.tolerance[k / 3];
      if (ratio > 1.0) goal.weight[k] *= 2.0 * ratio;
    }
  }
}

// whether the best pose misses by so little that another may be within
bool nearly_within(const SolverData& solver) {
  constexpr S tolerances = 20.0;
  return within_tolerance(solver.problem(), solver.best_errors.data(), tolerances) && !(solver.best_outside > 0.0);
}

// From a minimum that misses to a pose within every tolerance nearby, if there is one; otherwise nothing changes.
void polish_within(SolverData& solver, Clock::time_point begun) {
  const bool plain =
      solver.mode != Mode::CONTINUOUS && solver.settings.limits == LIMITS_ACTIVE && solver.goals.size() <= most_weighed;
  if (!plain || solver.outcome == Outcome::REACHED || solver.proved_unreachable || !nearly_within(solver)) return;
  S weights[6 * most_weighed];
  for (std::size_t g = 0; g < solver.goals.size(); ++g) std::copy_n(solver.goals[g].weight, 6, weights + 6 * g);
  const S cost = solver.best_cost;
  Kept& kept = solver.kept;
  std::copy(solver.best_q.begin(), solver.best_q.end(), kept.q.begin());
  std::copy(solver.best_errors.begin(), solver.best_errors.end(), kept.errors.begin());
  const bool changed = weigh_by_tolerance(solver);
  const auto goes_on = [&] { return changed && solver.outcome != Outcome::REACHED && !late(solver, begun); };
  for (int round = 0; round < weighings && goes_on(); ++round) {
    if (round > 0) weigh_missed(solver);
    solver.best_cost = 1e300;
    polish_plainly(solver, begun);
  }
  for (std::size_t g = 0; g < solver.goals.size(); ++g) std::copy_n(weights + 6 * g, 6, solver.goals[g].weight);
  if (solver.outcome == Outcome::REACHED) {
    copy_configuration(solver.problem(), solver.best_q.data(), solver.state.q);
    look(solver);
    solver.best_cost = solver.state.cost;
    return;
  }
  std::copy(kept.q.begin(), kept.q.end(), solver.best_q.begin());
  std::copy(kept.errors.begin(), kept.errors.end(), solver.best_errors.begin());
  solver.best_cost = cost;
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
