// gpu_entry.h: a batch on a GPU: one thread per row, or a team of threads on the searches of one row.
//
// Passes, without synchronisation with the host:
//   place_rows    instead of search_rows for six joints with a closed form: the nearest branch (gpu_branches.h)
//   search_rows   persistent threads; each takes the next row when done, and abandons a row after a few searches
//   search_again  teams (a warp) search such rows further, where they are few: then most have a pose
//   decide_rows   teams take the missed rows, if a goal has a closed form (gpu_decide.h), which decides most
//   search_hard   a team takes the remaining rows, one search per thread; the lowest search that reaches wins
//   end_rows      checks every pose in double: errors, `reached`, proofs; refines it in double first, if requested
// A batch too small to fill the device goes directly to the teams, which check their rows themselves: one pass.
//
// A problem type P has its sizes as constants (n_q, n_v, n_rows, n_goals, n_primitives) and only the coordinates it
// needs; `P::place(k)` is the index of coordinate k in the model. Teams, queues and memory are arguments, so that the
// same code runs on a CPU, for tests.
#pragma once
#include "kernels/goals/targets.h"
#include "kernels/loop/gpu_posture.h"
#include "kernels/problem/reachable.h"

namespace poise {

// a coordinate of the model that is not part of the problem, and the range to which it is clamped
struct Idle {
  int place;
  double lower, upper;
};

// the rows of a batch in device memory
template <class T, int GOALS> struct DeviceRows {
  using Real = T;
  const void* targets[GOALS];
  long long target_stride[GOALS];  // numbers from one row to the next; 0: the same for all
  bool single[GOALS];              // float, not double
  const void* starts;
  bool start_single;
  long long start_stride;
  int rows;

  T* q;
  double* finished;  // refined poses in double, if not null
  double* errors;
  bool* reached;
  signed char* codes;
  int* steps;
  int* searches;
  float* best;     // 2 per row: the distance outside the ranges, and the cost, of the best pose of the searches so far;
                   // or a SearchKey (gpu_searches.h)
  const T* seeds;  // n_q for each search but the first; if P::relative(k), relative to the start
};

// whether a team of threads solves a row (gpu_team.h)
template <class P> constexpr bool has_teams = requires { P::n_levels; };

// the placements, and the sums of mass after them
template <class P> POISE_FN constexpr int numbers_of_placements() {
  return may_weigh<P>() ? size_of_placements(P::n_primitives) : 12 * P::n_primitives;
}

template <class P, class T> struct SearchMemory {
  static constexpr int m = P::n_rows, n = P::n_v, triangle = m * (m + 1) / 2;
  T q[P::n_q], best_q[P::n_q], rows[m], errors[2 * P::n_goals], best_errors[2 * P::n_goals];
  T placements[numbers_of_placements<P>()], J[m * n], dq[n];
  T inverse_D[n], b[n], A[triangle], L[triangle], pivots[m], y[m], rhs[m], low[n], high[n];
  T targets[P::n_targets], room[may_weigh<P>() ? 2 * m : 1];

  POISE_FN LaneState<T> state() {
    LaneState<T> s{};
    s.at.q = q;
    s.at.best_q = best_q;
    s.at.rows = rows;
    s.at.errors = errors;
    s.at.best_errors = best_errors;
    s.at.placements = placements;
    s.at.J = J;
    s.at.room = may_weigh<P>() ? room : nullptr;
    s.at.dq = dq;
    s.at.work = {inverse_D, b, A, L, pivots, y, rhs, low, high};
    POISE_UNROLL_BODY
    for (int k = 0; k < 12 * P::n_primitives; ++k) placements[k] = T(0);
    POISE_UNROLL_BODY
    for (int k = 0; k < m; ++k) rows[k] = T(0);
    POISE_UNROLL_BODY
    for (int k = 0; k < P::n_q; ++k) q[k] = best_q[k] = T(0);
    return s;
  }
};

// searches aim at the goals alone; the posture follows at the end (gpu_posture.h)
template <class T> POISE_FN Posture<T> no_posture() { return {nullptr, nullptr}; }

// ---------------------------------------------------------------------------------------------- one row

// coordinate `place` of the row's start
template <class Io> POISE_FN double start_of(const Io& io, int row, int place) {
  const long long at = row * io.start_stride + place;
  return io.start_single ? double(static_cast<const float*>(io.starts)[at]) : static_cast<const double*>(io.starts)[at];
}

// the target of goal g; false if it is invalid
template <class P, class T, class Io> POISE_FN bool load_target(const P& problem, const Io& io, int row, int g, T* to) {
  const auto& goal = problem.goals[g];
  T* t = to + goal.target;
  POISE_UNROLL
  for (int k = 0; k < 12; ++k) t[k] = T(k % 4 == 0 && k < 9);
  const auto origin = [&](int k) { return goal.base < 0 ? problem.origin(k) : 0.0; };
  const long long at = row * io.target_stride[g];
  return io.single[g] ? read_target(goal.op, static_cast<const float*>(io.targets[g]) + at, t, origin)
                      : read_target(goal.op, static_cast<const double*>(io.targets[g]) + at, t, origin);
}

template <class P, class T, class Io> POISE_FN bool load_targets(const P& problem, const Io& io, int row, T* to) {
  bool good = true;
  POISE_UNROLL_BODY
  for (int g = 0; g < P::n_goals; ++g) good = load_target(problem, io, row, g, to) && good;
  return good;
}

// normalises a quaternion; false if it has no direction
template <class T> POISE_FN bool load_quaternion(T* w) {
  const T n2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + w[3] * w[3];
  quaternion_normalize(w);
  return n2 > T(1e-12) && n2 < T(1e12);
}

// the row's own start; quaternions are normalised
template <class P, class T, class S>
POISE_FN bool load_start(const P& problem, const DeviceRows<T, P::n_goals>& io, int row, S* q) {
  S sum = S(0);
  POISE_UNROLL_BODY
  for (int k = 0; k < P::n_q; ++k) {
    q[k] = S(start_of(io, row, P::place(k)));
    sum += q[k] - q[k];
  }
  bool good = sum == S(0);
  POISE_UNROLL_BODY
  for (int i = 0; i < problem.n_coordinates; ++i) {
    const Coordinate c = problem.coordinates[i];
    if (c.quaternion) good = load_quaternion(q + c.q_index) && good;
  }
  return good;
}

// the pose that an earlier pass left in `q`
template <class P, class T, class S>
POISE_FN void load_pose(const P&, const DeviceRows<T, P::n_goals>& io, int row, S* q) {
  POISE_UNROLL_BODY
  for (int k = 0; k < P::n_q; ++k) q[k] = S(io.q[static_cast<long long>(row) * P::model_q + P::place(k)]);
}

// the start of search number `search`; false if the row's start is invalid
template <class P, class T, class S>
POISE_FN bool load_seed(const P& problem, const DeviceRows<T, P::n_goals>& io, int row, int search, S* q) {
  const bool good = load_start(problem, io, row, q);
  if (search == 0) {
    if constexpr (P::begins_at_branch) load_pose(problem, io, row, q);
    return good;
  }
  const T* seed = io.seeds + (search - 1) * P::n_q;
  POISE_UNROLL_BODY
  for (int k = 0; k < P::n_q; ++k) q[k] = P::relative(k) ? q[k] + S(seed[k]) : S(seed[k]);
  return good;
}

// a pose of the problem as one of the model: other coordinates stay at the start, inside their ranges
template <class P, class T>
POISE_FN void store_pose(const P&, const DeviceRows<T, P::n_goals>& io, int row, const T* q) {
  POISE_UNROLL_BODY
  for (int k = 0; k < P::n_q; ++k) io.q[static_cast<long long>(row) * P::model_q + P::place(k)] = q[k];
}

// a number clamped to its range, in T and still inside: rounding may exceed it by the last digit
template <class T> POISE_FN T kept_inside(double x, const Idle& idle) {
  const T stored = T(minimum(maximum(x, idle.lower), idle.upper));
  const double at = double(stored),
               digit = 7e-8 * absolute(at);  // between half and one and a half of the last digit of a float
  return at > idle.upper ? T(at - digit) : at < idle.lower ? T(at + digit) : stored;
}

// copies coordinate k of those outside the problem; false if it is not finite
template <class P, class T> POISE_FN bool store_idle(const P&, const DeviceRows<T, P::n_goals>& io, int row, int k) {
  const Idle idle = P::idle(k);
  const double x = start_of(io, row, idle.place);
  io.q[static_cast<long long>(row) * P::model_q + idle.place] = kept_inside<T>(x, idle);
  return x - x == 0.0;
}

template <class P, class T> POISE_FN bool store_idle(const P& problem, const DeviceRows<T, P::n_goals>& io, int row) {
  bool good = true;
  for (int k = 0; k < P::n_idle; ++k) good = store_idle(problem, io, row, k) && good;
  return good;
}

// ---------------------------------------------------------------------------------------------- one thread per row

// the state of a thread in addition to the search
struct RowCount {
  int row, search, last, steps;
  float outside, cost;
};

// an invalid row: its start, if that is valid
template <class P, class T>
POISE_FN void store_invalid(const P& problem, const DeviceRows<T, P::n_goals>& io, int row, bool placed, T* q) {
  POISE_UNROLL_BODY
  for (int k = 0; k < P::n_q; ++k) q[k] = placed ? q[k] : not_a_number<T>();
  store_pose(problem, io, row, q);
  for (int k = 0; k < P::n_idle && !placed; ++k) {
    io.q[static_cast<long long>(row) * P::model_q + P::idle(k).place] = not_a_number<T>();
  }
  io.codes[row] = ROW_INVALID;
  io.steps[row] = io.searches[row] = 0;
}

// Starts search `at.search` of row `at.row`; false if the row is invalid. New rows and further searches share this
// path, so that the threads of a warp execute it together.
template <class P, class T> POISE_FN bool begin_search(const P& problem, const DeviceRows<T, P::n_goals>& io,
                                                       int searches, SearchMemory<P, T>& memory, LaneState<T>& state,
                                                       RowCount& at) {
  const bool good = load_targets(problem, io, at.row, memory.targets);
  const bool placed = load_seed(problem, io, at.row, at.search, memory.q);
  const bool held = at.search > 0 || store_idle(problem, io, at.row);
  at.last = out_of_reach(problem, memory.targets) ? 1 : searches;
  begin_lane(state, 0);
  if (good && placed && held) return true;
  store_invalid(problem, io, at.row, placed && held, memory.q);
  return false;
}

// ends a search: keeps its pose if it is the best of the row so far
template <class P, class T> POISE_FN void keep_row(const P& problem, const DeviceRows<T, P::n_goals>& io,
                                                   const LaneState<T>& state, const Settings<T>& settings,
                                                   RowCount& at) {
  const bool reached = is_set(state.reached);
  const float outside = float(state.at.best_outside), cost = float(state.at.best_cost);
  at.steps += int(state.steps);
  ++at.search;
  if (outside < at.outside || (outside == at.outside && (reached || cost < at.cost))) {
    at.outside = outside;
    at.cost = cost;
    store_pose(problem, io, at.row, state.at.best_q);
    io.codes[at.row] = reached ? ROW_REACHED : state.idle > T(settings.stall_steps) ? ROW_STALLED : ROW_OUT_OF_STEPS;
  }
}

// a search has ended; true if the row has another one in this thread
template <class P, class T, class GiveUp>
POISE_FN bool end_search(const P& problem, const Settings<T>& settings, const DeviceRows<T, P::n_goals>& io,
                         const LaneState<T>& state, int early, RowCount& at, GiveUp give_up) {
  keep_row(problem, io, state, settings, at);
  const bool missed = !is_set(state.reached) && at.search < at.last;
  if (missed && at.search < early) return true;
  io.steps[at.row] = at.steps;
  io.searches[at.row] = at.search;
  if (!missed) return false;
  io.best[2 * at.row] = at.outside;
  io.best[2 * at.row + 1] = at.cost;
  give_up(at.row);
  return false;
}

// Processes rows until the queue is empty: `early` searches per row, then it is passed to `give_up`; `searches` in all.
template <int M, class P, class T, class Next, class GiveUp, class Team>
POISE_FN void search_rows(const P& problem, const Settings<T>& settings, const DeviceRows<T, P::n_goals>& io, int early,
                          int searches, Next next, GiveUp give_up, Team team) {
  SearchMemory<P, T> memory;
  LaneState<T> state = memory.state();
  RowCount at{-1, 0, 0, 0, 0, 0};
  // ends: every search makes at most max_steps steps, every row has so many searches, and there are so many rows
  for (bool done = true;;) {
    if (done && at.row < io.rows) {
      bool more = at.row >= 0 && end_search(problem, settings, io, state, early, at, give_up);
      do {
        if (!more) at = {next(), 0, searches, 0, 1e30f, 1e30f};
        more = false;
        // ends: every round takes a row
      } while (at.row < io.rows && !begin_search(problem, io, searches, memory, state, at));
    }
    // the threads of a team synchronise here, so that they take the step together; those without a row step without
    // effect
    if (team.lowest(at.row < io.rows) < 0) return;
    done = advance_lanes<M>(problem, settings, no_posture<T>(), memory.targets, P::fraction(), state);
  }
}

// ---------------------------------------------------------------------------------------------- a team on one row

// One thread of a team on searches first, first + 1, ... of one row; all threads of the team call it together. The
// lowest search that reaches wins, once all before it have ended: the result is that of a sequence of searches.
template <int M, class P, class T, class Team>
POISE_FN void search_row_together(const P& problem, const Settings<T>& settings, const DeviceRows<T, P::n_goals>& io,
                                  int first, int searches, int row, Team team, SearchMemory<P, T>& memory,
                                  LaneState<T>& state) {
  RowCount at{row, 0, searches, 0, 1e30f, 1e30f};
  if (!begin_search(problem, io, searches, memory, state, at)) return;
  if (first > 0) at = {row, first, at.last, io.steps[row], io.best[2 * row], io.best[2 * row + 1]};
  const int last = at.last;
  for (int base = first; base < last; base += team.size()) {
    const int mine = base + team.rank();
    bool finished = mine >= last, reached = false;
    if (!finished) {
      load_seed(problem, io, row, mine, memory.q);
      begin_lane(state, 0);
    }
    int winner = -1;
    // ends: an unfinished search makes a step, and at most max_steps of them
    for (;;) {
      if (!finished) {
        finished = advance_lanes<M>(problem, settings, no_posture<T>(), memory.targets, P::fraction(), state);
        reached = finished && is_set(state.reached);
      }
      winner = team.lowest(reached);
      const int open = team.lowest(!finished);
      if (open < 0 || (winner >= 0 && winner < open)) break;
    }
    // the best of this round: the winner, or the lowest cost among those least outside the ranges
    const bool took_part = mine < last;
    const int best = winner >= 0 ? winner
                                 : team.least(took_part ? float(state.at.best_outside) : 1e38f,
                                              took_part ? float(state.at.best_cost) : 1e38f);
    const int counted = took_part && (winner < 0 || team.rank() <= winner) ? int(state.steps) : 0;
    const int before = at.steps;
    if (team.rank() == best) keep_row(problem, io, state, settings, at);
    at.outside = team.from(at.outside, best);
    at.cost = team.from(at.cost, best);
    at.steps = before + team.sum(counted);
    at.search = winner >= 0 ? base + winner + 1 : (base + team.size() < last ? base + team.size() : last);
    if (winner >= 0) break;
  }
  if (team.rank() == 0) {
    io.steps[row] = at.steps;
    io.searches[row] = at.search;
    io.best[2 * row] = at.outside;
    io.best[2 * row + 1] = at.cost;
  }
}

// ---------------------------------------------------------------------------------------------- the end of a row

// errors, `reached` and the code of a pose, computed in double
template <class P, class T> POISE_FN void judge_row(const P& problem, const DeviceRows<T, P::n_goals>& io, int row,
                                                    const double* q, const double* targets, double* placements,
                                                    double* rows) {
  constexpr int goals = P::n_goals;
  double errors[2 * goals];
  evaluate(problem, q, targets, placements, rows, errors);
  bool good = within_tolerance(problem, errors, 1.0);
  if (P::bounded) {
    POISE_UNROLL_BODY
    for (int c = 0; c < P::n_v; ++c) {
      const auto f = problem.freedoms[c];
      good = good && (f.q_index < 0 ||
                      (q[f.q_index < 0 ? 0 : f.q_index] >= f.lower && q[f.q_index < 0 ? 0 : f.q_index] <= f.upper));
    }
  }
  POISE_UNROLL_BODY
  for (int k = 0; k < 2 * goals; ++k) io.errors[2LL * goals * row + k] = errors[k];
  io.reached[row] = good;
  const signed char code = io.codes[row];
  io.codes[row] = good                             ? ROW_REACHED
                  : out_of_reach(problem, targets) ? ROW_UNREACHABLE
                  : code == ROW_REACHED            ? ROW_STALLED
                                                   : code;
}

// an invalid row has no errors; true if it is one
template <class P, class T> POISE_FN bool is_refused(const P&, const DeviceRows<T, P::n_goals>& io, int row) {
  if (io.codes[row] != ROW_INVALID) return false;
  POISE_UNROLL_BODY
  for (int k = 0; k < 2 * P::n_goals; ++k) io.errors[2LL * P::n_goals * row + k] = not_a_number<double>();
  io.reached[row] = false;
  return true;
}

template <class P, class T> POISE_FN void check_row(const P& problem, const DeviceRows<T, P::n_goals>& io, int row) {
  if (is_refused(problem, io, row)) return;
  double q[P::n_q], placements[numbers_of_placements<P>()], rows[P::n_rows], targets[P::n_targets];
  load_pose(problem, io, row, q);
  load_targets(problem, io, row, targets);
  judge_row(problem, io, row, q, targets, placements, rows);
}

// Repeats the search that reached in double, which may end in another branch, where the CPU's search ends; the pose is in
// memory.q. A row that began at a branch keeps the pose of the search.
template <int M, class P, class T>
POISE_FN void repeat_search(const P& problem, const Settings<double>& settings, const DeviceRows<T, P::n_goals>& io,
                            int row, SearchMemory<P, double>& memory, LaneState<double>& state) {
  bool reached = false;
  if constexpr (!P::begins_at_branch) {
    if (io.codes[row] != ROW_REACHED) return load_pose(problem, io, row, memory.q);
    load_seed(problem, io, row, io.searches[row] - 1, memory.q);
    begin_lane(state, 0);
    // ends: after max_steps steps
    while (!advance_lanes<M>(problem, settings, no_posture<double>(), memory.targets, P::fraction(), state)) {}
    reached = is_set(state.reached);
  }
  if (reached)
    copy_configuration(problem, memory.best_q, memory.q);
  else
    load_pose(problem, io, row, memory.q);
}

// Follows the posture from a pose that reaches, in double; where the goals are too fine for T, that pose remains.
template <int M, class P, class T> POISE_FN void rest_row(const P& problem, const Settings<double>& settings,
                                                          const Posture<double>& posture,
                                                          const DeviceRows<T, P::n_goals>& io, int row) {
  T before[P::n_q], after[P::n_q];
  load_pose(problem, io, row, before);
  const bool rests = io.codes[row] == ROW_REACHED;
  if (rests) {
    SearchMemory<P, double> memory;
    LaneState<double> state = memory.state();
    load_targets(problem, io, row, memory.targets);
    repeat_search<M>(problem, settings, io, row, memory, state);
    io.steps[row] += follow_posture<M>(problem, settings, posture, memory.targets, state.at);
    POISE_UNROLL_BODY
    for (int k = 0; k < P::n_q; ++k) after[k] = T(memory.best_q[k]);
    POISE_UNROLL_BODY
    for (int c = 0; c < P::n_v; ++c) {
      const auto f = problem.freedoms[c];
      if (P::bounded && f.q_index >= 0)
        after[f.q_index] = kept_inside<T>(memory.best_q[f.q_index], {0, f.lower, f.upper});
    }
    store_pose(problem, io, row, after);
  }
  check_row(problem, io, row);
  if (!rests || io.reached[row]) return;
  store_pose(problem, io, row, before);
  check_row(problem, io, row);
}

// Refines the pose in double until the tolerances hold, which may be finer than the precision of T, then follows the
// posture if it `rests`, and writes the pose to `finished`.
template <int M, bool rests, class P, class T>
POISE_FN void finish_row(const P& problem, const Settings<double>& settings, const Posture<double>& posture,
                         const DeviceRows<T, P::n_goals>& io, int row) {
  double* to = io.finished + static_cast<long long>(row) * P::model_q;
  if (is_refused(problem, io, row)) {
    for (int k = 0; k < P::model_q; ++k) to[k] = double(io.q[static_cast<long long>(row) * P::model_q + k]);
    return;
  }
  SearchMemory<P, double> memory;
  LaneState<double> state = memory.state();
  load_targets(problem, io, row, memory.targets);
  if constexpr (rests)
    repeat_search<M>(problem, settings, io, row, memory, state);
  else
    load_pose(problem, io, row, memory.q);
  begin_lane(state, 0);
  Settings<double> close = settings;  // this close, hardly any damping is needed, and it would slow the last digits
  close.damping_floor = minimum(settings.damping_floor, 1e-10);
  // ends: after max_steps steps
  while (!advance_lanes<M>(problem, close, no_posture<double>(), memory.targets, P::fraction(), state)) {}
  io.steps[row] += int(state.steps);
  if constexpr (rests) {
    copy_configuration(problem, memory.best_q, memory.q);
    if (is_set(state.reached)) io.steps[row] += follow_posture<M>(problem, settings, posture, memory.targets, state.at);
  }
  POISE_UNROLL_BODY
  for (int k = 0; k < P::n_q; ++k) to[P::place(k)] = memory.best_q[k];
  for (int k = 0; k < P::n_idle; ++k) {
    const Idle idle = P::idle(k);
    to[idle.place] = minimum(maximum(start_of(io, row, idle.place), idle.lower), idle.upper);
  }
  judge_row(problem, io, row, memory.best_q, memory.targets, memory.placements, memory.rows);
}

}  // namespace poise
