// history.h: the layout of a row of the history, one for every evaluated pose of a recorded call. `note` (running.h)
// writes the rows.
#pragma once
#include "memory/solver_data.h"

namespace poise {

// search, cost, damping; then metres and radians of each goal; then q
enum HistoryColumn : std::size_t { HISTORY_SEARCH = 0, HISTORY_COST = 1, HISTORY_DAMPING = 2, HISTORY_ERRORS = 3 };

inline std::size_t history_q(const SolverData& solver) { return HISTORY_ERRORS + 2 * solver.goals.size(); }

inline std::size_t history_width(const SolverData& solver) {
  return history_q(solver) + static_cast<std::size_t>(solver.n_q);
}

}  // namespace poise
