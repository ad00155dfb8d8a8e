// chain.h: the problem of an arm, known at compile time except for its numbers: N consecutive hinges, one target
// transform.
//
// Kernels are templates over the problem. Here its structure (kinds, parents, indices, the goal's frame) is constant,
// so that nothing is looked up and loops have a known length; the numbers are read from the arrays of the general
// problem.
#pragma once
#include "kernels/problem/problem.h"

namespace poise {

template <class T> struct ChainHinge {
  static constexpr int kind = REVOLUTE;
  int parent, subtree_end, q_index, v_index, turn;
  T gain, bias, pitch;
  const T *R, *p;
};

template <class T, int N> struct ChainBody {
  using Real = T;
  static constexpr bool shared_columns = false;
  static constexpr int n_q = N, n_v = N;
  const Primitive<T>* primitives;
  POISE_FN static constexpr int count() { return N; }
  POISE_FN ChainHinge<T> operator[](int i) const {
    const Primitive<T>& b = primitives[i];
    return {i - 1, N, i, i, b.turn, b.gain, b.bias, T(0), b.R, b.p};
  }
};

template <class T> struct ChainFreedom {
  static constexpr int angular = 1;
  static constexpr T unit2 = T(1);
  int q_index;
  T lower, upper, weight;
};

template <class T> struct ChainFreedoms {
  const Freedom<T>* all;
  POISE_FN ChainFreedom<T> operator[](int i) const { return {i, all[i].lower, all[i].upper, all[i].weight}; }
};

struct ChainCoordinates {
  POISE_FN constexpr Coordinate operator[](int i) const { return {i, i, 0}; }
};

template <class T> struct ChainGoal {
  static constexpr int op = GOAL_POSE, frame = 0, base = -1, first_row = 0, target = 0, exact = 0, level = 0, local = 0,
                       ranged = 0, n_rows = 6;
  const T *weight, *tolerance;
};

template <class T, int N> struct ChainFrame {
  static constexpr int primitive = N - 1;
  const T *R, *p;
};

template <class T, int N> struct ChainFrames {
  const FrameData<T>* tool;
  POISE_FN ChainFrame<T, N> operator[](int) const { return {tool->R, tool->p}; }
};

template <class T, int N> struct ChainGoals {
  const GoalSpec<T>* spec;
  const FrameData<T>* tool;
  POISE_FN static constexpr int count() { return 1; }
  POISE_FN ChainGoal<T> operator[](int) const { return {spec->weight, spec->tolerance}; }
  POISE_FN ChainFrames<T, N> frames() const { return {tool}; }
};

template <class T, int N> struct ChainProblem {
  using Real = T;
  static constexpr int n_coordinates = N, n_q = N, n_v = N, n_rows = 6;
  ChainBody<T, N> body;
  ChainGoals<T, N> goals;
  ChainCoordinates coordinates;
  ChainFreedoms<T> freedoms;
  T scale;
};

// whether a general problem is such a chain of N; its configuration may have further numbers after those of the chain
template <int N, class P> POISE_FN bool is_chain(const P& problem) {
  if (problem.body.count() != N || problem.n_v != N || problem.n_rows != 6 || problem.goals.count() != 1) return false;
  const auto& goal = problem.goals[0];
  bool same = goal.op == GOAL_POSE && goal.base < 0 && !goal.local && !goal.exact && !goal.ranged &&
              problem.goals.frames()[goal.frame].primitive == N - 1 && problem.n_coordinates == N;
  for (int i = 0; i < N && same; ++i) {
    const auto& b = problem.body[i];
    const auto& f = problem.freedoms[i];
    const Coordinate& c = problem.coordinates[i];
    same = b.kind == REVOLUTE && b.parent == i - 1 && b.q_index == i && b.v_index == i && f.q_index == i && f.angular &&
           c.q_index == i && c.v_index == i && !c.quaternion;
  }
  return same;
}

template <int N, class P> POISE_FN ChainProblem<typename P::Real, N> as_chain(const P& problem) {
  return {{problem.body.primitives},
          {&problem.goals[0], problem.goals.frames() + problem.goals[0].frame},
          {},
          {problem.freedoms},
          problem.scale};
}

}  // namespace poise
