// reachable.h: proof that a target is out of reach: a distance that the goal's frame cannot have from a point that cannot move.
#pragma once
#include "problem.h"

namespace poise {

// a goal with a position, a point that cannot move, and the distances from it that can be
template <class T> struct Reachable {
  int goal;
  T center[3];
  T nearest, farthest;
};

template <class T, class P, class R> POISE_FN bool beyond_reach(const P& problem, const R& r, const T* targets) {
  const auto& goal = problem.goals[r.goal];
  const T* p = targets + goal.target + 9;
  const T d[3] = {p[0] - T(r.center[0]), p[1] - T(r.center[1]), p[2] - T(r.center[2])};
  const T distance = square_root(dot(d, d));
  const T slack = T(goal.tolerance[0]) + T(sizeof(T) == 8 ? 1e-9 : 1e-5) * (T(problem.scale) + distance);
  return distance > T(r.farthest) + slack || distance < T(r.nearest) - slack;
}

// some goal of a problem that lists what it can reach
template <class T, class P> POISE_FN bool out_of_reach(const P& problem, const T* targets) {
  bool out = false;
  POISE_UNROLL
  for (int i = 0; i < P::n_reachable; ++i) out = out || beyond_reach(problem, problem.reachable(i), targets);
  return out;
}

}  // namespace poise
