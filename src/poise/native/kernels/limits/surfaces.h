// surfaces.h: the gaps of a clearance. Balls around links and boxes around regions exclude most pairs of surfaces.
#pragma once
#include "kernels/limits/limits.h"

namespace poise {

// a region of the world: its operation and its numbers
template <class T> struct RegionData {
  int op;
  T numbers[most_numbers];
};

// consecutive capsules that one primitive carries, and a ball around them in its axes
template <class T> struct SurfaceLink {
  int primitive, first, last;  // capsules [first, last)
  int world_row;               // the first row of its first capsule and the world; -1 if it does not move
  T center[3], radius;
};

// two links, and the rows [first, last) in the list of rows of pairs
struct LinkPair { int one, other, first, last; };

// The rows of a clearance: pairs of capsules, then for each moving capsule every region: two rows for a half-space, one
// row for a solid.
template <class T> struct SurfaceList {
  const SurfaceLink<T>* links;
  const LinkPair* pairs;
  const int* pair_rows;
  const int* pair_capsules;  // the two capsules of each of these rows, sorted by the first in each pair of links
  const T* planes;           // normal and offset of each half-space
  const T* covers;  // a box around each solid: 9 numbers of R, center, half sizes; each number in a row of `stride`
  int n_links, n_pairs, n_planes, n_solids, stride;
  T distance;
  T* centers;     // the balls in the last pose
  T* bounds;      // lower bounds of the gap between each link and region, n_planes + stride for each link
  char* arrived;  // links whose capsules are placed
};

// Places the capsules of a link, in the last pose of bound_gaps.
template <class T>
POISE_FN void place_link(const LimitList<T>& limits, const SurfaceList<T>& list, int l, const T* placements) {
  if (list.arrived[l]) return;
  list.arrived[l] = 1;
  for (int c = list.links[l].first; c < list.links[l].last; ++c) place_capsule(limits, c, placements);
}

// Writes the distance of a point from every cover, P::lanes of them at once.
template <class P, class T>
POISE_LARGE_FN void bound_solids(const SurfaceList<T>& list, const T* point, T less, T* out) {
  constexpr int lanes = ScalarTraits<P>::lanes;
  const P zero = P(T(0));
  for (int i = 0; i < list.n_solids; i += lanes) {
    P x[15], d[3], inside = P(T(-1e30)), outside = zero;
    for (int k = 0; k < 15; ++k) gather_row(list.covers + k * list.stride + i, x[k]);
    for (int k = 0; k < 3; ++k) d[k] = P(point[k]) - x[9 + k];
    for (int k = 0; k < 3; ++k) {
      const P over = absolute(x[k] * d[0] + x[3 + k] * d[1] + x[6 + k] * d[2]) - x[12 + k];
      const P out_of = maximum(over, zero);
      inside = maximum(inside, over);
      outside += out_of * out_of;
    }
    scatter_row(select(outside > zero, square_root(outside), inside) - P(less), out + i);
  }
}

// Raises the bounds of a link in the boxes of point clouds, the last regions: there the box bounds nothing.
template <class T> POISE_LARGE_FN void bound_clouds(const LimitList<T>& limits, const SurfaceList<T>& list,
                                                    const SurfaceLink<T>& link, const T* point, T less, T* bounds) {
  for (int i = list.n_solids - 1; i >= 0; --i) {
    const LimitSpec<T>& limit = limits.specs[link.world_row + 2 * list.n_planes + i];
    if (limit.op != LIMIT_OBSTACLE) return;
    const T* x = numbers_of(limits, limit);
    const Obstacle<T>& obstacle = limits.obstacles[static_cast<int>(x[15])];
    if (obstacle.cloud.n == 0) return;
    if (bounds[i] > T(0)) continue;
    Contact<T> at;
    nearest_to_obstacle(obstacle, point, point, x, T(1e30), at);
    bounds[i] = maximum(bounds[i], at.distance - less);
  }
}

// Places the balls of a pose, and bounds the gaps between links and regions from below [m].
template <class P, class T>
POISE_LARGE_FN void bound_gaps(const LimitList<T>& limits, const SurfaceList<T>& list, const T* placements) {
  for (int l = 0; l < list.n_links; ++l) {
    const SurfaceLink<T>& link = list.links[l];
    T *at = list.centers + 3 * l, *bounds = list.bounds + l * (list.n_planes + list.stride);
    list.arrived[l] = 0;
    for (int k = 0; k < 3; ++k) at[k] = link.center[k];
    if (link.primitive >= 0) {
      const T* R = placements + 12 * link.primitive;
      rotate(R, link.center, at);
      for (int k = 0; k < 3; ++k) at[k] += R[9 + k];
    }
    if (link.world_row < 0) continue;
    const T less = link.radius + list.distance;
    for (int i = 0; i < list.n_planes; ++i) bounds[i] = dot(list.planes + 4 * i, at) - list.planes[4 * i + 3] - less;
    bound_solids<P>(list, at, less, bounds + list.n_planes);
    bound_clouds(limits, list, link, at, less, bounds + list.n_planes);
  }
}

// a lower bound of the gaps between two links [m], after bound_gaps
template <class T> POISE_FN T bound_of_pair(const SurfaceList<T>& list, const LinkPair& pair) {
  const T *a = list.centers + 3 * pair.one, *b = list.centers + 3 * pair.other;
  const T apart[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
  return square_root(dot(apart, apart)) - list.links[pair.one].radius - list.links[pair.other].radius - list.distance;
}

// Calls visit(row) for every row of a link and a region.
template <class T, class F> POISE_FN void visit_rows(const SurfaceList<T>& list, int l, int region, const F& visit) {
  const SurfaceLink<T>& link = list.links[l];
  const int each = 2 * list.n_planes + list.n_solids, plane = region < list.n_planes;
  const int first = plane ? 2 * region : region + list.n_planes;
  for (int c = 0; c < link.last - link.first; ++c) {
    for (int k = 0; k <= plane; ++k) visit(link.world_row + c * each + first + k);
  }
}

// Whether the bounding sphere of a capsule and a ball are closer than `least` [m].
template <class T> POISE_FN bool are_balls_near(const LimitList<T>& limits, int c, const T* center, T radius, T least) {
  const PlacedCapsule<T>& at = limits.placed[c];
  const T apart[3] = {at.center[0] - center[0], at.center[1] - center[1], at.center[2] - center[2]};
  const T most = at.half + limits.capsules[c].radius + radius + least;
  return most > T(0) && dot(apart, apart) < most * most;
}

// The smallest gap of a pose that is less than `least` [m], otherwise `least`; one below `enough` ends the search.
template <class P, class T> POISE_LARGE_FN T least_gap(const LimitList<T>& limits, const SurfaceList<T>& list,
                                                       const T* placements, T least, T enough) {
  const int regions = list.n_planes + list.n_solids, stride = list.n_planes + list.stride;
  bound_gaps<P>(limits, list, placements);
  const auto visit = [&](const LimitSpec<T>& limit) {
    const bool plane = limit.op == LIMIT_PLANE;
    const T bound = plane ? T(0) : least_contact(limits, limit);
    if (!plane && bound >= least) return;
    Contact<T> at;
    least = minimum(least, !plane && is_exact(limits, limit) ? bound : contact_of(limits, limit, at, least));
  };
  const auto visit_region = [&](int l, int region) {
    place_link(limits, list, l, placements);
    const int plane = region < list.n_planes;
    LimitSpec<T> limit = limits.specs[list.links[l].world_row + (plane ? 2 * region : region + list.n_planes)];
    for (int c = list.links[l].first; c < list.links[l].last; ++c) {  // their rows differ in the capsule alone
      limit.first = c;
      for (int k = 0; k <= plane; ++k) {
        limit.second = k;
        visit(limit);
      }
    }
  };
  int near_link = -1, near_region = 0;  // the least bound: its gap excludes most others
  T nearest = least;
  for (int l = 0; l < list.n_links; ++l) {
    for (int r = 0; r < regions && list.links[l].world_row >= 0; ++r) {
      if (!(list.bounds[l * stride + r] < nearest)) continue;
      nearest = list.bounds[l * stride + r];
      near_link = l;
      near_region = r;
    }
  }
  if (near_link >= 0) visit_region(near_link, near_region);
  for (int l = 0; l < list.n_links; ++l) {
    for (int r = 0; r < regions && list.links[l].world_row >= 0; ++r) {
      if (least < enough) return least;
      if (list.bounds[l * stride + r] < least && (l != near_link || r != near_region)) visit_region(l, r);
    }
  }
  for (int i = 0; i < list.n_pairs && !(least < enough); ++i) {
    const LinkPair& pair = list.pairs[i];
    if (!(bound_of_pair(list, pair) < least)) continue;
    place_link(limits, list, pair.one, placements);
    place_link(limits, list, pair.other, placements);
    const T reach = list.links[pair.other].radius + list.distance;
    for (int k = pair.first, c = -1, near = 0; k < pair.last; ++k) {
      const int *of = list.pair_capsules + 2 * k, changed = of[0] != c;
      c = of[0];
      if (changed) near = are_balls_near(limits, c, list.centers + 3 * pair.other, reach, least);
      const T other = near ? limits.placed[of[1]].half + limits.capsules[of[1]].radius + list.distance : T(0);
      if (near && are_balls_near(limits, c, limits.placed[of[1]].center, other, least))
        visit(limits.specs[list.pair_rows[k]]);
    }
  }
  return least;
}

// The gaps of a pose that matter to a step, in lengths of the body: of the nearest rows, and of all rows below `least`.
// The others stay at near_enough.
template <class T> struct NearGaps {
  T* gaps;     // of every row
  int* rows;   // those listed
  int n_rows;  // so far
  T* nearest;  // the smallest gaps so far, sorted
  int most, n_nearest;
  T least;

  // the gap from which on a row need not be listed; violated rows always are
  POISE_FN T far() const { return n_nearest < most ? T(near_enough) : maximum(least, nearest[most - 1]); }

  // the same for a lower bound, which may round otherwise than the gap
  POISE_FN T far_bound() const { return far() + T(1e-9); }

  POISE_FN void add(int row, T gap) {
    if (!(gap < far())) return;
    gaps[row] = gap;
    rows[n_rows++] = row;
    if (n_nearest == most && !(gap < nearest[most - 1])) return;
    if (n_nearest < most) ++n_nearest;
    int k = n_nearest - 1;
    for (; k > 0 && nearest[k - 1] > gap; --k) nearest[k] = nearest[k - 1];
    nearest[k] = gap;
  }
};

// Where the rows of a capsule and the other link of a pair end; `k` is the first of them.
template <class T> POISE_LARGE_FN int end_of_rows(const SurfaceList<T>& list, const LinkPair& pair, int k) {
  const SurfaceLink<T>& other = list.links[pair.other];
  const int c = list.pair_capsules[2 * k], most = k + other.last - other.first;
  int low = k + 1, high = most < pair.last ? most : pair.last;
  // ends: when they meet
  while (low < high) {
    const int middle = (low + high) / 2;
    if (list.pair_capsules[2 * middle] == c)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Adds rows [first, last) of a pair of links, after placing the capsules: lower bounds of several rows at once, which
// are exact for spheres.
template <class S, class T, class P> POISE_LARGE_FN void add_pairs(const P& problem, const LimitList<T>& limits,
                                                                   const SurfaceList<T>& list, int first, int last,
                                                                   const T* q, NearGaps<T>& near) {
  constexpr int lanes = ScalarTraits<S>::lanes;
  for (; first < last; first += lanes) {
    const int count = last - first < lanes ? last - first : lanes;
    T apart[3][lanes] = {}, sizes[lanes] = {}, halves[lanes] = {}, bounds[lanes];
    for (int j = 0; j < count; ++j) {
      const int* of = list.pair_capsules + 2 * (first + j);
      const PlacedCapsule<T>&one = limits.placed[of[0]], &other = limits.placed[of[1]];
      for (int k = 0; k < 3; ++k) apart[k][j] = one.center[k] - other.center[k];
      halves[j] = one.half + other.half;
      sizes[j] = halves[j] + limits.capsules[of[0]].radius + limits.capsules[of[1]].radius + list.distance;
    }
    S x[3], size;
    for (int k = 0; k < 3; ++k) gather_row(apart[k], x[k]);
    gather_row(sizes, size);
    scatter_row((square_root(dot(x, x)) - size) / S(problem.scale), bounds);
    for (int j = 0; j < count; ++j) {
      if (!(bounds[j] < near.far_bound())) continue;
      const int row = list.pair_rows[first + j];
      near.add(row, halves[j] == T(0) ? bounds[j] : gap_of(problem, limits, row, q));
    }
  }
}

// Adds the rows of a clearance, after placing the capsules. Balls exclude most of them.
template <class S, class T, class P> POISE_LARGE_FN void add_gaps(const P& problem, const LimitList<T>& limits,
                                                                  const SurfaceList<T>& list, const T* q,
                                                                  const T* placements, NearGaps<T>& near) {
  bound_gaps<S>(limits, list, placements);
  for (int l = 0; l < list.n_links; ++l) {
    for (int r = 0; r < list.n_planes + list.n_solids && list.links[l].world_row >= 0; ++r) {
      if (!(list.bounds[l * (list.n_planes + list.stride) + r] < near.far_bound() * problem.scale)) continue;
      visit_rows(list, l, r, [&](int row) { near.add(row, gap_of(problem, limits, row, q)); });
    }
  }
  for (int i = 0; i < list.n_pairs; ++i) {
    const LinkPair& pair = list.pairs[i];
    if (!(bound_of_pair(list, pair) < near.far_bound() * problem.scale)) continue;
    const T reach = list.links[pair.other].radius + list.distance;
    for (int k = pair.first, last; k < pair.last; k = last) {
      last = end_of_rows(list, pair, k);
      const T* center = list.centers + 3 * pair.other;
      if (are_balls_near(limits, list.pair_capsules[2 * k], center, reach, near.far_bound() * problem.scale))
        add_pairs<S>(problem, limits, list, k, last, q, near);
    }
  }
}

}  // namespace poise
