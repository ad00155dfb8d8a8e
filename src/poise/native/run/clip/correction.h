// correction.h: one frame of a clip by itself, brought to what it must hold exactly. Part of clip.cpp.
#pragma once
#include "kernels/algebra/factor.h"
#include "run/clip/rates.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

class FrameCorrection : public FrameRates {
 public:
  using FrameRates::FrameRates;

 protected:
  // The shortest way to where the hard goals are exact and no limit is broken, by Newton: dq = C^T (C C^T)^-1 c over the joints that
  // have room.
  void correct_frame(int t) {
    S* q = q_of(d.q, t);
    S* best = q_of(d.trial, t);
    S last = -1.0;
    for (int round = 0; round < tuning.corrections && !over(); ++round) {
      look_at_frame(t, q, 1.0, d.rows.data(), solver.state.errors);
      find_limit_rows(q, tuning.still_clear, 2.0 * tuning.still_clear, 1.0);
      S off = keep_hard_rows(t);
      for (int k = 0; k < n_near; ++k) off = std::max(off, d.limit_rest[at(k)] - tuning.still_clear);
      if (last >= 0.0 && !(off < last)) {  // no nearer: back to where it was
        std::copy(best, best + solver.n_q, q);
        return;
      }
      if (off <= tuning.exact) return;
      last = off;
      std::copy(q, q + solver.n_q, best);
      assemble(problem, q, solver.state.placements, targets_of(t), d.J.data(), solver.state.room);
      scale_rows(t, 1.0, d.J.data(), n, m);
      step_to_hard(t, q);
    }
  }

  // rows of soft goals made zero; returns how far the hard ones are off
  S keep_hard_rows(int t) {
    S off = 0.0;
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      const bool counts = d.hard[at(g)] && d.weights[at(t) * solver.goals.size() + at(g)] > 0.0;
      for (int k = 0; k < rows_of_goal(goal); ++k) {
        S& row = d.rows[at(goal.first_row + k)];
        if (!counts) row = 0.0;
        off = std::max(off, std::abs(row));
      }
    }
    return off;
  }

  // One step of Newton; joints that would leave their range stay where they are, and the others are asked once more.
  void step_to_hard(int t, S* q) {
    S* x = of_frame(d.step, t);
    S* rows = d.scratch.data();
    S* r = rows + at(m + limits.n) * at(n);
    std::fill_n(d.held.begin() + static_cast<std::ptrdiff_t>(at(t) * at(n)), n, char(0));
    char* held = d.held.data() + at(t) * at(n);
    for (int round = 0; round < tuning.rounds; ++round) {
      const int count = gather_hard_rows(t, held, rows, r);
      minimum_norm(count, n, rows, r, tuning.dependent, r + m + limits.n, x);
      bool again = false;
      for (int c = 0; c < n; ++c) {
        x[c] = held[c] ? 0.0 : x[c] * size_in_cost(c);
        if (!leaves_range(c, q, x[c])) continue;
        held[c] = 1;
        again = true;
      }
      if (!again) break;
    }
    std::copy(q, q + solver.n_q, q_of(d.trial, t));
    take_step(problem, q_of(d.trial, t), x, is_bounded(), q);
  }

  // the length of a velocity's unit in the norm that is kept small: lengths in L, stiff joints longer
  S size_in_cost(int c) const {
    const auto& f = problem.freedoms[c];
    return std::sqrt(f.unit2 / f.weight);
  }

  int gather_hard_rows(int t, const char* held, S* rows, S* r) const {
    int count = 0;
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      if (!d.hard[at(g)] || !(d.weights[at(t) * solver.goals.size() + at(g)] > 0.0)) continue;
      for (int k = 0; k < rows_of_goal(goal); ++k, ++count) {
        for (int c = 0; c < n; ++c) {
          rows[count * n + c] = held[c] ? 0.0 : d.J[at(c * m + goal.first_row + k)] * size_in_cost(c);
        }
        r[count] = d.rows[at(goal.first_row + k)];
      }
    }
    for (int k = 0; k < n_near; ++k, ++count) {
      const S* row = d.limit_rows.data() + at(k) * at(n);
      for (int c = 0; c < n; ++c) rows[count * n + c] = held[c] ? 0.0 : row[c] * size_in_cost(c);
      r[count] = d.limit_rest[at(k)];
    }
    return count;
  }

  bool leaves_range(int c, const S* q, S x) const {
    const auto& f = problem.freedoms[c];
    if (x == 0.0 || f.q_index < 0 || !is_bounded()) return false;
    return q[f.q_index] + x < f.lower || q[f.q_index] + x > f.upper;
  }
};

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
