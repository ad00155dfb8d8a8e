// gpu_team.h: the search of lanes.h for a whole body: a team of threads on one row, whose numbers are in memory that they
// share.
//
// Threads divide the work of a step: primitives of one depth, velocities, goals, products of rows. Decisions are made by every
// thread from the same numbers. In addition to what gpu_entry.h needs, a problem type has tables for the division of
// work, which source.py writes: primitives by depth, the primitives of each velocity, and the strips of J D^-1 J^T with the
// velocities that affect both of their goals. A team of one thread does it all in a row, for tests on a CPU.
#pragma once
#include "kernels/loop/gpu_entry.h"

namespace poise {

// a primitive moved by a velocity, and which of its velocities that is
struct ColumnSource { int primitive, part; };

// up to three neighbours in a row of the normal matrix, and their runs of velocities
constexpr int strip_width = 3;
struct NormalStrip { int row, column, width, first_run, last_run; };

// the hull of a balance, if there is one
template <bool weighs, class T> struct TeamSupport { Hull<T> hull; };
template <class T> struct TeamSupport<false, T> {};

// the numbers of one row; J has a column after the other, of odd length, so that threads read different banks
template <class P, class T> struct TeamMemory {
  static constexpr int m = P::n_rows, n = P::n_v, odd = m | 1;
  T q[P::n_q], best_q[P::n_q], rows[m], errors[2 * P::n_goals], targets[P::n_targets];
  T placements[numbers_of_placements<P>()], J[odd * n + strip_width], dq[n], moved[n];
  T inverse_D[n], low[n], high[n], A[odd * m], roots[m], y[m], rhs[m];
  GoalWrench<T> wrenches[P::n_goals];
  TeamSupport<may_weigh<P>(), T> support;
  T aims[may_relate<P>() ? 3 * P::n_goals : 1];  // the targets' places in the world
};

template <class P, class T, class Team> struct TeamSearch {
  const P& problem;
  const Settings<T>& settings;
  TeamMemory<P, T>& memory;
  Team team = {};
  LaneState<T> state = {};        // its own pointers are unused
  T first = T(0), second = T(0);  // |rows|^2 of the two priorities
  bool placed = false;            // whether the row's start is valid
  bool restores = false;          // whether the second priority only holds still, for the rest of the search
  T* room = nullptr;              // 2 per row, see note_room: then J has rows inside their range, too

  static constexpr int m = P::n_rows, n = P::n_v, odd = m | 1;
  static constexpr int hopeless_searches = P::n_priorities > 1 ? 8 : 1;  // of a row that is proved out of reach

  // calls f(k) for this thread's share of 0 .. count - 1, then waits for the others
  template <class F> POISE_FN void share(int count, const F& f) const {
    for (int k = team.rank(); k < count; k += Team::size()) f(k);
    team.wait();
  }

  // ------------------------------------------------------------------------------------------ a pose

  // the sine and cosine of a hinge, for each row of its placement where that is written later
  POISE_FN void turn_hinge(int i) const {
    const auto& b = problem.body[i];
    if (!is_hinge(b.kind)) return;
    T s, c;
    sine_cosine(coordinate_of(b, memory.q), s, c);
    POISE_UNROLL
    for (int r = 0; r < 3; ++r) {
      memory.placements[12 * i + 3 * r] = s;
      memory.placements[12 * i + 3 * r + 1] = c;
    }
  }

  // row r of primitive i's placement, after turn_hinge: those of R are independent of each other
  POISE_FN void place_row_of(int i, int r) const {
    const auto& b = problem.body[i];
    T x[3] = {T(r == 0), T(r == 1), T(r == 2)}, p = T(0);
    if (b.parent >= 0) {
      const T* up = memory.placements + 12 * b.parent;
      for (int k = 0; k < 3; ++k) x[k] = up[3 * r + k];
      p = up[9 + r];
    }
    T R[3];
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) R[k] = x[0] * b.R[k] + x[1] * b.R[3 + k] + x[2] * b.R[6 + k];
    p += x[0] * b.p[0] + x[1] * b.p[1] + x[2] * b.p[2];
    const T* q = memory.q + b.q_index;
    T* out = memory.placements + 12 * i;
    if (b.kind == BALL) {
      T turn[9];
      matrix_of_quaternion(q, turn);
      POISE_UNROLL
      for (int k = 0; k < 3; ++k) x[k] = R[0] * turn[k] + R[1] * turn[3 + k] + R[2] * turn[6 + k];
      POISE_UNROLL
      for (int k = 0; k < 3; ++k) R[k] = x[k];
    } else if (b.kind == SLIDE3) {
      p += R[0] * q[0] + R[1] * q[1] + R[2] * q[2];
    } else {
      const T angle = coordinate_of(b, memory.q);
      if (is_hinge(b.kind)) {
        const T s = out[3 * r], c = out[3 * r + 1], along = R[0], across = R[1];
        R[0] = c * along + s * across;
        R[1] = c * across - s * along;
      }
      p += (b.kind == PRISMATIC ? angle : b.kind == SCREW ? b.pitch * angle : T(0)) * R[2];
    }
    POISE_UNROLL
    for (int k = 0; k < 3; ++k) out[3 * r + k] = R[k];
    out[9 + r] = p;
  }

  // Residuals at q. Returns the cost: with two priorities, that of the first one counts until its goals are reached.
  POISE_FN T evaluate_together() {
    share(P::n_primitives, [&](int i) { turn_hinge(i); });
    for (int level = 0; level < P::n_levels; ++level) {
      const int begin = P::level(level);
      share(3 * (P::level(level + 1) - begin), [&](int k) { place_row_of(P::by_depth(begin + k / 3), k % 3); });
    }
    if constexpr (may_weigh<P>()) weigh_together();
    const T per_scale = T(1) / problem.scale;
    share(P::n_goals, [&](int g) {
      const auto& goal = problem.goals[g];
      if constexpr (may_weigh<P>()) {
        if (goal.op == GOAL_BALANCE) {
          const T* target = memory.targets + goal.target;
          find_hull(problem, goal, memory.placements, target, memory.support.hull);
          balance_residual(problem, goal, memory.support.hull, target, per_scale, memory.rows + goal.first_row,
                           memory.errors + 2 * g, room ? room + 2 * goal.first_row : nullptr);
          return;
        }
      }
      GoalPlace<T> at;
      place_goal(goal, problem.goals.frames(), memory.placements, memory.targets, at);
      residual_at(problem, goal, at, memory.targets, per_scale, memory.rows + goal.first_row, memory.errors + 2 * g,
                  static_cast<T*>(nullptr));
      GoalWrench<T> wrench;  // zero where it is not written, which shared memory is not
      if constexpr (may_relate<P>()) {
        for (int k = 0; k < 3; ++k) memory.aims[3 * g + k] = at.target_p[k];
        if (is_relation(goal.op)) relation_wrench(goal, at, memory.targets + goal.target, per_scale, wrench);
      }
      if (is_plain(goal.op)) goal_wrench(goal, at, per_scale, wrench);
      memory.wrenches[g] = wrench;
    });
    first = second = T(0);
    for (int r = team.rank(); r < m; r += Team::size())
      (P::priority(r) ? second : first) += memory.rows[r] * memory.rows[r];
    first = team.total(first);
    if constexpr (P::n_priorities == 1) return first;
    second = team.total(second);
    return (is_first_within() ? T(0) : T(1e6) * first) + second;
  }

  // gather_mass of mass.h
  POISE_FN void weigh_together() const {
    constexpr int parts = P::n_primitives;
    T* sums = memory.placements + 12 * parts;
    share(parts + 1, [&](int i) { weigh_part(problem.body, memory.placements, i, sums); });
    share(4, [&](int r) {
      for (int i = parts - 1; i >= 0; --i) {
        const int above = problem.body[i].parent < 0 ? parts : problem.body[i].parent;
        sums[4 * above + r] += sums[4 * i + r];
      }
    });
  }

  // Adds a velocity of primitive i to the rows of a balance, as assemble_mass of balance.h does for all; without `room`,
  // rows that are inside their range are omitted.
  template <class B, class Goal>
  POISE_FN void add_balance(const B& b, const Goal& goal, ColumnSource from, T per_scale, T* column) const {
    const Hull<T>& hull = memory.support.hull;
    const T *sums = memory.placements + 12 * P::n_primitives, *placement = memory.placements + 12 * from.primitive;
    T rate[3];
    mass_column(b, from.part, memory.q, placement, sums + 4 * from.primitive, T(1) / sums[4 * P::n_primitives], rate);
    for (int e = 0; e < hull.n; ++e) {
      const SupportEdge<T>& edge = hull.edges[e];
      if (!room && memory.rows[goal.first_row + e] == T(0)) continue;
      T sum = dot(edge.normal, rate);
      for (int k = 0; k < 2; ++k) {
        const int frame = problem.goals.points()[goal.first_point + (k ? edge.to : edge.from)];
        if (!carries(b, from.primitive, frame)) continue;
        T point[3], linear[3], angular[3];
        point_from(problem.goals.frames()[frame], memory.placements, point);
        world_column(b, from.part, memory.q, placement, point, linear, angular);
        sum += dot(edge.push[k], linear);
      }
      column[goal.first_row + e] += goal.weight[0] * per_scale * sum;
    }
  }

  // whether the goals of the first priority are within their tolerances
  POISE_FN bool is_first_within() const {
    bool good = true;
    for (int g = 0; g < P::n_goals; ++g) {
      const auto& goal = problem.goals[g];
      for (int k = 0; k < 2; ++k) {
        good = good && (goal.level > 0 || memory.errors[2 * g + k] <= P::fraction() * goal.tolerance[k]);
      }
    }
    return good;
  }

  // The damping of a row. That of the second priority is larger by orders of magnitude: the solution of the damped system then
  // is that of the first priority, and the second one in its null space, up to the ratio of the two.
  POISE_FN T damping_of(int row) const {
    const T cost = P::priority(row) ? second + T(4) * square_root(second) : first;
    return restores && P::priority(row) ? T(1) : settings.damping * cost + settings.damping_floor;
  }

  // J, after evaluate_together
  POISE_FN void assemble_together() const {
    const T per_scale = T(1) / problem.scale;
    share(n, [&](int c) {
      T* column = memory.J + c * odd;
      for (int r = 0; r < m; ++r) column[r] = T(0);
      for (int k = P::first_source(c); k < P::first_source(c + 1); ++k) {
        const ColumnSource from = P::source(k);
        const auto& b = problem.body[from.primitive];
        for (int g = 0; g < P::n_goals; ++g) {
          const auto& goal = problem.goals[g];
          if constexpr (may_weigh<P>()) {
            if (goal.op == GOAL_BALANCE) {
              add_balance(b, goal, from, per_scale, column);
              continue;
            }
          }
          const int sign = int(carries(b, from.primitive, goal.frame)) - int(carries(b, from.primitive, goal.base));
          if (sign == 0) continue;
          if constexpr (may_relate<P>()) {
            if (is_relation(goal.op)) {
              add_relation_of(problem, goal, from.primitive, from.part, sign, memory.q, memory.placements,
                              memory.aims + 3 * g, memory.wrenches[g], memory.targets, column + goal.first_row);
              continue;
            }
          }
          T linear[3], angular[3];
          world_column(b, from.part, memory.q, memory.placements + 12 * from.primitive, memory.wrenches[g].point,
                       linear, angular);
          add_goal_column(goal, memory.wrenches[g], per_scale, linear, angular, T(sign), column + goal.first_row);
        }
      }
    });
  }

  template <class B> POISE_FN bool carries(const B& b, int i, int frame) const {
    const int on = frame < 0 ? -1 : problem.goals.frames()[frame].primitive;
    return i <= on && on < b.subtree_end;
  }

  // ------------------------------------------------------------------------------------------ a step

  // A = J D^-1 J^T + damping, the lower triangle, with a row of the identity for inactive rows
  template <class Rules> POISE_FN void sum_normal(const Rules& rules) const {
    const T *J = memory.J, *D = memory.inverse_D;
    share(P::n_strips, [&](int e) {
      const NormalStrip strip = P::strip(e);
      T sums[strip_width] = {};
      for (int run = strip.first_run; run < strip.last_run; ++run) {
        const Run columns = P::run(run);
        for (int c = columns.first; c < columns.last; ++c) {
          const T x = J[c * odd + strip.row] * D[c];
          POISE_UNROLL
          for (int k = 0; k < strip_width; ++k) sums[k] += x * J[c * odd + strip.column + k];
        }
      }
      POISE_UNROLL
      for (int k = 0; k < strip_width; ++k) {
        const int column = strip.column + k;
        const bool inside = k < strip.width;
        const T sum = rules.is_active(strip.row) && inside && rules.is_active(column) ? sums[k] : T(0);
        if (inside) memory.A[strip.row * odd + column] = sum + (column == strip.row ? rules.damping_of(column) : T(0));
      }
    });
  }

  // y = A^-1 rhs by Cholesky in place, 0 for inactive rows; `roots` are the reciprocals of L's diagonal
  template <class Rules> POISE_FN void solve_together(const Rules& rules) const {
    T* A = memory.A;
    for (int k = 0; k < m; ++k) {
      const T* at = A + k * odd;
      const T root = reciprocal(square_root(maximum(at[k], T(1e-30))));
      if (team.rank() == 0) memory.roots[k] = root;
      for (int r = k + 1 + team.rank(); r < m; r += Team::size()) {
        T x = A[r * odd + k];
        POISE_UNROLL_ROWS
        for (int j = 0; j < k; ++j) x -= A[r * odd + j] * at[j];
        x *= root;
        A[r * odd + k] = x;
        A[r * odd + r] -= x * x;
      }
      team.wait();
    }
    constexpr int each = (m + Team::size() - 1) / Team::size();
    T own[each];
    const auto mine = [&](int j) { return team.rank() + j * Team::size(); };
    POISE_UNROLL
    for (int j = 0; j < each; ++j) own[j] = mine(j) < m && rules.is_active(mine(j)) ? memory.rhs[mine(j)] : T(0);
    POISE_UNROLL
    for (int j = 0; j < each; ++j) {
      for (int at = 0; at < Team::size() && at + j * Team::size() < m; ++at) {
        const int k = at + j * Team::size();
        const T y = team.from(own[j], at) * memory.roots[k];
        POISE_UNROLL
        for (int i = j; i < each; ++i) {
          const int r = mine(i);
          own[i] = r == k ? y : r > k && r < m ? own[i] - A[r * odd + k] * y : own[i];
        }
      }
    }
    POISE_UNROLL
    for (int j = each - 1; j >= 0; --j) {
      const int last = m - j * Team::size() < Team::size() ? m - j * Team::size() : Team::size();
      for (int at = last - 1; at >= 0; --at) {
        const int k = at + j * Team::size();
        const T x = team.from(own[j], at) * memory.roots[k];
        POISE_UNROLL
        for (int i = 0; i <= j; ++i) {
          const int r = mine(i);
          own[i] = r == k ? x : r < k ? own[i] - A[k * odd + r] * x : own[i];
        }
      }
    }
    POISE_UNROLL
    for (int j = 0; j < each; ++j) {
      if (mine(j) < m) memory.y[mine(j)] = own[j];
    }
    team.wait();
  }

  // rhs -= J moved
  POISE_FN void subtract_moved() const {
    share(m, [&](int r) {
      T sum = T(0);
      for (int c = 0; c < n; ++c) sum += memory.J[c * odd + r] * memory.moved[c];
      memory.rhs[r] -= sum;
    });
  }

  // bounded_step of step.h: memory.dq from rhs, inverse_D and the room; `pull` is its b, or null. The rules say which
  // rows are active; after a step they may change that, for another round.
  template <class Rules> POISE_FN void step_together(T* pull, int rounds, Rules& rules) const {
    bool any_moved = false;
    share(n, [&](int c) {
      const T low = memory.low[c], high = memory.high[c];
      const bool stuck = low > T(0) || high < T(0);  // outside its range: it must return
      const T drawn = pull ? memory.inverse_D[c] * pull[c] : T(0);
      memory.dq[c] = memory.moved[c] = stuck ? (low > T(0) ? low : high) : drawn;
      any_moved = any_moved || memory.dq[c] != T(0);
      if (stuck) memory.inverse_D[c] = T(0);
    });
    if (team.any(any_moved)) subtract_moved();
    // ends: after some rounds, joints and rows stay as they are
    for (int round = 0;; ++round) {
      sum_normal(rules);
      solve_together(rules);
      bool crossed = false;
      share(n, [&](int c) {
        memory.moved[c] = T(0);
        const T inverse_D = memory.inverse_D[c];
        if (!(inverse_D > T(0))) return;
        T x = pull ? pull[c] : T(0);
        for (int k = 0; k < m; ++k) x += memory.J[c * odd + k] * memory.y[k];
        x *= inverse_D;
        const bool out = !(x >= memory.low[c] && x <= memory.high[c]);
        const T dq = minimum(maximum(x, memory.low[c]), memory.high[c]);
        memory.dq[c] = dq;
        if (!out || round >= rounds) return;
        crossed = true;
        memory.moved[c] = pull ? dq - inverse_D * pull[c] : dq;
        memory.inverse_D[c] = T(0);
      });
      crossed = team.any(crossed);
      if (crossed) subtract_moved();
      if (!rules.change(*this, round) && !crossed) return;
    }
  }

  // the step of a search: every row is active
  struct SearchRules {
    const TeamSearch& search;
    POISE_FN constexpr bool is_active(int) const { return true; }
    POISE_FN T damping_of(int row) const { return search.damping_of(row); }
    POISE_FN constexpr bool change(const TeamSearch&, int) const { return false; }
  };

  // step_lm of search.h
  POISE_FN void propose_together() {
    assemble_together();
    const bool bounded = settings.limits != LIMITS_OFF;
    share(n, [&](int c) {
      room_of_velocity(problem, c, memory.q, bounded, settings.reach, memory.low[c], memory.high[c]);
      memory.inverse_D[c] = problem.freedoms[c].unit2 / problem.freedoms[c].weight;
    });
    // a long way of the second priority goes in parts: the first one is linear only near the pose
    const T part = restores ? T(0) : minimum(T(1), T(0.5) / square_root(maximum(second, T(1e-12))));
    share(m, [&](int r) { memory.rhs[r] = P::priority(r) ? part * memory.rows[r] : memory.rows[r]; });
    SearchRules rules{*this};
    // a balance moves many joints to their bounds: those that are only clamped would move the other goals
    const int rounds = may_weigh<P>() && settings.rounds < 4 ? 4 : settings.rounds;
    step_together(nullptr, settings.limits == LIMITS_CLAMP ? 0 : rounds, rules);
  }

  // nudge_lanes of lanes.h
  POISE_FN void nudge_together() {
    T largest = T(0);
    for (int c = team.rank(); c < n; c += Team::size()) {
      largest = maximum(largest, length_of(problem, c, memory.dq[c]));
    }
    largest = team.most(largest);
    const bool able = !is_set(state.reached) && state.nudges < T(2) && !is_set(state.fresh);
    if (!able || largest > step_of_nothing(state.at.cost)) return;
    state.nudges += T(1);
    share(n, [&](int c) {
      memory.dq[c] = nudged(nudge_of(problem, c, int(state.nudges)), memory.low[c], memory.high[c]);
    });
  }

  // advance_lanes of lanes.h: one step; whether the search is finished
  POISE_FN bool advance() {
    const bool bounded = settings.limits != LIMITS_OFF;
    if (!is_set(state.fresh)) {
      propose_together();
      nudge_together();
      share(P::n_coordinates, [&](int i) { step_coordinate(problem, i, memory.q, memory.dq, bounded, memory.q); });
      state.steps += T(1);
    }
    state.fresh = T(0);
    state.at.cost = evaluate_together();
    T outside = T(0);
    for (int c = team.rank(); c < n && bounded; c += Team::size())
      outside = maximum(outside, outside_at(problem, c, memory.q));
    const bool within = within_tolerance(problem, memory.errors, P::fraction());
    const Progress<T> made = weigh_lanes(settings, false, team.most(outside), within, T(0), state);
    if (made.better) share(P::n_q, [&](int k) { memory.best_q[k] = memory.q[k]; });
    const bool finished = judge_lanes<T>(settings, false, made.real, state);
    if (P::n_priorities == 1 || !finished || restores || is_set(state.reached) || is_first_within()) return finished;
    restores = true;
    state.idle = T(0);
    return state.steps >= T(settings.max_steps);
  }

  // ------------------------------------------------------------------------------------------ a row

  // starts search number `search` of a row; false if the row is invalid
  POISE_FN bool begin(const DeviceRows<T, P::n_goals>& io, int row, int search) {
    bool good = true, aimed = true;
    share(P::n_goals, [&](int g) { aimed = load_target(problem, io, row, g, memory.targets) && aimed; });
    share(P::n_q, [&](int k) {
      memory.q[k] = T(start_of(io, row, P::place(k)));
      good = good && memory.q[k] - memory.q[k] == T(0);
    });
    share(P::n_coordinates, [&](int i) {
      const Coordinate c = problem.coordinates[i];
      good = (!c.quaternion || load_quaternion(memory.q + c.q_index)) && good;
    });
    if (search > 0) {
      const T* seed = io.seeds + (search - 1) * P::n_q;
      share(P::n_q, [&](int k) { memory.q[k] = P::relative(k) ? memory.q[k] + seed[k] : seed[k]; });
    } else {
      share(P::n_idle, [&](int k) { good = store_idle(problem, io, row, k) && good; });
    }
    begin_lane(state, 0);
    restores = false;
    placed = !team.any(!good);
    return placed && !team.any(!aimed);
  }

  POISE_FN void store(const DeviceRows<T, P::n_goals>& io, int row) const {
    const long long at = static_cast<long long>(row) * P::model_q;
    share(P::n_q, [&](int k) { io.q[at + P::place(k)] = memory.best_q[k]; });
  }

  // an invalid row: its start, if that is valid
  POISE_FN void refuse(const DeviceRows<T, P::n_goals>& io, int row) const {
    const long long at = static_cast<long long>(row) * P::model_q;
    share(P::n_q, [&](int k) { io.q[at + P::place(k)] = placed ? memory.q[k] : not_a_number<T>(); });
    if (!placed) share(P::n_idle, [&](int k) { io.q[at + P::idle(k).place] = not_a_number<T>(); });
    if (team.rank() == 0) {
      io.codes[row] = ROW_INVALID;
      io.steps[row] = io.searches[row] = 0;
    }
  }

  POISE_FN signed char code() const {
    return is_set(state.reached) ? ROW_REACHED : state.idle > T(settings.stall_steps) ? ROW_STALLED : ROW_OUT_OF_STEPS;
  }
};

}  // namespace poise
