// solver_data.h: a prepared problem with all its memory. Built once; a solve allocates nothing.
#pragma once
#include <chrono>
#include <functional>
#include <vector>

#include "kernels/closed/form.h"
#include "kernels/limits/limits.h"
#include "kernels/loop/search.h"
#include "kernels/problem/reachable.h"
#include "kernels/strict/hierarchy.h"
#include "memory/body_data.h"
#include "memory/listed_poses.h"

namespace poise {

enum class Mode : int { NEAREST = 0, REPEATABLE = 1, CONTINUOUS = 2 };

// A pose and all that is known of it.
struct StrictPoint {
  double *q, *placements;
  double *rows, *room;  // residuals of the goals, and how far each may move within its range
  double* errors;       // metres and radians of each goal
  double* gaps;         // of the limits: negative where one is broken
  double* costs;        // of each level, and the posture's
};

// What a level is descended for. The way of a level through these states is drawn in run/strict/strict.h.
enum class Descent : int {
  LEVEL,    // to where little is left to gain
  RETURN,   // a level above, after a search began elsewhere: back to what it is known to reach
  FINISH,   // a level that is missed: to the minimum itself
  POSTURE,  // behind the last level
};

// What the goals of a level have to come within to be reached.
enum class Bars : int {
  TOLERANCE,  // their own tolerances
  GUARD,      // what they are known to reach
};

// The strict solve (run/strict/strict.h): its memory, and where it stands.
struct StrictState {
  StrictPoint here{}, there{};   // where the body is, and the trial of the next step
  HierarchyWork<double> work{};  // of one step for all levels
  std::vector<double> memory;    // what the pointers point into
  std::vector<int> level_rows;   // the first row of each level, and the end
  std::vector<int> level_goals;  // the first goal of each level, and the end

  // the state of the descent
  Descent phase = Descent::LEVEL;  // what it is for
  int level = 0;                   // the level that goes down now
  Bars bars = Bars::TOLERANCE;     // what its goals have to come within,
  double* error_bar;               // in metres and radians
  int steps_solved = 0;            // in this call
  bool cut = false;                // the last descent ended for want of steps, not at a minimum
  bool unfinished = false;         // so did the one that ended a missed level of this call
  double cost_to_beat = -1.0;      // a search has to come below it to be of use; negative: any
  double damping_share = 1.0;      // of the usual damping, for the level that goes down

  // what the levels above must keep
  double *error_guard, *cost_guard;  // no error of a goal, and no cost of a level, may become larger
  std::vector<char>
      frozen;  // of each level: its rows stay as they were (frozen_rows), else they may move on within its tolerance
  double* frozen_rows;
  double* start_gaps;  // of the limits, at the start of the call

  // the last step
  double predicted_cost = 0.0;        // what it leaves of its level's cost, to first order
  int n_returning = 0;                // broken limits that it brings back inside
  bool bounds_held = false;           // joints at a bound take no part in it
  const double* assembled = nullptr;  // the pose that state.J belongs to, and the last level in it
  int assembled_level = 0;
  double *wanted, *limit_rows;
  std::vector<Inequality<double>> inequalities;
  std::vector<int> order, near_limits, holds;
  std::vector<char> active, resting, loose;
};

// an end of a search, kept while others are tried
struct Kept {
  std::vector<double> q, errors;
  double cost = 0.0, outside = 0.0;
  Outcome outcome = Outcome::RUNNING;
  int winner = 0;
};

// What a call has cost so far, and who may call it off; see `late` in run/running.h.
struct Watch {
  using Time = std::chrono::steady_clock::time_point;
  Time begun{}, heard{};                // when the call began, when its caller was asked last
  bool (*asks)(const void*) = nullptr;  // whether the caller wants it to end; may throw
  const void* caller = nullptr;         // what it is asked with
  bool over = false;                    // it does
  int patience = 0;                     // looks at the clock until the caller's turn comes again
  int unasked = 0, most_unasked = 0;    // poses that were looked at since the last question; the most between two
  long long poses = 0;                  // all of them

  // Asks the caller, if it was not asked for a while: Python has to be waited for.
  bool called_off() {
    const Time now = std::chrono::steady_clock::now();
    if (over || !asks || std::chrono::duration<double>(now - heard).count() < 0.05) return over;
    heard = now;
    return over = asks(caller);
  }
};

struct SolverData {
  // the problem
  std::vector<Primitive<double>> primitives;
  std::shared_ptr<const CurveStore> curves;  // that they point at
  std::vector<FrameData<double>> frames;
  std::vector<GoalSpec<double>> goals;
  std::vector<Coordinate> coordinates;  // of the velocities that may move
  std::vector<Freedom<double>> freedoms;
  std::vector<double> periods;        // of the freedoms: after how much motion the body is as before; 0: never
  std::vector<Freedom<double>> idle;  // joints that may move but that no goal depends on
  std::vector<int> idle_velocities;   // of the body
  bool shared_columns = false;
  int n_q = 0, n_v = 0, n_rows = 0;
  double scale = 1.0;
  std::vector<double> posture_wanted, posture_gain;  // empty: no posture
  int posture_power = 2;
  std::vector<Mass<double>> masses;  // empty unless a goal asks for them
  std::vector<int> points;           // frames of the supports' points
  std::vector<int> velocities;       // of the body, in the order of the problem's columns
  std::vector<Run> runs;             // the rows that each velocity moves
  std::vector<Run> row_runs;         // the velocities that move each row, where rows outnumber them
  std::vector<double> ones;          // as many
  bool ranged = false;               // some goal has a range
  std::vector<LimitSpec<double>> limits;
  std::vector<CapsuleData<double>> capsules;
  std::vector<PlacedCapsule<double>> placed;
  std::vector<ConeSpec<double>> cones;
  std::vector<CoupledTerm<double>> terms;
  bool strict = false;          // several levels, or limits beyond the joints' ranges
  SolverData* first = nullptr;  // the first level alone, without such limits; none where loops are closed

  // rows and columns of the custom ones among the first so many goals, filled in by their owner: (q, rows, errors, goals), (q, J, goals)
  std::function<void(const double*, double*, double*, int)> custom_rows;
  std::function<void(const double*, double*, int)> custom_columns;

  // how to solve it
  Settings<double> settings{};
  Mode mode = Mode::NEAREST;
  int searches = 1;  // the first from the start, the others from seeds
  unsigned seed = 0;
  double time_limit = -1.0;  // seconds; negative: none
  double span = 0.0;         // continuous mode: most radians (times L: metres) in one call
  bool polish = false;       // bring a missed goal to its true minimum
  int extra = 0;             // numbers of workspace that the method asked for
  bool record = false;       // keep every evaluated pose in `history`
  bool loose = false;        // a tolerance is wider than the default: further searches aim at its region

  std::vector<Reachable<double>> reachable;
  std::function<void()> more_proofs;  // appends the rest of them, where that was left for when a search misses
  bool proofs_complete = false;
  std::size_t early_bounds = 0;            // of `reachable`: what is known before a search has missed
  std::size_t bounds_used = 0;             // those that count now: a solver that was used before answers as a new one
  std::vector<ClosedForm<double>> closed;  // come with them
  int tries = 20;                          // most searches for the best pose where no pose reaches

  // one call
  std::vector<double> start, targets, memory;
  std::vector<double> window;  // of the next call: 2 for each velocity of the body; empty: none
  std::vector<double> own_window, held;
  std::vector<double> newton;  // see run/newton.h
  std::vector<double> bend;    // of custom goals under Halley's rule: 2 n_rows n_v, and a pose
  SearchState<double> state{};
  StrictState strict_state;
  int relaxed_from = 0, relaxed_to = 0;  // goals of which only the errors beyond their tolerances count now
  int total_steps = 0, total_searches = 0, winner = 0;
  Outcome outcome = Outcome::RUNNING;
  bool out_of_time = false, proved_unreachable = false;
  double seconds = 0.0;
  Watch watch;
  std::vector<double> best_q, best_errors;
  double best_cost = 0.0, best_outside = 0.0;
  Kept kept;
  ListMemory listed;  // of find.h
  std::vector<double> history;  // rows of: search, cost, damping, errors, q

  Problem<double, BodyView<double>, GoalList<double>> problem() const {
    const Mass<double>* mass = masses.empty() ? nullptr : masses.data();
    return {{primitives.data(), mass, static_cast<int>(primitives.size()), n_q, n_v, shared_columns},
            {goals.data(), frames.data(), static_cast<int>(goals.size()), points.data()},
            coordinates.data(),
            static_cast<int>(coordinates.size()),
            freedoms.data(),
            n_q,
            n_v,
            n_rows,
            scale,
            cones.data(),
            static_cast<int>(cones.size())};
  }
  LimitList<double> limit_list() {
    return {limits.data(), static_cast<int>(limits.size()),   capsules.data(), cones.data(),
            terms.data(),  static_cast<int>(capsules.size()), placed.data()};
  }
  Posture<double> posture() const {
    if (posture_gain.empty()) return {nullptr, nullptr};
    return {posture_wanted.data(), posture_gain.data(), 1.0, posture_power};
  }
};

// gives the search its memory, once
void allot(SolverData& solver);

struct SolverOps {
  void (*solve)(SolverData&);    // from start and targets to the best pose
  void (*restart)(SolverData&);  // begins one search at start
  void (*advance)(SolverData&);  // one phase of it

  // the parts of a solve, for those who run the searches themselves
  void (*begin)(SolverData&);  // start and targets are there: what is known before a search
  void (*seed)(const SolverData&, unsigned search, double* q);  // the start of search 1, 2, ...
  void (*polish)(SolverData&);                                  // from best_q to the minimum itself
};

}  // namespace poise
