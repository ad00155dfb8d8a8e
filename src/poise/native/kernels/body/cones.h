// cones.h: ranges of ball joints: the swing of an axis, and the twist about it.
//
// A quaternion is q = s t: a twist t by the angle tau about the axis, then a swing s, the shortest rotation that takes
// the axis to its new direction, with the rotation vector (x, y) perpendicular to the axis. The rules: (x / a)^2 + (y /
// b)^2 <= 1 and low <= tau <= high; or the whole angle of q is at most `angle`. (Baerlocher and Boulic 2001 have the
// decomposition.)
#pragma once
#include "kernels/body/body.h"

namespace poise {

template <class T> struct ConeSpec {
  int q_index, v_index;
  T axis[3], first[3], second[3];  // first and second span the plane perpendicular to the axis
  T swing[2];                      // a and b [rad]; infinite for none
  T twist[2];                      // low, high [rad]
  T angle;                         // [rad]; infinite for none
};

constexpr int rules_of_cone = 4;  // swing, twist low, twist high, angle

template <class T> struct SwingTwist { T x, y, twist; };

template <class T> POISE_LARGE_FN SwingTwist<T> swing_and_twist(const ConeSpec<T>& cone, const T* q) {
  const T sign = q[0] < T(0) ? T(-1) : T(1);
  const T w = sign * q[0], v[3] = {sign * q[1], sign * q[2], sign * q[3]};
  const T about = dot(v, cone.axis);
  const T half = about < T(0) ? T(0) - positive_atan2(T(0) - about, w) : positive_atan2(about, w);
  T s, c;
  sine_cosine(half, s, c);
  // swing = q t^-1
  const T t[4] = {c, T(0) - s * cone.axis[0], T(0) - s * cone.axis[1], T(0) - s * cone.axis[2]},
          whole[4] = {w, v[0], v[1], v[2]};
  T swing[4], turn[3];
  quaternion_multiply(whole, t, swing);
  log_of_quaternion(swing, turn);
  return {dot(turn, cone.first), dot(turn, cone.second), T(2) * half};
}

// the gap of each rule [rad]: not negative if satisfied; a large number if there is no such rule
template <class T> POISE_LARGE_FN void cone_gaps(const ConeSpec<T>& cone, const T* q, T* gaps) {
  const T none = open_end<T>;
  const SwingTwist<T> at = swing_and_twist(cone, q);
  const T x = at.x / cone.swing[0], y = at.y / cone.swing[1];
  const T smaller = minimum(cone.swing[0], cone.swing[1]);
  gaps[0] = smaller < none ? (T(1) - square_root(x * x + y * y)) * smaller : none;
  gaps[1] = cone.twist[0] > T(0) - none ? at.twist - cone.twist[0] : none;
  gaps[2] = cone.twist[1] < none ? cone.twist[1] - at.twist : none;
  T turn[3];
  log_of_quaternion(q, turn);
  gaps[3] = cone.angle < none ? cone.angle - square_root(dot(turn, turn)) : none;
}

// whether every rule is satisfied, or violated no more than before
template <class T> POISE_LARGE_FN bool no_further_out(const ConeSpec<T>& cone, const T* was, const T* now) {
  T before[rules_of_cone], gaps[rules_of_cone];
  cone_gaps(cone, was, before);
  cone_gaps(cone, now, gaps);
  for (int r = 0; r < rules_of_cone; ++r) {
    if (gaps[r] < minimum(before[r], T(0))) return false;
  }
  return true;
}

// the cone, widened to include the joint if it is outside
template <class T> POISE_LARGE_FN ConeSpec<T> opened_to(const ConeSpec<T>& cone, const T* q) {
  ConeSpec<T> out = cone;
  const SwingTwist<T> at = swing_and_twist(cone, q);
  const T x = at.x / cone.swing[0], y = at.y / cone.swing[1], wider = maximum(T(1), square_root(x * x + y * y));
  for (int k = 0; k < 2; ++k) out.swing[k] = cone.swing[k] * wider;
  out.twist[0] = minimum(cone.twist[0], at.twist);
  out.twist[1] = maximum(cone.twist[1], at.twist);
  T turn[3];
  log_of_quaternion(q, turn);
  out.angle = maximum(cone.angle, square_root(dot(turn, turn)));
  return out;
}

template <class T> POISE_LARGE_FN T least_gap(const ConeSpec<T>& cone, const T* q) {
  T gaps[rules_of_cone];
  cone_gaps(cone, q, gaps);
  return minimum(minimum(gaps[0], gaps[1]), minimum(gaps[2], gaps[3]));
}

// the derivative of each rule's gap by the joint's three velocities (body axes), by central differences: accurate to
// 1e-9; the clamping is exact
template <class T> POISE_LARGE_FN void cone_rows(const ConeSpec<T>& cone, const T* q, T* rows) {
  const T h = T(1e-5);
  for (int k = 0; k < 3; ++k) {
    T gaps[2][rules_of_cone];
    for (int side = 0; side < 2; ++side) {
      T w[3] = {T(0), T(0), T(0)}, turn[4], moved[4];
      w[k] = side ? h : T(0) - h;
      quaternion_of_log(w, turn);
      quaternion_multiply(q, turn, moved);
      cone_gaps(cone, moved, gaps[side]);
    }
    for (int r = 0; r < rules_of_cone; ++r) rows[3 * r + k] = (gaps[1][r] - gaps[0][r]) / (T(2) * h);
  }
}

constexpr double inside_cone = 2e-14;  // the largest violation by rounding

// moves q inside; q is unchanged if it is inside
template <class T> POISE_LARGE_FN void clamp_to_cone(const ConeSpec<T>& cone, T* q) {
  for (int attempt = 0; attempt < 8 && least_gap(cone, q) < T(inside_cone); ++attempt) {
    const T less = T(1) - T(1e-13) * T(1 << (3 * attempt));
    SwingTwist<T> at = swing_and_twist(cone, q);
    const T x = at.x / cone.swing[0], y = at.y / cone.swing[1], out = square_root(x * x + y * y);
    if (out > less) {
      at.x *= less / out;
      at.y *= less / out;
    }
    const T room = T(1e-13) * T(1 << (3 * attempt));
    if (at.twist < cone.twist[0]) at.twist = cone.twist[0] + room;
    if (at.twist > cone.twist[1]) at.twist = cone.twist[1] - room;
    T turn[3], swing[4], twist[4], w[3];
    for (int k = 0; k < 3; ++k) {
      turn[k] = at.x * cone.first[k] + at.y * cone.second[k];
      w[k] = at.twist * cone.axis[k];
    }
    quaternion_of_log(turn, swing);
    quaternion_of_log(w, twist);
    quaternion_multiply(swing, twist, q);
    log_of_quaternion(q, turn);
    const T whole = square_root(dot(turn, turn));
    if (whole > cone.angle) {
      for (int k = 0; k < 3; ++k) turn[k] *= less * cone.angle / whole;
      quaternion_of_log(turn, q);
    }
  }
}

}  // namespace poise
