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
  int places = -1;               // of the region
  bool far = false;              // whether T could not tell for sure that regions collided
};

// number k of the transform of a row; of the identity, if none is given
POISE_FN double number_of(const DevicePlaces& place, int row, int k) {
  if (!place.data) return double(k % 5 == 0);
  const long long at = row * place.stride + k;
  return place.single ? double(static_cast<const float*>(place.data)[at]) : static_cast<const double*>(place.data)[at];
}

// the rotation and the position of a row
POISE_FN void read_place(const DevicePlaces& place, int row, double* to) {
  POISE_UNROLL
  for (int k = 0; k < 12; ++k) to[k] = number_of(place, row, k < 9 ? 4 * (k / 3) + k % 3 : 4 * (k - 9) + 3);
}

// Writes the placement of the body in the axes of the regions of places g; null if they are those of the body.
template <class T> POISE_FN const T* see_regions(const ClearanceCall<T>& clear, int g, int row, T* seen) {
  if (!may_be_placed || (!clear.places[0].data && !clear.places[g].data)) return nullptr;
  double base[12], own[12];
  read_place(clear.places[0], row, base);
  if (g > 0) {
    read_place(clear.places[g], row, own);
    POISE_UNROLL
    for (int c = 0; c < 4; ++c) {
      double column[3];
      for (int k = 0; k < 3; ++k) column[k] = c < 3 ? base[3 * k + c] : base[9 + k] - own[9 + k];
      rotate_back(own, column, column);
      for (int k = 0; k < 3; ++k) base[c < 3 ? 3 * k + c : 9 + k] = column[k];
    }
  }
  POISE_UNROLL
  for (int k = 0; k < 12; ++k) seen[k] = T(base[k]);
  return seen;
}

// a placement in other axes, which are those of the body at `seen`; -1 for the body itself
template <class T> POISE_FN void move_placement(const T* seen, int primitive, const T* placements, T* moved) {
  for (int k = 0; k < 12; ++k) moved[k] = seen[k];
  if (primitive < 0) return;
  multiply(seen, placements + 12 * primitive, moved);
  rotate(seen, placements + 12 * primitive + 9, moved + 9);
  for (int k = 0; k < 3; ++k) moved[9 + k] += seen[9 + k];
}

// Whether the gap between a surface and a region, or another surface, is below `least` [m]; `seen` is of see_regions.
template <class T> POISE_CALLED_FN bool is_pair_near(const ClearanceCall<T>& clear, const Suspect& pair,
                                                     const T* placements, const T* seen, T least) {
  CapsuleData<T> capsules[2] = {clear.capsules[pair.capsule], {}};
  PlacedCapsule<T> placed[2];
  LimitSpec<T> limit{LIMIT_PAIR, 0, 1, 0, clear.distance};
  LimitList<T> limits;
  limits.capsules = capsules;
  limits.placed = placed;
  limits.obstacles = clear.obstacles;
  if (pair.places >= 0) {
    limit.op = clear.regions[pair.other].op;
    limits.numbers = clear.regions[pair.other].numbers;
    if (!may_be_clouds && limit.op == LIMIT_OBSTACLE) return false;
  } else {
    capsules[1] = clear.capsules[pair.other];
    place_capsule(limits, 1, placements);
  }
  if (may_be_placed && pair.places >= 0 && seen) {
    T moved[12];
    move_placement(seen, capsules[0].primitive, placements, moved);
    capsules[0].primitive = 0;
    place_capsule(limits, 0, moved);
  } else {
    place_capsule(limits, 0, placements);
  }
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
  return contact_of(limits, limit, at, least + clear.least) < least;
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

// Whether a link of [first, end) is nearer to the regions of places g than `least` [m]. Threads skip what is far each by
// itself and come together for the capsules of a link.
template <class T> POISE_FN bool hits_regions(const ClearanceCall<T>& clear, int g, int row, int first, int end,
                                              const T* placements, T least, Suspect& suspect) {
  const int begin = clear.places[g].first, last = clear.places[g].last;
  T center[3] = {}, room[12];
  const T* seen = begin < last ? see_regions(clear, g, row, room) : nullptr;
  // ends: every round takes one or more pairs of a link and a region
  for (int l = first, r = begin; begin < last; ++r) {
    for (bool near = false; !near; r += !near) {
      if (r == last) {
        r = begin;
        ++l;
      }
      // ends: every round takes a link
      while (l < end && clear.links[l].world_row < 0) ++l;
      if (l >= end) return false;
      if (r == begin) {
        place_ball(clear.links[l], placements, center);
        if (seen) rotate(seen, center, center);
        for (int k = 0; k < 3 && seen; ++k) center[k] += seen[9 + k];
      }
      const T* ball = clear.balls + 4 * r;
      near = are_balls_near(center, ball, clear.links[l].radius + ball[3] + clear.distance, least);
    }
    for (int c = clear.links[l].first; c < clear.links[l].last; ++c) {
      const Suspect pair{c, r, g, suspect.far || (seen && dot(seen + 9, seen + 9) > clear.far * clear.far)};
      if (!is_pair_near(clear, pair, placements, seen, least)) continue;
      suspect = pair;
      return true;
    }
  }
  return false;
}

// Whether a link of [first, end) is nearer to the world than `least` [m].
template <class T> POISE_FN bool hits_world(const ClearanceCall<T>& clear, int row, int first, int end,
                                            const T* placements, T least, Suspect& suspect) {
  for (int g = 0; g < (may_be_placed ? clear.n_places : 1); ++g) {
    if (hits_regions(clear, g, row, first, end, placements, least, suspect)) return true;
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
      const Suspect pair{clear.pair_capsules[2 * k], clear.pair_capsules[2 * k + 1], -1, suspect.far};
      if (!is_pair_near<T>(clear, pair, placements, nullptr, clear.least)) continue;
      suspect = pair;
      return true;
    }
  }
}

enum class Gap : int { CLEAR, COLLIDES, BLOCKED };

// How a pose of the whole model meets the clearance of a row. BLOCKED: the link of the goal is so deep in the world that every
// pose that reaches the goal collides. The suspect is tested first, and replaced by the surfaces that collide.
template <class B, class T> POISE_CALLED_FN Gap judge_gap(const B& body, const ClearanceCall<T>& clear, int row,
                                                          const T* whole, Suspect& suspect, bool given = true) {
  if (!given) return Gap::CLEAR;
  T q[B::n_q], placements[12 * B::n_primitives];
  POISE_UNROLL_BODY
  for (int k = 0; k < B::n_q; ++k) q[k] = whole[B::place(k)];
  place_all(body.body, q, placements);
  const bool again = suspect.capsule >= 0;
  if (again) {
    T room[12];
    const T* seen = suspect.places < 0 ? nullptr : see_regions(clear, suspect.places, row, room);
    if (is_pair_near(clear, suspect, placements, seen, clear.least)) return Gap::COLLIDES;
  }
  if (!hits_world(clear, row, 0, clear.n_links, placements, clear.least, suspect))
    return hits_itself(clear, placements, suspect) ? Gap::COLLIDES : Gap::CLEAR;
  Suspect deeper;
  for (int l = 0; l < clear.n_links && clear.goal_primitive >= 0 && !again; ++l) {
    if (clear.links[l].primitive == clear.goal_primitive &&
        hits_world(clear, row, l, l + 1, placements, clear.deep, deeper))
      return Gap::BLOCKED;
  }
  return Gap::COLLIDES;
}

}  // namespace poise
