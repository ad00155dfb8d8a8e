// reachable.h: proof that a target is out of reach: a distance required by the goals that the body cannot have.
#pragma once
#include "kernels/problem/problem.h"

namespace poise {

// The possible distances of a point of a goal's frame from a fixed point, or from the point of another goal. `local` is
// the offset from the goal's own point to the bounded one, in the frame's axes: zero, or the vector to the last joint,
// whose position a goal with a whole transform determines.
template <class T> struct Reachable {
  int goal, other;  // other: -1 if the distance is from `center`
  T center[3], local[3];
  T nearest, farthest;
};

// the distance of the targets beyond the bound, minus `slack` for the tolerances and rounding; negative if within it
template <class T, class P, class R>
POISE_FN T excess_of_reach(const P& problem, const R& r, const T* targets, T& slack) {
  const auto& goal = problem.goals[r.goal];
  const T* R_target = targets + goal.target;
  const T* p = R_target + 9;
  T d[3] = {p[0] - T(r.center[0]), p[1] - T(r.center[1]), p[2] - T(r.center[2])};
  const T local[3] = {T(r.local[0]), T(r.local[1]), T(r.local[2])};
  const T lever2 = dot(local, local);
  slack = T(goal.tolerance[0]);
  if (lever2 > T(0)) {
    T arm[3];
    rotate(R_target, local, arm);
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) d[k] += arm[k];
    slack += T(goal.tolerance[1]) * square_root(lever2);
  }
  if (r.other >= 0) {
    const auto& other = problem.goals[r.other];
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) d[k] -= targets[other.target + 9 + k];
    slack += T(other.tolerance[0]);
  }
  const T distance = square_root(dot(d, d));
  slack += T(sizeof(T) == 8 ? 1e-9 : 1e-5) * (T(problem.scale) + distance);
  return maximum(distance - T(r.farthest), T(r.nearest) - distance);
}

template <class T, class P, class R> POISE_FN bool beyond_reach(const P& problem, const R& r, const T* targets) {
  T slack;
  const T excess = excess_of_reach(problem, r, targets, slack);
  return excess > slack;
}

// whether some goal of a problem has such a bound
template <class T, class P> POISE_FN bool out_of_reach(const P& problem, const T* targets) {
  bool out = false;
  POISE_UNROLL
  for (int i = 0; i < P::n_reachable; ++i) out = out || beyond_reach(problem, problem.reachable(i), targets);
  return out;
}

}  // namespace poise
