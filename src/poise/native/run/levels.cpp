// levels.cpp: chooses among the tables that ops.cpp, solve.cpp, batch/lanes.cpp and batch/lists.cpp were compiled into.
#include <cstring>

#include "levels.h"
#include "memory/clip_data.h"
#include "run/batch/batch.h"
#include "run/level_names.h"
#include "run/ops.h"

namespace poise {

#define POISE_DECLARE(level, solver)   \
  namespace level {                    \
  extern const OpsTable table;         \
  extern const BatchOps batch_table;   \
  extern const ListOps list_table;     \
  }                                    \
  namespace solver {                   \
  extern const SolverOps solver_table; \
  extern const ClipOps clip_table;     \
  }
POISE_FOR_EACH_LEVEL(POISE_DECLARE)
#undef POISE_DECLARE

namespace {

struct Level {
  const char* name;
  const OpsTable* ops;
  const SolverOps* solver;
  const BatchOps* batch;
  const ListOps* lists;
  const ClipOps* clip;
};

Level best_level() {
  Level best{};
#define POISE_TRY(level, solver) \
  if (machine_runs_##level())    \
    best = {#level, &level::table, &solver::solver_table, &level::batch_table, &level::list_table, &solver::clip_table};
  POISE_FOR_EACH_LEVEL(POISE_TRY)
#undef POISE_TRY
  return best;
}

Level chosen = best_level();

}  // namespace

const OpsTable& ops() { return *chosen.ops; }

const SolverOps& solver_ops() { return *chosen.solver; }

const BatchOps& batch_ops() { return *chosen.batch; }

const ListOps& list_ops() { return *chosen.lists; }

const ClipOps& clip_ops() { return *chosen.clip; }

void choose_level(const char* name) {
#define POISE_TRY(level, solver)                                \
  if (std::strcmp(name, #level) == 0 && machine_runs_##level()) \
    chosen = {                                                  \
        #level, &level::table, &solver::solver_table, &level::batch_table, &level::list_table, &solver::clip_table};
  POISE_FOR_EACH_LEVEL(POISE_TRY)
#undef POISE_TRY
}

std::vector<std::string> levels() {
  std::vector<std::string> names;
#define POISE_TRY(level, solver) \
  if (machine_runs_##level()) names.emplace_back(#level);
  POISE_FOR_EACH_LEVEL(POISE_TRY)
#undef POISE_TRY
  return names;
}

}  // namespace poise
