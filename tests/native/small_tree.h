// small_tree.h: a small problem as compile-time constants, for tests of rules on the CPU and by NVRTC.
//
// The tree: a hinge, a ball on it, and on the ball two branches: a hinge with a mimic follower, and a slide. Two goals (a pose
// and a point), a posture, bounds. Body and goals are compile-time constants, as the GPU wants them; numbers come in as arrays.
#pragma once
#include "kernels/loop/search.h"

namespace small_tree {

using namespace poise;

constexpr int n_primitives = 5, n_q = 7, n_v = 6, n_rows = 9, n_goals = 2;

template <class T> struct Body {
  bool shared_columns = true;
  POISE_FN constexpr int count() const { return n_primitives; }
  POISE_FN constexpr Primitive<T> operator[](int i) const {
    // kind, parent, subtree_end, q, v, turn, scaled, gain, bias, pitch, R, p
    const Primitive<T> all[n_primitives] = {
        {REVOLUTE, -1, 5, 0, 0, 0, false, T(1), T(0), T(0), {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, T(0.3)}},
        {BALL, 0, 5, 1, 1, 0, false, T(1), T(0), T(0), {1, 0, 0, 0, 1, 0, 0, 0, 1}, {T(0.4), 0, 0}},
        {REVOLUTE, 1, 4, 5, 4, 1, false, T(1), T(0), T(0), {0, 1, 0, 0, 0, 1, 1, 0, 0}, {T(0.5), 0, 0}},
        {REVOLUTE, 2, 4, 5, 4, 0, false, T(0.5), T(0.1), T(0), {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, T(0.4)}},
        {PRISMATIC, 1, 5, 6, 5, 2, false, T(1), T(0), T(0), {0, 0, 1, 1, 0, 0, 0, 1, 0}, {0, T(0.5), 0}},
    };
    return all[i];
  }
};

template <class T> struct Goals {
  struct Frames {
    POISE_FN constexpr FrameData<T> operator[](int i) const {
      const FrameData<T> all[n_goals] = {{3, false, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, T(0.3), 0}},
                                         {4, false, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, T(0.2)}}};
      return all[i];
    }
  };
  POISE_FN constexpr int count() const { return n_goals; }
  POISE_FN constexpr Frames frames() const { return {}; }
  POISE_FN constexpr GoalSpec<T> operator[](int i) const {
    const GoalSpec<T> all[n_goals] = {
        {GOAL_POSE, 0, -1, 0, 0, 0, {1, 1, 1, T(0.5), T(0.5), T(0.5)}, {T(1e-4), T(1e-3)}},
        {GOAL_POSITION, 1, -1, 6, 12, 0, {1, 1, 1, 0, 0, 0}, {T(1e-4), T(1e-3)}}};
    return all[i];
  }
};

struct Coordinates {
  POISE_FN constexpr Coordinate operator[](int i) const {
    const Coordinate all[4] = {{0, 0, 0}, {1, 1, 1}, {5, 4, 0}, {6, 5, 0}};
    return all[i];
  }
};

template <class T> struct Freedoms {
  POISE_FN constexpr Freedom<T> operator[](int i) const {
    const T none = T(1e30);
    const Freedom<T> all[n_v] = {
        freedom(0, true, T(-2), T(2), T(1), T(1)),   freedom(-1, true, -none, none, T(1), T(1)),
        freedom(-1, true, -none, none, T(1), T(1)),  freedom(-1, true, -none, none, T(1), T(1)),
        freedom(5, true, T(-1), T(1.5), T(2), T(1)), freedom(6, false, T(-0.2), T(0.2), T(1), T(1))};
    return all[i];
  }
};

template <class T> struct Problem {
  using Real = T;
  Body<T> body;
  Goals<T> goals;
  Coordinates coordinates;
  Freedoms<T> freedoms;
  static constexpr int n_coordinates = 4;
  static constexpr int n_q = small_tree::n_q, n_v = small_tree::n_v, n_rows = small_tree::n_rows;
  T scale = T(1);
};

}  // namespace small_tree
