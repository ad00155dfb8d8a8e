// elimination.h: six rotations whose product is given, as a polynomial in the sine and cosine of the third.
//
// E1 ... E6 = A. E6 leaves the point c and the direction l of its axis unchanged, so both sides of
// E3 E4 E5 (c, l) = E2^-1 E1^-1 A (c, l) are known. With p and l measured from a point of the second axis, p, l, p . p, p . l,
// p x l and (p . p) l - 2 (p . l) p are fourteen numbers that are linear in 1, sine and cosine of each joint:
// L (1, s3, c3) (1, s4, c4) (1, s5, c5) = Q (1, s1, c1) (1, s2, c2). Six combinations of the fourteen do not contain joints 1
// and 2. With x = tan(v / 2) these six, and the six times x4, are twelve equations in the products x4^0..3 x5^0..2. Their determinant
// is a polynomial of degree 8 in sine and cosine of the third joint (circle_roots.h), 16 in x3: its real roots are the only
// values that the third joint can have.
//
// Raghavan and Roth, "Inverse kinematics of the general 6R manipulator and related linkages", J. Mechanical Design 115, 1993.
#pragma once
#include "kernels/algebra/factor.h"
#include "kernels/closed/circle_roots.h"

namespace poise {

// the axes of six rotations, and their product
struct RotationLoop { double h[6][3], p[6][3], R[9], t[3]; };

struct Elimination {
  double left[14][27];        // L
  double known[28][14];       // Q^T (L, column 0 of Q): the last six rows are the equations without joints 1 and 2
  double corner[8][8];        // the triangle of Q
  double equations[6][3][9];  // of these, by (1, s3, c3), and powers of x4 and x5
  double rank;                // of Q: its smallest pivot, relative to the largest
};

constexpr double elimination_origin[3] = {0.3, 0.7,
                                          1.1};  // rad, of joints 3, 4, 5: tangents are infinite half a turn away

// c0 + c1 sin + c2 cos from the values at three angles, in place; the values are `stride` numbers apart
POISE_FN void expand_turn(double* x, int stride) {
  const double a = x[0], b = x[stride], c = x[2 * stride];  // at 0, 2 pi / 3, -2 pi / 3
  constexpr double third = 1.0 / 3.0, root = 0.57735026918962576451;
  x[0] = third * (a + b + c);
  x[stride] = root * (b - c);
  x[2 * stride] = third * (2.0 * a - b - c);
}

// a line as the fourteen numbers of its point, seen from `origin`, and direction, `stride` numbers apart
POISE_FN void write_fourteen(const double* point, const double* v, const double* origin, double* out, int stride) {
  double p[3], n[3];
  difference_of(point, origin, p);
  cross(p, v, n);
  const double pp = dot(p, p), pv = dot(p, v);
  for (int i = 0; i < 3; ++i) {
    out[i * stride] = p[i];
    out[(3 + i) * stride] = v[i];
    out[(8 + i) * stride] = n[i];
    out[(11 + i) * stride] = pp * v[i] - 2.0 * pv * p[i];
  }
  out[6 * stride] = pp;
  out[7 * stride] = pv;
}

// turns a line about axis k
POISE_FN void turn_line(const RotationLoop& loop, int k, double angle, const double* x, const double* v, double* to_x,
                        double* to_v) {
  double d[3];
  difference_of(x, loop.p[k], d);
  turn_about(loop.h[k], angle, d, to_x);
  for (int i = 0; i < 3; ++i) to_x[i] += loop.p[k][i];
  turn_about(loop.h[k], angle, v, to_v);
}

POISE_LARGE_FN void expand_sides(const RotationLoop& loop, Elimination& out, double (*right)[9]) {
  constexpr double third = 2.0 * one_pi / 3.0, angles[3] = {0.0, third, -third};
  double x[3][3], v[3][3];
  for (int a = 0; a < 3; ++a) {
    turn_line(loop, 4, angles[a] + elimination_origin[2], loop.p[5], loop.h[5], x[0], v[0]);
    for (int b = 0; b < 3; ++b) {
      turn_line(loop, 3, angles[b] + elimination_origin[1], x[0], v[0], x[1], v[1]);
      for (int c = 0; c < 3; ++c) {
        turn_line(loop, 2, angles[c] + elimination_origin[0], x[1], v[1], x[2], v[2]);
        write_fourteen(x[2], v[2], loop.p[1], &out.left[0][9 * c + 3 * b + a], 27);
      }
    }
  }
  double moved[3], way[3];
  rotate(loop.R, loop.p[5], moved);
  for (int i = 0; i < 3; ++i) moved[i] += loop.t[i];
  rotate(loop.R, loop.h[5], way);
  for (int a = 0; a < 3; ++a) {
    turn_line(loop, 0, -angles[a], moved, way, x[0], v[0]);
    for (int b = 0; b < 3; ++b) {
      turn_line(loop, 1, -angles[b], x[0], v[0], x[1], v[1]);
      write_fourteen(x[1], v[1], loop.p[1], &right[0][3 * a + b], 9);
    }
  }
  for (int r = 0; r < 14; ++r) {
    for (int i = 0; i < 9; ++i) expand_turn(out.left[r] + i, 9);
    for (int i = 0; i < 9; ++i) expand_turn(out.left[r] + 9 * (i / 3) + i % 3, 3);
    for (int i = 0; i < 9; ++i) expand_turn(out.left[r] + 3 * i, 1);
    for (int i = 0; i < 3; ++i) expand_turn(right[r] + i, 3);
    for (int i = 0; i < 3; ++i) expand_turn(right[r] + 3 * i, 1);
  }
}

// Removes joints 1 and 2 from the columns of `known`, and from column 0 of Q, which is added to them: Householder's reflections
// of the other columns of Q, whose triangle is `corner`. Returns its smallest pivot, relative to the largest.
POISE_LARGE_FN double eliminate_turns(const double (*Q)[9], double (*known)[14], int count, double (*corner)[8]) {
  double column[8][14], least = 1e300, most = 0.0;
  for (int r = 0; r < 14; ++r) {
    known[count][r] = Q[r][0];
    for (int k = 0; k < 8; ++k) column[k][r] = Q[r][1 + k];
  }
  for (int k = 0; k < 8; ++k) {
    const double tau = make_reflector(14, k, column[k]);
    for (int c = k + 1; c < 8; ++c) reflect(14, k, column[k], tau, column[c]);
    for (int c = 0; c <= count; ++c) reflect(14, k, column[k], tau, known[c]);
    for (int c = 0; c < 8; ++c) corner[k][c] = c < k ? 0.0 : column[c][k];
    least = minimum(least, absolute(column[k][k]));
    most = maximum(most, absolute(column[k][k]));
  }
  return most > 0.0 ? least / most : 0.0;
}

// The equations of a loop without joints 1 and 2.
POISE_LARGE_FN void eliminate(const RotationLoop& loop, Elimination& out) {
  double Q[14][9];
  expand_sides(loop, out, Q);
  for (int r = 0; r < 14; ++r) {
    for (int i = 0; i < 27; ++i) out.known[i][r] = out.left[r][i];
  }
  out.rank = eliminate_turns(Q, out.known, 27, out.corner);
  for (int e = 0; e < 6; ++e) {
    double row[27];
    for (int i = 0; i < 27; ++i) row[i] = out.known[i][8 + e];
    row[0] -= out.known[27][8 + e];
    for (int c = 0; c < 3; ++c) {
      // 1, sine, cosine times 1 + x^2 are 1 + x^2, 2 x, 1 - x^2
      double half[9];
      for (int i = 0; i < 3; ++i) {
        const double* x = row + 9 * c + i;
        half[i] = x[0] + x[6];
        half[3 + i] = 2.0 * x[3];
        half[6 + i] = x[0] - x[6];
      }
      for (int i = 0; i < 3; ++i) {
        const double* x = half + 3 * i;
        out.equations[e][c][3 * i] = x[0] + x[2];
        out.equations[e][c][3 * i + 1] = 2.0 * x[1];
        out.equations[e][c][3 * i + 2] = x[0] - x[2];
      }
    }
  }
}

// Clears the columns `first` .. `first` + 2 of six rows below their pivots, which move to the first rows; returns the
// product of the pivots, and changes `sign` with every exchange.
template <class S, int WIDTH> POISE_LARGE_FN S clear_columns(S (*rows)[WIDTH], int first, int columns, S& sign) {
  S product = S(1.0);
  for (int k = 0; k < columns; ++k) {
    const int at = first + k;
    for (int r = k + 1; r < 6; ++r) {
      const mask_t<S> larger = absolute(rows[r][at]) > absolute(rows[k][at]);
      if (!any(larger)) continue;
      for (int c = 0; c < WIDTH; ++c) {
        const S a = rows[k][c], b = rows[r][c];
        rows[k][c] = select(larger, b, a);
        rows[r][c] = select(larger, a, b);
      }
      sign = select(larger, S(0.0) - sign, sign);
    }
    product = product * rows[k][at];
    const mask_t<S> none = absolute(rows[k][at]) <= S(0.0);
    const S by = select(none, S(0.0), S(1.0) / select(none, S(1.0), rows[k][at]));
    for (int r = k + 1; r < 6; ++r) {
      const S factor = rows[r][at] * by;
      for (int c = 0; c < WIDTH; ++c) rows[r][c] = rows[r][c] - factor * rows[k][c];
    }
  }
  return product;
}

// The twelve equations at a sine and cosine of the third joint, reduced to six in (x4, x4^2) (1, x5, x5^2); returns the
// factor of the determinant that is lost.
template <class S> POISE_LARGE_FN S reduce_to_six(const Elimination& from, S sine, S cosine, S (*six)[6]) {
  S rows[6][9], next[6][9];
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < 9; ++c) {
      rows[r][c] = S(from.equations[r][0][c]) + sine * S(from.equations[r][1][c]) + cosine * S(from.equations[r][2][c]);
    }
  }
  S sign = S(1.0);
  S factor = clear_columns<S, 9>(rows, 0, 3, sign);
  sign = S(1.0);  // of both sixes: the exchanges count twice
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < 9; ++c) next[r][c] = r > 2 && c < 3 ? S(0.0) : rows[r][c];
  }
  factor = factor * clear_columns<S, 9>(next, 6, 3, sign);
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 6; ++c) {
      six[r][c] = rows[3 + r][3 + c];
      six[3 + r][c] = next[3 + r][c];
    }
  }
  return factor * sign;
}

// The roots in a view.
template <class S> POISE_LARGE_FN CircleRoots find_turn_roots(const Elimination& from, const CircleView& view) {
  constexpr int n = CircleRoots::samples, lanes = ScalarTraits<S>::lanes;
  double f[n];
  for (int first = 0; first < n; first += lanes) {
    S sine, cosine, weight, six[6][6];
    for (int lane = 0; lane < lanes; ++lane) {
      double s, c, w;
      sample_of(view, first + lane < n ? first + lane : n - 1, c, s, w);
      set_lane(sine, lane, s);
      set_lane(cosine, lane, c);
      set_lane(weight, lane, w);
    }
    S sign = reduce_to_six(from, sine, cosine, six) * weight;
    const S product = clear_columns<S, 6>(six, 0, 6, sign), value = product * sign;
    for (int lane = 0; lane < lanes && first + lane < n; ++lane) f[first + lane] = lane_of(value, lane);
  }
  return find_circle_roots<S>(f, 1e-15 * (1.0 + 1.0 / maximum(from.rank, 1e-15)));
}

POISE_FN void swap_numbers(double& a, double& b) {
  const double c = a;
  a = b;
  b = c;
}

// A vector that six nearly dependent equations send to about zero.
POISE_LARGE_FN void find_null_vector(double (*a)[6], double* out) {
  int column[6] = {0, 1, 2, 3, 4, 5};
  for (int k = 0; k < 5; ++k) {
    int row = k, at = k;
    for (int r = k; r < 6; ++r) {
      for (int c = k; c < 6; ++c) {
        if (absolute(a[r][c]) > absolute(a[row][at])) {
          row = r;
          at = c;
        }
      }
    }
    for (int c = 0; c < 6; ++c) swap_numbers(a[k][c], a[row][c]);
    for (int r = 0; r < 6; ++r) swap_numbers(a[r][k], a[r][at]);
    const int own = column[k];
    column[k] = column[at];
    column[at] = own;
    if (!(absolute(a[k][k]) > 0.0)) continue;
    for (int r = k + 1; r < 6; ++r) {
      const double factor = a[r][k] / a[k][k];
      for (int c = k; c < 6; ++c) a[r][c] -= factor * a[k][c];
    }
  }
  double x[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 1.0};
  for (int k = 4; k >= 0; --k) {
    double sum = 0.0;
    for (int c = k + 1; c < 6; ++c) sum += a[k][c] * x[c];
    x[k] = absolute(a[k][k]) > 0.0 ? -sum / a[k][k] : 0.0;
  }
  for (int k = 0; k < 6; ++k) out[column[k]] = x[k];
}

// 2 atan x of n pairs (low, x low); x may be infinite
POISE_FN double angle_of_powers(const double* m, int low, const int* at, int n, int next) {
  double aa = 0.0, ab = 0.0, bb = 0.0;
  for (int i = 0; i < n; ++i) {
    const double a = m[low + at[i]], b = m[low + next + at[i]];
    aa += a * a;
    ab += a * b;
    bb += b * b;
  }
  return 2.0 * (aa >= bb ? arc_tangent(ab, aa) : arc_tangent(bb, ab));
}

// The sixth joint, with the others known: it turns a vector across its axis. `across` is the share that stays across.
POISE_LARGE_FN double sixth_joint(const RotationLoop& loop, const double* others, double& across) {
  double n[3] = {0.0, 0.0, 0.0}, u[3], w[3], turned[3];
  const double* h = loop.h[5];
  n[absolute(h[0]) < 0.6 ? 0 : absolute(h[1]) < 0.6 ? 1 : 2] = 1.0;
  cross(h, n, u);
  rotate(loop.R, u, w);
  for (int k = 0; k < 5; ++k) {
    turn_about(loop.h[k], -others[k], w, turned);
    for (int i = 0; i < 3; ++i) w[i] = turned[i];
  }
  cross(h, u, n);
  const double sine = dot(n, w), cosine = dot(u, w);
  across = square_root(sine * sine + cosine * cosine) / dot(u, u);
  return arc_tangent(sine, cosine);
}

// All six joints at a value of the third, near a root.
POISE_LARGE_FN void joints_at_root(const RotationLoop& loop, const Elimination& from, double sine, double cosine,
                                   double* out) {
  double six[6][6], m[6], bases[3][3], line[27], b[8];
  reduce_to_six<double>(from, sine, cosine, six);
  find_null_vector(six, m);
  constexpr int upper[3] = {0, 1, 2}, pairs[4] = {0, 1, 3, 4};
  const double x4 = angle_of_powers(m, 0, upper, 3, 3), x5 = angle_of_powers(m, 0, pairs, 4, 1);
  const double turn[3] = {arc_tangent(sine, cosine), x4, x5};
  for (int i = 0; i < 3; ++i) {
    bases[i][0] = 1.0;
    sine_cosine(turn[i], bases[i][1], bases[i][2]);
    out[2 + i] = turn[i] + elimination_origin[i];
  }
  for (int i = 0; i < 27; ++i) line[i] = bases[0][i / 9] * bases[1][i / 3 % 3] * bases[2][i % 3];
  for (int k = 7; k >= 0; --k) {
    double sum = -from.known[27][k];
    for (int i = 0; i < 27; ++i) sum += from.known[i][k] * line[i];
    for (int c = k + 1; c < 8; ++c) sum -= from.corner[k][c] * b[c];
    b[k] = absolute(from.corner[k][k]) > 0.0 ? sum / from.corner[k][k] : 0.0;
  }
  out[0] = arc_tangent(b[2], b[5]);  // of 1, s2, c2, s1, s1 s2, s1 c2, c1, ... without the first
  out[1] = arc_tangent(b[0], b[1]);
  double across;
  out[5] = sixth_joint(loop, out, across);
}

}  // namespace poise
