// exclusion.h: proves that six or seven rotations in general position have no pose within the tolerances of a transform, or
// six none but known ones.
//
// The tolerances move the line of the last axis, and so the fourteen numbers of elimination.h, by at most `error`. Such a
// pose solves the six equations without joints 1 and 2 within it, since their coefficients are orthonormal; the others give
// the sines and cosines of joints 1 and 2. The ranges of joints 3, 4 and 5 are divided into boxes. At a difference d from the
// middle of a box, every equation is a sum of 27 known numbers times products of 1, sin d, 1 - cos d. A box has no pose if a
// combination of equations cannot be zero in it, or another joint is outside its range. Any other box is narrowed by
// combinations that are nearly linear in one joint, or divided (Hansen 1992). Near a firm pose lies no second one.
//
// Of seven rotations the last but one is a fourth joint of these equations: at three of its values it is held, and what it
// changes is a sum of 1, its sine and its cosine.
#pragma once
#include "kernels/closed/general_chain.h"

namespace poise {

template <int N> struct ExclusionBox { double at[N], half[N]; };
struct JointBox { double at[6], half[6]; };  // all joints while those of an ExclusionBox are inside it

// the equations of three joints, or four
template <int N> struct ExclusionForm {
  static constexpr int equations = 6, rows = 10;  // the others: sine and cosine of joint 1, then of joint 2
  static constexpr int count = N == 3 ? 27 : 81;
  double terms[count][rows], error[rows];      // by 1, sine, cosine of joints 3, 4, 5, and of the fourth
  double middle[3 + N], half[3 + N], radians;  // the ranges, and the tolerance of the rotation
  static POISE_FN int stride(int k) { return count / (k == 0 ? 3 : k == 1 ? 9 : k == 2 ? 27 : 81); }
};

// The largest change of the fourteen numbers of a line: its point, at most `far` from the origin, moves by up to `move`, and
// its direction by up to `turn`.
POISE_FN double bound_fourteen(double far, double move, double turn) {
  const double reach = far + move, square = (far + reach) * move, along = move + reach * turn;
  const double last = square + reach * reach * turn + 2.0 * (along * reach + far * move);
  return square_root(move * move + turn * turn + square * square + 2.0 * along * along + last * last);
}

// The equations of loops whose product is known within `radians`, and the place of its last axis within `move`: one for three
// joints, and for four one at each of three values of the fourth, of which the right side of elimination.h is the same.
template <int N>
POISE_LARGE_FN void prepare_exclusion(const RotationLoop* loops, double move, double radians, ExclusionForm<N>& out) {
  constexpr int first = ExclusionForm<N>::equations, count = ExclusionForm<N>::count, top[4] = {2, 5, 0, 1};
  constexpr int parts = count / 27;
  Elimination side;
  double known[count + 1][14], corner[8][8], Q[14][9], spare[14][9];
  for (int a = 0; a < parts; ++a) {
    expand_sides(loops[a], side, a == 0 ? Q : spare);
    for (int i = 0; i < 27; ++i) {
      for (int r = 0; r < 14; ++r) known[parts * i + a][r] = side.left[r][i];
    }
  }
  for (int i = 0; i < 27 && parts > 1; ++i) {
    for (int r = 0; r < 14; ++r) expand_turn(&known[parts * i][r], 14);
  }
  const double rank = eliminate_turns(Q, known, count, corner);
  double moved[3], d[3];
  place(loops->R, loops->t, loops->p[5], moved);
  difference_of(moved, loops->p[0], d);
  double far = norm(d);
  difference_of(loops->p[1], loops->p[0], d);
  far += norm(d);
  const double error = bound_fourteen(far, move, radians) + 1e-11 * (1.0 + far) * (1.0 + far);
  const bool firm = rank > 1e-7;  // whether the equations determine joints 1 and 2
  for (int row = 0; row < ExclusionForm<N>::rows; ++row) {
    double by[14] = {}, size = 0.0;  // the combination; by rows of the inverse of the corner for joints 1 and 2
    if (row < first) by[8 + row] = 1.0;
    for (int c = row < first ? 8 : top[row - first]; c < 8 && firm; ++c) {
      by[c] = c == top[row - first] ? 1.0 : 0.0;
      for (int k = 0; k < c; ++k) by[c] -= by[k] * corner[k][c];
      by[c] /= corner[c][c];
    }
    for (int c = 0; c < 14; ++c) size += by[c] * by[c];
    out.error[row] = size > 0.0 ? error * square_root(size) : 1e9;
    for (int i = 0; i < count; ++i) {
      out.terms[i][row] = 0.0;
      for (int c = 0; c < 14; ++c) out.terms[i][row] += by[c] * (known[i][c] - (i == 0 ? known[count][c] : 0.0));
    }
  }
  out.radians = radians;
}

// The equations around the middle of a box: coefficients of the products of 1, sin d, 1 - cos d, whose bounds are in `most`.
template <int N> POISE_LARGE_FN void expand_box(const ExclusionForm<N>& form, const ExclusionBox<N>& box,
                                                double (*terms)[ExclusionForm<N>::rows], double* most) {
  constexpr int rows = ExclusionForm<N>::rows, count = ExclusionForm<N>::count;
  for (int i = 0; i < count; ++i) {
    most[i] = 1.0;
    for (int r = 0; r < rows; ++r) terms[i][r] = form.terms[i][r];
  }
  for (int joint = 0; joint < N; ++joint) {
    const int stride = ExclusionForm<N>::stride(joint);
    double s, c, far_s, far_c;
    sine_cosine(box.at[joint] - (joint < 3 ? elimination_origin[joint] : 0.0), s, c);
    sine_cosine(box.half[joint], far_s, far_c);
    for (int i = 0; i < count; ++i) {
      const int part = i / stride % 3;
      most[i] *= part == 0 ? 1.0 : part == 2 ? 1.0 - far_c : far_c > 0.0 ? far_s : 1.0;
      for (int r = 0; r < rows && part == 0; ++r) {
        double &sine = terms[i + stride][r], &cosine = terms[i + 2 * stride][r];
        const double value = s * sine + c * cosine;
        terms[i][r] += value;
        sine = c * sine - s * cosine;
        cosine = -value;
      }
    }
  }
}

// Whether an angle with an error is outside the range of a joint.
template <int N> POISE_FN bool is_outside(const ExclusionForm<N>& form, int joint, double at, double error) {
  const double d = at - form.middle[joint];
  return absolute(d - whole_turn * floor_of(d / whole_turn + 0.5)) > form.half[joint] + error + 1e-9;
}

// Whether joint 1, 2 or 6 is outside its range, or cannot exist, while the others are in a box; otherwise sets `all`.
template <int N>
POISE_LARGE_FN bool exclude_others(const RotationLoop& loop, const ExclusionForm<N>& form, const ExclusionBox<N>& box,
                                   const double (*terms)[ExclusionForm<N>::rows], const double* most, JointBox& all) {
  double *at = all.at, across, off = form.radians + box.half[0] + box.half[1] + box.half[2];
  for (int k = 0; k < 3; ++k) {
    at[2 + k] = box.at[k];
    all.half[2 + k] = box.half[k];
  }
  all.at[5] = 0.0;
  all.half[5] = one_pi;
  for (int joint = 0; joint < 2; ++joint) {
    const int row = ExclusionForm<N>::equations + 2 * joint;
    double slack[2] = {form.error[row], form.error[row + 1]};
    for (int i = 1; i < ExclusionForm<N>::count; ++i) {
      for (int k = 0; k < 2; ++k) slack[k] += absolute(terms[i][row + k]) * most[i];
    }
    const double sine = terms[0][row], cosine = terms[0][row + 1], size = square_root(sine * sine + cosine * cosine);
    const double room = square_root(slack[0] * slack[0] + slack[1] * slack[1]);
    if (absolute(size - 1.0) > room) return true;
    const double error = room < 0.9 * size ? 0.5 * one_pi - arc_cosine(room / size) : one_pi;
    at[joint] = arc_tangent(sine, cosine);
    if (is_outside(form, joint, at[joint], error)) return true;
    all.half[joint] = error;
    off += error;
  }
  if (N > 3 || off >= 0.5 * one_pi) return false;
  at[5] = sixth_joint(loop, at, across);
  if (across < 0.1) return off < 1.0;
  all.half[5] = off;
  return is_outside(form, 5, at[5], off);
}

// Whether a box is so near a firm pose that it has no other.
POISE_LARGE_FN bool has_known_pose(const JointBox& box, const int* own, const GeneralPoses& known) {
  for (int i = 0; i < known.count; ++i) {
    const double radius = known.pose[i].firmness / (2.0 * closure_bend);
    double square = 0.0;
    for (int k = 0; k < 6; ++k) {
      const double d = box.at[k] - known.pose[i].at[own[k]];
      const double most = absolute(d - whole_turn * floor_of(d / whole_turn + 0.5)) + box.half[k];
      square += most * most;
    }
    if (square < radius * radius) return true;
  }
  return false;
}

// Whether a box has no pose; otherwise it may be narrowed, and `all` has the other joints before that.
template <int N> POISE_LARGE_FN bool exclude_box(const RotationLoop& loop, const ExclusionForm<N>& form,
                                                 ExclusionBox<N>& box, JointBox& all) {
  using Form = ExclusionForm<N>;
  constexpr int n = Form::equations, count = Form::count;
  double terms[count][Form::rows], most[count], A[N * (N + 1) / 2], inverse[N],
      by[N + 1][n];  // by[N]: what no joint changes
  expand_box(form, box, terms, most);
  for (int i = 0; i < N; ++i) {
    for (int k = 0; k <= i; ++k) {
      A[packed(i, k)] = i == k ? 1e-20 : 0.0;
      for (int r = 0; r < n; ++r) A[packed(i, k)] += terms[Form::stride(i)][r] * terms[Form::stride(k)][r];
    }
  }
  cholesky<N>(N, A, inverse, 1e-30);
  for (int r = 0; r < n; ++r) by[N][r] = terms[0][r];
  for (int i = 0; i < N; ++i) {
    double x[N] = {}, along = 0.0;
    x[i] = 1.0;
    cholesky_solve<N>(N, A, inverse, x);
    for (int r = 0; r < n; ++r) {
      by[i][r] = 0.0;
      for (int k = 0; k < N; ++k) by[i][r] += x[k] * terms[Form::stride(k)][r];
      along += by[i][r] * terms[0][r];
    }
    for (int r = 0; r < n; ++r) by[N][r] -= along * terms[Form::stride(i)][r];
  }
  for (int k = N; k >= 0; --k) {
    double z[count] = {}, size = 0.0, rest = 0.0;
    for (int r = 0; r < n; ++r) size += by[k][r] * by[k][r];
    for (int i = 0; i < count; ++i) {
      for (int r = 0; r < n; ++r) z[i] += by[k][r] * terms[i][r];
      if (i > 0) rest += absolute(z[i]) * most[i];
    }
    rest += square_root(size) * form.error[0];
    if (absolute(z[0]) > rest) return true;
    const double slope = k < N ? z[Form::stride(k)] : 0.0, sine = k < N ? most[Form::stride(k)] : 1.0;
    if (!(absolute(slope) > 0.5) || !(box.half[k] < 1.5)) continue;
    // the sine of the joint's difference
    const double guess = -z[0] / slope, room = rest / absolute(slope) - sine;
    const double low = maximum(guess - room, -sine), high = minimum(guess + room, sine);
    if (!(low <= high)) return true;
    if (high - low > 1.6 * sine) continue;
    const double from = 0.5 * one_pi - arc_cosine(low) - 1e-12, to = 0.5 * one_pi - arc_cosine(high) + 1e-12;
    box.at[k] += 0.5 * (from + to);
    box.half[k] = 0.5 * (to - from);
  }
  return exclude_others(loop, form, box, terms, most, all);
}

// Whether no box has a pose, known ones aside; `own` has the joint of the chain at each place of the loop.
template <int N> POISE_LARGE_FN bool exclude_boxes(const RotationLoop& loop, const ExclusionForm<N>& form,
                                                   const int* own, const GeneralPoses* known, int most) {
  constexpr int room = 128;
  ExclusionBox<N> stack[room];
  int count = 1;
  for (int k = 0; k < N; ++k) {
    const int joint = k < 3 ? 2 + k : 6;
    stack[0].at[k] = form.middle[joint];
    stack[0].half[k] = minimum(form.half[joint] + 1e-9, one_pi);
  }
  // ends: after `most` boxes
  for (int looked = 0; count > 0; ++looked) {
    ExclusionBox<N> box = stack[--count];
    const ExclusionBox<N> whole = box;
    JointBox all;
    if (exclude_box(loop, form, box, all) || (known && has_known_pose(all, own, *known))) continue;
    double share = 0.0;
    int widest = 0;
    for (int k = 0; k < N; ++k) {
      share = maximum(share, box.half[k] / whole.half[k]);
      widest = box.half[k] > box.half[widest] ? k : widest;
    }
    if (box.half[widest] < 0.05 * form.error[0] || count + 2 > room || looked >= most) return false;
    for (int side = -1; side <= 1; side += 2) {
      ExclusionBox<N>& part = stack[count++] = box;
      if (share < 0.5) break;  // not divided
      part.half[widest] *= 0.5;
      part.at[widest] += side * part.half[widest];
    }
  }
  return true;
}

// the way from the goal's point to the last axis of a loop, before the motion, in units of the chain's length
POISE_LARGE_FN double measure_lever(const GeneralChain& chain, const RotationLoop& loop, const RotationLoop& turned,
                                    int which) {
  double axis[3], lever[3];
  place(turned.R, turned.t, turned.p[5], axis);
  for (int k = 0; k < 3; ++k) lever[k] = (which == 0 ? loop.p[5][k] : axis[k]) - chain.p0[k] / chain.unit;
  return norm(lever);
}

// Whether seven rotations have no pose inside the ranges within the tolerances. The loop is tried from both ends.
POISE_LARGE_FN bool exclude_seven(const GeneralChain& chain, const double* R, const double* p, double metres,
                                  double radians, int most) {
  constexpr double third = 2.0 * one_pi / 3.0, angles[3] = {0.0, third, -third};
  for (int back = 0; back < 2; ++back) {
    GeneralChain from = chain;
    ExclusionForm<4> form;
    for (int k = 0; k < 7; ++k) {
      const int joint = back ? 6 - k : k, to = k == 5 ? 6 : k == 6 ? 5 : k;
      if (chain.slides[k]) return false;
      from.held[k] = k == 5;
      for (int i = 0; i < 3; ++i) {
        from.h[k][i] = back ? -chain.h[joint][i] : chain.h[joint][i];
        from.p[k][i] = chain.p[joint][i];
      }
      form.middle[to] = chain.middle[joint];
      form.half[to] = chain.half[joint];
    }
    for (int i = 0; i < 9 && back; ++i) from.R0[i] = R[i];
    for (int i = 0; i < 3 && back; ++i) from.p0[i] = p[i];
    RotationLoop loops[3];
    for (int a = 0; a < 3; ++a) loops[a] = loop_of(from, back ? chain.R0 : R, back ? chain.p0 : p, angles + a);
    const double move = metres / chain.unit + radians * measure_lever(chain, loops[0], loops[0], back);
    prepare_exclusion(loops, move, radians, form);
    if (exclude_boxes(loops[0], form, nullptr, nullptr, most)) return true;
  }
  return false;
}

// Whether no pose inside the ranges is within the tolerances of a transform; or none but known ones, whatever the ranges of
// the joints that turn at all. The loop is tried from both ends.
POISE_LARGE_FN bool exclude_general(const GeneralChain& chain, const double* R, const double* p, double metres,
                                    double radians, const GeneralPoses* known = nullptr) {
  if (known && count_firm(*known) < known->count) return false;
  if (chain.joints > 7) return false;
  if (chain.joints == 7) return exclude_seven(chain, R, p, metres, radians, 8000);
  const RotationLoop loop = loop_of(chain, R, p, nullptr);
  for (int which = 0; which < loop_variants; which += 6) {
    RotationLoop turned;
    ExclusionForm<3> form;
    int own[6];
    turn_loop(loop, which, turned, own);
    for (int k = 0; k < 6; ++k) {
      form.middle[k] = chain.middle[own[k]];
      form.half[k] = known && chain.half[own[k]] > 0.0 ? one_pi : chain.half[own[k]];
    }
    prepare_exclusion(&turned, metres / chain.unit + radians * measure_lever(chain, loop, turned, which), radians,
                      form);
    if (exclude_boxes(turned, form, own, known, known ? 4000 : 20000)) return true;
  }
  return false;
}

}  // namespace poise
