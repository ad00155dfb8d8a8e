// bones.h: the body in the form used by FABRIK and the limbs: movable joints, the bones between them, and the data of a
// sweep.
//
// Fixed joints are part of the bone; hinges through one point are one joint.
#pragma once
#include "kernels/methods/ccd.h"

namespace poise {

POISE_LARGE_FN constexpr int fabrik_memory(int goals, int primitives) { return 1 + 27 * goals + 16 * primitives; }

template <class S> struct FabrikMemory {
  S* nudged;
  GoalPlace<S>* places;  // one for each goal, before the sweep
  S* ends;               // 3 for each goal: the target position of its effector
  S* wanted;             // 3 for each primitive: the target position of its joint
  S* weight;             // 1 for each primitive: the weight of its goals
  S* fresh;              // 12 for each primitive: placements during the forward pass
};

template <class S, class P> POISE_LARGE_FN FabrikMemory<S> fabrik_parts(const P& problem, S* extra) {
  const int g = problem.goals.count(), n = problem.body.count();
  S* next = extra + 1;
  return {extra,
          reinterpret_cast<GoalPlace<S>*>(next),
          next + 24 * g,
          next + 27 * g,
          next + 27 * g + 3 * n,
          next + 27 * g + 4 * n};
}

// ---------------------------------------------------------------------------------------------- the tree of joints

// the first movable primitive at or above i; -1 if there is none
template <class P> POISE_LARGE_FN int mover(const P& problem, int i) {
  // ends: at the root
  while (i >= 0 && problem.body[i].v_index < 0) i = problem.body[i].parent;
  return i;
}
template <class P> POISE_LARGE_FN int mover_above(const P& problem, int i) {
  return mover(problem, problem.body[i].parent);
}
template <class P> POISE_LARGE_FN int mover_of_goal(const P& problem, int g) {
  return mover(problem, problem.goals.frames()[problem.goals[g].frame].primitive);
}

template <class S> POISE_LARGE_FN const S* origin_of(const S* placements, int i) { return placements + 12 * i + 9; }

template <class S> POISE_LARGE_FN void axis_of(const S* placements, int i, S* axis) {
  for (int k = 0; k < 3; ++k) axis[k] = placements[12 * i + 3 * k + 2];
}

template <class S> POISE_LARGE_FN S distance(const S* a, const S* b) {
  S d[3];
  subtract(a, b, d);
  return length(d);
}

// whether i is a hinge through the same point as the hinge above it
template <class S, class P> POISE_LARGE_FN bool follows(const P& problem, const S* placements, int i) {
  const int above = mover_above(problem, i);
  if (above < 0 || problem.body[i].kind != REVOLUTE || problem.body[above].kind != REVOLUTE) return false;
  return distance(origin_of(placements, i), origin_of(placements, above)) < S(1e-9) * S(problem.scale);
}

// the hinges through the same point as i, from i on; one for a ball
template <class S, class P>
POISE_LARGE_FN int gather_group(const P& problem, const S* placements, const FabrikMemory<S>& at, int i, int* members) {
  int n = 1, last = i;
  members[0] = i;
  for (int k = i + 1; k < problem.body[i].subtree_end && n < MOST_TOGETHER; ++k) {
    if (problem.body[k].v_index < 0) continue;
    // a branch, or an effector, ends the group
    bool whole = follows(problem, placements, k) && problem.body[k].subtree_end == problem.body[last].subtree_end;
    for (int g = 0; g < problem.goals.count(); ++g) {
      if (mover_of_goal(problem, g) == last)
        whole = whole && distance(at.places[g].p, origin_of(placements, last)) < S(1e-9) * S(problem.scale);
    }
    if (!whole) break;
    members[n++] = last = k;
  }
  return n;
}

}  // namespace poise
