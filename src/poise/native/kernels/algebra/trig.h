// trig.h: sine, cosine and arc tangent for float, double and packs of them.
//
// Why not the C library: it has no functions for N lanes at once, its calls do not inline, and its results differ
// between platforms. One polynomial serves every lane count. Coefficients: Chebyshev fits of (sin r / r - 1) / r^2,
// (cos r - 1 + r^2/2) / r^4 and (atan r / r - 1) / r^2, made with mpmath; reduction by pi/2 in three parts (Cody and
// Waite). Errors are below 2 ulp for |x| < 1e5; beyond that the C library is used.
#pragma once
#include "kernels/portable.h"

namespace poise {

template <class T> struct TrigTable;
template <> struct TrigTable<double> {
  static constexpr int n = 6, n_atan = 12;
  static constexpr double sine[n] = {-0.16666666666666665,  0.0083333333333309473,  -0.00019841269836756773,
                                     2.7557316101617874e-6, -2.5051131650235181e-8, 1.5918115263265975e-10};
  static constexpr double cosine[n] = {0.041666666666666665,   -0.0013888888888887396, 2.4801587298764561e-5,
                                       -2.7557317271145146e-7, 2.0876146146558612e-9,  -1.1382623647474605e-11};
  static constexpr double atan[n_atan] = {-0.33333333333333333,  0.19999999999999804,   -0.14285714285659778,
                                          0.11111111105150588,   -0.090909087532591129, 0.076922963680422971,
                                          -0.066664247602005201, 0.058789275544738068,  -0.052304436406869477,
                                          0.045515447340221617,  -0.03456931506332609,  0.016284375050043394};
  static constexpr double half_pi[3] = {1.5707963267341256142, 6.0771005063039659766e-11, 2.0222662487959507324e-21};
  static constexpr double round_shift = 6755399441055744.0;  // 1.5 * 2^52: adding and subtracting rounds to an integer
  static constexpr double largest = 1e5;
};
template <> struct TrigTable<float> {
  static constexpr int n = 3, n_atan = 5;
  static constexpr float sine[n] = {-0.16666664661714698f, 0.0083327481540850321f, -0.00019587865702101875f};
  static constexpr float cosine[n] = {0.041666664658901404f, -0.0013888302919113633f, 2.4547916853691017e-5f};
  static constexpr float atan[n_atan] = {-0.33333331760434556f, 0.19999540314957969f, -0.14263949753605724f,
                                         0.10743668324830098f, -0.064517188693589581f};
  static constexpr float half_pi[3] = {1.5703125f, 0.00048351287841796875f, 3.1391647865048132169e-7f};
  static constexpr float round_shift = 12582912.0f;  // 1.5 * 2^23
  static constexpr float largest = 1e3f;
};

// The even and the odd powers separately: half as many operations wait for each other.
template <class S, int N> POISE_FN S polynomial(const real_t<S> (&c)[N], S x) {
  static_assert(N >= 2);
  const S x2 = x * x;
  S even = S(c[(N - 1) / 2 * 2]), odd = S(c[(N - 2) / 2 * 2 + 1]);
  POISE_UNROLL
  for (int i = (N - 1) / 2 * 2 - 2; i >= 0; i -= 2) even = even * x2 + S(c[i]);
  POISE_UNROLL
  for (int i = (N - 2) / 2 * 2 - 1; i >= 0; i -= 2) odd = odd * x2 + S(c[i]);
  return odd * x + even;
}

// sine and cosine of x [rad], |x| at most TrigTable::largest
template <class S> POISE_FN void near_sine_cosine(S x, S& s, S& c) {
  using T = real_t<S>;
  using Table = TrigTable<T>;

  // x = k pi/2 + r with |r| <= pi/4
  const S shifted = x * S(T(0.63661977236758134308)) + S(Table::round_shift);
  const S k = shifted - S(Table::round_shift);
  const S r = ((x - k * S(Table::half_pi[0])) - k * S(Table::half_pi[1])) - k * S(Table::half_pi[2]);
  const S r2 = r * r;
  const S sr = r + r * r2 * polynomial(Table::sine, r2);
  const S cr = S(T(1)) - r2 * S(T(0.5)) + r2 * r2 * polynomial(Table::cosine, r2);

  // the quadrant k mod 4 swaps them and sets their signs
  const mask_t<S> odd = is_odd(shifted);
  s = signed_by(select(odd, cr, sr), shifted, 0);
  c = signed_by(select(odd, sr, cr), shifted, 1);
}

// sine and cosine of x [rad]
template <class S> POISE_FN void sine_cosine(S x, S& s, S& c) {
  if constexpr (has_device_trig) {
    library_sincos(x, s, c);
  } else if (any(absolute(x) > S(TrigTable<real_t<S>>::largest))) {
    library_sincos(x, s, c);
  } else {
    near_sine_cosine(x, s, c);
  }
}

// arc tangent of y / x for y >= 0, in [0, pi]: the angle of a rotation's log. (0, 0) gives 0.
template <class S> POISE_FN S positive_atan2(S y, S x) {
  if constexpr (has_device_trig) return library_atan2(y, x);
  using T = real_t<S>;
  const S ax = absolute(x);
  const S big = maximum(ax, y), small = minimum(ax, y);

  // fold [0, 1] onto [-tan(pi/8), tan(pi/8)]
  const mask_t<S> upper = small > S(T(0.41421356237309504880)) * big;
  const S whole = select(upper, small + big, big), part = select(upper, small - big, small);
  const S u = part / select(whole > S(T(0)), whole, S(T(1)));
  const S u2 = u * u;
  S angle = u + u * u2 * polynomial(TrigTable<T>::atan, u2);
  angle = select(upper, angle + S(T(0.78539816339744830962)), angle);

  angle = select(y > ax, S(T(1.5707963267948966192)) - angle, angle);
  return select(x < S(T(0)), S(T(3.1415926535897932385)) - angle, angle);
}

}  // namespace poise
