// newton.h: Newton's step of a cost that is missed, where the damped step creeps. Part of solve.cpp.
//
// A missed goal is a minimum of large residuals: there J^T J says little about how the cost bends. Newton's step solves
//
//   (J^T J - sum_i r_i d2(row_i)/dq2) x = J^T r   over what is free
//
// by conjugate gradients, which leave alone what nothing bends (Dembo and Steihaug 1983), and with the products of that matrix from
// differences of J^T r: so every kind of goal has them. What is free, and how far, is the caller's business: joints off their bounds
// (polish.h), or what the levels above leave (strict/newton.h). Rows above a level are kept as they are by multipliers, which take their
// place in r: then it is the Lagrangian that bends, and a step along what is curved stays on it to second order.
#pragma once
#include "run/running.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

constexpr double creeps = 0.8;            // a step that leaves more than this of the cost
constexpr double difference_step = 1e-6;  // radians or lengths of the body

// What the search for one step needs, cut from solver.newton; a stride of numbers each (row_basis.h).
struct NewtonWork {
  S *pull, *left, *way,
      *bent;               // J^T r of what is free, what is left of it, the direction, the matrix times the direction
  S *sum, *fixed;          // the step, and that of the joints that go to their bound
  S* aimed;                // what is free of what is left
  S* given;                // n_rows: what stands for r in the rows above the level
  int first, last, goals;  // the level's rows, and the goals up to it
};

NewtonWork newton_work(SolverData& solver, int first, int last, int goals) {
  S* at = solver.newton.data();
  const int n = hierarchy_stride(solver.n_v);
  return {at, at + n, at + 2 * n, at + 3 * n, at + 4 * n, at + 5 * n, at + 6 * n, at + 7 * n, first, last, goals};
}

// out = J^T r at the pose that was evaluated and assembled last
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

// w.bent = the matrix times w.way, from J^T r a little along it; `from` is where the step begins. `scale`, where there is one, is the
// measure of the vectors.
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

// how a step along a direction ends
enum class Met : int { NOTHING, BOUND, END };

// Adds to w.sum what makes w.left zero over what is free, as far as `precise` of it. The space says what that is:
//   aim(left, way)           way = what is free of left, in the measure that the directions are compared in
//   bend()                   the product
//   square_of(way)           the square of its length in that measure
//   flattest()               of the largest curvature seen: less is rounding
//   meet(curve, least, share)  the share of w.way that is taken, where it is not flat; a bound that it meets is not free from now on
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
