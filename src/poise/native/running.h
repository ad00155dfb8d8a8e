// running.h: the clock and the record of a solve. Part of solve.cpp, once per instruction level.
#pragma once
#include <chrono>

#include "kernels/rules.h"
#include "solver.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

using S = double;
using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

inline bool late(const SolverData& solver, Clock::time_point begun) {
  return solver.time_limit >= 0.0 && seconds_since(begun) >= solver.time_limit;
}

// a row of the history; the only place that may allocate, and only when asked to record
inline void note(SolverData& solver) {
  if (!solver.record) return;
  const SearchState<S>& s = solver.state;
  solver.history.insert(solver.history.end(), {static_cast<double>(solver.total_searches), s.cost, s.damping});
  solver.history.insert(solver.history.end(), s.errors, s.errors + 2 * solver.goals.size());
  solver.history.insert(solver.history.end(), s.q, s.q + solver.n_q);
}

// residuals at state.q, those of custom goals too
inline void look(SolverData& solver) {
  SearchState<S>& s = solver.state;
  s.cost = evaluate(solver.problem(), s.q, solver.targets.data(), s.placements, s.rows, s.errors, s.room);
  if (!solver.custom_rows) return;
  solver.custom_rows(s.q, s.rows, s.errors, static_cast<int>(solver.goals.size()));
  s.cost = 0.0;
  for (int k = 0; k < solver.n_rows; ++k) s.cost += s.rows[k] * s.rows[k];
}

// state.J at the pose that was evaluated last
inline void assemble_all(SolverData& solver) {
  SearchState<S>& s = solver.state;
  assemble(solver.problem(), s.placements, solver.targets.data(), s.J, s.room);
  if (solver.custom_columns) solver.custom_columns(s.q, s.J, static_cast<int>(solver.goals.size()));
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
