// solver.cpp: memory of a prepared problem.
#include "solver.h"

namespace poise {

void allot(SolverData& solver) {
  const auto q = static_cast<std::size_t>(solver.n_q), v = static_cast<std::size_t>(solver.n_v);
  const auto m = static_cast<std::size_t>(solver.n_rows), g = solver.goals.size();
  struct Part {
    double** at;
    std::size_t size;
  };
  SearchState<double>& s = solver.state;
  const Part parts[] = {
      {&s.q, q},
      {&s.best_q, q},
      {&s.trial_q, q},
      {&s.rows, m},
      {&s.errors, 2 * g},
      {&s.best_errors, 2 * g},
      {&s.placements, 12 * solver.primitives.size()},
      {&s.J, m * v},
      {&s.dq, v},
      {&s.work.inverse_D, v},
      {&s.work.b, v},
      {&s.work.A, m * (m + 1) / 2},
      {&s.work.L, m * (m + 1) / 2},
      {&s.work.pivots, m},
      {&s.work.y, m},
      {&s.work.rhs, m},
      {&s.work.low, v},
      {&s.work.high, v},
      {&s.extra, static_cast<std::size_t>(solver.extra)},
  };
  std::size_t total = 0;
  for (const Part& part : parts) total += part.size + 1;
  solver.memory.assign(total, 0.0);
  double* next = solver.memory.data();
  for (const Part& part : parts) {
    *part.at = next;
    next += part.size + 1;
  }
  solver.best_q.assign(q, 0.0);
  solver.start.assign(q, 0.0);
  solver.best_errors.assign(2 * g, 0.0);
}

}  // namespace poise
