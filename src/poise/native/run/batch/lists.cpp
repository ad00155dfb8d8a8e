// lists.cpp: branches of many queries in SIMD lanes, and the errors of many poses. Compiled once per instruction level.
#include "kernels/problem/chain.h"
#include "run/arc_search.h"
#include "run/batch/batch.h"
#include "run/branch_lists.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

using S = LanePack;
constexpr int lanes = ScalarTraits<S>::lanes;

template <class P> void judge_with(const P& problem, int n_q, const double* target, int stride, const double* poses,
                                   int count, Scratch& scratch, double* errors) {
  const int bodies = problem.body.count();
  S* q = static_cast<S*>(scratch.reserve(sizeof(S) * static_cast<std::size_t>(n_q + 12 * bodies + 12 + 8)));
  S *placements = q + n_q, *asked = placements + 12 * bodies, *rows = asked + 12, *off = rows + 6;
  for (int first = 0; first < count; first += lanes) {
    for (int lane = 0; lane < lanes; ++lane) {
      const int i = first + lane < count ? first + lane : count - 1;
      for (int k = 0; k < n_q; ++k) set_lane(q[k], lane, poses[n_q * i + k]);
      for (int k = 0; k < 12; ++k) set_lane(asked[k], lane, target[stride * i + k]);
    }
    evaluate(problem, q, asked, placements, rows, off);
    for (int lane = 0; lane < lanes && first + lane < count; ++lane) {
      for (int k = 0; k < 2; ++k) errors[2 * (first + lane) + k] = lane_of(off[k], lane);
    }
  }
}

void judge(const SolverData& solver, const double* target, int stride, const double* poses, int count, Scratch& scratch,
           double* errors) {
  const auto whole = solver.problem();
  GoalSpec<double> goal = solver.goals[0];
  goal.target = 0;
  const Problem<double, BodyView<double>, PlainGoals<double>> problem{
      whole.body,        {&goal, solver.frames.data(), 1},
      whole.coordinates, whole.n_coordinates,
      whole.freedoms,    whole.n_q,
      whole.n_v,         whole.n_rows,
      whole.scale};
  if (is_chain<7>(problem)) {
    judge_with(as_chain<7>(problem), solver.n_q, target, stride, poses, count, scratch, errors);
  } else if (is_chain<6>(problem)) {
    judge_with(as_chain<6>(problem), solver.n_q, target, stride, poses, count, scratch, errors);
  } else {
    judge_with(problem, solver.n_q, target, stride, poses, count, scratch, errors);
  }
}

}  // namespace

extern const ListOps list_table;
const ListOps list_table = {
    lanes,          list_packed<S>, list_nearest_packed<S>,           judge,
    search_arcs<S>, place_asked<S>, find_general<NativePack<double>>, choose_variants<NativePack<double>>};

}  // namespace POISE_LEVEL
}  // namespace poise
