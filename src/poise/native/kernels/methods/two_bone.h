// two_bone.h: a limb in closed form: shoulder (a ball, or three hinges through one point), elbow (a hinge), and its
// end.
//
// The elbow rotates until the end is as far from the shoulder as the target. With u from elbow to end, v from elbow to
// shoulder and n the hinge's axis,
//
//   |end - shoulder|^2 = |u|^2 + |v|^2 - 2 (n.u)(n.v) - 2 (a cos x + b sin x),   a = u.v - (n.u)(n.v),   b = v.(n x u),
//
// the law of cosines for a hinge that need not be perpendicular to the bones. The shoulder then rotates the end onto
// the target, and the elbow about the line to it towards the pole; near the pole's own line, where that rotation is
// undefined, by as much of it as the line has rotated (pole_share). A wrist whose axes meet in one point provides the
// target rotation. Joints above the shoulder do not move.
//
// Soft stretch: near full length the end slows down and never arrives, d' = s + r (1 - (4 / (4 + (d - s) / r))^4) with
// s = soften times the length and r = length - s: smooth, increasing, without a snap of the elbow (the idea of
// ozz-animation's IKTwoBoneJob).
//
// If a range prevents the exact answer, sweeps of CCD over the limb complete it.
#pragma once
#include "kernels/methods/fabrik.h"

namespace poise {

// options of the method: the pole's direction, zero for none, and the start of the softening
enum TwoBoneOption : int { POLE = 0, SOFTEN = 3 };

POISE_LARGE_FN constexpr int two_bone_memory(int goals) { return ccd_memory(goals); }

struct Limb {
  int shoulder[3], n_shoulder;
  int elbow;
  int beyond[MOST_TOGETHER], n_beyond;  // joints between elbow and end, from the inside
};

// the limb that ends in goal g: the first hinge, from outside, below a shoulder; false if there is none
template <class S, class P> POISE_LARGE_FN bool find_limb(const P& problem, const S* placements, int g, Limb& limb) {
  const S same = S(1e-9) * S(problem.scale);
  int skipped = 0;
  for (int i = mover_of_goal(problem, g); i >= 0 && skipped <= MOST_TOGETHER; i = mover_above(problem, i), ++skipped) {
    const int above = mover_above(problem, i);
    if (problem.body[i].kind != REVOLUTE || above < 0) continue;
    if (distance(origin_of(placements, i), origin_of(placements, above)) < same) continue;
    limb.elbow = i;
    limb.n_shoulder = 0;
    for (int k = above; k >= 0 && limb.n_shoulder < 3; k = mover_above(problem, k)) {
      if (distance(origin_of(placements, k), origin_of(placements, above)) >= same) break;
      if (problem.body[k].kind != REVOLUTE && k != above) break;
      limb.shoulder[limb.n_shoulder++] = k;
      if (problem.body[k].kind == BALL) break;
    }
    const bool ball = problem.body[above].kind == BALL;
    if (!ball && limb.n_shoulder < 3) continue;
    if (!ball) {
      const int first = limb.shoulder[2];
      limb.shoulder[2] = limb.shoulder[0];
      limb.shoulder[0] = first;
    }
    limb.n_beyond = skipped;
    int at = skipped;
    for (int k = mover_of_goal(problem, g); k != i; k = mover_above(problem, k)) limb.beyond[--at] = k;
    return true;
  }
  return false;
}

// the room of a primitive's own coordinate
template <class S, class P>
POISE_LARGE_FN void room_of(const P& problem, const SearchState<S>& state, int i, S& low, S& high) {
  const auto& b = problem.body[i];
  const S ends[2] = {S(b.gain) * state.work.low[b.v_index], S(b.gain) * state.work.high[b.v_index]};
  low = minimum(ends[0], ends[1]);
  high = maximum(ends[0], ends[1]);
}

template <class S, class P> POISE_LARGE_FN bool set_turn(const P& problem, int i, S x, SearchState<S>& state) {
  const auto& b = problem.body[i];
  const S step = x / S(b.gain);
  state.dq[b.v_index] = clamped(step, state.work.low[b.v_index], state.work.high[b.v_index]);
  return absolute(state.dq[b.v_index] - step) < S(1e-12);
}

// ---------------------------------------------------------------------------------------------- elbow

template <class S> struct Bend {
  S a, b, square;  // |end - shoulder|^2 = square - 2 (a cos x + b sin x)
};

template <class S> POISE_LARGE_FN Bend<S> bend_of(const S* elbow, const S* axis, const S* shoulder, const S* end) {
  S u[3], v[3], side[3];
  subtract(end, elbow, u);
  subtract(shoulder, elbow, v);
  cross(axis, u, side);
  const S along = dot(axis, u) * dot(axis, v);
  return {dot(u, v) - along, dot(v, side), dot(u, u) + dot(v, v) - S(2) * along};
}

template <class S> POISE_LARGE_FN S soften(S d, S longest, S fraction) {
  const S begin = fraction * longest, room = longest - begin;
  if (!(fraction < S(1)) || !(d > begin) || !(room > S(0))) return d;
  S f = S(4) / (S(4) + (d - begin) / room);
  f *= f;
  return begin + room * (S(1) - f * f);
}

// the elbow's angle for distance d; on the side to which it is bent now, unless its range is on the other
template <class S> POISE_LARGE_FN S elbow_turn(const Bend<S>& bend, S d, S low, S high) {
  const S size = square_root(bend.a * bend.a + bend.b * bend.b);
  if (!(size > S(0))) return S(0);
  const S ratio = clamped((bend.square - d * d) / (S(2) * size), S(-1), S(1));
  const S folded = signed_angle(bend.b, bend.a), half = positive_atan2(square_root(S(1) - ratio * ratio), ratio);
  const S turn = S(2) * pi_of<S>;
  S best = S(0), least = S(1e30);
  for (int side = -1; side <= 1; side += 2) {
    S x = folded + S(side) * half;
    if (x > pi_of<S>) x -= turn;
    if (x < -pi_of<S>) x += turn;
    const S other = x > S(0) ? x - turn : x + turn;
    if (outside(x, low, high) > outside(other, low, high)) x = other;
    // it is now at -folded from the folded pose: bent to the side of that sign
    const S now = folded > S(0) ? S(-1) : S(1);
    const bool straight = absolute(absolute(folded) - pi_of<S>) < S(1e-9);
    const S price = S(1e6) * outside(x, low, high) + (straight || now == S(side) ? S(0) : S(1e3)) + absolute(x);
    if (price < least) {
      least = price;
      best = x;
    }
  }
  return best;
}

// ---------------------------------------------------------------------------------------------- shoulder

// the rotation about the line from shoulder to end that brings the elbow towards the pole
template <class S> POISE_LARGE_FN S pole_turn(const S* line, const S* elbow, const S* pole) {
  S x[3], y[3], side[3];
  for (int k = 0; k < 3; ++k) {
    x[k] = elbow[k] - dot(elbow, line) * line[k];
    y[k] = pole[k] - dot(pole, line) * line[k];
  }
  if (!(dot(x, x) > S(1e-20) * dot(elbow, elbow)) || !(dot(y, y) > S(1e-20) * dot(pole, pole))) return S(0);
  cross(x, y, side);
  return signed_angle(dot(side, line), dot(x, y));
}

// The share of that rotation, 0 to 1. If the line is parallel to the pole the rotation is undefined, and near it the
// pole's plane rotates arbitrarily fast. So within 15 degrees of the pole the elbow moves towards the plane in
// proportion to the rotation of the line,
//
//   share = m k / (1 + m k),   k = 2 s / (z (z - s)),
//
// m the angle between the line of the start and that of the target, s the sine between line and pole, z that of the
// zone: an implicit step of d(elbow) / dm = k (plane - elbow). k is 0 on the pole's line, so nothing jumps there, and
// grows without bound towards the edge of the zone, so the pole is exact outside. The elbow rotates by at most about
// 5.4 / z radians per radian of the line, however slowly and wherever the line crosses; if the line does not rotate,
// neither does the elbow.
template <class S> POISE_LARGE_FN S pole_share(const S* before, const S* line, const S* pole) {
  const S zone = S(0.25881904510252074);  // the sine of 15 degrees
  S across[3];
  cross(pole, line, across);
  const S s = length(across) / length(pole);
  if (!(s < zone)) return S(1);
  cross(before, line, across);
  const S turned = signed_angle(length(across), dot(before, line));
  const S pull = S(2) * turned * s;
  return pull / (zone * (zone - s) + pull);
}

// Rotates the shoulder by R or, without a pole, by R and the least additional rotation about `line` that its ranges
// need. True if exact; `done` is the actual rotation.
template <class S, class P> POISE_LARGE_FN bool turn_shoulder(const P& problem, const Limb& limb, const S* R,
                                                              const S* line, bool swivels, S* done,
                                                              SearchState<S>& state) {
  if (limb.n_shoulder == 1) {
    const int v = problem.body[limb.shoulder[0]].v_index;
    S *w = state.dq + v, turn[4], wanted[3];
    log_of_matrix(R, wanted);
    rotate_back(state.placements + 12 * limb.shoulder[0], wanted, w);
    S fraction = S(1);
    for (int k = 0; k < 3; ++k) {
      if (w[k] > state.work.high[v + k]) fraction = minimum(fraction, state.work.high[v + k] / w[k]);
      if (w[k] < state.work.low[v + k]) fraction = minimum(fraction, state.work.low[v + k] / w[k]);
    }
    for (int k = 0; k < 3; ++k) {
      w[k] *= fraction;
      wanted[k] *= fraction;
    }
    quaternion_of_log(wanted, turn);
    matrix_of_quaternion(turn, done);
    return !(fraction < S(1));
  }
  S axes[9], low[3], high[3], x[3] = {S(0), S(0), S(0)}, y[3], least = S(1e30), turned[9], swivel[9];
  for (int k = 0; k < 3; ++k) {
    axis_of(state.placements, limb.shoulder[k], axes + 3 * k);
    room_of(problem, state, limb.shoulder[k], low[k], high[k]);
  }
  for (int k = 0; k < (swivels ? 144 : 1) && least > S(0); ++k) {
    const S angle = S((k + 1) / 2) * (k % 2 == 0 ? S(1) : S(-1)) * pi_of<S> / S(72);
    rotation_about(line, angle, swivel);
    multiply(swivel, R, turned);
    const S out = three_angles(turned, axes, low, high, y);
    if (out < S(0) || !(out < least)) continue;
    least = out;
    for (int i = 0; i < 3; ++i) x[i] = y[i];
  }
  bool exact = least < S(1e29);
  for (int k = 0; k < 9; ++k) done[k] = S(k % 4 == 0);
  for (int k = 2; k >= 0; --k) {
    exact = set_turn(problem, limb.shoulder[k], x[k], state) && exact;
    rotation_about(axes + 3 * k, clamped(x[k], low[k], high[k]), turned);
    multiply(turned, done, done);
  }
  return exact;
}

// ---------------------------------------------------------------------------------------------- wrist

// whether all joints beyond the elbow rotate about the position of the outermost
template <class S, class P> POISE_LARGE_FN bool has_wrist(const P& problem, const S* placements, const Limb& limb) {
  if (limb.n_beyond == 0) return false;
  const S* center = origin_of(placements, limb.beyond[limb.n_beyond - 1]);
  for (int k = 0; k < limb.n_beyond; ++k) {
    const int i = limb.beyond[k];
    S arm[3], axis[3];
    subtract(center, origin_of(placements, i), arm);
    axis_of(placements, i, axis);
    if (problem.body[i].kind == REVOLUTE) cross(arm, axis, arm);
    if (length(arm) > S(1e-6) * S(problem.scale)) return false;
  }
  return true;
}

// rotates the wrist so that the frame at R (after `moved`) has the target rotation
template <class S, class P> POISE_LARGE_FN void turn_wrist(const P& problem, const Limb& limb, const S* moved,
                                                           const GoalPlace<S>& at, const S* wanted,
                                                           SearchState<S>& state) {
  S M[9], F[9], turned[9];
  multiply(moved, at.R, F);
  clear_pull(M);
  pull_frame(S(1), F, wanted, M);
  for (int k = 0; k < limb.n_beyond; ++k) {
    const int i = limb.beyond[k];
    if (problem.body[i].kind != BALL) continue;
    S R[9], *w = state.dq + problem.body[i].v_index;
    best_ball(M, 8, R);
    log_of_matrix(R, w);
    multiply(moved, state.placements + 12 * i, turned);
    rotate_back(turned, w, w);
    fit_ball(problem, state, problem.body[i].v_index, w);
    return;
  }
  S axes[3 * MOST_TOGETHER] = {}, low[MOST_TOGETHER] = {}, high[MOST_TOGETHER] = {}, x[MOST_TOGETHER];
  for (int k = 0; k < limb.n_beyond; ++k) {
    axis_of(state.placements, limb.beyond[k], axes + 3 * k);
    rotate(moved, axes + 3 * k, axes + 3 * k);
    room_of(problem, state, limb.beyond[k], low[k], high[k]);
  }
  best_hinges(M, limb.n_beyond, axes, low, high, x);
  for (int k = 0; k < limb.n_beyond; ++k) set_turn(problem, limb.beyond[k], x[k], state);
}

// ---------------------------------------------------------------------------------------------- the limb

// The whole limb of one goal into state.dq. True if no range limited it; `softened` if it should stop short of the
// target.
template <class S, class P> POISE_LARGE_FN bool solve_limb(const P& problem, const Settings<real_t<S>>& settings,
                                                           const Limb& limb, int g, GoalPlace<S>& at,
                                                           SearchState<S>& state, bool& softened) {
  const auto& goal = problem.goals[g];
  const S* o = origin_of(state.placements, limb.shoulder[0]);
  const S* e = origin_of(state.placements, limb.elbow);
  const bool poses = goal.op == GOAL_POSE && has_wrist(problem, state.placements, limb);
  S axis[3], end[3], t[3], wanted[9], arm[3];
  axis_of(state.placements, limb.elbow, axis);
  wanted_point(goal, at, S(problem.scale), t);
  for (int k = 0; k < 3; ++k) end[k] = at.p[k];
  if (poses) {
    // the wrist moves to where it carries the frame to its target
    wanted_rotation(goal, at, wanted);
    for (int k = 0; k < 3; ++k) end[k] = origin_of(state.placements, limb.beyond[limb.n_beyond - 1])[k];
    subtract(at.p, end, arm);
    rotate_back(at.R, arm, arm);
    rotate(wanted, arm, arm);
    subtract(t, arm, t);
  }

  // how far to bend
  S line[3], low, high, bent[9], M[9], R[9], done[9];
  subtract(t, o, line);
  S d = length(line);
  if (!(d > S(0))) return false;
  for (int k = 0; k < 3; ++k) line[k] /= d;
  const Bend<S> bend = bend_of(e, axis, o, end);
  const S longest = square_root(bend.square + S(2) * square_root(bend.a * bend.a + bend.b * bend.b));
  const S soft = soften(d, longest, S(settings.options[SOFTEN]));
  room_of(problem, state, limb.elbow, low, high);
  const S x = elbow_turn(bend, soft, low, high);
  bool exact = set_turn(problem, limb.elbow, x, state);
  rotation_about(axis, clamped(x, low, high), bent);
  const S still[3] = {S(0), S(0), S(0)};
  S before[3];
  subtract(end, o, before);
  move_point(bent, e, still, end);

  // onto the target, and the elbow towards the pole
  S reach[3], elbow[3];
  subtract(end, o, reach);
  clear_pull(M);
  pull_point(S(1), reach, line, M);
  best_ball(M, 1, R);
  const S pole[3] = {S(settings.options[POLE]), S(settings.options[POLE + 1]), S(settings.options[POLE + 2])};
  const bool poled = dot(pole, pole) > S(0);
  if (poled) {
    S swivel[9];
    subtract(e, o, elbow);
    rotate(R, elbow, elbow);
    rotation_about(line, pole_share(before, line, pole) * pole_turn(line, elbow, pole), swivel);
    multiply(swivel, R, R);
  } else if (goal.op == GOAL_POSE && limb.n_beyond < 3) {
    // the wrist alone cannot provide the rotation: the elbow's rotation about the line contributes
    S F[9], swivel[9], T[9];
    multiply(bent, at.R, F);
    multiply(R, F, F);
    wanted_rotation(goal, at, T);
    clear_pull(M);
    pull_frame(S(1), F, T, M);
    rotation_about(line, best_hinge(M, line, -pi_of<S>, pi_of<S>), swivel);
    multiply(swivel, R, R);
  }
  exact = turn_shoulder(problem, limb, R, line, !poled, done, state) && exact;
  multiply(done, bent, bent);
  if (poses) turn_wrist(problem, limb, bent, at, wanted, state);

  // CCD, if needed, works on the softened target
  for (int k = 0; k < 3; ++k) at.target_p[k] += (soft - d) * line[k];
  softened = softened || soft < d;
  return exact;
}

// marks the velocities of a limb
template <class S, class P> POISE_LARGE_FN void mark_limb(const P& problem, const Limb& limb, S* marks) {
  const auto mark = [&](int i) {
    for (int k = 0; k < width_of(problem.body[i].kind); ++k) marks[problem.body[i].v_index + k] = S(1);
  };
  for (int k = 0; k < limb.n_shoulder; ++k) mark(limb.shoulder[k]);
  for (int k = 0; k < limb.n_beyond; ++k) mark(limb.beyond[k]);
  mark(limb.elbow);
}

// One step: the exact limbs, then, if ranges have limited them, sweeps of CCD over them. False if nothing moves any
// more.
template <class S, class P> POISE_LARGE_FN bool sweep_two_bone(const P& problem, const Settings<real_t<S>>& settings,
                                                               const S* targets, SearchState<S>& state) {
  S *cut = state.extra, *marks = state.work.inverse_D;
  auto* places = reinterpret_cast<GoalPlace<S>*>(state.extra + 1);
  if (state.steps == 0) *cut = S(0);
  find_room(problem, settings, state);
  load_goals(problem, state.placements, targets, places);
  for (int c = 0; c < problem.n_v; ++c) {
    state.dq[c] = clamped(S(0), state.work.low[c], state.work.high[c]);
    marks[c] = S(0);
  }
  bool exact = true, softened = false;
  for (int g = 0; g < problem.goals.count(); ++g) {
    Limb limb;
    if (!find_limb(problem, state.placements, g, limb)) continue;
    mark_limb(problem, limb, marks);
    exact = solve_limb(problem, settings, limb, g, places[g], state, softened) && exact;
    exact = exact && problem.goals[g].op == GOAL_POSITION;
  }
  if (!(*cut > S(0))) {
    if (size_of_step(problem, state.dq) > S(1e-9)) {
      // a start nearer to the full target is not the answer to the softened one
      if (softened && state.steps == 0) state.best_cost = S(1e30);
      return true;
    }
    if (exact) return false;  // out of reach, or softened: there is no better pose
    *cut = S(1);
  }
  for (int c = 0; c < problem.n_v; ++c) {
    const S most = !(marks[c] > S(0)) ? S(0) : problem.freedoms[c].angular ? S(1) : S(problem.scale);
    state.work.low[c] = clamped(state.work.low[c], -most, most);
    state.work.high[c] = clamped(state.work.high[c], -most, most);
  }
  descend_joints(problem, false, targets, places, state);
  return size_of_step(problem, state.dq) > S(1e-9);
}

}  // namespace poise
