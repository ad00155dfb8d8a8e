// obstacles.h: obstacles with many points: clouds, and convex hulls. Their distances from a segment, in their own axes.
#pragma once
#include "kernels/algebra/nearest.h"
#include "kernels/limits/contacts.h"

namespace poise {

constexpr int hull_face_size = 17;  // normal, offset, center, radius of a ball around it, three corners

template <class T> struct Obstacle {
  PointTree<T> cloud;  // without points for a hull
  T radius;            // of the points
  const T* faces;      // triangles of a hull; the normal of one without area is zero
  int n_faces;
  bool solid;  // whether the hull has an inside
};

// The share of a segment a + s d at which it is nearest to a point; `size` is |d|^2.
template <class T> POISE_FN T nearest_share(const T* a, const T* d, T size, const T* point) {
  const T away[3] = {point[0] - a[0], point[1] - a[1], point[2] - a[2]};
  return size > T(0) ? clamped(dot(away, d) / size) : T(0);
}

template <class T> POISE_FN T square_from_segment(const T* a, const T* d, T size, const T* point) {
  const T s = nearest_share(a, d, size, point);
  const T away[3] = {a[0] + s * d[0] - point[0], a[1] + s * d[1] - point[1], a[2] + s * d[2] - point[2]};
  return dot(away, away);
}

// ---------------------------------------------------------------------------------------------- clouds

// A lower bound of the distance between a box and the segment from a to a + d: that of the segment's middle, or that of
// the ball around the box.
template <class T> POISE_LARGE_FN T bound_from_box(const T* box, const T* a, const T* d, T size, T half) {
  T middle[3], center[3], corner[3];
  for (int k = 0; k < 3; ++k) {
    middle[k] = a[k] + T(0.5) * d[k];
    center[k] = T(0.5) * (box[k] + box[3 + k]);
    corner[k] = T(0.5) * (box[3 + k] - box[k]);
  }
  const T near = square_root(square_from_box(box, 3, middle)) - half;
  if (half == T(0)) return near;
  return maximum(near, square_root(square_from_segment(a, d, size, center)) - square_root(dot(corner, corner)));
}

// The index of the point that is nearest to a segment and nearer than `most`, in the order of the tree; -1 for none.
template <class T> POISE_LARGE_FN int nearest_in_cloud(const PointTree<T>& tree, const T* a, const T* b, T most) {
  struct Open {
    int box, level, first, end;
    T bound;
  };
  Open open[most_tree_depth + 2];
  const T d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, size = dot(d, d), half = T(0.5) * square_root(size);
  T best = most > T(0) ? minimum(most, T(1e18)) * minimum(most, T(1e18)) : T(0);
  int found = -1, waiting = 1;
  open[0] = {0, 0, 0, tree.n, bound_from_box(tree.boxes, a, d, size, half)};
  // ends: every box is opened once
  while (waiting > 0) {
    const Open at = open[--waiting];
    if (at.bound > T(0) && at.bound * at.bound >= best) continue;
    if (at.level == tree.depth) {
      for (int i = at.first; i < at.end; ++i) {
        const T square = square_from_segment(a, d, size, tree.points + 3LL * i);
        found = square < best ? i : found;
        best = minimum(best, square);
      }
      continue;
    }
    const int middle = at.first + (at.end - at.first) / 2, left = 2 * at.box + 1;
    const T *one = tree.boxes + 6LL * left, *other = one + 6;
    const Open low{left, at.level + 1, at.first, middle, bound_from_box(one, a, d, size, half)};
    const Open high{left + 1, at.level + 1, middle, at.end, bound_from_box(other, a, d, size, half)};
    open[waiting++] = low.bound <= high.bound ? high : low;
    open[waiting++] = low.bound <= high.bound ? low : high;
  }
  return found;
}

// ---------------------------------------------------------------------------------------------- hulls

// Keeps the contact of a segment and the inside of a face if it is nearer than the best one so far: below an end of the
// segment, or where the segment crosses the face.
template <class T> POISE_LARGE_FN void try_inside_of_face(const T* a, const T* b, const T* face, Contact<T>& best) {
  const T heights[2] = {dot(face, a) - face[3], dot(face, b) - face[3]};
  if (!(dot(face, face) > T(0))) return;
  const bool crosses = (heights[0] < T(0)) != (heights[1] < T(0));
  const T part = crosses ? heights[0] / (heights[0] - heights[1]) : T(0);
  for (int i = 0; i < 2 + crosses; ++i) {
    const T height = i < 2 ? heights[i] : T(0), s = i < 2 ? T(i) : part;
    if (!(absolute(height) < best.distance)) continue;
    T p[3];
    for (int k = 0; k < 3; ++k) p[k] = a[k] + s * (b[k] - a[k]);
    bool inside = true;
    for (int e = 0; e < 3; ++e) {
      const T *from = face + 8 + 3 * e, *to = face + 8 + 3 * ((e + 1) % 3);
      const T side[3] = {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
      const T away[3] = {p[0] - from[0], p[1] - from[1], p[2] - from[2]};
      T inward[3];
      cross(face, side, inward);
      inside = inside && dot(inward, away) >= T(0);
    }
    if (!inside) continue;
    const bool below = i < 2 ? height < T(0) : heights[0] + heights[1] < T(0);
    best.distance = absolute(height);
    for (int k = 0; k < 3; ++k) {
      best.normal[k] = below ? T(0) - face[k] : face[k];
      best.on_first[k] = p[k];
      best.on_second[k] = p[k] - height * face[k];
    }
  }
}

// Keeps the contact of a segment and a face if it is nearer than the best one so far.
template <class T> POISE_LARGE_FN void try_face(const T* a, const T* b, const T* face, Contact<T>& best) {
  for (int e = 0; e < 3; ++e) {
    Contact<T> at;
    nearest_of_segments(a, b, face + 8 + 3 * e, face + 8 + 3 * ((e + 1) % 3), at);
    if (at.distance < best.distance) best = at;
  }
  try_inside_of_face(a, b, face, best);
}

// a place on a segment: its height above the face that it is highest over, and the slope of that height
template <class T> struct HullPlace {
  T s, height, slope;
  int face;
};

template <class T> POISE_LARGE_FN HullPlace<T> measure_height(const Obstacle<T>& hull, const T* a, const T* d, T s) {
  const T p[3] = {a[0] + s * d[0], a[1] + s * d[1], a[2] + s * d[2]};
  HullPlace<T> at{s, T(-1e30), T(0), 0};
  for (int i = 0; i < hull.n_faces; ++i) {
    const T *face = hull.faces + hull_face_size * i, height = dot(face, p) - face[3];
    at.face = height > at.height ? i : at.face;
    at.height = maximum(at.height, height);
  }
  at.slope = dot(hull.faces + hull_face_size * at.face, d);
  return at;
}

// The lowest place of a segment: the least of the largest height above a face, which is convex and piecewise linear. Two
// tangents bound it from below; once the bound is positive, the segment is outside, and the place is any outside.
template <class T> POISE_LARGE_FN HullPlace<T> lowest_in_hull(const Obstacle<T>& hull, const T* a, const T* d) {
  HullPlace<T> low = measure_height(hull, a, d, T(0));
  if (low.slope >= T(0)) return low;
  HullPlace<T> high = measure_height(hull, a, d, T(1));
  if (high.slope <= T(0)) return high;
  for (int k = 0; k < 60; ++k) {
    const T rise = high.height - high.slope * (high.s - low.s) - low.height;
    const T s = minimum(maximum(low.s + rise / (low.slope - high.slope), low.s), high.s);
    const T bound = low.height + low.slope * (s - low.s);
    const HullPlace<T> at = measure_height(hull, a, d, s);
    if (bound > T(0) || at.slope == T(0) || at.height <= bound + T(1e-14) * absolute(bound)) return at;
    if (s == low.s || s == high.s) return at;
    (at.slope < T(0) ? low : high) = at;
  }
  return low.height < high.height ? low : high;
}

// The contact of a segment and a hull: inside, the height below the nearest face; outside, the distance from all faces.
template <class T>
POISE_LARGE_FN void nearest_in_hull(const Obstacle<T>& hull, const T* a, const T* b, T most, Contact<T>& at) {
  const T d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, size = dot(d, d);
  const HullPlace<T> place = hull.solid ? lowest_in_hull(hull, a, d) : HullPlace<T>{T(0), T(1), T(0), 0};
  const T* first = hull.faces + hull_face_size * place.face;
  at.distance = place.height;
  for (int k = 0; k < 3; ++k) {
    at.normal[k] = first[k];
    at.on_first[k] = a[k] + place.s * d[k];
  }
  if (!(place.height > T(0))) return;
  at.distance = most;
  try_face(a, b, first, at);
  for (int i = 0; i < hull.n_faces; ++i) {
    const T *face = hull.faces + hull_face_size * i, reach = at.distance + face[7];
    if (square_from_segment(a, d, size, face + 4) < reach * reach) try_face(a, b, face, at);
  }
}

// The contact of a segment and an obstacle at `place`: R, and the position of its origin. A distance above `most` may be
// any number that is not below it.
template <class T> POISE_LARGE_FN void nearest_to_obstacle(const Obstacle<T>& obstacle, const T* a, const T* b,
                                                           const T* place, T most, Contact<T>& at) {
  T ends[2][3], d[3];
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 3; ++k) d[k] = (i ? b : a)[k] - place[9 + k];
    rotate_back(place, d, ends[i]);
  }
  if (obstacle.cloud.n > 0) {
    const int i = nearest_in_cloud(obstacle.cloud, ends[0], ends[1], most + obstacle.radius);
    at.distance = most;
    if (i < 0) return;
    const T* point = obstacle.cloud.points + 3LL * i;
    nearest_of_segments(ends[0], ends[1], point, point, at);
    at.distance -= obstacle.radius;
  } else {
    nearest_in_hull(obstacle, ends[0], ends[1], minimum(most, T(1e18)), at);
  }
  T normal[3], on_first[3];
  for (int k = 0; k < 3; ++k) {
    normal[k] = at.normal[k];
    on_first[k] = at.on_first[k];
  }
  rotate(place, normal, at.normal);
  rotate(place, on_first, at.on_first);
  for (int k = 0; k < 3; ++k) {
    at.on_first[k] += place[9 + k];
    at.on_second[k] = at.on_first[k] - at.distance * at.normal[k];
  }
}

}  // namespace poise
