// rows.h: the weighted rows of one frame of a clip: its goals, and the limits that it violates or nearly violates. Part
// of clip.cpp.
#pragma once
#include <algorithm>
#include <cmath>

#include "kernels/loop/step.h"
#include "memory/clip_data.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

using S = double;

// Attempts before a step is abandoned: fractions of it, then fractions of one with more damping.
struct Tries {
  int shares;    // fractions of a step
  S shorter;     // ratio of each to the previous one
  int dampings;  // the first is zero
  S more;        // ratio of each damping to the previous one
};
constexpr Tries few_tries = {3, 0.16, 4, 100.0};  // more attempts take longer than they save
constexpr Tries many_tries = {5, 0.4, 6, 10.0};   // with limits the gradient changes more often

// Reasons are next to the numbers; rows are in units of the body's length, so they apply to bodies of every size.
struct ClipTuning {
  S growth = 1e2;               // of the weight of hard goals, from step to step,
  S growth_in_time = 2.0;       // and if speeds are bounded
  S last_weight_in_time = 1e9;  // if speeds are bounded: a straight knee rotates by the square root of the correction
  S most_turn = 0.6;            // rad in one step: beyond it the rows' linearisation is useless
  int corrections = 12;         // steps of a frame to its hard goals; two or three are enough if it can reach them
  int patience = 2;             // consecutive steps that may increase the error
  int rounds = 4;               // of one such step: joints without room are excluded, round by round
  S exact = 1e-13;              // relative to the length: counts as exact
  S dependent = 2e-3;    // of the longest row: smaller remainders are not corrected, since a straight limb would bend
  S least_gain = 1e-10;  // of the cost: less counts as converged,
  S least_gain_in_time = 1e-5;    // and if speeds are bounded: the excess costs most, and is corrected later
  S least_gain_at_limits = 1e-4;  // and with limits: the last steps only trade one frame's limit for another's
  S rest_at_limits = 1e-4;        // rad, or lengths of the body: a shorter step counts as zero
  S least_pivot = 1e-30;
  S negligible = 1e-18;   // of the cost of a displacement: a smaller one of its second difference has no effect
  int most_systems = 96;  // of coupled frames, or of one that is solved by itself
  S clear = 2e-5;         // rad, or lengths of the body: margin inside the limits that a frame aims at,
  S still_clear = 1e-6;   // and the least margin that the correction restores
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

  S* placements_of(int t) const { return d.placements.data() + at(t) * at(size_of_placements(problem.body.count())); }

  // The weighted rows of one frame; `errors` gets metres and radians of each goal, those that are inactive in this
  // frame only if `all`. `placed`: the placements of the frame are those of q.
  void look_at_frame(int t, const S* q, S weight, S* rows, S* errors, bool placed = false, bool all = false) {
    if (!placed) place_problem(problem, q, placements_of(t));
    const S root = std::sqrt(weight);
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      const S w = weight_of(t, g, root);
      if (w == 0.0 && !all) {
        std::fill_n(rows + goal.first_row, rows_of_goal(goal), 0.0);
        continue;
      }
      evaluate_goal(t, g, rows, errors);
      for (int k = 0; k < rows_of_goal(goal); ++k) rows[goal.first_row + k] *= w;
    }
  }

  // the rows, errors and room of one goal, from the placements of its frame
  void evaluate_goal(int t, int g, S* rows, S* errors) const {
    const auto& goal = problem.goals[g];
    S* room = solver.state.room ? solver.state.room + 2 * goal.first_row : nullptr;
    for (int k = 0; room && k < rows_of_goal(goal); ++k) room[2 * k] = 1.0, room[2 * k + 1] = -1.0;
    residual_of_goal(problem, goal, placements_of(t), targets_of(t), 1.0 / problem.scale, rows + goal.first_row,
                     errors + 2 * g, room);
  }

  // the weight of a goal's rows at this frame; `root` is that of hard goals
  S weight_of(int t, int g, S root) const {
    return d.weights[at(t) * solver.goals.size() + at(g)] * (d.hard[at(g)] ? root : 1.0);
  }

  // multiplies each row of J by its goal's weight at this frame
  void scale_rows(int t, S* J) const {
    for (int g = 0; g < problem.goals.count(); ++g) {
      const auto& goal = problem.goals[g];
      const S w = weight_of(t, g, 1.0);
      if (w == 1.0) continue;
      for (int c = 0; c < n; ++c) {
        for (int k = 0; k < rows_of_goal(goal); ++k) J[c * m + goal.first_row + k] *= w;
      }
    }
  }

  // The cost of the limits nearer than `clear`, after look_at_frame of the same q; `worst` gets the smallest gap.
  S look_at_limits(int t, const S* q, S clear, S weight, S& worst) const {
    S cost = 0.0;
    if (limits.n) place_capsules(limits, placements_of(t));
    for (int i = 0; i < limits.n; ++i) {
      const S gap = gap_of(problem, limits, i, q);
      worst = std::min(worst, gap);
      if (gap < clear) cost += weight * (clear - gap) * (clear - gap);
    }
    return cost;
  }

  // The rows of these limits, consecutively in d.limit_rows, and their residuals in d.limit_rest.
  void find_limit_rows(int t, const S* q, S below, S clear, S weight) {
    n_near = 0;
    if (!limits.n) return;
    const S root = std::sqrt(weight);
    place_capsules(limits, placements_of(t));
    for (int i = 0; i < limits.n; ++i) {
      const S gap = gap_of(problem, limits, i, q);
      if (!(gap < below)) continue;
      S* row = d.limit_rows.data() + at(n_near) * at(n);
      row_of_limit(problem, limits, i, q, placements_of(t), row);
      for (int c = 0; c < n; ++c) row[c] *= root;
      d.limit_rest[at(n_near++)] = root * (clear - gap);
    }
  }
};

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
