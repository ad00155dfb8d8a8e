// passes.cu: the kernels of a batch. source.py fills in the problem and the arguments that depend on it.
#include "gpu/warp.h"
#include "kernels/loop/gpu_branches.h"
#include "kernels/loop/gpu_call.h"
#include "kernels/loop/gpu_clearance.h"
#include "kernels/loop/gpu_team_posture.h"

/*PROBLEMS*/

using namespace poise;

constexpr int M = /*ROWS*/;

using Given = GoalsCall<f32::n_goals>;

// the meaning of the counters
enum : int { NEXT_ROW, HARD, NEXT_AGAIN, MISSED, NEXT_DECIDED, UNDECIDED, NEXT_HARD, NEXT_RESTED };

// a row of six joints with a closed form begins at a branch; if that misses, the row counts as abandoned
constexpr bool begins_at_branch = f32::begins_at_branch;

// with closed forms, abandoned rows are decided before they are searched to the end
constexpr bool decides = f32::n_closed > 0;

// Where few rows were abandoned, most have a pose, which a warp finds in a fraction of the time of a decision.
constexpr int again_searches = 64, again_share = 64;
POISE_FN bool searches_again(const Given& given) { return given.counters[HARD] <= given.rows / again_share; }

// a list of rows in device memory, and its length
struct RowList {
  int *rows, *count;
  POISE_FN void add(int row) const { rows[atomicAdd(count, 1)] = row; }
};

// the rows to decide, and those that no closed form decides
POISE_FN RowList missed_rows(const Given& given) {
  return searches_again(given) ? RowList{given.open, given.counters + MISSED}
                               : RowList{given.hard, given.counters + HARD};
}
POISE_FN RowList undecided_rows(const Given& given) {
  return {searches_again(given) ? given.hard : given.open, given.counters + UNDECIDED};
}

POISE_FN DeviceRows<float, f32::n_goals> rows_of(const Given& given) {
  DeviceRows<float, f32::n_goals> io = {{}, {}, {/*SINGLE*/}};
  POISE_UNROLL
  for (int g = 0; g < f32::n_goals; ++g) {
    io.targets[g] = given.targets[g];
    io.target_stride[g] = given.strides[g];
  }
  io.starts = given.starts;
  io.start_single = /*START_SINGLE*/;
  io.start_stride = given.start_stride;
  io.rows = given.rows;
  io.q = given.q;
  io.finished = given.finished;
  io.errors = given.errors;
  io.reached = given.reached;
  io.codes = given.codes;
  io.steps = given.steps;
  io.searches = given.searches;
  io.best = given.best;
  io.seeds = given.seeds;
  return io;
}

// the pose of a row in double: refined if `finish`, moved to its posture if it `rests`, and checked; a large body rests by
// teams
template <bool finish, bool rests = f64::Problem::has_posture && !has_teams<f64::Problem>>
POISE_FN void end_row(const DeviceRows<float, f32::n_goals>& io, int row) {
  const f64::Problem problem;
  const f64::Rest rest;
  if constexpr (finish) {
    finish_row<M, rests>(problem, f64::settings(), rest.posture(), io, row);
  } else if constexpr (rests) {
    rest_row<M>(problem, f64::settings(), rest.posture(), io, row);
  } else {
    check_row(problem, io, row);
  }
}

POISE_FN int row_of_thread() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

// the next of `count` rows for all threads of a warp
POISE_FN int take_together(const Warp& team, int* counter) {
  int k = 0;
  if (team.rank() == 0) k = atomicAdd(counter, 1);
  return __shfl_sync(everyone, k, 0);
}

// the memory of a warp's teams, which the host allots
using Team = Group</*TEAM*/>;
using Numbers = TeamMemory<f32::Problem, float>;
extern __shared__ Numbers team_numbers[];
extern "C" __device__ int team_bytes = sizeof(Numbers) * (32 / Team::size());

POISE_FN SearchKey* keys_of(const Given& given) { return reinterpret_cast<SearchKey*>(given.best); }

template <class Own = Team, class Work> POISE_FN void search_by_teams(Work& work) {
  const f32::Problem problem;
  const Settings<float> settings = f32::settings();
  TeamSearch<f32::Problem, float, Own> search{problem, settings, team_numbers[threadIdx.x / Own::size()]};
  run_searches(search, work, Warp{});
}

// kernel search_few: a small batch; one warp per row, all in one launch
extern "C" __global__ void __launch_bounds__(32) search_few(const Given given) {
  const auto io = rows_of(given);
  const f32::Problem problem;
  const Warp team;
  SearchMemory<f32::Problem, float> memory;
  LaneState<float> state = memory.state();
  const int row = static_cast<int>(blockIdx.x);
  bool left = true;
  if constexpr (begins_at_branch) {
    const f32::Rest rest;
    if (team.rank() == 0) left = place_row(problem, f32::settings(), rest.posture(), io, row);
    left = __any_sync(everyone, team.rank() == 0 && left);
    __syncwarp();
  }
  if (left) {
    search_row_together<M>(problem, f32::settings(), io, 0, given.most, row, team, memory, state);
  }
  __syncwarp();
  if (team.rank() == 0) end_row</*FINISH*/>(io, row);
}

// kernel place_rows: one thread per row
extern "C" __global__ void __launch_bounds__(128) place_rows(const Given given) {
  const f32::Rest rest;
  const int row = row_of_thread();
  if (row < given.rows && place_row(f32::Problem{}, f32::settings(), rest.posture(), rows_of(given), row))
    RowList{given.hard, given.counters + HARD}.add(row);
}

// kernel search_rows: one thread per row, until none are left
extern "C" __global__ void __launch_bounds__(128, /*BLOCKS*/) search_rows(const Given given) {
  const auto io = rows_of(given);
  const f32::Problem problem;
  search_rows<M>(
      problem, f32::settings(), io, given.early, given.most, Queue{given.counters},
      [=](int row) { given.hard[atomicAdd(given.counters + HARD, 1)] = row; }, Warp{});
}

// kernel search_again: one warp per abandoned row, where these are few; the missed ones are to be decided
extern "C" __global__ void __launch_bounds__(128) search_again(const Given given) {
  if (!searches_again(given)) return;
  const auto io = rows_of(given);
  const f32::Problem problem;
  const Warp team;
  SearchMemory<f32::Problem, float> memory;
  LaneState<float> state = memory.state();
  const RowList missed = missed_rows(given);
  const int count = given.counters[HARD];
  // ends: every round takes one of the abandoned rows
  for (;;) {
    const int k = take_together(team, given.counters + NEXT_AGAIN);
    if (k >= count) return;
    const int row = given.hard[k], first = io.searches[row];
    const int last = given.most < first + again_searches ? given.most : first + again_searches;
    search_row_together<M>(problem, f32::settings(), io, first, last, row, team, memory, state);
    __syncwarp();
    if (team.rank() == 0 && is_missed(io.codes[row])) missed.add(row);
  }
}

// kernel settle_few: a small batch, rows that search_few missed; one warp per row
extern "C" __global__ void __launch_bounds__(32) settle_few(const Given given) {
  const auto io = rows_of(given);
  const Warp team;
  const int row = static_cast<int>(blockIdx.x);
  if (!is_missed(io.codes[row])) return;
  __shared__ CellMemory<double> cells;
  const f64::Problem exact;
  if (team.rank() == 0) cells.taken = 0;
  __syncwarp();
  const auto next = [&] { return atomicAdd(&cells.taken, 1) == 0 ? row : -1; };
  decide_rows_together(exact, io, cells, team, 1, next, [](int) {});
  __syncwarp();
  if (is_missed(io.codes[row]) && given.early < given.most) {
    const f32::Problem problem;
    SearchMemory<f32::Problem, float> memory;
    LaneState<float> state = memory.state();
    search_row_together<M>(problem, f32::settings(), io, given.early, given.most, row, team, memory, state);
  }
  __syncwarp();
  if (team.rank() == 0) end_row</*FINISH*/>(io, row);
}

// kernel decide_rows: one warp for a few abandoned rows at a time
extern "C" __global__ void __launch_bounds__(128, 1) decide_rows(const Given given) {
  __shared__ CellMemory<double> cells[4];
  const auto io = rows_of(given);
  const f64::Problem exact;
  const RowList missed = missed_rows(given), undecided = undecided_rows(given);
  const int count = *missed.count;
  decide_rows_together(
      exact, io, cells[threadIdx.x / 32], Warp{}, places_for(count, static_cast<int>(gridDim.x) * 4),
      [=] {
        const int k = atomicAdd(given.counters + NEXT_DECIDED, 1);
        return k < count ? missed.rows[k] : -1;
      },
      [=](int row) { undecided.add(row); });
}

// kernel search_hard: one warp per abandoned row
extern "C" __global__ void __launch_bounds__(128) search_hard(const Given given) {
  const auto io = rows_of(given);
  const f32::Problem problem;
  const Warp team;
  SearchMemory<f32::Problem, float> memory;
  LaneState<float> state = memory.state();
  const RowList left = decides ? undecided_rows(given) : RowList{given.hard, given.counters + HARD};
  const int count = *left.count;
  // ends: every round takes one of the abandoned rows
  for (;;) {
    const int k = take_together(team, given.counters + NEXT_HARD);
    if (k >= count) return;
    const int row = left.rows[k];
    search_row_together<M>(problem, f32::settings(), io, io.searches[row], given.most, row, team, memory, state);
  }
}

// kernel search_bodies: a large body; a team of threads per row, until none are left
extern "C" __global__ void __launch_bounds__(32) search_bodies(const Given given) {
  const auto io = rows_of(given);
  EarlySearches work{io,
                     keys_of(given),
                     given.early,
                     given.most,
                     [=] { return atomicAdd(given.counters + NEXT_ROW, 1); },
                     [=](int row) { RowList{given.hard, given.counters + HARD}.add(row); }};
  search_by_teams(work);
}

// kernel search_late: further searches of the rows that missed, one team each
extern "C" __global__ void __launch_bounds__(32) search_late(const Given given) {
  const auto io = rows_of(given);
  LateSearches work{io, keys_of(given), given.hard, given.counters[HARD], given.early, given.most, [=] {
                      return atomicAdd(given.counters + NEXT_HARD, 1);
                    }};
  search_by_teams(work);
}

// kernel store_late: the poses that they found
extern "C" __global__ void __launch_bounds__(32) store_late(const Given given) {
  const auto io = rows_of(given);
  RepeatedSearches work{io, keys_of(given), given.hard, given.counters[HARD],
                        [=] { return atomicAdd(given.counters + NEXT_AGAIN, 1); }};
  search_by_teams(work);
}

// kernel rest_bodies: the postures of a large body, after end_rows; a team of threads per row
using RestTeam = Group</*REST_TEAM*/>;
extern __shared__ RestMemory<f64::Problem> rest_numbers[];
extern "C" __device__ int rest_bytes = sizeof(RestMemory<f64::Problem>) * (32 / RestTeam::size());
extern "C" __global__ void __launch_bounds__(32) rest_bodies(const Given given) {
  const auto io = rows_of(given);
  const f64::Problem problem;
  const Settings<double> settings = f64::settings();
  const f64::Rest rest;
  const Posture<double> posture = rest.posture();
  RestMemory<f64::Problem>& memory = rest_numbers[threadIdx.x / RestTeam::size()];
  TeamSearch<f64::Problem, double, RestTeam> search{problem, settings, memory.search};
  TeamDescent<f64::Problem, RestTeam> body{search, memory, posture};
  const auto next = [=] { return atomicAdd(given.counters + NEXT_RESTED, 1); };
  RestingRows</*FINISH*/, DeviceRows<float, f32::n_goals>, decltype(next)> work{io, next};
  run_searches(body, work, Warp{});
}

// kernel end_rows: refines or checks every pose
extern "C" __global__ void __launch_bounds__(128) end_rows(const Given given) {
  if (const int row = row_of_thread(); row < given.rows) end_row</*FINISH*/>(rows_of(given), row);
}

// kernel check_clear: every row, then those that were searched further; one thread for each
extern "C" __global__ void __launch_bounds__(128) check_clear(const Given given, const ClearanceCall<double> clear) {
  const auto io = rows_of(given);
  const f64::Problem exact;
  const body::Problem moving;
  const RowList left{clear.rows, clear.counters};
  const int count = clear.last ? *left.count : given.rows;
  const int step = static_cast<int>(gridDim.x * blockDim.x);
  for (int k = row_of_thread(); k < count; k += step) {
    const int row = clear.last ? left.rows[k] : k;
    if (clear.last && io.codes[row] != ROW_IN_COLLISION) end_row</*FINISH*/, false>(io, row);
    if (check_clear_row(exact, moving, io, clear, row)) left.add(row);
  }
}

// kernel gather_clear: one warp per row in collision
extern "C" __global__ void __launch_bounds__(128) gather_clear(const Given given, const ClearanceCall<double> clear) {
  const auto io = rows_of(given);
  const f32::Problem problem;
  const body::Problem moving;
  const Warp team;
  SearchMemory<f32::Problem, float> memory;
  LaneState<float> state = memory.state();
  const int count = clear.counters[0];
  // ends: every round takes one of the rows
  for (;;) {
    const int k = take_together(team, clear.counters + 2);
    if (k >= count) return;
    gather_clear_row<M>(problem, f32::settings(), moving, io, clear, given.most, clear.rows[k], team, memory, state);
    __syncwarp();
  }
}

// kernel gather_bodies: rows in collision of a large body; one warp per row
extern "C" __global__ void __launch_bounds__(32) gather_bodies(const Given given, const ClearanceCall<double> clear) {
  const auto io = rows_of(given);
  const f32::Problem problem;
  const body::Problem moving;
  Suspect suspect;
  ClearSearches work{
      io,
      clear.rows,
      clear.counters[0],
      given.most,
      [&](int row, const float* q) { return judge_row_gap(problem, moving, io, clear, row, q, suspect) == Gap::CLEAR; },
      [=] { return atomicAdd(clear.counters + 1, 1); }};
  search_by_teams<Warp>(work);
}

// kernel list_clear: rows in collision; one thread per row, or one warp if a joint is free
extern "C" __global__ void __launch_bounds__(128) list_clear(const Given given, const ClearanceCall<float> clear) {
  const auto io = rows_of(given);
  const f32::Problem problem;
  const f64::Problem exact;
  const body::Problem moving;
  const int count = clear.counters[0];
  if constexpr (begins_at_branch) {
    const int step = static_cast<int>(gridDim.x * blockDim.x);
    for (int k = row_of_thread(); k < count; k += step) {
      list_clear_row(problem, exact, moving, io, clear, clear.rows[k], Alone{});
    }
  } else {
    const Warp team;
    // ends: every round takes one of the rows
    for (;;) {
      const int k = take_together(team, clear.counters + 1);
      if (k >= count) return;
      list_clear_row(problem, exact, moving, io, clear, clear.rows[k], team);
      __syncwarp();
    }
  }
}

// kernel move_targets: one thread per row
extern "C" __global__ void __launch_bounds__(128) move_targets(const Given given, const ClearanceCall<double> clear) {
  if (const int row = row_of_thread(); row < given.rows) move_row_targets(f64::Problem{}, rows_of(given), clear, row);
}

// kernel block_bases: one thread per row
extern "C" __global__ void __launch_bounds__(128) block_bases(const Given given, const ClearanceCall<double> clear) {
  if (const int row = row_of_thread(); row < given.rows) block_row(rows_of(given), clear, row);
}
