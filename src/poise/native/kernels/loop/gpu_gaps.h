// gpu_gaps.h: whether a pose keeps a clearance, on a GPU.
//
// Surfaces and regions are in memory, so that another world needs no other kernels. B is the body that carries the
// surfaces: its primitives, and its coordinates in the model (`B::place(k)`).
#pragma once
#include "kernels/body/kinematics.h"
#include "kernels/loop/gpu_call.h"

namespace poise {

// The surfaces that collided last: in other poses of the same row they often do so again.
struct Suspect {
  int capsule = -1, other = -1;  // `other` is a capsule, or a region
  bool region = false;
};

// Whether the gap between a surface and a region, or another surface, is below `least` [m].
template <class T>
POISE_CALLED_FN bool is_pair_near(const ClearanceCall<T>& clear, const Suspect& pair, const T* placements, T least) {
  CapsuleData<T> capsules[2] = {clear.capsules[pair.capsule], {}};
  PlacedCapsule<T> placed[2];
  LimitSpec<T> limit{LIMIT_PAIR, 0, 1, 0, clear.distance};
  LimitList<T> limits;
  limits.capsules = capsules;
  limits.placed = placed;
  if (pair.region) {
    limit.op = clear.regions[pair.other].op;
    limits.numbers = clear.regions[pair.other].numbers;
  } else {
    capsules[1] = clear.capsules[pair.other];
    place_capsule(limits, 1, placements);
  }
  place_capsule(limits, 0, placements);
  Contact<T> at;
  if (limit.op == LIMIT_PLANE) {
    const T first = contact_of(limits, limit, at);
    limit.second = 0;
    return minimum(first, contact_of(limits, limit, at)) < least;
  }
  if (is_solid(limit)) {
    const T less = capsules[0].radius + clear.distance;
    nearest_to_solid(limit.op, placed[0].ends[0], placed[0].ends[1], limits.numbers, at, less + least);
    return at.distance - less < least;
  }
  const T bound = least_contact(limits, limit);
  if (bound >= least || is_exact(limits, limit)) return bound < least;
  return contact_of(limits, limit, at) < least;
}

// the center of the ball around a link
template <class T> POISE_FN void place_ball(const SurfaceLink<T>& link, const T* placements, T* center) {
  for (int k = 0; k < 3; ++k) center[k] = link.center[k];
  if (link.primitive < 0) return;
  const T* R = placements + 12 * link.primitive;
  rotate(R, link.center, center);
  for (int k = 0; k < 3; ++k) center[k] += R[9 + k];
}

// Whether two balls are nearer than `least` [m].
template <class T> POISE_FN bool are_balls_near(const T* a, const T* b, T radii, T least) {
  const T apart[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]}, most = radii + least;
  return most > T(0) && dot(apart, apart) < most * most;
}

// Whether a link of [first, end) is nearer to the world than `least` [m]. Threads skip what is far each by itself and
// come together for the capsules of a link.
template <class T> POISE_FN bool hits_world(const ClearanceCall<T>& clear, int first, int end, const T* placements,
                                            T least, Suspect& suspect) {
  T center[3] = {};
  // ends: every round takes one or more pairs of a link and a region
  for (int l = first, r = 0; clear.n_regions > 0; ++r) {
    for (bool near = false; !near; r += !near) {
      if (r == clear.n_regions) {
        r = 0;
        ++l;
      }
      // ends: every round takes a link
      while (l < end && clear.links[l].world_row < 0) ++l;
      if (l >= end) return false;
      if (r == 0) place_ball(clear.links[l], placements, center);
      const T* ball = clear.balls + 4 * r;
      near = are_balls_near(center, ball, clear.links[l].radius + ball[3] + clear.distance, least);
    }
    for (int c = clear.links[l].first; c < clear.links[l].last; ++c) {
      const Suspect pair{c, r, true};
      if (!is_pair_near(clear, pair, placements, least)) continue;
      suspect = pair;
      return true;
    }
  }
  return false;
}

// Whether two links of the body are too near to each other.
template <class T> POISE_FN bool hits_itself(const ClearanceCall<T>& clear, const T* placements, Suspect& suspect) {
  // ends: every round takes one or more pairs of links
  for (int i = 0;; ++i) {
    for (bool near = false; i < clear.n_pairs && !near; i += !near) {
      const auto &one = clear.links[clear.pairs[i].one], &other = clear.links[clear.pairs[i].other];
      T a[3], b[3];
      place_ball(one, placements, a);
      place_ball(other, placements, b);
      near = are_balls_near(a, b, one.radius + other.radius + clear.distance, clear.least);
    }
    if (i >= clear.n_pairs) return false;
    for (int k = clear.pairs[i].first; k < clear.pairs[i].last; ++k) {
      const Suspect pair{clear.pair_capsules[2 * k], clear.pair_capsules[2 * k + 1], false};
      if (!is_pair_near(clear, pair, placements, clear.least)) continue;
      suspect = pair;
      return true;
    }
  }
}

enum class Gap : int { CLEAR, COLLIDES, BLOCKED };

// How a pose of the whole model meets the clearance. BLOCKED: the link of the goal is so deep in the world that every
// pose that reaches the goal collides. The suspect is tested first, and replaced by the surfaces that collide.
template <class B, class T> POISE_CALLED_FN Gap judge_gap(const B& body, const ClearanceCall<T>& clear, const T* whole,
                                                          Suspect& suspect, bool given = true) {
  if (!given) return Gap::CLEAR;
  T q[B::n_q], placements[12 * B::n_primitives];
  POISE_UNROLL_BODY
  for (int k = 0; k < B::n_q; ++k) q[k] = whole[B::place(k)];
  place_all(body.body, q, placements);
  const bool again = suspect.capsule >= 0;
  if (again && is_pair_near(clear, suspect, placements, clear.least)) return Gap::COLLIDES;
  if (!hits_world(clear, 0, clear.n_links, placements, clear.least, suspect))
    return hits_itself(clear, placements, suspect) ? Gap::COLLIDES : Gap::CLEAR;
  Suspect deeper;
  for (int l = 0; l < clear.n_links && clear.goal_primitive >= 0 && !again; ++l) {
    if (clear.links[l].primitive == clear.goal_primitive && hits_world(clear, l, l + 1, placements, clear.deep, deeper))
      return Gap::BLOCKED;
  }
  return Gap::COLLIDES;
}

}  // namespace poise
