// balance.h: goals of the centre of mass: at a position, or above the convex hull of the supports.
//
// Projected along `up`, the supports' points have a convex hull. For each of its edges, from point i to point j with
// the inward normal n,
//
//   s = n . (c - p_i) >= margin
//
// is one row. The edge moves with its points: ds = n . (dc - (1 - t) dp_i - t dp_j), with t the projection of c onto
// the edge. Fewer than three corners (one foot's point, two points, collinear points) get four half-planes around them;
// those at the ends of a line rotate with it.
#pragma once
#include "kernels/body/mass.h"
#include "kernels/goals/goals.h"

namespace poise {

constexpr int most_supports = 32;

// What rounding hides of a hull. A point of a body is known to some units in the last place of L: in float, collinear
// points would otherwise have corners, and edges without an end.
template <class T> struct HullRounding {
  static constexpr bool fine = sizeof(T) == 8;
  static constexpr T length = fine ? T(1e-12) : T(1e-6);    // [L], and of an area [L^2]
  static constexpr T line = fine ? T(1e-9) : T(1e-5);       // [L] the shortest that has a direction
  static constexpr T parallel = fine ? T(1e-18) : T(1e-6);  // the square of the sine between two edges
  static constexpr T relative = fine ? T(1e-14) : T(1e-6);  // of a sum
};

template <class S> struct SupportEdge {
  int from, to;  // points
  S normal[3];   // inward, perpendicular to `up`
  S push[2][3];  // the derivatives of s by the two points, from and to
  S inside;      // s
};

template <class S> struct Hull {
  int n = 0;
  S nearest = S(0);  // from the centre to the nearest point of its border
  SupportEdge<S> edges[most_supports];
};

template <class S> struct FlatPoint {
  S x, y;
  int index;
};

// the corners of the hull, counter-clockwise (Andrew 1979); `points` are sorted in place. Returns their number.
template <class S> POISE_LARGE_FN int corners_of(FlatPoint<S>* points, int n, S smallest_area, FlatPoint<S>* corners) {
  for (int i = 1; i < n; ++i) {
    const FlatPoint<S> p = points[i];
    int k = i;
    for (; k > 0 && (points[k - 1].x > p.x || (points[k - 1].x == p.x && points[k - 1].y > p.y)); --k)
      points[k] = points[k - 1];
    points[k] = p;
  }
  int count = 0;
  const auto turns_left = [&](const FlatPoint<S>& c) {
    const FlatPoint<S>&a = corners[count - 2], &b = corners[count - 1];
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) > smallest_area;
  };
  for (int i = 0; i < n; ++i) {
    // ends: count falls
    while (count >= 2 && !turns_left(points[i])) --count;
    corners[count++] = points[i];
  }
  for (int i = n - 2, lower = count + 1; i >= 0; --i) {
    // ends: count falls
    while (count >= lower && !turns_left(points[i])) --count;
    corners[count++] = points[i];
  }
  return n > 1 ? count - 1 : count;
}

// from (x, y) to the nearest point of a segment
template <class S> POISE_FN S distance_to_side(S x, S y, const FlatPoint<S>& a, const FlatPoint<S>& b) {
  const S along_x = b.x - a.x, along_y = b.y - a.y, square = along_x * along_x + along_y * along_y;
  S t = square > S(0) ? ((x - a.x) * along_x + (y - a.y) * along_y) / square : S(0);
  t = minimum(maximum(t, S(0)), S(1));
  const S left_x = x - a.x - t * along_x, left_y = y - a.y - t * along_y;
  return square_root(left_x * left_x + left_y * left_y);
}

// the half-plane of an edge of the given length along `way`; length 0 for a single point
template <class S> POISE_LARGE_FN void add_edge(const S* center, const S* points, int from, int to, const S* normal,
                                                S length, const S* way, Hull<S>& hull) {
  SupportEdge<S>& edge = hull.edges[hull.n++];
  edge.from = from;
  edge.to = to;
  S apart[3];
  for (int k = 0; k < 3; ++k) {
    edge.normal[k] = normal[k];
    apart[k] = center[k] - points[3 * from + k];
  }
  edge.inside = dot(normal, apart);
  const S along = length > S(0) ? dot(way, apart) / length : S(0);
  for (int k = 0; k < 3; ++k) {
    edge.push[0][k] = (along - S(1)) * normal[k];
    edge.push[1][k] = (S(0) - along) * normal[k];
  }
}

// the half-plane at the end `from` of a line to `to`, open towards the line: its normal is the line's own direction
template <class S> POISE_LARGE_FN void add_end(const S* center, const S* points, int from, int to, const S* way,
                                               S length, const S* across, Hull<S>& hull) {
  add_edge(center, points, from, to, way, S(0), way, hull);
  SupportEdge<S>& edge = hull.edges[hull.n - 1];
  S apart[3];
  for (int k = 0; k < 3; ++k) apart[k] = center[k] - points[3 * from + k];
  const S sideways = dot(across, apart) / length;
  for (int k = 0; k < 3; ++k) {
    edge.push[0][k] -= sideways * across[k];
    edge.push[1][k] += sideways * across[k];
  }
}

// the hull of n points (3 numbers each) seen along `up`, with the centre; `scale` is the body's length
template <class S>
POISE_LARGE_FN void hull_of(const S* points, int n, const S* up, const S* center, S scale, Hull<S>& hull) {
  S right[3], ahead[3];
  const S* axis = up;
  const bool flat = absolute(axis[2]) < S(0.7);
  const S other[3] = {flat ? S(0) : S(1), S(0), flat ? S(1) : S(0)};
  cross(axis, other, right);
  const S size = square_root(dot(right, right));
  for (int k = 0; k < 3; ++k) right[k] = right[k] / size;
  cross(axis, right, ahead);
  FlatPoint<S> flatted[most_supports], corners[2 * most_supports];
  for (int i = 0; i < n; ++i) flatted[i] = {dot(right, points + 3 * i), dot(ahead, points + 3 * i), i};
  const int count = corners_of(flatted, n, S(HullRounding<real_t<S>>::length) * scale * scale, corners);
  hull.n = 0;
  hull.nearest = S(1e30);
  const S x_now = dot(right, center), y_now = dot(ahead, center);
  for (int i = 0; i < count; ++i)
    hull.nearest = minimum(hull.nearest, distance_to_side(x_now, y_now, corners[i], corners[(i + 1) % count]));
  S way[3], normal[3];
  const auto edge = [&](const FlatPoint<S>& a, const FlatPoint<S>& b) {
    const S x = b.x - a.x, y = b.y - a.y, length = square_root(x * x + y * y);
    for (int k = 0; k < 3; ++k) {
      way[k] = (x * right[k] + y * ahead[k]) / length;
      normal[k] = (x * ahead[k] - y * right[k]) / length;
    }
    add_edge(center, points, a.index, b.index, normal, length, way, hull);
    return length;
  };
  if (count >= 3) {
    for (int i = 0; i < count; ++i) edge(corners[i], corners[(i + 1) % count]);
    return;
  }
  const FlatPoint<S> first = flatted[0], last = flatted[n - 1];  // sorted: the ends of a line
  const S x = last.x - first.x, y = last.y - first.y;
  const S shortest = S(HullRounding<real_t<S>>::line) * scale;
  if (x * x + y * y > shortest * shortest) {
    const S length = edge(first, last);
    const S on[3] = {way[0], way[1], way[2]}, back[3] = {S(0) - way[0], S(0) - way[1], S(0) - way[2]};
    const S across[3] = {normal[0], normal[1], normal[2]};
    edge(last, first);
    add_end(center, points, first.index, last.index, on, length, across, hull);
    add_end(center, points, last.index, first.index, back, length, across, hull);
    return;
  }
  for (int k = 0; k < 4; ++k) {
    for (int r = 0; r < 3; ++r) normal[r] = S(k % 2 ? -1 : 1) * (k < 2 ? right[r] : ahead[r]);
    add_edge(center, points, first.index, first.index, normal, S(0), normal, hull);
  }
}

// the centre of mass, from the sums of mass.h
template <class S> POISE_FN void center_from(const S* total, S* center) {
  for (int k = 0; k < 3; ++k) center[k] = total[1 + k] / total[0];
}

// the supports' points in the world and their hull
template <class S, class P, class Goal>
POISE_LARGE_FN void find_hull(const P& problem, const Goal& goal, const S* placements, const S* target, Hull<S>& hull) {
  S points[3 * most_supports], R[9], center[3];
  for (int i = 0; i < goal.n_points; ++i)
    frame_from(problem.goals.frames()[problem.goals.points()[goal.first_point + i]], placements, R, points + 3 * i);
  center_from(placements + 16 * problem.body.count(), center);
  hull_of(points, goal.n_points, target + 9, center, S(problem.scale), hull);
}

// The distance of the centre from the region inside every edge: the least |d| with n_k . d >= margin - s_k for all k.
// Without a margin that is the distance to the border, which beyond a sharp corner is much larger than to any edge's
// line. With one, the nearest point lies on the line of one edge or at the intersection of two, with d = sum of a_k
// n_k, a_k >= 0. If the margin leaves no such point, the worst edge counts.
template <class S> POISE_LARGE_FN S distance_outside(const Hull<S>& hull, S margin, S rounding) {
  S worst = S(0), least = S(1e30);
  const auto kept = [&](const SupportEdge<S>& a, S x, const SupportEdge<S>& b, S y) {
    for (int k = 0; k < hull.n; ++k) {
      const SupportEdge<S>& e = hull.edges[k];
      const S by = x * dot(e.normal, a.normal) + y * dot(e.normal, b.normal);
      if (&e != &a && &e != &b && by < margin - e.inside - rounding - S(HullRounding<real_t<S>>::relative) * (x + y))
        return false;
    }
    return true;
  };
  for (int i = 0; i < hull.n; ++i) worst = maximum(worst, margin - hull.edges[i].inside);
  if (!(worst > S(0))) return S(0);
  const bool out = worst > margin;  // of the hull itself
  if (!(margin > S(0))) return maximum(hull.nearest, worst);
  for (int i = 0; i < hull.n; ++i) {
    const SupportEdge<S>& a = hull.edges[i];
    const S beyond_a = margin - a.inside;
    if (beyond_a > S(0) && kept(a, beyond_a, a, S(0))) least = minimum(least, beyond_a);
    for (int j = 0; j < i; ++j) {
      const SupportEdge<S>& b = hull.edges[j];
      const S beyond_b = margin - b.inside, together = dot(a.normal, b.normal), apart = S(1) - together * together;
      if (!(apart > S(HullRounding<real_t<S>>::parallel)) || !(maximum(beyond_a, beyond_b) > S(0))) continue;
      const S x = (beyond_a - together * beyond_b) / apart, y = (beyond_b - together * beyond_a) / apart;
      if (x < S(0) || y < S(0) || !kept(a, x, b, y)) continue;
      least = minimum(least, square_root(maximum(x * beyond_a + y * beyond_b, S(0))));
    }
  }
  const S inset = least < S(1e30) ? maximum(least, worst) : worst;
  return out ? maximum(inset, hull.nearest) : inset;
}

// rows, error and room of a balance, from its hull
template <class S, class P, class Goal>
POISE_LARGE_FN void balance_residual(const P& problem, const Goal& goal, const Hull<S>& hull, const S* target,
                                     real_t<S> per_scale, S* rows, S* errors, S* room) {
  const S margin = target[12], weight = S(goal.weight[0] * per_scale), high = S(1e30);
  for (int k = 0; k < goal.n_rows; ++k) {
    rows[k] = S(0);
    if (room) {
      room[2 * k] = S(-1e30);
      room[2 * k + 1] = S(1e30);
    }
    if (k >= hull.n) continue;
    const S e = S(0) - hull.edges[k].inside;
    if (room) note_room(e, margin, high, weight, room + 2 * k);
    const S left = beyond(e, margin, high);
    rows[k] = weight * left;
  }
  errors[0] = distance_outside(hull, margin, S(HullRounding<real_t<S>>::length) * S(problem.scale));
  errors[1] = S(0);
}

// rows, errors and room of a goal on the centre of mass; the sums are stored after the placements
template <class S, class P, class Goal>
POISE_LARGE_FN void mass_residual(const P& problem, const Goal& goal, const S* placements, const S* target,
                                  real_t<S> per_scale, S* rows, S* errors, S* room) {
  errors[0] = errors[1] = S(0);
  if (goal.op == GOAL_COM) {
    S center[3];
    center_from(placements + 16 * problem.body.count(), center);
    const S apart[3] = {target[9] - center[0], target[10] - center[1], target[11] - center[2]};
    position_residual(goal, apart, target, target + 12, per_scale, rows, errors, room);
    return;
  }
  Hull<S> hull;
  find_hull(problem, goal, placements, target, hull);
  balance_residual(problem, goal, hull, target, per_scale, rows, errors, room);
}

// row[velocity * stride] += force . velocity of a point that moves with primitive `on`; scales carry `origin`
template <class S, class P> POISE_LARGE_FN void add_point_row(const P& problem, const S* q, const S* placements, int on,
                                                              const S* point, const S* origin, const S* force,
                                                              int stride, S* row) {
  for (int i = on; i >= 0; i = problem.body[i].parent) {
    const auto& b = problem.body[i];
    if (b.v_index < 0) continue;
    for (int k = 0; k < width_of(b.kind); ++k) {
      S linear[3], angular[3];
      world_column(b, k, q, placements + 12 * i, is_scale(b) ? origin : point, linear, angular);
      row[(b.v_index + k) * stride] += dot(force, linear);
    }
  }
}

// the rows of a goal on the centre of mass, all columns
template <class S, class P, class Goal> POISE_LARGE_FN void assemble_mass(const P& problem, const Goal& goal,
                                                                          const S* q, const S* placements,
                                                                          const S* target, real_t<S> per_scale, S* J) {
  const int n = problem.body.count(), m = problem.n_rows;
  const S *sums = placements + 12 * n, *total = sums + 4 * n;
  const S per_mass = S(1) / total[0];
  const bool balance = goal.op == GOAL_BALANCE;
  Hull<S> hull;
  S pulling[9] = {};
  if (balance) {
    find_hull(problem, goal, placements, target, hull);
  } else if (goal.local) {
    pull_locally(goal, target, per_scale, pulling);
  } else {
    for (int k = 0; k < 3; ++k) pulling[4 * k] = S(goal.weight[k] * per_scale);
  }
  const S weight = S(goal.weight[0] * per_scale);
  for (int i = 0; i < n; ++i) {
    const auto& b = problem.body[i];
    if (b.v_index < 0) continue;
    for (int k = 0; k < width_of(b.kind); ++k) {
      S rate[3];
      mass_column(b, k, q, placements + 12 * i, sums + 4 * i, per_mass, rate);
      S* out = J + (b.v_index + k) * m + goal.first_row;
      for (int r = 0; r < (balance ? hull.n : 3); ++r)
        out[r] += balance ? weight * dot(hull.edges[r].normal, rate) : dot(pulling + 3 * r, rate);
    }
  }
  if (!balance) return;
  for (int e = 0; e < hull.n; ++e) {
    const SupportEdge<S>& edge = hull.edges[e];
    const int ends[2] = {edge.from, edge.to};
    for (int k = 0; k < 2; ++k) {
      const auto& frame = problem.goals.frames()[problem.goals.points()[goal.first_point + ends[k]]];
      S R[9], p[3], origin[3], force[3];
      frame_from(frame, placements, R, p);
      origin_from(frame, placements, origin);
      for (int r = 0; r < 3; ++r) force[r] = weight * edge.push[k][r];
      add_point_row(problem, q, placements, frame.primitive, p, origin, force, m, J + goal.first_row + e);
    }
  }
}

}  // namespace poise
