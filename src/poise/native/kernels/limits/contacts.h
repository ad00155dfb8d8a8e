// contacts.h: the nearest points of two surfaces.
#pragma once
#include "kernels/algebra/rotation.h"

namespace poise {

// the two nearest points, and the distance between the surfaces there
template <class T> struct Contact {
  T on_first[3], on_second[3], normal[3];  // the normal points from the second body to the first
  T distance;
};

template <class T> POISE_FN T clamped(T x) { return minimum(maximum(x, T(0)), T(1)); }

// nearest points of segments a and b (Ericson 2004, section 5.1.9, has the cases)
template <class T>
POISE_LARGE_FN void nearest_of_segments(const T* a0, const T* a1, const T* b0, const T* b1, Contact<T>& at) {
  T d1[3], d2[3], r[3];
  for (int k = 0; k < 3; ++k) {
    d1[k] = a1[k] - a0[k];
    d2[k] = b1[k] - b0[k];
    r[k] = a0[k] - b0[k];
  }
  const T a = dot(d1, d1), e = dot(d2, d2), f = dot(d2, r), tiny = T(1e-300);
  T s = T(0), t = T(0);
  if (a <= tiny && e <= tiny) {
    s = t = T(0);
  } else if (a <= tiny) {
    t = clamped(f / e);
  } else {
    const T c = dot(d1, r);
    if (e <= tiny) {
      s = clamped((T(0) - c) / a);
    } else {
      const T b = dot(d1, d2), denominator = a * e - b * b;
      s = denominator > T(1e-14) * a * e ? clamped((b * f - c * e) / denominator) : T(0.5);
      t = (b * s + f) / e;
      if (t < T(0)) {
        t = T(0);
        s = clamped((T(0) - c) / a);
      } else if (t > T(1)) {
        t = T(1);
        s = clamped((b - c) / a);
      }
    }
  }
  for (int k = 0; k < 3; ++k) {
    at.on_first[k] = a0[k] + s * d1[k];
    at.on_second[k] = b0[k] + t * d2[k];
    at.normal[k] = at.on_first[k] - at.on_second[k];
  }
  at.distance = square_root(dot(at.normal, at.normal));
  if (at.distance > T(1e-12)) {
    for (int k = 0; k < 3; ++k) at.normal[k] = at.normal[k] / at.distance;
    return;
  }
  cross(d1, d2, at.normal);  // in contact: any direction perpendicular to both
  const T size = square_root(dot(at.normal, at.normal));
  if (size > T(1e-12) * square_root(a * e) && size > T(0)) {
    for (int k = 0; k < 3; ++k) at.normal[k] = at.normal[k] / size;
  } else {
    at.normal[0] = at.normal[1] = T(0);
    at.normal[2] = T(1);
  }
}

}  // namespace poise
