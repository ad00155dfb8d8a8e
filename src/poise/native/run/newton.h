// newton.h: Newton's step for a missed goal, used if the damped step converges slowly. Part of solve.cpp.
//
// A missed goal is a minimum with large residuals, where J^T J is a poor Hessian. Newton's step solves
//
//   (J^T J - sum_i r_i d2(row_i)/dq2) x = J^T r   over the free directions
//
// by conjugate gradients, which ignore directions without curvature (Dembo and Steihaug 1983). The matrix products come
// from differences of J^T r, so they work for every kind of goal. The caller defines the free directions: joints off
// their bounds (polish.h), or the null space of the levels above (strict/newton.h). Multipliers keep the rows above a
// level unchanged and replace them in r: the Hessian is then that of the Lagrangian, and a step along a curved
// constraint stays on it to second order.
#pragma once
#include "run/running.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

constexpr double creeps = 0.8;            // a step is slow if it leaves more than this of the cost
constexpr double difference_step = 1e-6;  // rad or lengths of the body

// The memory of one step, taken from solver.newton; each array has one stride (row_basis.h).
struct NewtonWork {
  S *pull, *left, *way,
      *bent;               // free part of J^T r, its remainder, the direction, the matrix times the direction
  S *sum, *fixed;          // the step, and the step of the joints that go to their bound
  S* aimed;                // the free part of the remainder
  S* given;                // n_rows: replaces r in the rows above the level
  int first, last, goals;  // the level's rows, and the number of goals up to it
};

NewtonWork newton_work(SolverData& solver, int first, int last, int goals) {
  S* at = solver.newton.data();
  const int n = hierarchy_stride(solver.n_v);
  return {at, at + n, at + 2 * n, at + 3 * n, at + 4 * n, at + 5 * n, at + 6 * n, at + 7 * n, first, last, goals};
}

// out = J^T r at the pose evaluated and assembled last
void pull_of(const SolverData& solver, const NewtonWork& w, S* out) {
  const SearchState<S>& s = solver.state;
  const int m = solver.n_rows;
  for (int c = 0; c < solver.n_v; ++c) {
    S sum = 0.0;
    for (int r = 0; r < w.first; ++r) sum += s.J[c * m + r] * w.given[r];
    for (int r = w.first; r < w.last; ++r) sum += s.J[c * m + r] * s.rows[r];
    out[c] = sum;
  }
}

S motion_of(const SolverData& solver, const S* x) {
  S most = 0.0;
  for (int c = 0; c < solver.n_v; ++c) {
    const auto& f = solver.freedoms[static_cast<std::size_t>(c)];
    most = maximum(most, absolute(x[c]) / (f.angular ? 1.0 : solver.scale));
  }
  return most;
}

// w.bent = the matrix times w.way, from J^T r a little along it, starting at `from`. `scale`, if given, is the metric
// of the vectors.
void bend(SolverData& solver, const NewtonWork& w, const S* from, const S* scale) {
  SearchState<S>& s = solver.state;
  auto problem = solver.problem();
  problem.goals.n = w.goals;
  for (int c = 0; c < solver.n_v; ++c) s.dq[c] = w.way[c] * (scale ? scale[c] : 1.0);
  const S length = motion_of(solver, s.dq), share = length > 0.0 ? difference_step / length : 0.0;
  for (int c = 0; c < solver.n_v; ++c) s.dq[c] *= share;
  copy_configuration(problem, from, s.q);
  take_step(problem, from, s.dq, false, s.q);
  look(solver, w.goals);
  assemble_up_to(solver, w.goals, nullptr);
  pull_of(solver, w, w.bent);
  for (int c = 0; c < solver.n_v; ++c)
    w.bent[c] = share > 0.0 ? (w.pull[c] - w.bent[c] * (scale ? scale[c] : 1.0)) / share : 0.0;
}

// the result of a step along a direction
enum class Met : int { NOTHING, BOUND, END };

// Adds to w.sum the step that makes w.left zero over the free directions, up to `precise` of it. The space defines:
//   aim(left, way)           way = the free part of left, in the metric of the directions
//   bend()                   the matrix product
//   square_of(way)           its squared length in that metric
//   flattest()               relative to the largest curvature: less is rounding
//   meet(curve, least, share)  the share of w.way to take, unless it is flat; a bound that is met becomes fixed
template <class Space>
void conjugate(SolverData& solver, const NewtonWork& w, Space& space, int most, S precise, Clock::time_point begun) {
  const int n = solver.n_v;
  const auto product = [&](const S* a, const S* b) {
    S sum = 0.0;
    for (int c = 0; c < n; ++c) sum += a[c] * b[c];
    return sum;
  };
  space.aim(w.left, w.way);
  S square = product(w.left, w.way), begin = square, steepest = 0.0;
  for (int k = 0; k < most && square > precise * precise * begin && !late(solver, begun); ++k) {
    space.bend();
    const S curve = product(w.way, w.bent), norm = space.square_of(w.way);
    steepest = maximum(steepest, curve / norm);
    const S least = space.flattest() * maximum(steepest, -curve / norm) * norm;
    S share = curve > least ? square / curve : 0.0;
    const Met met = space.meet(curve, least, share);
    for (int c = 0; c < n; ++c) {
      w.sum[c] += share * w.way[c];
      w.left[c] -= share * w.bent[c];
    }
    if (met == Met::END) return;
    space.aim(w.left, w.aimed);
    const S next = product(w.left, w.aimed), share_of_last = met == Met::BOUND ? 0.0 : next / square;
    for (int c = 0; c < n; ++c) w.way[c] = w.aimed[c] + share_of_last * w.way[c];
    square = next;
    if (met == Met::BOUND) begin = next;
  }
}

}  // namespace
}  // namespace POISE_LEVEL
}  // namespace poise
