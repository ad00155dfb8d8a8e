// kinematics.h: forward kinematics and the Jacobian, each for ONE pose; no allocation, no recursion.
//
// Two traversals of the body:
// - `up`, from a frame to the root, for queries about one frame. Nothing is stored: the transform from the current
//   joint to the frame grows on the left, and gives the joint's column in the frame's own axes (the adjoint method,
//   Murray, Li and Sastry 1994, eq. 3.56).
// - `down`, from the root over all primitives, for the whole body; 12 numbers of workspace each.
// Jacobians are (6, n_v) row-major, [linear; angular].
#pragma once
#include "kernels/body/motion.h"

namespace poise {

enum Reference : int { WORLD = 0, LOCAL = 1, SPATIAL = 2 };

// ---------------------------------------------------------------------------------------------- forward kinematics

// T_world_frame as R and p
template <class S, class Body, class F>
POISE_FN void frame_fk(const Body& body, const F& frame, const S* q, S* R, S* p) {
  start_at<S>(frame, nullptr, R, p);
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    move_left(body[i], q, R, p);
    place_left(body[i], R, p);
  }
}

// placement of primitive i (12 numbers, R then p) from its parent's, and the sine and cosine of its angle
template <class S, class Body>
POISE_FN void place_turned(const Body& body, int i, const S* q, S s, S c, S* placements) {
  const auto& b = body[i];
  S R[9], p[3];  // in registers until complete
  if (b.parent < 0) {
    start_at<S>(b, nullptr, R, p);
  } else {
    const S* up = placements + 12 * b.parent;
    turn_right(up, b, R);
    const S offset[3] = {S(b.p[0]), S(b.p[1]), S(b.p[2])};
    rotate(up, offset, p);
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) p[k] += up[9 + k];
  }
  move_right(b, q, s, c, R, p);
  S* out = placements + 12 * i;
  POISE_UNROLL
  for (int k = 0; k < 9; ++k) out[k] = R[k];
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) out[9 + k] = p[k];
}

// placement of primitive i from its parent's
template <class S, class Body> POISE_FN void place_one(const Body& body, int i, const S* q, S* placements) {
  S s = S(real_t<S>(0)), c = s;
  if (is_hinge(body[i].kind)) sine_cosine(coordinate_of(body[i], q), s, c);
  place_turned(body, i, q, s, c, placements);
}

// Computes the sines and cosines of all hinges and stores them in the memory of their placements: independent of each
// other, they can be computed in parallel.
template <class S, class Body> POISE_FN void turn_all(const Body& body, const S* q, S* placements) {
  using T = real_t<S>;
  using Row = typename Strip<S>::Row;
  constexpr int W = Strip<S>::width;
  const int n = body.count();
  S most = S(T(0));
  for (int first = 0; first < n; first += W) {
    S x[W], s[W], c[W];
    Row rows[3];
    POISE_UNROLL
    for (int k = 0; k < W; ++k) {
      const int i = first + k < n ? first + k : first;
      x[k] = is_hinge(body[i].kind) ? coordinate_of(body[i], q) : S(T(0));
      most = maximum(most, absolute(x[k]));
    }
    gather_row(x, rows[0]);
    near_sine_cosine(rows[0], rows[1], rows[2]);
    scatter_row(rows[1], s);
    scatter_row(rows[2], c);
    for (int k = 0; k < W && first + k < n; ++k) {
      placements[12 * (first + k)] = s[k];
      placements[12 * (first + k) + 1] = c[k];
    }
  }
  if (!any(most > S(TrigTable<T>::largest))) return;
  for (int i = 0; i < n; ++i) {
    if (is_hinge(body[i].kind)) {
      sine_cosine(coordinate_of(body[i], q), placements[12 * i], placements[12 * i + 1]);
    }
  }
}

// placements of all primitives
template <class S, class Body> POISE_FN void place_all(const Body& body, const S* q, S* placements) {
  if constexpr (has_device_trig) {
    POISE_UNROLL_BODY
    for (int i = 0; i < body.count(); ++i) place_one(body, i, q, placements);
  } else {
    turn_all(body, q, placements);
    POISE_UNROLL_BODY
    for (int i = 0; i < body.count(); ++i) {
      place_turned(body, i, q, placements[12 * i], placements[12 * i + 1], placements);
    }
  }
}

// takes the factor out of the R of a frame below a scale, and adds the point, which does not grow, to p
template <class S, class F> POISE_LARGE_FN void place_scaled(const F& frame, S* R, S* p) {
  if constexpr (requires { frame.point; }) {
    const S per_size = S(real_t<S>(1)) / size_of(R);
    for (int k = 0; k < 9; ++k) R[k] *= per_size;
    S point[3] = {S(frame.point[0]), S(frame.point[1]), S(frame.point[2])};
    rotate(R, point, point);
    for (int k = 0; k < 3; ++k) p[k] += point[k];
  }
}

// T_world_frame from the placements
template <class S, class F> POISE_FN void frame_from(const F& frame, const S* placements, S* R, S* p) {
  start_at<S>(frame, nullptr, R, p);
  if (frame.primitive < 0) return;
  const S* up = placements + 12 * frame.primitive;
  multiply(up, R, R);
  rotate(up, p, p);
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) p[k] += up[9 + k];
  if (is_scaled(frame)) place_scaled(frame, R, p);
}

// its origin alone, which a scale moves
template <class S, class F> POISE_FN void origin_from(const F& frame, const S* placements, S* p) {
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) p[k] = S(frame.p[k]);
  if (frame.primitive < 0) return;
  const S* up = placements + 12 * frame.primitive;
  rotate(up, p, p);
  POISE_UNROLL
  for (int k = 0; k < 3; ++k) p[k] += up[9 + k];
}

// its point alone: the origin or, below a scale, a point that does not grow with it
template <class S, class F> POISE_FN void point_from(const F& frame, const S* placements, S* p) {
  if (is_scaled(frame)) {
    S R[9];
    frame_from(frame, placements, R, p);
  } else {
    origin_from(frame, placements, p);
  }
}

// ---------------------------------------------------------------------------------------------- columns on the way up

// the column of axis k (0, 1, 2: x, y, z) of a joint relative to which the frame is at (R, p), in the frame's own axes
template <class S> POISE_FN void turning_column(const S* R, const S* p, int k, S* column) {
  S axis[3] = {S(real_t<S>(k == 0)), S(real_t<S>(k == 1)), S(real_t<S>(k == 2))};
  S sweep[3];
  cross(axis, p, sweep);
  rotate_back(R, sweep, column);
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) column[3 + r] = R[3 * k + r];
}

// a twist (v, w) in the axes of a joint relative to which the frame is at (R, p), in the frame's own axes
template <class S> POISE_FN void local_twist(const S* v, const S* w, const S* R, const S* p, S* column) {
  S sweep[3];
  cross(w, p, sweep);
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) sweep[r] += v[r];
  rotate_back(R, sweep, column);
  rotate_back(R, w, column + 3);
}

// the columns of a primitive (one, or three for a ball), each 6 numbers in the frame's own axes, scaled by the gain
template <class S, class P>
POISE_FN int local_columns(const P& primitive, const S* q, const S* R, const S* p, S* columns) {
  using T = real_t<S>;
  if (is_path(primitive)) {
    CurvePoint<S> at;
    point_of_path(primitive, q, at);
    local_twist(at.v, at.w, R, p, columns);
    return 1;
  }
  if (primitive.kind == BALL) {
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) turning_column(R, p, k, columns + 6 * k);
    return 3;
  }
  if (primitive.kind == SLIDE3) {
    POISE_UNROLL
    for (int k = 0; k < 9; ++k) {
      columns[6 * (k / 3) + k % 3] = R[k];
      columns[6 * (k / 3) + 3 + k % 3] = S(T(0));
    }
    return 3;
  }
  const S gain = S(primitive.gain);
  if (is_scale(primitive)) {
    rotate_back(R, p, columns);
    for (int r = 0; r < 3; ++r) {
      columns[r] *= gain;
      columns[3 + r] = S(T(0));
    }
    return 1;
  }
  if (primitive.kind == PRISMATIC) {
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) {
      columns[r] = gain * R[6 + r];
      columns[3 + r] = S(T(0));
    }
    return 1;
  }

  // z x p = (-p1, p0, 0), in the frame's axes
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {
    S linear = p[0] * R[3 + r] - p[1] * R[r];
    if (primitive.kind == SCREW) linear += S(primitive.pitch) * R[6 + r];
    columns[r] = gain * linear;
    columns[3 + r] = gain * R[6 + r];
  }
  return 1;
}

// the product of the scales above a frame
template <class S, class Body, class F> POISE_FN S factor_above(const Body& body, const F& frame, const S* q) {
  S product = S(real_t<S>(1));
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    if (is_scale(body[i])) product *= factor_of(body[i], q);
  }
  return product;
}

// local_columns in world lengths, for a walk to the root that passes scales. `above` is the product of the scales from
// here to the root; a scale that is passed is divided out.
template <class S, class P>
POISE_FN int sized_columns(const P& primitive, const S* q, const S* R, const S* p, S& above, S* columns) {
  if (is_scale(primitive)) above /= factor_of(primitive, q);
  const int n = local_columns(primitive, q, R, p, columns);
  for (int k = 0; k < n; ++k) {
    for (int r = 0; r < 3; ++r) columns[6 * k + r] *= above;
  }
  return n;
}

// a twist in a frame's own axes, from its origin to a point in them
template <class S> POISE_FN void shift_twist(const real_t<S>* point, S* twist) {
  if (!point) return;
  const S arm[3] = {S(point[0]), S(point[1]), S(point[2])};
  S sweep[3];
  cross(twist + 3, arm, sweep);
  for (int r = 0; r < 3; ++r) twist[r] += sweep[r];
}

// one column of J, from the frame's own axes to `reference`
template <class S> POISE_FN void refer_column(int reference, const S* R, const S* p, int n_v, S* column) {
  S v[3] = {column[0], column[n_v], column[2 * n_v]};
  S w[3] = {column[3 * n_v], column[4 * n_v], column[5 * n_v]};
  rotate(R, v, v);
  rotate(R, w, w);
  if (reference == SPATIAL) {
    S shift[3];
    cross(p, w, shift);
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) v[r] += shift[r];
  }
  POISE_UNROLL
  for (int r = 0; r < 3; ++r) {
    column[r * n_v] = v[r];
    column[(3 + r) * n_v] = w[r];
  }
}

// the columns of J on the path to `frame`, from the frame's own axes to `reference`; each once, even if joints share it
template <class S, class Body, class F>
POISE_FN void refer(const Body& body, const F& frame, int reference, const S* R, const S* p, int n_v, S* J) {
  if (reference == LOCAL) return;
  if (body.shared_columns) {
    for (int c = 0; c < n_v; ++c) refer_column(reference, R, p, n_v, J + c);
    return;
  }
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    for (int k = 0; k < width_of(body[i].kind); ++k) refer_column(reference, R, p, n_v, J + body[i].v_index + k);
  }
}

// Walks up from a frame below a scale: calls visit(i, n, columns, above) for every primitive, with its n columns at the
// frame's origin. (R, p) is the frame relative to the current primitive, and finally T_world at `point`.
template <class S, class Body, class F, class Visit> POISE_FN void walk_up(const Body& body, const F& frame,
                                                                           const real_t<S>* point, const S* q, S* R,
                                                                           S* p, const Visit& visit) {
  S columns[18], above = factor_above(body, frame, q);
  start_at<S>(frame, nullptr, R, p);
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    visit(i, sized_columns(body[i], q, R, p, above, columns), columns, above);
    move_left(body[i], q, R, p);
    place_left(body[i], R, p);
  }
  if (!point) return;
  S arm[3] = {S(point[0]), S(point[1]), S(point[2])};
  rotate(R, arm, arm);
  for (int r = 0; r < 3; ++r) p[r] += arm[r];
}

// frame_jacobian below a scale
template <class S, class Body, class F> POISE_LARGE_FN void scaled_jacobian(const Body& body, const F& frame,
                                                                            const real_t<S>* point, int reference,
                                                                            const S* q, int n_v, S* J) {
  S R[9], p[3];
  walk_up(body, frame, point, q, R, p, [&](int i, int n, S* columns, S) {
    for (int k = 0; k < n; ++k) {
      shift_twist(point, columns + 6 * k);
      for (int r = 0; r < 6; ++r) J[r * n_v + body[i].v_index + k] += columns[6 * k + r];
    }
  });
  refer(body, frame, reference, R, p, n_v, J);
}

// Jacobian (6, n_v) of `point` (in the frame's coordinates) of `frame`
template <class S, class Body, class F> POISE_FN void frame_jacobian(const Body& body, const F& frame,
                                                                     const real_t<S>* point, int reference, const S* q,
                                                                     int n_v, S* J) {
  for (int k = 0; k < 6 * n_v; ++k) J[k] = S(real_t<S>(0));
  if (is_scaled(frame)) return scaled_jacobian(body, frame, point, reference, q, n_v, J);
  S R[9], p[3], columns[18];
  start_at<S>(frame, point, R, p);
  for (int i = frame.primitive; i >= 0; i = body[i].parent) {
    const auto& b = body[i];
    const int n = local_columns(b, q, R, p, columns);
    for (int k = 0; k < n; ++k) {
      POISE_UNROLL
      for (int r = 0; r < 6; ++r) J[r * n_v + b.v_index + k] += columns[6 * k + r];
    }
    move_left(b, q, R, p);
    place_left(b, R, p);
  }
  refer(body, frame, reference, R, p, n_v, J);
}

}  // namespace poise
