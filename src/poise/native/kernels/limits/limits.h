// limits.h: limits other than the joint ranges: each is a number that must not be negative, its gap.
//
//   pair      distance of two capsules of the body, minus their radii and the required distance
//   plane     height of a capsule's end over a half-space, minus the radius ...
//   segment   distance of a capsule from a capsule (or ball) of the world
//   box       distance of a capsule from a box of the world
//   cylinder  distance of a capsule from a cylinder of the world
//   obstacle  distance of a capsule from a point cloud or a convex hull of the world
//   carried   distance of a capsule from a box that a frame carries
//   cone      see cones.h
//   coupled   low <= sum c_i q_i <= high
//
// Gaps are in radians, or in metres divided by the body's length.
#pragma once
#include "kernels/body/cones.h"
#include "kernels/goals/balance.h"
#include "kernels/limits/obstacles.h"
#include "kernels/problem/problem.h"

namespace poise {

enum LimitOp : int {
  LIMIT_PAIR = 0,
  LIMIT_PLANE = 1,
  LIMIT_SEGMENT = 2,
  LIMIT_BOX = 3,
  LIMIT_CONE = 4,
  LIMIT_COUPLED = 5,
  LIMIT_CARRIED = 6,
  LIMIT_CYLINDER = 7,
  LIMIT_OBSTACLE = 8
};

// a capsule of the body: its ends in the axes of the primitive that carries it (-1: the world)
template <class T> struct CapsuleData {
  int primitive;
  T ends[2][3];
  T radius;
};

constexpr int most_numbers = 16;  // of a limit

template <class T> struct LimitSpec {
  int op;
  int first,
      second;  // capsules; or (plane) capsule and end; or (cone) cone and rule; or (coupled) terms [first, second)
  int at;      // the first of its numbers in the list, which the rows of a region share
               // plane: normal, offset; segment: two ends, radius; box: R, center, half sizes;
               // cylinder: R, center, radius, half length; coupled: sign, bound;
               // obstacle: R, center and half sizes of its box, its index;
               // carried: half sizes, of a box whose axes are given by the second capsule and the following one
  T distance;  // required clearance [m]
};

template <class T> struct CoupledTerm {
  int q_index, v_index;  // v_index -1: fixed
  T factor;
};

// the world segment of a capsule of the body, and its bounding sphere
template <class T> struct PlacedCapsule { T ends[2][3], center[3], half; };

template <class T> struct LimitList {
  const LimitSpec<T>* specs = nullptr;
  int n = 0;
  const CapsuleData<T>* capsules = nullptr;
  const ConeSpec<T>* cones = nullptr;
  const CoupledTerm<T>* terms = nullptr;
  int n_capsules = 0;
  PlacedCapsule<T>* placed = nullptr;  // of the last pose in place_capsules
  const T* numbers = nullptr;          // most_numbers for each limit or region
  const Obstacle<T>* obstacles = nullptr;
};

template <class T> POISE_FN const T* numbers_of(const LimitList<T>& limits, const LimitSpec<T>& limit) {
  return limits.numbers + limit.at;
}

// signed distance of a point (in the box's axes) from a box, with the outward normal
template <class T> POISE_LARGE_FN T distance_from_box(const T* p, const T* half, T* normal) {
  T out[3], outside = T(0), inside = T(-1e30);
  int face = 0;
  for (int k = 0; k < 3; ++k) {
    const T over = absolute(p[k]) - half[k];
    out[k] = over > T(0) ? (p[k] < T(0) ? T(0) - over : over) : T(0);
    outside += out[k] * out[k];
    if (over > inside) {
      inside = over;
      face = k;
    }
  }
  outside = square_root(outside);
  for (int k = 0; k < 3; ++k)
    normal[k] = outside > T(0) ? out[k] / outside : k == face ? (p[k] < T(0) ? T(-1) : T(1)) : T(0);
  return outside > T(0) ? outside : inside;
}

// signed distance of a point (in the cylinder's axes, along z) from a cylinder, with the outward normal
template <class T> POISE_LARGE_FN T distance_from_cylinder(const T* p, const T* size, T* normal) {
  const T across = square_root(p[0] * p[0] + p[1] * p[1]), sideways = across - size[0],
          above = absolute(p[2]) - size[1];
  const T aside[3] = {across > T(0) ? p[0] / across : T(1), across > T(0) ? p[1] / across : T(0), T(0)};
  const T up[3] = {T(0), T(0), p[2] < T(0) ? T(-1) : T(1)};
  const T outside =
      square_root(maximum(sideways, T(0)) * maximum(sideways, T(0)) + maximum(above, T(0)) * maximum(above, T(0)));
  const bool inside = !(outside > T(0));
  const T along = inside ? T(sideways > above) : maximum(sideways, T(0)) / outside;
  const T upward = inside ? T(1) - along : maximum(above, T(0)) / outside;
  for (int k = 0; k < 3; ++k) normal[k] = along * aside[k] + upward * up[k];
  return inside ? maximum(sideways, above) : outside;
}

// signed distance of a point from a box or a cylinder in its own axes
template <class T> POISE_FN T distance_from_solid(int op, const T* p, const T* size, T* normal) {
  return op == LIMIT_CYLINDER ? distance_from_cylinder(p, size, normal) : distance_from_box(p, size, normal);
}

// A segment and a box or a cylinder: the distance is convex along the segment, so its slope brackets the minimum. The
// search ends once the distance is known to be below, or not below, `limit`: then any such number is returned.
template <class T> POISE_LARGE_FN void nearest_to_solid(int op, const T* a, const T* b, const T* solid, Contact<T>& at,
                                                        T limit = T(-1e30)) {
  const T *R = solid, *center = solid + 9, *size = solid + 12;
  T ends[2][3], p[3], normal[3];
  for (int i = 0; i < 2; ++i) {
    T d[3];
    for (int k = 0; k < 3; ++k) d[k] = (i ? b : a)[k] - center[k];
    rotate_back(R, d, ends[i]);
  }
  const T along[3] = {ends[1][0] - ends[0][0], ends[1][1] - ends[0][1], ends[1][2] - ends[0][2]};
  const auto at_share = [&](T s) {
    for (int k = 0; k < 3; ++k) p[k] = ends[0][k] + s * along[k];
    return distance_from_solid(op, p, size, normal);
  };
  constexpr bool single = sizeof(T) == 4;
  constexpr int most_rounds = single ? 27 : 56;
  const T flat = T(single ? 5e-6 : 1e-14) * square_root(dot(along, along));
  T low = T(0), high = T(1), s = T(0.5);
  // after the middle and the lower end, every round halves the bracket
  POISE_ROLLED
  for (int k = 0; k <= most_rounds; ++k) {
    at.distance = at_share(s);
    const T slope = dot(normal, along), reach = k == 1 ? high - low : T(0.5) * (high - low);
    const bool is_least_end = k == 1 && (s > T(0) ? slope <= T(0) : slope >= T(0));
    if (is_least_end || absolute(slope) <= flat || k == most_rounds || at.distance < limit) break;
    if (limit > T(-1e30) && at.distance - absolute(slope) * reach >= limit) {
      at.distance -= absolute(slope) * reach;
      break;
    }
    if (k != 1) (slope > T(0) ? high : low) = s;
    s = k > 0 ? T(0.5) * (low + high) : slope > T(0) ? T(0) : T(1);
  }
  rotate(R, normal, at.normal);
  for (int k = 0; k < 3; ++k) {
    at.on_first[k] = a[k] + s * (b[k] - a[k]);
    at.on_second[k] = at.on_first[k] - at.distance * at.normal[k];
  }
}

// A box that a frame carries, in the numbers of a world box. Two capsules without radius define it: from its center to
// the end of its x axis, and from the end of its y axis to that of its z axis.
template <class T> POISE_FN void place_box(const LimitList<T>& limits, const LimitSpec<T>& limit, T* box) {
  const T* x = numbers_of(limits, limit);
  const auto& first = limits.placed[limit.second].ends;
  const auto& other = limits.placed[limit.second + 1].ends;
  for (int k = 0; k < 3; ++k) {
    box[3 * k] = first[1][k] - first[0][k];
    box[3 * k + 1] = other[0][k] - first[0][k];
    box[3 * k + 2] = other[1][k] - first[0][k];
    box[9 + k] = first[0][k];
    box[12 + k] = x[k];
  }
}

template <class T> POISE_FN void place_capsule(const LimitList<T>& limits, int c, const T* placements) {
  const CapsuleData<T>& capsule = limits.capsules[c];
  PlacedCapsule<T>& at = limits.placed[c];
  T apart[3];
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 3; ++k) at.ends[i][k] = capsule.ends[i][k];
    if (capsule.primitive < 0) continue;
    const T* R = placements + 12 * capsule.primitive;
    rotate(R, capsule.ends[i], at.ends[i]);
    for (int k = 0; k < 3; ++k) at.ends[i][k] += R[9 + k];
  }
  for (int k = 0; k < 3; ++k) {
    at.center[k] = T(0.5) * (at.ends[0][k] + at.ends[1][k]);
    apart[k] = T(0.5) * (at.ends[1][k] - at.ends[0][k]);
  }
  at.half = square_root(dot(apart, apart));
}

template <class T> POISE_LARGE_FN void place_capsules(const LimitList<T>& limits, const T* placements) {
  for (int c = 0; c < limits.n_capsules; ++c) place_capsule(limits, c, placements);
}

// the distance of the middle of a placed capsule from a box or a cylinder, or from the box of an obstacle
template <class T> POISE_FN T distance_of_center(const PlacedCapsule<T>& at, int op, const T* solid) {
  T d[3], p[3], normal[3];
  for (int k = 0; k < 3; ++k) d[k] = at.center[k] - solid[9 + k];
  rotate_back(solid, d, p);
  return distance_from_solid(op, p, solid + 12, normal);
}

template <class T> POISE_FN bool is_solid(const LimitSpec<T>& limit) {
  return limit.op == LIMIT_BOX || limit.op == LIMIT_CYLINDER;
}

// A lower bound of the distance between two surfaces [m]: the gap of their bounding spheres, or of a bounding sphere and
// a solid. Planes are exact and need none.
template <class T> POISE_FN T least_contact(const LimitList<T>& limits, const LimitSpec<T>& limit) {
  const T* x = numbers_of(limits, limit);
  const PlacedCapsule<T>& first = limits.placed[limit.first];
  const T radius = limits.capsules[limit.first].radius;
  T other[3], size;
  if (limit.op == LIMIT_PAIR) {
    const PlacedCapsule<T>& second = limits.placed[limit.second];
    for (int k = 0; k < 3; ++k) other[k] = second.center[k];
    size = second.half + limits.capsules[limit.second].radius;
  } else if (is_solid(limit) || limit.op == LIMIT_OBSTACLE) {
    return distance_of_center(first, limit.op, x) - first.half - radius - limit.distance;
  } else if (limit.op == LIMIT_CARRIED) {
    for (int k = 0; k < 3; ++k) other[k] = limits.placed[limit.second].ends[0][k];
    size = square_root(dot(x, x));
  } else {
    T half[3];
    for (int k = 0; k < 3; ++k) {
      other[k] = T(0.5) * (x[k] + x[3 + k]);
      half[k] = T(0.5) * (x[3 + k] - x[k]);
    }
    size = square_root(dot(half, half)) + x[6];
  }
  const T apart[3] = {first.center[0] - other[0], first.center[1] - other[1], first.center[2] - other[2]};
  return square_root(dot(apart, apart)) - first.half - radius - size - limit.distance;
}

// The nearest points of a limit between surfaces, and its gap [m]. A gap above `most` may be any number above it.
template <class T>
POISE_LARGE_FN T contact_of(const LimitList<T>& limits, const LimitSpec<T>& limit, Contact<T>& at, T most = T(1e30)) {
  const T* x = numbers_of(limits, limit);
  const CapsuleData<T>& first = limits.capsules[limit.first];
  const auto& a = limits.placed[limit.first].ends;
  if (limit.op == LIMIT_PLANE) {
    const T* p = a[limit.second];
    for (int k = 0; k < 3; ++k) {
      at.on_first[k] = p[k];
      at.normal[k] = x[k];
    }
    at.distance = dot(x, p) - x[3];
    return at.distance - first.radius - limit.distance;
  }
  if (is_solid(limit)) {
    nearest_to_solid(limit.op, a[0], a[1], x, at);
    return at.distance - first.radius - limit.distance;
  }
  if (limit.op == LIMIT_OBSTACLE) {
    const Obstacle<T>& obstacle = limits.obstacles[static_cast<int>(x[15])];
    const T less = first.radius + limit.distance;
    const T enough = most + less + T(1e-9) * (absolute(most) + less + T(1));  // above `most` also after rounding
    nearest_to_obstacle(obstacle, a[0], a[1], x, enough, at);
    return at.distance - less;
  }
  if (limit.op == LIMIT_CARRIED) {
    T box[15];
    place_box(limits, limit, box);
    nearest_to_solid(LIMIT_BOX, a[0], a[1], box, at);
    return at.distance - first.radius - limit.distance;
  }
  const bool pair = limit.op == LIMIT_PAIR;
  const T* b0 = pair ? limits.placed[limit.second].ends[0] : x;
  const T* b1 = pair ? limits.placed[limit.second].ends[1] : x + 3;
  const T radius = pair ? limits.capsules[limit.second].radius : x[6];
  nearest_of_segments(a[0], a[1], b0, b1, at);
  return at.distance - first.radius - radius - limit.distance;
}

// Whether the bounding spheres of two surfaces show that a limit is satisfied.
template <class T> POISE_FN bool is_surely_kept(const LimitList<T>& limits, int i) {
  const LimitSpec<T>& limit = limits.specs[i];
  const bool balls = limit.op != LIMIT_CONE && limit.op != LIMIT_COUPLED && limit.op != LIMIT_PLANE;
  return balls && least_contact(limits, limit) > T(0);
}

// Whether least_contact is the gap itself: between two spheres, or a sphere and a solid.
template <class T> POISE_FN bool is_exact(const LimitList<T>& limits, const LimitSpec<T>& limit) {
  const bool ball = limits.placed[limit.first].half == T(0);
  if (limit.op == LIMIT_PLANE) return false;
  return ball && (is_solid(limit) || (limit.op == LIMIT_PAIR && limits.placed[limit.second].half == T(0)));
}

constexpr double near_enough = 0.35;  // body lengths: beyond this only the lower bound is used

// the gap of a limit, after placing the capsules
template <class T, class P> POISE_LARGE_FN T gap_of(const P& problem, const LimitList<T>& limits, int i, const T* q) {
  const LimitSpec<T>& limit = limits.specs[i];
  if (limit.op == LIMIT_CONE) {
    const ConeSpec<T>& cone = limits.cones[limit.first];
    T gaps[rules_of_cone];
    cone_gaps(cone, q + cone.q_index, gaps);
    return gaps[limit.second];
  }
  if (limit.op == LIMIT_COUPLED) {
    T sum = T(0);
    for (int k = limit.first; k < limit.second; ++k) sum += limits.terms[k].factor * q[limits.terms[k].q_index];
    return numbers_of(limits, limit)[0] * (sum - numbers_of(limits, limit)[1]);
  }
  if (limit.op != LIMIT_PLANE) {
    const T least = least_contact(limits, limit) / problem.scale;
    if (least > T(near_enough) || is_exact(limits, limit)) return least;
  }
  Contact<T> at;
  return contact_of(limits, limit, at) / problem.scale;
}

// the derivative of the gap by the velocities: a row of n_v numbers
template <class T, class P> POISE_LARGE_FN void row_of_limit(const P& problem, const LimitList<T>& limits, int i,
                                                             const T* q, const T* placements, T* row) {
  for (int c = 0; c < problem.n_v; ++c) row[c] = T(0);
  const LimitSpec<T>& limit = limits.specs[i];
  if (limit.op == LIMIT_CONE) {
    const ConeSpec<T>& cone = limits.cones[limit.first];
    T rows[3 * rules_of_cone];
    cone_rows(cone, q + cone.q_index, rows);
    for (int k = 0; k < 3; ++k) row[cone.v_index + k] = rows[3 * limit.second + k];
    return;
  }
  if (limit.op == LIMIT_COUPLED) {
    for (int k = limit.first; k < limit.second; ++k) {
      if (limits.terms[k].v_index >= 0)
        row[limits.terms[k].v_index] += numbers_of(limits, limit)[0] * limits.terms[k].factor;
    }
    return;
  }
  Contact<T> at;
  contact_of(limits, limit, at);
  T force[3], back[3];
  for (int k = 0; k < 3; ++k) {
    force[k] = at.normal[k] / problem.scale;
    back[k] = T(0) - force[k];
  }
  add_point_row(problem, q, placements, limits.capsules[limit.first].primitive, at.on_first, at.on_first, force, 1,
                row);
  if (limit.op == LIMIT_PAIR || limit.op == LIMIT_CARRIED)
    add_point_row(problem, q, placements, limits.capsules[limit.second].primitive, at.on_second, at.on_second, back, 1,
                  row);
}

}  // namespace poise
