// hulls.h: how deep two convex hulls of balls are inside each other, and the direction in which they part soonest.
//
//     overlap(n) = h_other(n) + h_one(-n)      h is the support function, n a unit vector from the second to the first
//     depth = min over n of overlap(n)         negative if the hulls are apart
//
// The minimum is searched from the directions between nearest points (Gilbert, 1966) and from the axes of both frames.
#pragma once
#include "kernels/algebra/rotation.h"

namespace poise {

constexpr int hull_lanes = 8;  // balls are compared in so many lanes

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

// finds the least overlap; false if the hulls are apart by `margin`: then `at` has a direction along which they are
template <class T>
POISE_LARGE_FN bool find_parting(const HullPair<T>& pair, const T* middles, T margin, Parting<T>& at) {
  constexpr int approaches = 3;
  T n[3];
  for (int k = 0; k < 3; ++k) {
    n[k] = dot(pair.turn + 3 * k, middles) + pair.shift[k] - middles[3 + k];
  }
  make_unit(n);
  for (int round = 0; round < approaches; ++round) {
    T back[3], apart[3];
    turn_back(pair, n, back);
    const int i = farthest(pair.one, back), j = farthest(pair.other, n);
    keep_better(n, height_of(pair.one, back, i) + height_of(pair.other, n, j) - dot(n, pair.shift), at);
    if (at.depth <= T(0) - margin) return false;
    const T a[3] = {pair.one.x[i], pair.one.y[i], pair.one.z[i]};
    const T b[3] = {pair.other.x[j], pair.other.y[j], pair.other.z[j]};
    for (int k = 0; k < 3; ++k) apart[k] = dot(pair.turn + 3 * k, a) + pair.shift[k] - b[k];
    make_unit(apart);
    for (int k = 0; k < 3; ++k) n[k] += apart[k];
    make_unit(n);
  }
  for (int k = 0; k < 12; ++k) {  // the normals of boxes and cylinders
    const T sign = k % 2 ? T(-1) : T(1);
    const int axis = k / 2 % 3;
    for (int r = 0; r < 3; ++r) n[r] = sign * (k < 6 ? T(r == axis) : pair.turn[3 * r + axis]);
    keep_better(n, overlap_along(pair, n), at);
  }
  return at.depth > T(0) - margin && narrow(pair, margin, at);
}

}  // namespace poise
