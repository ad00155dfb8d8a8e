// choice.h: a prepared problem in a page, and problems made of some of its goals.
//
// Python prepares one problem with the goals of every handle in every role: dragged, reaching, pinned, planted. A page
// solves for the goals in use. A chosen problem has these goals, in the same order and with the same numbers, so it equals
// the problem that Python would prepare for them.
#pragma once
#include <memory>
#include <vector>

#include "memory/solver_data.h"

namespace poise {

struct PageProblem {
  SolverData data;
  std::unique_ptr<PageProblem> first;  // the first level alone
  PageProblem* source = nullptr;       // the problem it was chosen from, which has the targets
  std::vector<int> targets;            // where the target of each goal begins there
};

inline std::size_t target_end(const SolverData& d, std::size_t goal) {
  return goal + 1 < d.goals.size() ? static_cast<std::size_t>(d.goals[goal + 1].target) : d.targets.size();
}

// appends a goal of another problem, with its target and those of its points that are kept
inline void append_goal(const SolverData& from, std::size_t g, const unsigned char* points, SolverData& to) {
  GoalSpec<double> goal = from.goals[g];
  const int first = goal.first_point, end = first + goal.n_points;
  goal.first_point = static_cast<int>(to.points.size());
  for (int k = first; k < end; ++k) {
    if (points[k]) to.points.push_back(from.points[static_cast<std::size_t>(k)]);
  }
  goal.n_points = static_cast<int>(to.points.size()) - goal.first_point;
  if (end > first && goal.n_points == 0) return;  // a balance without supports
  if (goal.op == GOAL_BALANCE) goal.n_rows = goal.n_points < 4 ? 4 : goal.n_points;
  goal.first_row = to.n_rows;
  goal.target = static_cast<int>(to.targets.size());
  to.targets.insert(to.targets.end(), from.targets.begin() + from.goals[g].target,
                    from.targets.begin() + static_cast<std::ptrdiff_t>(target_end(from, g)));
  to.n_rows += rows_of_goal(goal);
  to.goals.push_back(goal);
}

// a copy of a problem without goals
inline std::unique_ptr<PageProblem> copy_without_goals(const SolverData& from) {
  auto out = std::make_unique<PageProblem>();
  SolverData& to = out->data;
  to = from;
  to.first = nullptr;
  to.goals.clear();
  to.points.clear();
  to.targets.clear();
  to.reachable.clear();  // their goals are numbered anew; in continuous mode no search needs them
  to.closed.clear();
  to.early_bounds = to.bounds_used = 0;
  to.n_rows = 0;
  return out;
}

// the first level alone, without a posture
inline std::unique_ptr<PageProblem> take_first_level(const SolverData& from) {
  auto out = copy_without_goals(from);
  SolverData& to = out->data;
  const std::vector<unsigned char> points(from.points.size() + 1, 1);
  to.strict = false;
  to.posture_gain.clear();
  to.posture_wanted.clear();
  for (std::size_t g = 0; g < from.goals.size() && from.goals[g].level == from.goals[0].level; ++g)
    append_goal(from, g, points.data(), to);
  allot(to);
  return out;
}

// the problem of some goals, points of supports and limits; each is kept where its byte is not 0
inline std::unique_ptr<PageProblem> choose(PageProblem& from, const unsigned char* goals, const unsigned char* points,
                                           const unsigned char* limits) {
  const SolverData& all = from.data;
  auto out = copy_without_goals(all);
  SolverData& to = out->data;
  out->source = &from;
  for (std::size_t g = 0; g < all.goals.size(); ++g) {
    if (!goals[g]) continue;
    const std::size_t before = to.goals.size();
    append_goal(all, g, points, to);
    if (to.goals.size() > before) out->targets.push_back(all.goals[g].target);
  }
  if (to.goals.empty()) return nullptr;
  to.limits.clear();
  for (std::size_t i = 0; i < all.limits.size(); ++i) {
    if (limits[i]) to.limits.push_back(all.limits[i]);
  }
  if (to.limits.empty()) {
    out->first = take_first_level(to);
    to.first = &out->first->data;
  }
  allot(to);
  return out;
}

// copies the targets from the problem that this one was chosen from
inline void fetch_targets(PageProblem& problem) {
  if (!problem.source) return;
  SolverData& d = problem.data;
  const double* from = problem.source->data.targets.data();
  for (std::size_t g = 0; g < d.goals.size(); ++g) {
    const auto at = static_cast<std::size_t>(d.goals[g].target);
    for (std::size_t k = at; k < target_end(d, g); ++k)
      d.targets[k] = from[static_cast<std::size_t>(problem.targets[g]) + k - at];
  }
}

// sets the target of a goal to its value in a pose: the position and rotation of its frame, or its axis
inline void hold(SolverData& d, int g, const double* q) {
  const GoalSpec<double>& goal = d.goals[static_cast<std::size_t>(g)];
  if (!is_plain(goal.op) && goal.op != GOAL_ALIGN) return;
  std::vector<double> placements(static_cast<std::size_t>(size_of_placements(static_cast<int>(d.primitives.size()))) +
                                 8);
  place_all(d.problem().body, q, placements.data());
  double R[9], p[3];
  frame_from(d.frames[static_cast<std::size_t>(goal.frame)], placements.data(), R, p);
  double* to = d.targets.data() + goal.target;
  if (goal.op == GOAL_ALIGN) rotate(R, goal.axis, p);
  for (int k = 0; k < 9; ++k) to[k] = goal.op == GOAL_ROTATION || goal.op == GOAL_POSE ? R[k] : k % 4 == 0;
  for (int k = 0; k < 3 && goal.op != GOAL_ROTATION; ++k) to[9 + k] = p[k];
}

}  // namespace poise
