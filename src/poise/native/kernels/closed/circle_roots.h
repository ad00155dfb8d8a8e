// circle_roots.h: the roots of a trigonometric polynomial of degree 8, from its values, with discs that contain them.
//
// f(v) = sum of c_k e^(ikv), k = -8 .. 8, c_-k = conj(c_k), is P(z) / z^8 with z = e^(iv): its angles are the roots of P on the
// unit circle; the other roots come in pairs z and 1 / conj(z). f is sampled at 24 points, seven more than it has
// coefficients: what is left in the coefficients 9 .. 12 is the error of the values.
//
// Roots are found together (Aberth 1973). A disc around z with radius 16 |P(z) / P'(z)| contains a root: disjoint discs
// away from the circle count roots that are no angles, two for each disc inside.
//
// If f is tiny on an arc, because many roots are near each other, the errors of the other values hide it there. A view
// moves the samples to the arc: z = (w + a) / (1 + conj(a) w) maps the circle to itself, and f |1 + conj(a) w|^16 is again a
// polynomial of degree 8 in w.
#pragma once
#include "kernels/closed/fixed_numbers.h"

namespace poise {

struct CircleView {
  double re, im;  // a, inside the unit circle; 0 is the plain view
};

struct CircleRoots {
  static constexpr int count = 16, samples = 24;
  double re[count], im[count], radius[count];  // in the view
};

// z of a point w in the view
POISE_FN void leave_view(const CircleView& view, double x, double y, double& re, double& im) {
  const double a = x + view.re, b = y + view.im;
  const double c = 1.0 + view.re * x + view.im * y, d = view.re * y - view.im * x;
  const double size = 1.0 / (c * c + d * d);
  re = (a * c + b * d) * size;
  im = (b * c - a * d) * size;
}

// sample number i: the cosine and sine of v, and the weight of f there
POISE_FN void sample_of(const CircleView& view, int i, double& cosine, double& sine, double& weight) {
  double x, y;
  sine_cosine(2.0 * one_pi * i / CircleRoots::samples, y, x);
  leave_view(view, x, y, cosine, sine);
  const double c = 1.0 + view.re * x + view.im * y, d = view.re * y - view.im * x;
  const double two = c * c + d * d, four = two * two, eight = four * four;
  weight = eight * eight;
}

// c_0 .. c_12 of the samples
POISE_LARGE_FN void coefficients_of(const double* f, double* re, double* im) {
  constexpr int n = CircleRoots::samples;
  double c[n], s[n];
  for (int i = 0; i < n; ++i) sine_cosine(2.0 * one_pi * i / n, s[i], c[i]);
  for (int k = 0; k <= 12; ++k) {
    re[k] = im[k] = 0.0;
    for (int i = 0; i < n; ++i) {
      re[k] += f[i] / n * c[k * i % n];
      im[k] -= f[i] / n * s[k * i % n];
    }
  }
}

// P and P' of the points of a pack inside the unit circle, or on it
template <class S> POISE_FN void evaluate_circle(const double* re, const double* im, S x, S y, S* p, S* d) {
  p[0] = S(re[16]);
  p[1] = S(im[16]);
  d[0] = d[1] = S(0.0);
  for (int k = 15; k >= 0; --k) {
    const S a = d[0] * x - d[1] * y + p[0], b = d[0] * y + d[1] * x + p[1];
    d[0] = a;
    d[1] = b;
    const S u = p[0] * x - p[1] * y + S(re[k]), v = p[0] * y + p[1] * x + S(im[k]);
    p[0] = u;
    p[1] = v;
  }
}

// Moves all roots once; returns the largest relative step.
template <class S> POISE_LARGE_FN double step_roots(const double* re, const double* im, CircleRoots& roots) {
  constexpr int n = CircleRoots::count, lanes = ScalarTraits<S>::lanes < n ? ScalarTraits<S>::lanes : n;
  double most = 0.0;
  for (int first = 0; first < n; first += lanes) {
    S x, y, p[2], d[2];
    gather_row(roots.re + first, x);
    gather_row(roots.im + first, y);
    const S size = x * x + y * y;
    const mask_t<S> out = size > S(1.0);
    const S k = S(1.0) / select(out, size, S(1.0));
    const S u = x * k, v = y * k;  // 1 / conj(z) if z is outside
    evaluate_circle(re, im, u, v, p, d);
    // P'/P inside; outside it is 16 / z - conj(P'/P)(1 / conj(z)) / z^2
    const S tiny = S(1e-300), q = S(1.0) / (p[0] * p[0] + p[1] * p[1] + tiny);
    const S a = (d[0] * p[0] + d[1] * p[1]) * q, b = (d[1] * p[0] - d[0] * p[1]) * q;
    const S r = u, i = S(0.0) - v;  // 1 / z outside
    const S rr = r * r - i * i, ii = S(2.0) * r * i;
    S slope = select(out, S(16.0) * r - (rr * a + ii * b), a);
    S rise = select(out, S(16.0) * i - (ii * a - rr * b), b);
    for (int j = 0; j < n; ++j) {
      const S e = x - S(roots.re[j]), g = y - S(roots.im[j]), square = e * e + g * g;
      const S w = select(square > S(0.0), S(1.0) / select(square > S(0.0), square, S(1.0)), S(0.0));
      slope = slope - e * w;
      rise = rise + g * w;
    }
    const S by = S(1.0) / (slope * slope + rise * rise + tiny);
    S step_x = slope * by, step_y = S(0.0) - rise * by;
    const S far = square_root((step_x * step_x + step_y * step_y) / maximum(size, S(1.0)));
    const S shrink = select(far > S(0.5), S(0.5) / far, S(1.0));
    scatter_row(x - step_x * shrink, roots.re + first);
    scatter_row(y - step_y * shrink, roots.im + first);
    for (int lane = 0; lane < lanes; ++lane) most = maximum(most, lane_of(far, lane));
  }
  return most;
}

// The roots of the polynomial with 24 values in a view.
template <class S> POISE_LARGE_FN CircleRoots find_circle_roots(const double* f, double rounding) {
  constexpr int n = CircleRoots::count, most_steps = 40;
  double c[13], s[13], re[n + 1], im[n + 1], largest = 0.0, noise = 0.0;
  coefficients_of(f, c, s);
  for (int i = 0; i < CircleRoots::samples; ++i) largest = maximum(largest, absolute(f[i]));
  for (int k = 9; k <= 12; ++k) noise = maximum(noise, square_root(c[k] * c[k] + s[k] * s[k]));
  noise = 4.0 * noise + rounding * largest;
  for (int k = 0; k <= 8; ++k) {
    re[8 + k] = re[8 - k] = c[k];
    im[8 + k] = s[k];
    im[8 - k] = -s[k];
  }
  CircleRoots out{};
  for (int i = 0; i < n; ++i) {
    double x, y;
    sine_cosine(2.0 * one_pi * (i + 0.21) / n, y, x);
    const double r = i % 2 ? 0.7 : 1.0 / 0.7;
    out.re[i] = r * x;
    out.im[i] = r * y;
  }
  double last = 1.0, before = 2.0;
  for (int step = 0; step < most_steps && last > 1e-14 && (last > 1e-5 || last < 0.5 * before); ++step) {
    before = last;
    last = step_roots<S>(re, im, out);
  }
  for (int i = 0; i < n; ++i) {
    const double x = out.re[i], y = out.im[i], size = x * x + y * y, k = size > 1.0 ? 1.0 / size : 1.0;
    double p[2], d[2], sum = 1.0, slopes = 0.0;
    evaluate_circle(re, im, x * k, y * k, p, d);
    const double length = square_root(size) * k;
    for (int power = 0; power < n; ++power) {
      slopes = slopes * length + sum;
      sum = sum * length + 1.0;
    }
    const double slope = square_root(d[0] * d[0] + d[1] * d[1]) - noise * slopes;
    const double off = square_root(p[0] * p[0] + p[1] * p[1]) + noise * sum;
    out.radius[i] = slope > 1e-9 * off ? n * off / slope : 1e9;  // of its reflection, if it is outside
  }
  return out;
}

// Marks roots inside that are certainly not on the circle, and different from each other.
POISE_LARGE_FN void mark_unreal(const CircleRoots& roots, bool* unreal) {
  for (int i = 0; i < CircleRoots::count; ++i) {
    const double size = square_root(roots.re[i] * roots.re[i] + roots.im[i] * roots.im[i]);
    unreal[i] = size + roots.radius[i] < 1.0;
    for (int j = 0; j < i && unreal[i]; ++j) {
      const double e = roots.re[i] - roots.re[j], g = roots.im[i] - roots.im[j];
      unreal[i] = !unreal[j] || square_root(e * e + g * g) > roots.radius[i] + roots.radius[j];
    }
  }
}

// ---------------------------------------------------------------------------------------------- arcs

// An arc with roots near each other: a view of it, and the half plane of the view around its middle.
struct CircleArc {
  CircleView view;
  double middle_re, middle_im;  // of the arc, on the circle
  double first;                 // angle of its beginning
};

// Whether a disc of the plain view is certainly inside an arc's half plane (1), certainly outside (-1), or neither (0).
POISE_FN int side_of_arc(const CircleArc& arc, double x, double y, double radius) {
  const double c = 1.0 - arc.view.re * x - arc.view.im * y, d = arc.view.im * x - arc.view.re * y;
  const double a = x - arc.view.re, b = y - arc.view.im, square = c * c + d * d;
  if (!(radius < 0.1 * square_root(square))) return 0;
  const double re = (a * c + b * d) / square, im = (b * c - a * d) / square;
  const double left = arc.middle_re * re + arc.middle_im * im;
  const double size = 1.0 - arc.view.re * arc.view.re - arc.view.im * arc.view.im;
  return absolute(left) > 1.5 * radius * size / square ? (left > 0.0 ? 1 : -1) : 0;
}

// The arcs of roots that may be on the circle and whose discs are large, at most `most`; their half planes are apart.
POISE_LARGE_FN int find_arcs_of_roots(const CircleRoots& roots, const bool* unreal, CircleArc* out, int most) {
  constexpr int n = CircleRoots::count;
  constexpr double sharp = 1e-9, gap = 0.5, widest = 1.5;
  double at[n], reach[n], ends[n];
  int bad = 0, count = 0;
  for (int i = 0; i < n; ++i) {
    const double size = square_root(roots.re[i] * roots.re[i] + roots.im[i] * roots.im[i]);
    if (unreal[i] || !(roots.radius[i] > sharp && absolute(size - 1.0) < gap)) continue;
    int k = bad++;
    const double angle = arc_tangent(roots.im[i], roots.re[i]), own = minimum(roots.radius[i], 0.1);
    // ends: k falls
    for (; k > 0 && at[k - 1] > angle; --k) {
      at[k] = at[k - 1];
      reach[k] = reach[k - 1];
    }
    at[k] = angle;
    reach[k] = own;
  }
  for (int first = 0; first < bad && bad < n && count < most;) {
    int last = first;
    double low = at[first] - reach[first], high = at[first] + reach[first];
    // ends: last grows
    while (last + 1 < bad && at[last + 1] - at[last] < gap) {
      ++last;
      low = minimum(low, at[last] - reach[last]);
      high = maximum(high, at[last] + reach[last]);
    }
    first = last + 1;
    const double middle = 0.5 * (low + high), half = minimum(0.75 * (high - low) + 1e-6, widest);
    if (count > 0 && middle - half < ends[count - 1]) continue;
    if (count > 0 && middle + half > out[0].first + 2.0 * one_pi) continue;
    double s, c, half_s, half_c;
    sine_cosine(middle, s, c);
    sine_cosine(0.5 * half, half_s, half_c);
    const double m = half_s / half_c, a = (1.0 - m) / (1.0 + m);
    ends[count] = middle + half;
    out[count++] = {{a * c, a * s}, c, s, middle - half};
  }
  return count;
}

}  // namespace poise
