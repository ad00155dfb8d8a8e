// running.h: the clock and the record of a solve. Part of solve.cpp, once per instruction level.
#pragma once
#include <algorithm>
#include <chrono>

#include "kernels/methods/rules.h"
#include "kernels/problem/chain.h"
#include "run/history.h"
#include "run/proofs.h"
#include "run/strict/tuning.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

using S = double;
using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

// ---------------------------------------------------------------------------------------------- the end of a call

constexpr int looks_between = 256;  // checks between two callbacks to the caller: Ctrl-C, the end of a batch

// starts the clock of a call
inline void begin_watch(SolverData& solver) {
  Watch& w = solver.watch;
  w.begun = Clock::now();
  w.over = false;
  w.patience = looks_between;
  w.unasked = w.most_unasked = 0;
  w.poses = 0;
}

// Whether the call has to end: its time is up, or the caller cancels it. Every loop over steps, attempts at a step and
// searches checks this in each iteration, so that few poses are evaluated between two checks (`most_unasked`).
inline bool late(SolverData& solver, Clock::time_point begun) {
  Watch& w = solver.watch;
  if (w.unasked > w.most_unasked) w.most_unasked = w.unasked;
  w.unasked = 0;
  if (--w.patience < 0) {  // large bodies take longer per pose
    w.patience = looks_between / (1 + solver.n_v * solver.n_rows / 256);
    w.called_off();
  }
  return w.over || (solver.time_limit >= 0.0 && seconds_since(begun) >= solver.time_limit);
}

inline bool late(SolverData& solver) { return late(solver, solver.watch.begun); }

// Work after a search, such as the polish of a missed goal and lower levels, uses half of the steps that the searches
// have left of their `max_steps` each, so that later work also has some. A level does the same regardless of the levels
// below it.
inline int steps_left(const SolverData& solver) {
  const long long left = 1LL * solver.settings.max_steps * solver.total_searches - solver.total_steps;
  return static_cast<int>(std::clamp<long long>((left + 1) / 2, 0, 1000000000));
}

// The number of tries before a strict solve: the usual one, or the same share of a given number of searches.
inline int count_tries(const SolverData& solver, int usual) {
  constexpr int all = tuning.searches + tuning.free_searches;
  return solver.counted ? std::max(1, static_cast<int>(1LL * usual * solver.searches / all)) : usual;
}

inline void count_pose(SolverData& solver) {
  ++solver.watch.poses;
  ++solver.watch.unasked;
}

// ---------------------------------------------------------------------------------------------- poses

// appends a row to the history (history.h has its layout); the only allocation, and only when recording
inline void note(SolverData& solver) {
  if (!solver.record) return;
  const SearchState<S>& s = solver.state;
  solver.history.insert(solver.history.end(), {static_cast<double>(solver.total_searches), s.cost, s.damping});
  solver.history.insert(solver.history.end(), s.errors, s.errors + 2 * solver.goals.size());
  solver.history.insert(solver.history.end(), s.q, s.q + solver.n_q);
}

// state.dq from `q` to `out`, which is not q
inline void step_to(const SolverData& solver, const S* q, S* out) {
  const bool bounded = solver.settings.limits != LIMITS_OFF;
  for (int k = 0; k < solver.n_q; ++k) out[k] = q[k];
  take_tied_step(solver.problem(), solver.state, q, solver.state.dq, bounded, out);
}

// Moves from q to the nearest pose that the window of this call allows, or by `share` of that: a joint that cannot stop
// at once has to move on.
inline void move_as_forced(SolverData& solver, S share, S* q) {
  SearchState<S>& s = solver.state;
  if (!s.origin || !s.window) return;
  const auto problem = solver.problem();
  bool forced = false;
  difference(problem.coordinates, problem.n_coordinates, s.origin, q, s.work.b);
  for (int c = 0; c < solver.n_v; ++c) {
    S low, high;
    tether_of(problem, s, c, low, high);
    s.dq[c] = share * (minimum(maximum(s.work.b[c], low), high) - s.work.b[c]);
    forced = forced || s.dq[c] != 0.0;
  }
  if (forced) take_step(problem, q, s.dq, solver.settings.limits != LIMITS_OFF, q);
}

// ---------------------------------------------------------------------------------------------- regions of tolerance

// A relaxed goal counts only the error beyond its tolerance: e (1 - t / |e|) for an error e and a tolerance t. So every
// pose within the tolerances has no cost, and a search ends there even if the weighted minimum lies outside.
// Margin inside a tolerance at which such a search aims [metres over the body's length, radians], at most half of it,
// so that it ends inside also after rounding.
constexpr double relaxed_margin[2] = {5e-5, 5e-4};

// Relaxes the goals from `first` up to `last`.
inline void relax(SolverData& solver, int first, int last) {
  solver.relaxed_from = first;
  solver.relaxed_to = last;
}

// Calls visit(first row, rows, share beyond the tolerance) for the metres and radians of relaxed goals below `goals`.
template <class F> void for_relaxed(const SolverData& solver, int goals, const S* errors, F&& visit) {
  for (int g = solver.relaxed_from; g < std::min(goals, solver.relaxed_to); ++g) {
    const GoalSpec<S>& goal = solver.goals[static_cast<std::size_t>(g)];
    const auto share = [&](int part) {
      const S margin = relaxed_margin[part] * (part ? 1.0 : solver.scale);
      const S most = maximum(goal.tolerance[part] - margin, 0.5 * goal.tolerance[part]), error = errors[2 * g + part];
      return error > most ? 1.0 - most / error : 0.0;
    };
    const int rows = rows_of_goal(goal), metres = goal.op == GOAL_POSE ? 3 : is_angular(goal.op) ? 0 : rows;
    if (metres > 0) visit(goal.first_row, metres, share(0));
    if (rows > metres) visit(goal.first_row + metres, rows - metres, share(1));
  }
}

inline void relax_rows(const SolverData& solver, int goals, const S* errors, S* rows) {
  for_relaxed(solver, goals, errors, [&](int first, int count, S share) {
    for (int r = first; r < first + count; ++r) rows[r] *= share;
  });
}

// The columns of relaxed rows: the full motion along the error, and `share` of it across.
inline void relax_columns(const SolverData& solver, int goals, const S* errors, const S* rows, S* J) {
  for_relaxed(solver, goals, errors, [&](int first, int count, S share) {
    S square = 0.0;
    for (int r = first; r < first + count; ++r) square += rows[r] * rows[r];
    for (int c = 0; c < solver.n_v; ++c) {
      S *column = J + c * solver.n_rows, along = 0.0;
      for (int r = first; r < first + count; ++r) along += rows[r] * column[r];
      along = square > 0.0 ? (1.0 - share) * along / square : 0.0;
      for (int r = first; r < first + count; ++r) column[r] = share * column[r] + along * rows[r];
    }
  });
}

// ---------------------------------------------------------------------------------------------- the pose of a search

// Calls f(problem, targets) with the first `goals` goals; the problem of an arm has a known structure.
template <class F> void with_problem(const SolverData& solver, int goals, F&& f) {
  auto problem = solver.problem();
  problem.goals.n = goals;
  const int chain = goals == 1 ? solver.chain : 0;
  const S* targets = solver.targets.data();
  if (chain == 6) {
    f(as_chain<6>(problem), targets + problem.goals[0].target);
  } else if (chain == 7) {
    f(as_chain<7>(problem), targets + problem.goals[0].target);
  } else {
    f(problem, targets);
  }
}

// residuals of the first `goals` goals at state.q, including custom goals
inline void look(SolverData& solver, int goals) {
  SearchState<S>& s = solver.state;
  count_pose(solver);
  with_problem(solver, goals, [&](const auto& problem, const S* targets) {
    s.cost = evaluate(problem, s.q, targets, s.placements, s.rows, s.errors, s.room);
  });
  if (!solver.custom_rows && solver.relaxed_to == 0) return;
  if (solver.custom_rows) solver.custom_rows(s.q, s.rows, s.errors, goals);
  relax_rows(solver, goals, s.errors, s.rows);
  s.cost = 0.0;
  for (int k = 0; k < solver.n_rows; ++k) s.cost += s.rows[k] * s.rows[k];
}

inline void look(SolverData& solver) { look(solver, static_cast<int>(solver.goals.size())); }

// state.J of some goals at the pose evaluated last; rows at rest in `room`, if given, are zero
inline void assemble_up_to(SolverData& solver, int goals, const S* room) {
  SearchState<S>& s = solver.state;
  with_problem(solver, goals, [&](const auto& problem, const S* targets) {
    assemble(problem, s.q, s.placements, targets, s.J, room);
  });
  if (solver.custom_columns) solver.custom_columns(s.q, s.J, goals);
  relax_columns(solver, goals, s.errors, s.rows, s.J);
}

inline void assemble_all(SolverData& solver) {
  assemble_up_to(solver, static_cast<int>(solver.goals.size()), solver.state.room);
}

// How strongly the missed goals pull velocity c; state.J and errors are there.
inline S pull_of_missed(const SolverData& solver, int c) {
  const SearchState<S>& s = solver.state;
  S pull = 0.0;
  for (std::size_t g = 0; g < solver.goals.size(); ++g) {
    const GoalSpec<S>& goal = solver.goals[g];
    if (s.errors[2 * g] <= goal.tolerance[0] && s.errors[2 * g + 1] <= goal.tolerance[1]) continue;
    for (int r = goal.first_row; r < goal.first_row + rows_of_goal(goal); ++r)
      pull += s.J[c * solver.n_rows + r] * s.rows[r];
  }
  return pull;
}

// Continuous mode: a call that has stopped where a missed goal pulls a joint beyond the way of one call has not stalled,
// the next call goes on.
inline void doubt_stalled(SolverData& solver) {
  SearchState<S>& s = solver.state;
  if (solver.outcome != Outcome::STALLED || solver.mode != Mode::CONTINUOUS || !s.origin) return;
  constexpr S rounding = 1e-9;  // of a radian, or of the body's length
  const auto problem = solver.problem();
  copy_configuration(problem, solver.best_q.data(), s.q);
  look(solver);
  assemble_all(solver);
  difference(problem.coordinates, problem.n_coordinates, s.origin, s.q, s.work.b);
  room_to_move(problem, s.q, solver.settings.limits != LIMITS_OFF, 1.0, s.work);
  for (int c = 0; c < solver.n_v; ++c) {
    const S pull = pull_of_missed(solver, c), near = rounding * (problem.freedoms[c].angular ? 1.0 : solver.scale);
    S low, high;
    tether_of(problem, s, c, low, high);
    const bool on = pull > 0.0 && s.work.high[c] > 0.0 && s.work.b[c] > high - near;
    const bool back = pull < 0.0 && s.work.low[c] < 0.0 && s.work.b[c] < low + near;
    if (on || back) solver.outcome = Outcome::OUT_OF_STEPS;
  }
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
