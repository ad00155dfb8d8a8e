// exclusion.h: proves that six rotations in general position have no pose within the tolerances of a transform, or none but
// known ones.
//
// The tolerances move the line of the last axis, and so the fourteen numbers of elimination.h, by at most `error`. Such a
// pose solves the six equations without joints 1 and 2 within it, since their coefficients are orthonormal; the others give
// the sines and cosines of joints 1 and 2. The ranges of joints 3, 4 and 5 are divided into boxes. At a difference d from the
// middle of a box, every equation is a sum of 27 known numbers times products of 1, sin d, 1 - cos d. A box has no pose if a
// combination of equations cannot be zero in it, or another joint is outside its range. Any other box is narrowed by
// combinations that are nearly linear in one joint, or divided (Hansen 1992). Near a firm pose lies no second one.
#pragma once
#include "kernels/closed/general_chain.h"

namespace poise {

struct ExclusionBox { double at[3], half[3]; };
struct JointBox { double at[6], half[6]; };  // all joints while those of an ExclusionBox are inside it

struct ExclusionForm {
  static constexpr int equations = 6, rows = 10;  // the others: sine and cosine of joint 1, then of joint 2
  double terms[27][rows], error[rows];            // by 1, sine, cosine of joints 3, 4, 5
  double middle[6], half[6], radians;             // the ranges, and the tolerance of the rotation
};

// The largest change of the fourteen numbers of a line: its point, at most `far` from the origin, moves by up to `move`, and
// its direction by up to `turn`.
POISE_FN double bound_fourteen(double far, double move, double turn) {
  const double reach = far + move, square = (far + reach) * move, along = move + reach * turn;
  const double last = square + reach * reach * turn + 2.0 * (along * reach + far * move);
  return square_root(move * move + turn * turn + square * square + 2.0 * along * along + last * last);
}

// The equations of a loop whose product is known within `radians`, and the place of its last axis within `move`.
POISE_LARGE_FN void prepare_exclusion(const RotationLoop& loop, double move, double radians, ExclusionForm& out) {
  constexpr int first = ExclusionForm::equations, top[4] = {2, 5, 0, 1};
  Elimination from;
  eliminate(loop, from);
  double moved[3], d[3];
  place(loop.R, loop.t, loop.p[5], moved);
  difference_of(moved, loop.p[0], d);
  double far = norm(d);
  difference_of(loop.p[1], loop.p[0], d);
  far += norm(d);
  const double error = bound_fourteen(far, move, radians) + 1e-11 * (1.0 + far) * (1.0 + far);
  const bool known = from.rank > 1e-7;  // whether the equations determine joints 1 and 2
  for (int row = 0; row < ExclusionForm::rows; ++row) {
    double by[14] = {}, size = 0.0;  // the combination; by rows of the inverse of the corner for joints 1 and 2
    if (row < first) by[8 + row] = 1.0;
    for (int c = row < first ? 8 : top[row - first]; c < 8 && known; ++c) {
      by[c] = c == top[row - first] ? 1.0 : 0.0;
      for (int k = 0; k < c; ++k) by[c] -= by[k] * from.corner[k][c];
      by[c] /= from.corner[c][c];
    }
    for (int c = 0; c < 14; ++c) size += by[c] * by[c];
    out.error[row] = size > 0.0 ? error * square_root(size) : 1e9;
    for (int i = 0; i < 27; ++i) {
      out.terms[i][row] = 0.0;
      for (int c = 0; c < 14; ++c) out.terms[i][row] += by[c] * (from.known[i][c] - (i == 0 ? from.known[27][c] : 0.0));
    }
  }
  out.radians = radians;
}

// The equations around the middle of a box: coefficients of the products of 1, sin d, 1 - cos d, whose bounds are in `most`.
POISE_LARGE_FN void expand_box(const ExclusionForm& form, const ExclusionBox& box, double (*terms)[ExclusionForm::rows],
                               double* most) {
  constexpr int rows = ExclusionForm::rows, strides[3] = {9, 3, 1};
  for (int i = 0; i < 27; ++i) {
    most[i] = 1.0;
    for (int r = 0; r < rows; ++r) terms[i][r] = form.terms[i][r];
  }
  for (int joint = 0; joint < 3; ++joint) {
    const int stride = strides[joint];
    double s, c, far_s, far_c;
    sine_cosine(box.at[joint] - elimination_origin[joint], s, c);
    sine_cosine(box.half[joint], far_s, far_c);
    for (int i = 0; i < 27; ++i) {
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
POISE_FN bool is_outside(const ExclusionForm& form, int joint, double at, double error) {
  const double d = at - form.middle[joint];
  return absolute(d - whole_turn * floor_of(d / whole_turn + 0.5)) > form.half[joint] + error + 1e-9;
}

// Whether joint 1, 2 or 6 is outside its range, or cannot exist, while the others are in a box; otherwise sets `all`.
POISE_LARGE_FN bool exclude_others(const RotationLoop& loop, const ExclusionForm& form, const ExclusionBox& box,
                                   const double (*terms)[ExclusionForm::rows], const double* most, JointBox& all) {
  double *at = all.at, across, off = form.radians + box.half[0] + box.half[1] + box.half[2];
  for (int k = 0; k < 3; ++k) {
    at[2 + k] = box.at[k];
    all.half[2 + k] = box.half[k];
  }
  all.at[5] = 0.0;
  all.half[5] = one_pi;
  for (int joint = 0; joint < 2; ++joint) {
    const int row = ExclusionForm::equations + 2 * joint;
    double slack[2] = {form.error[row], form.error[row + 1]};
    for (int i = 1; i < 27; ++i) {
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
  if (off >= 0.5 * one_pi) return false;
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
POISE_LARGE_FN bool exclude_box(const RotationLoop& loop, const ExclusionForm& form, ExclusionBox& box, JointBox& all) {
  constexpr int n = ExclusionForm::equations, linear[3] = {9, 3, 1};
  double terms[27][ExclusionForm::rows], most[27], A[6], inverse[3], by[4][n];  // by[3]: what no joint changes
  expand_box(form, box, terms, most);
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k <= i; ++k) {
      A[packed(i, k)] = i == k ? 1e-20 : 0.0;
      for (int r = 0; r < n; ++r) A[packed(i, k)] += terms[linear[i]][r] * terms[linear[k]][r];
    }
  }
  cholesky<3>(3, A, inverse, 1e-30);
  for (int r = 0; r < n; ++r) by[3][r] = terms[0][r];
  for (int i = 0; i < 3; ++i) {
    double x[3] = {}, along = 0.0;
    x[i] = 1.0;
    cholesky_solve<3>(3, A, inverse, x);
    for (int r = 0; r < n; ++r) {
      by[i][r] = x[0] * terms[9][r] + x[1] * terms[3][r] + x[2] * terms[1][r];
      along += by[i][r] * terms[0][r];
    }
    for (int r = 0; r < n; ++r) by[3][r] -= along * terms[linear[i]][r];
  }
  for (int k = 3; k >= 0; --k) {
    double z[27] = {}, size = 0.0, rest = 0.0;
    for (int r = 0; r < n; ++r) size += by[k][r] * by[k][r];
    for (int i = 0; i < 27; ++i) {
      for (int r = 0; r < n; ++r) z[i] += by[k][r] * terms[i][r];
      if (i > 0) rest += absolute(z[i]) * most[i];
    }
    rest += square_root(size) * form.error[0];
    if (absolute(z[0]) > rest) return true;
    const double slope = k < 3 ? z[linear[k]] : 0.0, sine = k < 3 ? most[linear[k]] : 1.0;
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
POISE_LARGE_FN bool exclude_boxes(const RotationLoop& loop, const ExclusionForm& form, const int* own,
                                  const GeneralPoses* known) {
  constexpr int room = 128;
  const int most = known ? 4000 : 20000;
  ExclusionBox stack[room];
  int count = 1;
  for (int k = 0; k < 3; ++k) {
    stack[0].at[k] = form.middle[2 + k];
    stack[0].half[k] = minimum(form.half[2 + k] + 1e-9, one_pi);
  }
  // ends: after `most` boxes
  for (int looked = 0; count > 0; ++looked) {
    ExclusionBox box = stack[--count];
    const ExclusionBox whole = box;
    JointBox all;
    if (exclude_box(loop, form, box, all) || (known && has_known_pose(all, own, *known))) continue;
    double share = 0.0;
    int widest = 0;
    for (int k = 0; k < 3; ++k) {
      share = maximum(share, box.half[k] / whole.half[k]);
      widest = box.half[k] > box.half[widest] ? k : widest;
    }
    if (box.half[widest] < 0.05 * form.error[0] || count + 2 > room || looked >= most) return false;
    for (int side = -1; side <= 1; side += 2) {
      ExclusionBox& part = stack[count++] = box;
      if (share < 0.5) break;  // not divided
      part.half[widest] *= 0.5;
      part.at[widest] += side * part.half[widest];
    }
  }
  return true;
}

// Whether no pose inside the ranges is within the tolerances of a transform; or none but known ones, whatever the ranges of
// the joints that turn at all. The loop is tried from both ends.
POISE_LARGE_FN bool exclude_general(const GeneralChain& chain, const double* R, const double* p, double metres,
                                    double radians, const GeneralPoses* known = nullptr) {
  if (known && count_firm(*known) < known->count) return false;
  const RotationLoop loop = loop_of(chain, R, p, nullptr);
  for (int which = 0; which < loop_variants; which += 6) {
    RotationLoop turned;
    ExclusionForm form;
    int own[6];
    turn_loop(loop, which, turned, own);
    for (int k = 0; k < 6; ++k) {
      form.middle[k] = chain.middle[own[k]];
      form.half[k] = known && chain.half[own[k]] > 0.0 ? one_pi : chain.half[own[k]];
    }
    double axis[3], lever[3];  // from the goal's point to the last axis, before the motion
    place(turned.R, turned.t, turned.p[5], axis);
    for (int k = 0; k < 3; ++k) lever[k] = (which == 0 ? loop.p[5][k] : axis[k]) - chain.p0[k] / chain.unit;
    prepare_exclusion(turned, metres / chain.unit + radians * norm(lever), radians, form);
    if (exclude_boxes(turned, form, own, known)) return true;
  }
  return false;
}

}  // namespace poise
