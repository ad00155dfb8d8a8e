// rows.h: what one frame of a clip is asked, as weighted rows: its goals, and the limits that it breaks or all but breaks. Part of clip.cpp.
#pragma once
#include <algorithm>
#include <cmath>

#include "kernels/loop/step.h"
#include "memory/clip_data.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

using S = double;

// What is tried before a step is given up: shares of it, then shares of one with more damping.
struct Tries {
  int shares;    // of a step
  S shorter;     // each than the one before it
  int dampings;  // the first is none
  S more;        // damping from one to the next
};
constexpr Tries few_tries = {3, 0.16, 4, 100.0};  // finer ones take longer than they save
constexpr Tries many_tries = {5, 0.4, 6, 10.0};   // with limits the slope breaks more often

// Reasons stand beside the numbers; rows are in units of the body's length, so they hold for bodies of every size.
struct ClipTuning {
  S first_weight =
      1e2;         // of hard goals in the first step, squared: more would forbid the turn by which a leg gets there
  S growth = 1e2;  // from step to step,
  S growth_in_time = 2.0;  // and where speeds are bounded
  S last_weight = 1e6;     // leaves about a millionth of the length, which each frame then makes good by itself
  S last_weight_in_time =
      1e9;               // where speeds are bounded: a straight leg turns its knee by the root of what is made good
  S most_turn = 0.6;     // radians in one step: beyond it the rows' own slope is of no use
  int corrections = 12;  // steps by which a frame comes to its hard goals; two or three are enough unless it cannot
  int patience = 2;      // of them that may lead away from there, one after the other
  int rounds = 4;        // of one such step: joints that have no room are left out, one round after the other
  S exact = 1e-13;       // of the length: come to them
  S dependent =
      2e-3;  // of the longest row: what less is left of is not corrected; a straight limb would be bent for nothing
  S least_gain = 1e-10;  // of the cost: less is rest,
  S least_gain_in_time =
      1e-5;  // and where speeds are bounded: what is beyond them costs most, and is brought back later
  S least_pivot = 1e-30;
  int most_systems = 96;  // of one call: linear systems over all frames
  S clear = 2e-5;         // radians, or lengths of the body: so far inside its limits a frame is asked to be,
  S still_clear = 1e-6;   // and so far at least it is brought back by itself
};
constexpr ClipTuning tuning;

class FrameRows {
 public:
  explicit FrameRows(ClipData& data)
      : d(data),
        solver(*data.solver),
        problem(solver.problem()),
        limits(solver.limit_list()),
        n(solver.n_v),
        m(solver.n_rows) {}

 protected:
  ClipData& d;
  SolverData& solver;
  const Problem<S, BodyView<S>, GoalList<S>> problem;
  const LimitList<S> limits;
  const int n, m;
  int n_near = 0;  // limits of the last frame that have a row

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  S* q_of(std::vector<S>& q, int t) const { return q.data() + at(t) * at(solver.n_q); }
  S* of_frame(std::vector<S>& x, int t) const { return x.data() + at(t) * at(n); }
  const S* targets_of(int t) const { return d.targets.data() + at(t) * at(d.n_targets); }
  bool is_bounded() const { return solver.settings.limits != LIMITS_OFF; }

  bool over() { return d.called_off = d.called_off || solver.watch.called_off(); }

  // rows of one frame, weighted; `errors` gets metres and radians of each goal
  void look_at_frame(int t, const S* q, S weight, S* rows, S* errors) {
    evaluate(problem, q, targets_of(t), solver.state.placements, rows, errors, solver.state.room);
    scale_rows(t, weight, rows, 1, m);
  }

  // each row by what its goal weighs at this frame; `stride` apart, for one row of numbers or many
  void scale_rows(int t, S weight, S* rows, int columns, int stride) const {
    const S root = std::sqrt(weight);
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      const S w = d.weights[at(t) * solver.goals.size() + at(g)] * (d.hard[at(g)] ? root : 1.0);
      if (w == 1.0) continue;
      for (int c = 0; c < columns; ++c) {
        for (int k = 0; k < rows_of_goal(goal); ++k) rows[c * stride + goal.first_row + k] *= w;
      }
    }
  }

  // What the limits cost that are nearer than `clear`, after look_at_frame of the same q; `worst` gets the least gap.
  S look_at_limits(const S* q, S clear, S weight, S& worst) const {
    S cost = 0.0;
    if (limits.n) place_capsules(limits, solver.state.placements);
    for (int i = 0; i < limits.n; ++i) {
      const S gap = gap_of(problem, limits, i, q);
      worst = std::min(worst, gap);
      if (gap < clear) cost += weight * (clear - gap) * (clear - gap);
    }
    return cost;
  }

  // The rows of those limits, one after the other in d.limit_rows, and what is left of each in d.limit_rest.
  void find_limit_rows(const S* q, S below, S clear, S weight) {
    n_near = 0;
    if (!limits.n) return;
    const S root = std::sqrt(weight);
    place_capsules(limits, solver.state.placements);
    for (int i = 0; i < limits.n; ++i) {
      const S gap = gap_of(problem, limits, i, q);
      if (!(gap < below)) continue;
      S* row = d.limit_rows.data() + at(n_near) * at(n);
      row_of_limit(problem, limits, i, q, solver.state.placements, row);
      for (int c = 0; c < n; ++c) row[c] *= root;
      d.limit_rest[at(n_near++)] = root * (clear - gap);
    }
  }
};

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
