// chart.h: the coordinates of a pose relative to another, as used by a posture learned from clips, and their
// derivatives.
//
//   a number for every plain coordinate, and x = log(a^-1 b) for every rotation b: of a quaternion, or of an Euler
//   joint R = R_1 R_2 R_3
//   dx = Jr^-1(x) w,  w = the velocity of a quaternion, or (R_3^T R_2^T e_1, R_3^T e_2, e_3) times the Euler rates
//
// Source: Chirikjian, Stochastic Models, Information Theory, and Lie Groups 2, 2012, section 10.6 (the inverse Jacobian).
#pragma once
#include "kernels/algebra/rotation.h"

namespace poise {

template <class T> struct ChartNumber {
  int q_index, v_index;
  int endless;  // 1: an angle without a range, wrapped to [-pi, pi]
  T origin;
};

template <class T> struct ChartTurn {
  int q_index, v_index;
  int axes[3];  // of the angles of an Euler joint, in order: 0 1 2 for x y z; -1 for a quaternion
  T back[4];    // the inverse of the rotation at the origin
};

// The numbers come first, then three coordinates for each rotation.
template <class T> struct ChartView {
  const ChartNumber<T>* numbers;
  int n_numbers;
  const ChartTurn<T>* turns;
  int n_turns;
  POISE_FN int size() const { return n_numbers + 3 * n_turns; }
};

// the quaternion of a rotation of the pose
template <class S, class T> POISE_LARGE_FN void quaternion_of_turn(const ChartTurn<T>& turn, const S* q, S* out) {
  if (turn.axes[0] < 0) {
    for (int k = 0; k < 4; ++k) out[k] = q[turn.q_index + k];
    return;
  }
  for (int k = 0; k < 3; ++k) {
    S s, c;
    sine_cosine(q[turn.q_index + k] * S(T(0.5)), s, c);
    S one[4] = {c, S(T(0)), S(T(0)), S(T(0))};
    one[1 + turn.axes[k]] = s;
    if (k == 0) {
      for (int j = 0; j < 4; ++j) out[j] = one[j];
    } else {
      quaternion_multiply(out, one, out);
    }
  }
}

// an angle wrapped to [-pi, pi]: the remainder after whole turns or, for a very large angle, from its sine and cosine
template <class S> POISE_LARGE_FN S wrap_angle(S angle) {
  using T = real_t<S>;
  using Table = TrigTable<T>;
  if (!any(absolute(angle) > S(Table::largest))) {
    const S turns = (angle * S(T(0.15915494309189533577)) + S(Table::round_shift)) - S(Table::round_shift),
            k = turns * S(T(4));
    return ((angle - k * S(Table::half_pi[0])) - k * S(Table::half_pi[1])) - k * S(Table::half_pi[2]);
  }
  S s, c, w[3];
  sine_cosine(angle * S(T(0.5)), s, c);
  const S turn[4] = {c, s, S(T(0)), S(T(0))};
  log_of_quaternion(turn, w);
  return w[0];
}

// the angle of (x, y), from -pi to pi
template <class S> POISE_FN S angle_of(S y, S x) {
  using T = real_t<S>;
  const S sharp = positive_atan2(absolute(y), absolute(x));
  const S wide = select(x < S(T(0)), S(T(3.14159265358979323846)) - sharp, sharp);
  return select(y < S(T(0)), S(T(0)) - wide, wide);
}

// 1 if three axes are in cyclic order x y z, otherwise -1
POISE_FN constexpr int turn_of_axes(int a, int b, int c) {
  return (b - a + 3) % 3 == 1 && (c - b + 3) % 3 == 1 ? 1 : -1;
}

// The first two angles of an Euler joint, from the direction to which its rotation R maps the last axis. If that does
// not determine the first, it stays.
template <class S> POISE_LARGE_FN void first_angles(const int* axes, const S* R, const S* now, S* angles) {
  using T = real_t<S>;
  const int a = axes[0], b = axes[1], last = axes[2], k = 3 - a - b;
  const S v[3] = {R[last], R[3 + last], R[6 + last]};
  const S sign = S(T(last == a ? turn_of_axes(b, a, k) : turn_of_axes(a, b, k)));
  const S off = square_root(v[b] * v[b] + v[k] * v[k]);
  const S y = last == a ? v[b] : S(T(0)) - sign * v[b], x = last == a ? sign * v[k] : v[k];
  angles[0] = select(off < S(T(1e-9)), now[0], angle_of(y, x));
  angles[1] = last == a ? angle_of(off, v[a]) : angle_of(sign * v[a], off);
}

// The angles of an Euler joint that give a rotation, nearest to the current ones: of the two solutions, the other has
// outer angles that differ by half a turn.
template <class S, class T>
POISE_LARGE_FN void angles_of_turn(const ChartTurn<T>& turn, const S* wxyz, const S* now, S* out) {
  const S pi = S(T(3.14159265358979323846));
  S R[9], one[3], both[2][3], far[2] = {S(T(0)), S(T(0))};
  matrix_of_quaternion(wxyz, R);
  first_angles(turn.axes, R, now, one);
  // the last angle is the remainder of the rotation
  S left[4] = {wxyz[0], wxyz[1], wxyz[2], wxyz[3]}, w[3];
  for (int k = 0; k < 2; ++k) {
    S s, c;
    sine_cosine(one[k] * S(T(-0.5)), s, c);
    S back[4] = {c, S(T(0)), S(T(0)), S(T(0))};
    back[1 + turn.axes[k]] = s;
    quaternion_multiply(back, left, left);
  }
  log_of_quaternion(left, w);
  one[2] = w[turn.axes[2]];
  const bool same = turn.axes[0] == turn.axes[2];
  const S other[3] = {one[0] + pi, (same ? S(T(0)) : pi) - one[1], one[2] + pi};
  for (int branch = 0; branch < 2; ++branch) {
    for (int k = 0; k < 3; ++k) {
      const S apart = wrap_angle((branch ? other[k] : one[k]) - now[k]);
      both[branch][k] = now[k] + apart;
      far[branch] += absolute(apart);
    }
  }
  for (int k = 0; k < 3; ++k) out[k] = select(far[1] < far[0], both[1][k], both[0][k]);
}

// the numbers of q for one rotation's coordinates x, near those of `now`
template <class S, class T> POISE_LARGE_FN void write_turn(const ChartTurn<T>& turn, const S* x, const S* now, S* out) {
  const S origin[4] = {S(turn.back[0]), S(T(0)) - S(turn.back[1]), S(T(0)) - S(turn.back[2]),
                       S(T(0)) - S(turn.back[3])};
  S apart[4], wxyz[4];
  quaternion_of_log(x, apart);
  quaternion_multiply(origin, apart, wxyz);
  if (turn.axes[0] >= 0) {
    angles_of_turn(turn, wxyz, now + turn.q_index, out + turn.q_index);
    return;
  }
  quaternion_normalize(wxyz);
  for (int k = 0; k < 4; ++k) out[turn.q_index + k] = wxyz[k];
}

// all coordinates of a pose
template <class S, class T> POISE_LARGE_FN void read_chart(const ChartView<T>& chart, const S* q, S* x) {
  for (int i = 0; i < chart.n_numbers; ++i) {
    const ChartNumber<T>& number = chart.numbers[i];
    const S apart = q[number.q_index] - S(number.origin);
    x[i] = number.endless ? wrap_angle(apart) : apart;
  }
  for (int k = 0; k < chart.n_turns; ++k) {
    const ChartTurn<T>& turn = chart.turns[k];
    S now[4], apart[4];
    const S back[4] = {S(turn.back[0]), S(turn.back[1]), S(turn.back[2]), S(turn.back[3])};
    quaternion_of_turn(turn, q, now);
    quaternion_multiply(back, now, apart);
    log_of_quaternion(apart, x + chart.n_numbers + 3 * k);
  }
}

// v rotated back about one of the axes x y z
template <class S> POISE_FN void turn_back(int axis, S angle, S* v) {
  S s, c;
  sine_cosine(angle, s, c);
  const int i = (axis + 1) % 3, j = (axis + 2) % 3;
  const S a = c * v[i] + s * v[j];
  v[j] = c * v[j] - s * v[i];
  v[i] = a;
}

// the derivative of the coordinates x of one rotation by its three velocities: 3x3, row by row
template <class S, class T>
POISE_LARGE_FN void block_of_turn(const ChartTurn<T>& turn, const S* q, const S* x, S* block) {
  const S term = inverse_jacobian_term(dot(x, x));
  for (int k = 0; k < 3; ++k) {
    S axis[3] = {S(T(0)), S(T(0)), S(T(0))}, column[3];
    axis[turn.axes[0] < 0 ? k : turn.axes[k]] = S(T(1));
    if (turn.axes[0] >= 0) {
      for (int j = k + 1; j < 3; ++j) turn_back(turn.axes[j], q[turn.q_index + j], axis);
    }
    bend(x, S(T(0.5)), term, axis, column);
    for (int i = 0; i < 3; ++i) block[3 * i + k] = column[i];
  }
}

// Its inverse, regularised near the singular angle of an Euler joint: (B^T B + floor I)^-1 B^T. Row by row.
template <class S> POISE_LARGE_FN void invert_block(const S* block, real_t<S> floor, S* inverse) {
  S N[9], C[9];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      N[3 * i + j] = block[i] * block[j] + block[3 + i] * block[3 + j] + block[6 + i] * block[6 + j];
    }
    N[4 * i] += S(floor);
  }
  for (int i = 0; i < 3; ++i) cross(N + 3 * ((i + 1) % 3), N + 3 * ((i + 2) % 3), C + 3 * i);
  const S per = S(real_t<S>(1)) / dot(N, C);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      inverse[3 * i + j] = per * (C[i] * block[3 * j] + C[3 + i] * block[3 * j + 1] + C[6 + i] * block[3 * j + 2]);
    }
  }
}

}  // namespace poise
