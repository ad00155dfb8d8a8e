// gpu_clearance.h: a clearance on a GPU.
//
// Only answers must be clear, not the poses of a search, so the passes of gpu_entry.h ignore the clearance. Then:
//   check_clear     every row: its pose, in double, with the distances of limits.h; rows that reach in collision remain
//   list_clear      lists the poses of each of them by its closed form, a team where a joint is free: the clear one nearest
//                   to the start answers; if all collide, the row is IN_COLLISION
//   gather_clear    without a closed form, or if a listed branch stands for a curve of poses: one further search per
//                   thread; the clear end nearest to the start answers, in the norm of a step
//   gather_bodies   the same for a large body: further searches, one after the other; the first clear end answers
//   check_clear     the new answers of these rows
// The listed poses are checked in float, with room for its rounding.
// A row without a clear pose gets its start, inside the ranges.
#pragma once
#include "kernels/loop/gpu_branches.h"
#include "kernels/loop/gpu_places.h"
#include "kernels/loop/gpu_searches.h"

namespace poise {

// ---------------------------------------------------------------------------------------------- one row

// How a row meets the clearance: its answer, or one with the pose q of the problem, if not null.
template <class P, class B, class T, class S>
POISE_FN Gap judge_row_gap(const P&, const B& body, const DeviceRows<T, P::n_goals>& io, const ClearanceCall<S>& clear,
                           int row, const T* q, Suspect& suspect, bool given = true) {
  S whole[P::model_q];
  for (int k = 0; k < P::model_q; ++k) {
    const long long at = static_cast<long long>(row) * P::model_q + k;
    whole[k] = io.finished && !q ? S(io.finished[at]) : S(io.q[at]);
  }
  if (q) {
    POISE_UNROLL_BODY
    for (int k = 0; k < P::n_q; ++k) whole[P::place(k)] = S(q[k]);
  }
  return judge_gap(body, clear, row, whole, suspect, given);
}

// Answers a row by its start, inside the ranges.
template <class P, class T>
POISE_FN void answer_start(const P& problem, const DeviceRows<T, P::n_goals>& io, int row, signed char code) {
  double q[P::n_q], placements[numbers_of_placements<P>()], rows[P::n_rows], targets[P::n_targets];
  const long long first = static_cast<long long>(row) * P::model_q;
  POISE_UNROLL_BODY
  for (int k = 0; k < P::n_q; ++k) q[k] = start_of(io, row, P::place(k));
  for (int i = 0; i < P::n_coordinates; ++i) {
    if (problem.coordinates[i].quaternion) quaternion_normalize(q + problem.coordinates[i].q_index);
  }
  for (int k = 0; k < P::n_q; ++k) {
    Idle range{P::place(k), -1e300, 1e300};
    for (int c = 0; P::bounded && c < P::n_v; ++c) {
      const auto f = problem.freedoms[c];
      if (f.q_index == k) range = {P::place(k), f.lower, f.upper};
    }
    const T stored = kept_inside<T>(q[k], range);
    q[k] = io.finished ? minimum(maximum(q[k], range.lower), range.upper) : double(stored);
    io.q[first + range.place] = stored;
    if (io.finished) io.finished[first + range.place] = q[k];
  }
  load_targets(problem, io, row, targets);
  judge_row(problem, io, row, q, targets, placements, rows);
  io.reached[row] = false;
  io.codes[row] = code;
}

// Checks a row whose errors and code are known; true if it remains, STALLED until a clear pose is found.
template <class P, class B, class T> POISE_FN bool check_clear_row(const P& problem, const B& body,
                                                                   const DeviceRows<T, P::n_goals>& io,
                                                                   const ClearanceCall<double>& clear, int row) {
  const bool last = clear.last != 0, reached = io.reached[row];
  const signed char code = io.codes[row];
  if (code == ROW_INVALID || code == ROW_IN_COLLISION) return false;
  Suspect suspect;
  const Gap gap = judge_row_gap(problem, body, io, clear, row, static_cast<const T*>(nullptr), suspect);
  if (gap == Gap::CLEAR) return false;
  io.reached[row] = false;
  if (reached && gap != Gap::BLOCKED && !last) {
    io.codes[row] = ROW_STALLED;
    return true;
  }
  answer_start(problem, io, row, !reached ? code : gap == Gap::BLOCKED ? ROW_IN_COLLISION : ROW_STALLED);
  return false;
}

// ---------------------------------------------------------------------------------------------- further searches

// One thread of a team on the remaining searches of one row, all threads together, if it is still STALLED: of the clear
// ends of a round, the one nearest to the start.
template <int M, class P, class B, class T, class Team>
POISE_FN void gather_clear_row(const P& problem, const Settings<T>& settings, const B& body,
                               const DeviceRows<T, P::n_goals>& io, const ClearanceCall<double>& clear, int searches,
                               int row, Team team, SearchMemory<P, T>& memory, LaneState<T>& state) {
  Suspect suspect;
  T start[P::n_q];
  int first = io.searches[row], steps = io.steps[row];
  RowCount at{row, first, searches, 0, 1e30f, 1e30f};
  load_start(problem, io, row, start);
  const bool stalled = team.lowest(io.codes[row] == ROW_STALLED) >= 0;
  if (!stalled || first >= searches || !begin_search(problem, io, searches, memory, state, at)) return;
  for (bool found = false; first < at.last && !found;) {
    const int mine = first + team.rank();
    const bool takes_part = mine < at.last;
    bool finished = !takes_part;
    if (takes_part) {
      load_seed(problem, io, row, mine, memory.q);
      begin_lane(state, 0);
    }
    // ends: an unfinished search makes a step, and at most max_steps of them
    while (team.lowest(!finished) >= 0) {
      if (!finished)
        finished = advance_lanes<M>(problem, settings, no_posture<T>(), memory.targets, P::fraction(), state);
    }
    const bool reached = takes_part && is_set(state.reached);
    const Gap gap = judge_row_gap(problem, body, io, clear, row, memory.best_q, suspect, reached);
    const bool good = reached && gap == Gap::CLEAR;
    float far = 0.0f;
    POISE_UNROLL_BODY
    for (int i = 0; i < P::n_coordinates; ++i) {
      const Coordinate c = problem.coordinates[i];
      const auto f = problem.freedoms[c.v_index];
      const T weight = (c.quaternion ? T(4) : T(1)) * f.weight / f.unit2;
      for (int k = c.q_index; k < c.q_index + (c.quaternion ? 4 : 1); ++k)
        far += float(weight * (memory.best_q[k] - start[k]) * (memory.best_q[k] - start[k]));
    }
    found = team.lowest(good) >= 0;
    const int winner = team.least(good ? far : 1e38f, 0.0f);
    if (found && team.rank() == winner) {
      store_pose(problem, io, row, memory.best_q);
      io.codes[row] = ROW_REACHED;
    }
    steps += team.sum(takes_part ? int(state.steps) : 0);
    first = first + team.size() < at.last ? first + team.size() : at.last;
  }
  if (team.rank() == 0) {
    io.steps[row] = steps;
    io.searches[row] = first;
  }
}

// Further searches of rows in collision of a large body, each row by a team, until one ends in a clear pose.
template <class Io, class IsClear, class Next> struct ClearSearches {
  const Io& io;
  const int* rows;
  int count, most;
  IsClear is_clear;  // all threads of a team ask together
  Next next;
  int row = -1, tried = 0, steps = 0;
  bool found = false;

  template <class Search> POISE_FN bool begin(Search& search) {
    // ends: every round takes a row
    while (row < 0 || found || tried >= most) {
      if (row >= 0 && search.team.rank() == 0) {
        io.steps[row] = steps;
        io.searches[row] = tried;
      }
      const int k = search.team.from(search.team.rank() == 0 ? next() : 0, 0);
      if (k >= count) return false;
      row = rows[k];
      tried = io.searches[row];
      steps = io.steps[row];
      found = false;
    }
    return search.begin(io, row, tried);
  }

  template <class Search> POISE_FN bool is_void(const Search&) const { return false; }

  template <class Search> POISE_FN void end(Search& search) {
    ++tried;
    steps += int(search.state.steps);
    found = is_set(search.state.reached) && is_clear(row, search.memory.best_q);
    if (!found) return;
    search.store(io, row);
    if (search.team.rank() == 0) io.codes[row] = ROW_REACHED;
  }
};

// Values of a free joint: at first, and if no pose there is clear. FamilyScan::most more of them are multiples of a warp.
constexpr int first_values = 26, finer_values = 122;

// The clear pose nearest to the start among the listed ones, by the largest motion of a joint [rad or L].
template <class P, class T, class IsClear> struct ListedNearest {
  const P& problem;
  const IsClear& is_clear;
  T start[P::n_q], best[P::n_q], nearest;
  int count;
  bool open;  // whether a branch stands for a curve of poses
  T poses[8][P::n_q] = {}, fars[8] = {};
  int waiting = 0;

  POISE_FN bool add(const FamilyLeaf<T>& leaf, T at) {
    const ClosedForm<T>& form = P::closed(0);
    T q[7], far = T(0);
    joints_of(form.spec, leaf, at, q);
    POISE_UNROLL_BODY
    for (int k = 0; k < P::n_q; ++k) {
      const FamilyAxis<T>& axis = axis_of(form.spec, k);
      const T near = bring_near(axis, q[k], form.gain[k] * start[k] + form.bias[k]);
      q[k] = (minimum(maximum(near, axis.middle - axis.half), axis.middle + axis.half) - form.bias[k]) / form.gain[k];
      far = maximum(far, absolute(q[k] - start[k]) * (axis.slides ? T(1) / P::scale : T(1)));
    }
    POISE_UNROLL_BODY
    for (int c = 0; P::bounded && c < P::n_v; ++c) {
      const auto f = problem.freedoms[c];
      q[f.q_index] = minimum(maximum(q[f.q_index], f.lower), f.upper);
    }
    for (int k = 0; k < 6; ++k) open = open || leaf.turn[k].slack > T(open_branch);
    ++count;
    fars[waiting] = far;
    POISE_UNROLL_BODY
    for (int k = 0; k < P::n_q; ++k) poses[waiting][k] = q[k];
    ++waiting;
    return false;
  }

  // Checks the poses of a walk after it, the nearest first, as long as one is nearer than the best of the team. All
  // threads call a check together, and none is called between the branches of a walk: compiled code has hung there.
  template <class Team> POISE_FN void check(Team team) {
    // ends: every round takes a waiting pose
    for (T best_of_team = best_of(team);; best_of_team = best_of(team)) {
      int next = -1;
      T far = best_of_team;
      POISE_ROLLED
      for (int i = 0; i < waiting; ++i) {
        if (!(fars[i] < far)) continue;
        far = fars[i];
        next = i;
      }
      if (team.lowest(next >= 0) < 0) break;
      const bool good = is_clear(next >= 0, poses[next < 0 ? 0 : next]);
      if (next >= 0) fars[next] = T(1e30);
      if (good) {
        nearest = far;
        POISE_UNROLL_BODY
        for (int k = 0; k < P::n_q; ++k) best[k] = poses[next][k];
      }
    }
    waiting = 0;
  }

  template <class Team> POISE_FN T best_of(Team team) const {
    return T(team.from(float(nearest), team.least(float(nearest), 0.0f)));
  }
};

// Answers a row by its listed poses, with a free joint at values over its range, which a team divides among its threads. It
// is in collision if each of them is deeper than the tolerance of the goal and the way to the next one may lift it.
template <class P, class E, class B, class T, class Team>
POISE_FN void list_clear_row(const P& problem, const E& exact, const B& body, const DeviceRows<T, P::n_goals>& io,
                             const ClearanceCall<T>& clear, int row, Team team) {
  const ClosedForm<T>& form = P::closed(0);
  Suspect suspect;
  bool shallow = false;
  ClearanceCall<T> deeper = clear;
  const auto is_clear = [&](bool given, const T* q) {
    const Gap gap = judge_row_gap(problem, body, io, clear, row, q, suspect, given);
    const bool asks = given && !shallow && gap == Gap::COLLIDES;
    shallow = (judge_row_gap(problem, body, io, deeper, row, q, suspect, asks) == Gap::CLEAR && asks) || shallow;
    return gap == Gap::CLEAR && given;
  };
  ListedNearest<P, T, decltype(is_clear)> listed{problem, is_clear, {}, {}, T(1e30), 0, false};
  T targets[P::n_targets];
  load_targets(problem, io, row, targets);
  load_start(problem, io, row, listed.start);
  const T origin[3] = {T(problem.origin(0)), T(problem.origin(1)), T(problem.origin(2))};
  const T rounding[2] = {T(rounding_in_float) * P::scale, T(rounding_in_float)};
  const FamilyQuestion<T> question =
      question_of(form.spec, target_of<T>(targets + problem.goals[0].target, origin, rounding));
  const bool free = form.spec.free_joint != FREE_NONE;
  const FamilyScan<T> scan = free ? scan_of(question) : FamilyScan<T>{};
  const T tolerance = T(exact.goals[0].tolerance[0] + exact.goals[0].tolerance[1] * P::scale);
  bool found = false;
  POISE_ROLLED
  for (int values = free ? first_values : 1; values <= finer_values && !found;
       values = free && values < finer_values ? finer_values : 1000) {
    shallow = false;
    // ends: every round takes a value for each thread
    for (int i = team.rank();; i += team.size()) {
      T at = T(0), half = T(0);
      const bool given = free ? cell_of(scan, values, i, at, half) : i == 0;
      if (team.lowest(given) < 0) break;
      if (given) {
        walk_branches(form.spec.chain, ask_of(question, at, T(0)), 1, all_branches,
                      [&](const FamilyLeaf<T>& leaf) { return listed.add(leaf, at); });
        deeper.least = -tolerance - T(arc_lever) * half * (form.spec.free.slides ? T(1) : T(P::scale));
      }
      listed.check(team);
    }
    found = team.lowest(listed.nearest < T(1e30)) >= 0;
  }
  const int winner = team.least(float(listed.nearest), 0.0f), count = team.sum(listed.count);
  const bool open = team.lowest(listed.open || shallow || (may_be_placed && suspect.far)) >= 0;
  if (found && team.rank() == winner) {
    store_pose(problem, io, row, listed.best);
    io.codes[row] = ROW_REACHED;
  }
  if (!found && count > 0 && !open && clear.certain && team.rank() == 0) answer_start(exact, io, row, ROW_IN_COLLISION);
}

}  // namespace poise
