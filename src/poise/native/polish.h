// polish.h: from the best pose of the searches to the minimum itself, where a goal is missed. Part of solve.cpp.
//
// Downhill only, with damping that grows when a step fails and shrinks when it works (Marquardt 1963), so that a goal out of reach is
// answered by the same still pose every time. Such a minimum is one of large residuals: there J^T J says little about how the cost bends,
// and the damped step creeps. Where it does, Newton's step is tried first,
//
//   (J^T J - sum_i r_i d2(row_i)/dq2) x = J^T r   over the joints that are free,
//
// by conjugate gradients, which leave the joints alone that nothing bends (Dembo and Steihaug 1983), and with the products of that matrix
// from differences of J^T r: so every kind of goal has them. It is taken if it leads down.
#pragma once
#include "strict.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

constexpr int most_polished = 8;                // steps in continuous mode
constexpr int most_attempts = 48;               // dampings that one step is tried with
constexpr double least_polish_damping = 1e-12;  // less would be lost in the rounding of J D^-1 J^T
constexpr double least_fall = 1e-14;      // of the cost: less is rounding, and must not decide where a saddle leads
constexpr double creeps = 0.8;            // a step that leaves more than this of the cost
constexpr double difference_step = 1e-6;  // radians or lengths of the body
constexpr double flattest = 1e-9;         // of the largest curvature seen: less is rounding
constexpr int newton_rounds = 6;          // times that joints are fixed at a bound and Newton's step is solved again

// ---------------------------------------------------------------------------------------------- Newton's step

// what the search for one step needs, n_v numbers each, cut from solver.newton
struct NewtonWork {
  S *pull, *left, *way,
      *bent;       // J^T r of the free joints, what is left of it, the direction, the matrix times the direction
  S *sum, *fixed;  // the step, and that of the joints that go to their bound
};

NewtonWork newton_work(SolverData& solver) {
  S* at = solver.newton.data();
  const int n = solver.n_v;
  return {at, at + n, at + 2 * n, at + 3 * n, at + 4 * n, at + 5 * n};
}

// out = J^T r at the pose that was evaluated and assembled last
void pull_of(const SolverData& solver, S* out) {
  const SearchState<S>& s = solver.state;
  const int m = solver.n_rows;
  for (int c = 0; c < solver.n_v; ++c) {
    S sum = 0.0;
    for (int r = 0; r < m; ++r) sum += s.J[c * m + r] * s.rows[r];
    out[c] = sum;
  }
}

S motion_of(const SolverData& solver, const S* x) {
  S most = 0.0;
  for (int c = 0; c < solver.n_v; ++c) {
    const auto& f = solver.freedoms[static_cast<std::size_t>(c)];
    most = maximum(most, absolute(x[c]) / (f.angular ? 1.0 : solver.scale));
  }
  return most;
}

// w.bent = the matrix times w.way, from J^T r a little along it; trial_q is where the step begins
void bend(SolverData& solver, const NewtonWork& w) {
  SearchState<S>& s = solver.state;
  const S length = motion_of(solver, w.way), share = length > 0.0 ? difference_step / length : 0.0;
  for (int c = 0; c < solver.n_v; ++c) s.dq[c] = share * w.way[c];
  copy_configuration(solver.problem(), s.trial_q, s.q);
  take_step(solver.problem(), s.trial_q, s.dq, false, s.q);
  look(solver);
  assemble_all(solver);
  pull_of(solver, w.bent);
  for (int c = 0; c < solver.n_v; ++c) w.bent[c] = share > 0.0 ? (w.pull[c] - w.bent[c]) / share : 0.0;
}

// Marks in work.inverse_D the joints that may go where the cost falls, by the square of their unit over their weight; 0 for the others.
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

// w.sum of the joints that are free, with the others going as far as w.fixed says, by conjugate gradients
void solve_newton(SolverData& solver, const NewtonWork& w, Clock::time_point begun) {
  const S* unit = solver.state.work.inverse_D;
  const int n = solver.n_v;
  for (int c = 0; c < n; ++c) w.way[c] = w.fixed[c];
  bend(solver, w);
  S square = 0.0, begin = 0.0, steepest = 0.0;
  for (int c = 0; c < n; ++c) {
    w.left[c] = w.pull[c] - w.bent[c];
    w.way[c] = unit[c] * w.left[c];
    w.sum[c] = w.fixed[c];
    square += w.left[c] * w.way[c];
  }
  begin = square;
  for (int k = 0; k < n + 2 && square > 1e-16 * begin && !late(solver, begun); ++k) {
    bend(solver, w);
    S curve = 0.0, norm = 0.0;
    for (int c = 0; c < n; ++c) {
      curve += w.way[c] * w.bent[c];
      norm += unit[c] > 0.0 ? w.way[c] * w.way[c] / unit[c] : 0.0;
    }
    steepest = maximum(steepest, curve / norm);
    if (!(curve > flattest * steepest * norm))
      return;  // flat, or bent the other way: what was found so far is the step
    const S share = square / curve;
    S next = 0.0;
    for (int c = 0; c < n; ++c) {
      w.sum[c] += unit[c] > 0.0 ? share * w.way[c] : 0.0;
      w.left[c] -= share * w.bent[c];
      next += w.left[c] * unit[c] * w.left[c];
    }
    for (int c = 0; c < n; ++c) w.way[c] = unit[c] * w.left[c] + next / square * w.way[c];
    square = next;
  }
}

// what would leave its room is fixed at the end of it; true if there is somebody new
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

// Newton's step from trial_q into w.sum, within the room of every joint; state.J and rows belong to that pose, and are lost.
void find_newton(SolverData& solver, const NewtonWork& w, Clock::time_point begun) {
  pull_of(solver, w.pull);
  find_free(solver, w);
  solve_newton(solver, w, begun);
  for (int round = 0; round < newton_rounds && fix_crossing(solver, w); ++round) solve_newton(solver, w, begun);
  fix_crossing(solver, w);
}

// Newton's step, or a part of it, where that leads down: state.q goes on, and is looked at
bool step_by_newton(SolverData& solver, S before, Clock::time_point begun) {
  SearchState<S>& s = solver.state;
  const NewtonWork w = newton_work(solver);
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

// state.q one step further down from the best pose, by Newton's step or by one of less and less length; false if none leads down
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

// keeps the pose state.q if it is the best so far
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

// From the best pose to the minimum. In continuous mode a few steps: the next call goes on. True if it came to the end.
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

// The default step fixes joints at their bounds by a rule of thumb and can stand still where it should not; the exact active set
// (active_set.h) says whether there is a way on.
void polish(SolverData& solver, Clock::time_point begun) {
  const bool ended = polish_plainly(solver, begun);
  StrictState& t = solver.strictly;
  const bool asked = ended && solver.outcome == Outcome::STALLED && solver.settings.limits == LIMITS_ACTIVE;
  const bool short_steps =
      solver.settings.reach < 1.0;  // what the user bounds is not to be left to another way of stepping
  if (!asked || short_steps || !some_joint_at_bound(solver)) return;
  copy_configuration(solver.problem(), solver.best_q.data(), t.here.q);
  t.assembled = nullptr;
  t.solved = 0;
  set_bars(solver, 0, false);
  descend(solver, 0, begun);
  if (broken(solver, t.here) > solver.best_outside || !(t.here.costs[0] < solver.best_cost)) return;
  copy_configuration(solver.problem(), t.here.q, solver.best_q.data());
  polish_plainly(solver, begun);
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
