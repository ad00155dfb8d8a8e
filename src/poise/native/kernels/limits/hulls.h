// hulls.h: how deep two convex hulls of balls are inside each other, and the direction in which they part soonest.
//
//     overlap(n) = h_other(n) + h_one(-n)      h is the support function, n a unit vector from the second to the first
//     depth = min over n of overlap(n)         negative if the hulls are apart
//
// Of hulls that are apart it is exact: minus the distance of the origin from the differences of their points (Gilbert,
// Johnson and Keerthi, 1988). Of others it is searched from the axes of both frames.
#pragma once
#include "kernels/algebra/rotation.h"

namespace poise {

constexpr int hull_lanes = 8;     // balls are compared in so many lanes
constexpr double far_away = 1e9;  // [m]

// balls with their coordinates apart; their number is a multiple of hull_lanes
template <class T> struct BallHull {
  const T *x, *y, *z, *radius;
  int count;
};

// two hulls: the first one's frame has the rotation `turn` (by rows) and the position `shift` in that of the second
template <class T> struct HullPair {
  BallHull<T> one, other;
  T turn[9], shift[3];
};

// the best direction so far, from the second hull to the first, and the overlap along it
template <class T> struct Parting { T normal[3], depth; };

template <class T> POISE_FN T height_of(const BallHull<T>& hull, const T* n, int i) {
  return n[0] * hull.x[i] + n[1] * hull.y[i] + n[2] * hull.z[i] + hull.radius[i];
}

// the support function along n: the largest n . p + radius
template <class T> POISE_LARGE_FN T support(const BallHull<T>& hull, const T* n) {
  T best[hull_lanes];
  for (int k = 0; k < hull_lanes; ++k) best[k] = height_of(hull, n, k);
  for (int i = hull_lanes; i < hull.count; i += hull_lanes) {
    for (int k = 0; k < hull_lanes; ++k) {
      const T height = height_of(hull, n, i + k);
      best[k] = height > best[k] ? height : best[k];
    }
  }
  for (int k = 1; k < hull_lanes; ++k) best[0] = best[k] > best[0] ? best[k] : best[0];
  return best[0];
}

// the ball that is farthest along n
template <class T> POISE_LARGE_FN int farthest(const BallHull<T>& hull, const T* n) {
  int out = 0;
  T most = height_of(hull, n, 0);
  for (int i = 1; i < hull.count; ++i) {
    const T height = height_of(hull, n, i);
    if (height > most) {
      most = height;
      out = i;
    }
  }
  return out;
}

// -n in the frame of the first hull
template <class T> POISE_FN void turn_back(const HullPair<T>& pair, const T* n, T* out) {
  for (int k = 0; k < 3; ++k) {
    out[k] = T(0) - (n[0] * pair.turn[k] + n[1] * pair.turn[3 + k] + n[2] * pair.turn[6 + k]);
  }
}

template <class T> POISE_LARGE_FN T overlap_along(const HullPair<T>& pair, const T* n) {
  T back[3];
  turn_back(pair, n, back);
  return support(pair.other, n) + support(pair.one, back) - dot(n, pair.shift);
}

template <class T> POISE_FN void keep_better(const T* n, T depth, Parting<T>& at) {
  if (!(depth < at.depth)) return;
  at.depth = depth;
  for (int k = 0; k < 3; ++k) at.normal[k] = n[k];
}

// makes x a unit vector, or the z axis if it has no length
template <class T> POISE_FN void make_unit(T* x) {
  const T size = square_root(dot(x, x));
  for (int k = 0; k < 3; ++k) x[k] = size > T(0) ? x[k] / size : T(k == 2);
}

// searches near the best direction, in narrower steps; false once the hulls are apart by `margin`
template <class T> POISE_LARGE_FN bool narrow(const HullPair<T>& pair, T margin, Parting<T>& at) {
  for (T width = T(0.3); width > T(0.015); width = T(0.5) * width) {
    const Parting<T> from = at;
    for (int k = 0; k < 6; ++k) {
      T n[3] = {from.normal[0], from.normal[1], from.normal[2]};
      n[k % 3] += k < 3 ? width : T(0) - width;
      make_unit(n);
      keep_better(n, overlap_along(pair, n), at);
    }
    if (at.depth <= T(0) - margin) return false;
  }
  return true;
}

// points of the second hull minus points of the first; at most as many as the corners of a tetrahedron
template <class T> struct Differences {
  T points[4][3];
  int count;
};

// the point nearest to the origin of some of the points, the last one among them, if it is inside their hull; the bits
// of `chosen` are those of the others
template <class T> POISE_LARGE_FN bool find_inside(const Differences<T>& set, int chosen, T* at) {
  const T* base = set.points[set.count - 1];
  T edges[3][3], G[3][4], sum = T(0);
  int n = 0;
  for (int i = 0; i < set.count - 1; ++i) {
    if (!(chosen >> i & 1)) continue;
    for (int k = 0; k < 3; ++k) edges[n][k] = set.points[i][k] - base[k];
    ++n;
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) G[i][j] = dot(edges[i], edges[j]);
    G[i][n] = T(0) - dot(edges[i], base);
  }
  for (int i = 0; i < n; ++i) {  // the matrix is positive definite: no pivots are needed
    if (!(G[i][i] > T(1e-12) * dot(edges[i], edges[i]))) return false;
    for (int r = 0; r < n; ++r) {
      const T factor = r == i ? T(0) : G[r][i] / G[i][i];
      for (int c = i; c <= n; ++c) G[r][c] -= factor * G[i][c];
    }
  }
  for (int k = 0; k < 3; ++k) at[k] = base[k];
  for (int i = 0; i < n; ++i) {
    const T share = G[i][n] / G[i][i];
    if (!(share > T(0))) return false;
    sum += share;
    for (int k = 0; k < 3; ++k) at[k] += share * edges[i][k];
  }
  return sum < T(1);
}

// finds the point nearest to the origin of the hull of the points, and drops the points that it does not need
template <class T> POISE_LARGE_FN void keep_nearest(Differences<T>& set, T* nearest) {
  int best = 0, kept = 0;
  T least = T(far_away);
  for (int chosen = 0; chosen < 1 << (set.count - 1); ++chosen) {
    T at[3];
    if (!find_inside(set, chosen, at) || !(dot(at, at) < least)) continue;
    least = dot(at, at);
    best = chosen;
    for (int k = 0; k < 3; ++k) nearest[k] = at[k];
  }
  for (int i = 0; i < set.count; ++i) {
    if (i < set.count - 1 && !(best >> i & 1)) continue;
    for (int k = 0; k < 3; ++k) set.points[kept][k] = set.points[i][k];
    ++kept;
  }
  set.count = kept;
}

// finds the distance of hulls that are apart; returns once they are apart by `margin`, or overlap
template <class T> POISE_LARGE_FN void approach(const HullPair<T>& pair, T margin, T* n, Parting<T>& at) {
  constexpr int rounds = 24;
  constexpr T rounding = T(1e-6);  // of the distance
  Differences<T> set{{}, 0};
  T nearest[3], last = T(far_away);
  for (int round = 0; round < rounds; ++round) {
    T back[3];
    turn_back(pair, n, back);
    const int i = farthest(pair.one, back), j = farthest(pair.other, n);
    const T a[3] = {pair.one.x[i], pair.one.y[i], pair.one.z[i]};
    const T b[3] = {pair.other.x[j], pair.other.y[j], pair.other.z[j]};
    T* next = set.points[set.count++];
    for (int k = 0; k < 3; ++k) {
      next[k] = b[k] - dot(pair.turn + 3 * k, a) - pair.shift[k] + (pair.one.radius[i] + pair.other.radius[j]) * n[k];
    }
    keep_better(n, dot(next, n), at);
    if (at.depth <= T(0) - margin) return;
    keep_nearest(set, nearest);
    const T size = square_root(dot(nearest, nearest));
    if (set.count == 4 || !(size < last) || size + at.depth <= rounding * size) return;
    last = size;
    for (int k = 0; k < 3; ++k) n[k] = T(0) - nearest[k];
    make_unit(n);
  }
}

// finds the least overlap; false if the hulls are apart by `margin`: then `at` has a direction along which they are
template <class T>
POISE_LARGE_FN bool find_parting(const HullPair<T>& pair, const T* middles, T margin, Parting<T>& at) {
  T n[3];
  for (int k = 0; k < 3; ++k) {
    n[k] = dot(pair.turn + 3 * k, middles) + pair.shift[k] - middles[3 + k];
  }
  make_unit(n);
  approach(pair, margin, n, at);
  if (at.depth < T(0)) return at.depth > T(0) - margin;
  for (int k = 0; k < 12; ++k) {  // the normals of boxes and cylinders
    const T sign = k % 2 ? T(-1) : T(1);
    const int axis = k / 2 % 3;
    for (int r = 0; r < 3; ++r) n[r] = sign * (k < 6 ? T(r == axis) : pair.turn[3 * r + axis]);
    keep_better(n, overlap_along(pair, n), at);
  }
  return at.depth > T(0) - margin && narrow(pair, margin, at);
}

}  // namespace poise
