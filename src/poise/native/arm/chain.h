// /*TITLE*/ /*MADE*/
//
//   double start[/*SPACE*/::joints] = {}, q[/*SPACE*/::joints];
//   auto found = /*SPACE*/::solve(/*SPACE*/::make_pose(position, wxyz), start, q);  // or solve_position(position, start, q)
//   if (found.reached) ...
//
// C++17. It needs no library, heap, exceptions or variables of its own, so it may be called from several threads, and it
// makes at most `max_steps` steps. All functions also work in float. Poses are those of the frame in the robot's base;
// lengths are in metres, angles in radians. q is always inside the ranges; the same call always returns the same q.
//
// Method: Levenberg-Marquardt with damping from the error (Chan and Lawrence 1988) and steps inside the ranges, from the
// start and then from `seeds`, which together reach random targets quickly.
#pragma once
#include <cmath>
#include <cstdint>

#if defined(__clang__)
#define POISE_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define POISE_UNROLL _Pragma("GCC unroll 8")
#else
#define POISE_UNROLL
#endif

namespace /*SPACE*/ {

// ---------------------------------------------------------------------------------------------- the robot

// a rotation, row by row, and a position [m]
template <class T> struct Pose { T R[9], p[3]; };

// An axis is at `offset` from the one before, tilted about the x axis of that one. It turns about its z axis by
// gain q[joint] + bias, or slides along it.
template <class T> struct Axis {
  T offset[3], cosine, sine;  // of the tilt
  bool slides;
  int joint;
  T gain, bias, turn;  // turn: the fixed angle of a slide
};

// a bound in T, not outside the one in double
template <class T> constexpr T round_up(double x) {
  return static_cast<double>(T(x)) < x ? T(x) + (x < 0 ? -T(x) : T(x)) * T(1.2e-7) : T(x);
}
template <class T> constexpr T round_down(double x) { return -round_up<T>(-x); }

template <class T> constexpr T open = T(1e30);  // instead of infinity, of a joint without a range
template <class T> constexpr T pi = T(3.14159265358979323846);

/*TABLES*/

// ---------------------------------------------------------------------------------------------- poses

// the pose at a position with a rotation, a quaternion wxyz of any length but 0
template <class T> Pose<T> make_pose(const T (&position)[3], const T (&wxyz)[4]) {
  const T w = wxyz[0], x = wxyz[1], y = wxyz[2], z = wxyz[3], s = T(2) / (w * w + x * x + y * y + z * z);
  return {{T(1) - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y), s * (x * y + w * z),
           T(1) - s * (x * x + z * z), s * (y * z - w * x), s * (x * z - w * y), s * (y * z + w * x),
           T(1) - s * (x * x + y * y)},
          {position[0], position[1], position[2]}};
}

namespace detail {

template <class T> constexpr T absolute(T x) { return x < T(0) ? -x : x; }

// x, or the nearest end of a range; of a NaN the lower one
template <class T> constexpr T inside(T x, T low, T high) { return x > low ? (x < high ? x : high) : low; }

template <class T, int N> T polynomial(const T (&c)[N], T x) {
  T sum = c[N - 1];
  for (int i = N - 2; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

// Sine and cosine of x [rad], |x| below 1e4, in fewer instructions than those of the C library: x = k pi/2 + r, with
// Chebyshev fits in r.
template <class T> void sine_cosine(T x, T& s, T& c) {
  constexpr bool fine = sizeof(T) == 8;
  constexpr T half_pi[] = {T(fine ? 1.5707963267341256142 : 1.5703125),
                           T(fine ? 6.0771005063039659766e-11 : 0.00048351287841796875),
                           T(fine ? 2.0222662487959507324e-21 : 3.1391647865048132169e-7)};
  const T turns = x * T(0.63661977236758134308);
  const int k = static_cast<int>(turns + (turns < T(0) ? T(-0.5) : T(0.5)));
  const T n = T(k), r = ((x - n * half_pi[0]) - n * half_pi[1]) - n * half_pi[2], r2 = r * r;
  T a, b;
  if constexpr (fine) {
    constexpr T odd[] = {-0.16666666666666665,  0.0083333333333309473,  -0.00019841269836756773,
                         2.7557316101617874e-6, -2.5051131650235181e-8, 1.5918115263265975e-10};
    constexpr T even[] = {0.041666666666666655,   -0.0013888888888887396, 2.4801587298764561e-5,
                          -2.7557317271141446e-7, 2.0876146146558612e-9,  -1.1382623647474605e-11};
    a = polynomial(odd, r2);
    b = polynomial(even, r2);
  } else {
    constexpr T odd[] = {T(-0.16666664661714698), T(0.0083327481540850321), T(-0.00019587865702101875)};
    constexpr T even[] = {T(0.041666664658901404), T(-0.0013888302919113633), T(2.4547916853691017e-5)};
    a = polynomial(odd, r2);
    b = polynomial(even, r2);
  }
  const T sine = r + r * r2 * a, cosine = T(1) - T(0.5) * r2 + r2 * r2 * b;
  s = k & 1 ? cosine : sine;
  c = k & 1 ? sine : cosine;
  if (k & 2) s = -s;
  if ((k + 1) & 2) c = -c;
}

// the axes of a pose of the joints: direction and a point on it
template <class T> struct Axes { T z[axes][3], p[axes][3]; };

// the pose of the tool, and the axes
template <class T> Pose<T> place(const T* q, Axes<T>& at) {
  T s[axes], c[axes], slide[axes];
  for (int i = 0; i < axes; ++i) {
    const Axis<T>& axis = chain<T>[i];
    const T v = axis.gain * q[axis.joint] + axis.bias;
    sine_cosine(axis.slides ? axis.turn : v, s[i], c[i]);
    slide[i] = axis.slides ? v : T(0);
  }
  Pose<T> out;
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {  // of the matrices row by row, since rows do not depend on each other
    T x = base<T>.R[3 * r], y = base<T>.R[3 * r + 1], z = base<T>.R[3 * r + 2], p = base<T>.p[r];
    POISE_UNROLL
    for (int i = 0; i < axes; ++i) {
      const Axis<T>& axis = chain<T>[i];
      p += axis.offset[0] * x + axis.offset[1] * y + axis.offset[2] * z;
      const T tilted = axis.cosine * y + axis.sine * z, before = x;
      z = axis.cosine * z - axis.sine * y;
      at.z[i][r] = z;
      at.p[i][r] = p;
      p += slide[i] * z;
      x = c[i] * before + s[i] * tilted;
      y = c[i] * tilted - s[i] * before;
    }
    const T* R = tool<T>.R;
    for (int k = 0; k < 3; ++k) out.R[3 * r + k] = x * R[k] + y * R[3 + k] + z * R[6 + k];
    out.p[r] = p + x * tool<T>.p[0] + y * tool<T>.p[1] + z * tool<T>.p[2];
  }
  return out;
}

}  // namespace detail

// The pose of the tool.
template <class T> Pose<T> fk(const T (&q)[joints]) {
  detail::Axes<T> at;
  return detail::place(q, at);
}

}  // namespace
