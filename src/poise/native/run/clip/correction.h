// correction.h: corrects one frame of a clip to satisfy its hard goals exactly. Part of clip.cpp.
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
  // Finds the nearest pose with exact hard goals and without violated limits, by Newton: dq = C^T (C C^T)^-1 c over the
  // joints that have room. q is the frame, then the nearest pose found; `next` is scratch memory. Rows at rest inside a
  // range, such as corners above the floor, are ignored first, which moves least. If lifting one foot pushes the other
  // one down, and vice versa in the next step, the frame starts again, and such rows also stop at the end of their
  // range.
  void correct_frame(int t, S* q, S* next) {
    S* start = d.nearest.data() + solver.n_q;
    std::copy(q, q + solver.n_q, start);
    std::copy(q, q + solver.n_q, d.nearest.data());
    S least = open_end<S>;
    for (const bool stops : {false, true}) {
      if (approach_hard(t, q, next, stops, least) || !solver.state.room) break;
      if (!stops) std::copy(start, start + solver.n_q, q);
    }
    std::copy(d.nearest.data(), d.nearest.data() + solver.n_q, q);
  }

  // Steps from q to the hard goals; d.nearest gets the nearest pose if it is nearer than `least`. Returns whether it is
  // exact. A long step of a stretched leg first increases the error, quadratically, and the next one reduces it: this
  // is allowed.
  bool approach_hard(int t, S* q, S* next, bool stops, S& least) {
    S nearest = open_end<S>;
    for (int round = 0, waited = 0; round < tuning.corrections && waited <= tuning.patience && !over();
         ++round, ++waited) {
      look_at_frame(t, q, 1.0, d.rows.data(), solver.state.errors);
      find_limit_rows(t, q, tuning.still_clear, 2.0 * tuning.still_clear, 1.0);
      S off = keep_hard_rows(t);
      for (int k = 0; k < n_near; ++k) off = std::max(off, d.limit_rest[at(k)] - tuning.still_clear);
      if (off < nearest) {
        nearest = off;
        waited = 0;
      }
      if (off < least && is_small(q)) {
        least = off;
        std::copy(q, q + solver.n_q, d.nearest.data());
      }
      if (off <= tuning.exact) return true;
      assemble(problem, q, placements_of(t), targets_of(t), d.J.data());
      scale_rows(t, d.J.data());
      step_to_hard(t, q, next, stops);
      std::copy(next, next + solver.n_q, q);
    }
    return false;
  }

  // whether a pose is near the frame that is corrected: goals that contradict each other may lead anywhere
  bool is_small(const S* q) {
    S* moved = d.pace.data() + n;
    difference(problem.coordinates, problem.n_coordinates, d.nearest.data() + solver.n_q, q, moved);
    for (int c = 0; c < n; ++c) {
      const auto& f = problem.freedoms[c];
      if (std::abs(moved[c]) > d.most_correction * (f.angular ? 1.0 : problem.scale)) return false;
    }
    return true;
  }

  // sets the rows of soft goals to zero; returns the error of the hard ones
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

  // One Newton step from q. Joints that would leave their range stop at its end, and so do rows if allowed; the others
  // are solved again.
  void step_to_hard(int t, const S* q, S* out, bool stops) {
    S* x = of_frame(d.step, t);
    S* stop = d.pace.data();
    S* rows = d.scratch.data();
    S* r = rows + at(m + limits.n) * at(n);
    char* held = d.held.data() + at(t) * at(n);
    std::fill_n(held, n, char(0));
    find_resting_rows();
    for (int round = 0; round < tuning.rounds; ++round) {
      const int count = gather_hard_rows(t, held, stop, rows, r);
      minimum_norm(count, n, rows, r, tuning.dependent, r + m + limits.n, x);
      for (int c = 0; c < n; ++c) x[c] = held[c] ? stop[c] : x[c] * size_in_cost(c);
      bool again = stops && stop_rows(t, x);
      for (int c = 0; c < n; ++c) {
        if (held[c] || !leaves_range(c, q, x[c])) continue;
        stop[c] = way_to_end(c, q, x[c]);
        held[c] = 1;
        again = true;
      }
      if (!again) break;
    }
    take_step(problem, q, x, is_bounded(), out);
  }

  // marks the rows at rest inside a range: they are ignored until a step would move them out
  void find_resting_rows() {
    const S* room = solver.state.room;
    for (int r = 0; r < m; ++r) d.resting[at(r)] = room && room[2 * r] <= 0.0 && room[2 * r + 1] >= 0.0;
  }

  // Activates resting rows that a step x would move out of their range, with its end as target; whether there are any.
  bool stop_rows(int t, const S* x) {
    bool any = false;
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      const S w = d.weights[at(t) * solver.goals.size() + at(g)];
      if (!d.hard[at(g)] || !(w > 0.0)) continue;
      for (int r = goal.first_row; r < goal.first_row + rows_of_goal(goal); ++r) {
        if (!d.resting[at(r)]) continue;
        S way = 0.0;
        for (int c = 0; c < n; ++c) way += d.J[at(c * m + r)] * x[c];
        const S low = w * solver.state.room[2 * r], high = w * solver.state.room[2 * r + 1];
        if (way >= low - tuning.exact && way <= high + tuning.exact) continue;
        d.rows[at(r)] = way < low ? low : high;
        d.resting[at(r)] = 0;
        any = true;
      }
    }
    return any;
  }

  // the unit of a velocity in the minimised norm: lengths in L, smaller for stiff joints
  S size_in_cost(int c) const {
    const auto& f = problem.freedoms[c];
    return std::sqrt(f.unit2 / f.weight);
  }

  // the rows of hard goals and near limits over the free joints; their residuals after the fixed ones moved by `stop`
  int gather_hard_rows(int t, const char* held, const S* stop, S* rows, S* r) const {
    int count = 0;
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      if (!d.hard[at(g)] || !(d.weights[at(t) * solver.goals.size() + at(g)] > 0.0)) continue;
      for (int k = goal.first_row; k < goal.first_row + rows_of_goal(goal); ++k) {
        if (d.resting[at(k)]) continue;
        for (int c = 0; c < n; ++c) rows[count * n + c] = held[c] ? 0.0 : d.J[at(c * m + k)] * size_in_cost(c);
        r[count] = d.rows[at(k)];
        for (int c = 0; c < n; ++c) r[count] -= held[c] ? d.J[at(c * m + k)] * stop[c] : 0.0;
        ++count;
      }
    }
    for (int k = 0; k < n_near; ++k, ++count) {
      const S* row = d.limit_rows.data() + at(k) * at(n);
      for (int c = 0; c < n; ++c) rows[count * n + c] = held[c] ? 0.0 : row[c] * size_in_cost(c);
      r[count] = d.limit_rest[at(k)];
      for (int c = 0; c < n; ++c) r[count] -= held[c] ? row[c] * stop[c] : 0.0;
    }
    return count;
  }

  bool leaves_range(int c, const S* q, S x) const {
    const auto& f = problem.freedoms[c];
    if (x == 0.0 || f.q_index < 0 || !is_bounded()) return false;
    return q[f.q_index] + x < f.lower || q[f.q_index] + x > f.upper;
  }

  // the distance to the end of the range that x would exceed; 0 for a joint that is already outside
  S way_to_end(int c, const S* q, S x) const {
    const auto& f = problem.freedoms[c];
    const S here = q[f.q_index];
    return x < 0.0 ? std::min(S(0.0), f.lower - here) : std::max(S(0.0), f.upper - here);
  }
};

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
