// lists.cpp: branches of many queries in SIMD lanes, and the errors of many poses. Compiled once per instruction level.
#include "kernels/closed/abreast.h"
#include "kernels/problem/chain.h"
#include "run/batch/batch.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

using S = LanePack<double>;
constexpr int lanes = ScalarTraits<S>::lanes;

// the queries in the lanes of one walk; unused lanes repeat the last query
struct Abreast {
  FamilyTarget<S> target;
  S value, start[7];
};

Abreast gather(int joints, const ListAsk* asks, int count) {
  Abreast out;
  for (int lane = 0; lane < lanes; ++lane) {
    const ListAsk& ask = asks[lane < count ? lane : count - 1];
    for (int k = 0; k < 9; ++k) set_lane(out.target.R[k], lane, ask.target[k]);
    for (int k = 0; k < 3; ++k) set_lane(out.target.p[k], lane, ask.target[9 + k]);
    for (int k = 0; k < joints; ++k) set_lane(out.start[k], lane, ask.start[k]);
    set_lane(out.value, lane, ask.value);
    set_lane(out.target.metres, lane, ask.metres);
    set_lane(out.target.radians, lane, ask.radians);
  }
  return out;
}

// the lanes of a leaf that are not excluded, as poses near their starts
void append(const ListedJoints& joints, const FamilySpec<S>& spec, const Abreast& at, const FamilyLeaf<S>& leaf,
            const ListAsk* asks, int count, ListedRow* out) {
  S values[7], far, slack;
  place_leaf(joints, spec, leaf, at.value, at.start, values, far, slack);
  for (int lane = 0; lane < count; ++lane) {
    ListedRow& row = out[asks[lane].row];
    if (leaf.span.closed.lane(lane) || row.count == row.room) continue;
    ListedPose& pose = row.poses[row.count++];
    pose.far = lane_of(far, lane);
    pose.slack = lane_of(slack, lane);
    pose.branch = leaf.branch;
    for (int k = 0; k < joints.count; ++k) pose.values[k] = lane_of(values[k], lane);
  }
}

void list(const FamilySpec<double>& form, const ListedJoints& joints, const ListAsk* asks, int count, ListedRow* out) {
  const FamilySpec<S> spec = spread_spec<S>(form);
  for (int first = 0; first < count; first += lanes) {
    const ListAsk* own = asks + first;
    const int some = count - first < lanes ? count - first : lanes;
    const Abreast at = gather(joints.count, own, some);
    const FamilyQuestion<S> question = question_of(spec, at.target);
    const FamilyAsked<S> asked = ask_of(question, at.value, S(0.0));
    walk_branches(spec.chain, asked, 1, all_branches, [&](const FamilyLeaf<S>& leaf) {
      append(joints, spec, at, leaf, own, some, out);
      return false;
    });
  }
}

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
const ListOps list_table = {lanes, list, judge};

}  // namespace POISE_LEVEL
}  // namespace poise
