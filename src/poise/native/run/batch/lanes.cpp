// lanes.cpp: lanes over the rows of a batch. Compiled once per instruction level.
#include "kernels/problem/chain.h"
#include "run/batch/batch.h"

namespace poise {
namespace POISE_LEVEL {
namespace {

// memory of a pack of searches
template <class S, class P> LaneState<S> allot_lanes(const P& problem, Scratch& scratch, S*& targets, S*& posture) {
  const int q = problem.n_q, v = problem.n_v, m = problem.n_rows, g = problem.goals.count();
  const int triangle = m * (m + 1) / 2;
  const int total =
      3 * q + m + 4 * g + 12 * problem.body.count() + m * v + v + 4 * v + 2 * triangle + 3 * m + 12 * g + q + v;
  S* next = static_cast<S*>(scratch.reserve(sizeof(S) * static_cast<std::size_t>(total)));
  for (int k = 0; k < total; ++k) next[k] = S(real_t<S>(0));
  const auto take = [&next](int size) {
    S* at = next;
    next += size;
    return at;
  };
  LaneState<S> state{};
  SearchState<S>& s = state.at;
  s.q = take(q);
  s.best_q = take(q);
  s.trial_q = take(q);
  s.rows = take(m);
  s.errors = take(2 * g);
  s.best_errors = take(2 * g);
  s.placements = take(12 * problem.body.count());
  s.J = take(m * v);
  s.dq = take(v);
  s.work = {take(v), take(v), take(triangle), take(triangle), take(m), take(m), take(m), take(v), take(v)};
  targets = take(12 * g);
  posture = take(q + v);
  return state;
}

// copies a row's numbers into its lane
template <class S, class P> void fill_lane(const Worker& worker, const Slot& slot, const P& problem, int lane,
                                           bool new_row, LaneState<S>& state, S* targets) {
  for (int k = 0; k < problem.n_q; ++k) set_lane(state.at.q[k], lane, slot.q[k]);
  begin_lane(state, lane);
  if (!new_row) return;
  for (int g = 0; g < problem.goals.count(); ++g) {
    const int source = worker.own.goals[static_cast<std::size_t>(g)].target;
    for (int k = 0; k < 12; ++k) set_lane(targets[12 * g + k], lane, slot.targets[source + k]);
  }
}

template <class S, class P> SearchEnd end_of_lane(Worker& worker, const Slot& slot, const LaneProblem<double>& lanes,
                                                  const P& problem, int lane, const LaneState<S>& state) {
  double* q = worker.end_q.data();
  double* errors = worker.end_errors.data();
  for (int k = 0; k < problem.n_q; ++k) q[k] = lane_of(state.at.best_q[k], lane);
  for (int k = problem.n_q; k < lanes.view.n_q; ++k) q[k] = slot.q[k];  // not part of the problem
  for (int k = 0; k < 2 * problem.goals.count(); ++k) errors[k] = lane_of(state.at.best_errors[k], lane);
  const bool reached = lane_of(state.reached, lane) > 0.5;
  const bool stalled = lane_of(state.idle, lane) > lanes.settings.stall_steps;
  const Outcome outcome = reached ? Outcome::REACHED : stalled ? Outcome::STALLED : Outcome::OUT_OF_STEPS;
  return {reached,
          outcome,
          static_cast<int>(lane_of(state.steps, lane)),
          lane_of(state.at.best_outside, lane),
          lane_of(state.at.best_cost, lane),
          q,
          errors};
}

template <int M, class P> void run_rows(Worker& worker, const LaneProblem<double>& lanes, const P problem) {
  using S = LanePack;
  constexpr int N = ScalarTraits<S>::lanes;
  S *targets, *posture_memory;
  LaneState<S> state = allot_lanes<S>(problem, worker.scratch, targets, posture_memory);
  Posture<S> posture{nullptr, nullptr};
  if (!lanes.posture_gain.empty()) {
    for (int k = 0; k < problem.n_q; ++k) posture_memory[k] = S(lanes.posture_wanted[static_cast<std::size_t>(k)]);
    for (int k = 0; k < problem.n_v; ++k) {
      posture_memory[problem.n_q + k] = S(lanes.posture_gain[static_cast<std::size_t>(k)]);
    }
    posture = {posture_memory, posture_memory + problem.n_q};
  }
  Slot* slots = worker.slots.data();
  int busy = 0;
  const auto give = [&](int lane) {
    slots[lane].busy = take_row(worker, slots[lane]);
    if (!slots[lane].busy) return;
    ++busy;
    fill_lane(worker, slots[lane], problem, lane, true, state, targets);
  };
  for (int lane = 0; lane < N; ++lane) give(lane);
  // ends: every search makes at most max_steps steps, every row has so many searches, and there are so many rows
  while (busy && !is_called_off(worker)) {
    const mask_t<S> done = advance_lanes<M>(problem, lanes.settings, posture, targets, lanes.fraction, state);
    if (!any(done)) continue;
    for (int lane = 0; lane < N; ++lane) {
      if (!done.lane(lane) || !slots[lane].busy) continue;
      if (next_search(worker, slots[lane], end_of_lane(worker, slots[lane], lanes, problem, lane, state))) {
        fill_lane(worker, slots[lane], problem, lane, false, state, targets);
      } else {
        --busy;
        give(lane);
      }
    }
  }
}

void run(Worker& worker, const LaneProblem<double>& lanes) {
  if (is_chain<7>(lanes.view)) {
    run_rows<6>(worker, lanes, as_chain<7>(lanes.view));
  } else if (is_chain<6>(lanes.view)) {
    run_rows<6>(worker, lanes, as_chain<6>(lanes.view));
  } else {
    run_rows<any_rows>(worker, lanes, lanes.view);
  }
}

}  // namespace

extern const BatchOps batch_table;
const BatchOps batch_table = {ScalarTraits<LanePack>::lanes, run};

}  // namespace POISE_LEVEL
}  // namespace poise
