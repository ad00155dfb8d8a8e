// levels.cpp: chooses among the tables that ops.cpp, solve.cpp and batch.cpp were compiled into.
#include <cstring>
#include <new>

#include "batch.h"
#include "level_names.h"
#include "levels.h"
#include "ops.h"

namespace poise {

#define POISE_DECLARE(level, solver)   \
  namespace level {                    \
  extern const OpsTable table;         \
  extern const BatchOps batch_table;   \
  }                                    \
  namespace solver {                   \
  extern const SolverOps solver_table; \
  }
POISE_FOR_EACH_LEVEL(POISE_DECLARE)
#undef POISE_DECLARE

namespace {

struct Level {
  const char* name;
  const OpsTable* ops;
  const SolverOps* solver;
  const BatchOps* batch;
};

Level best_level() {
  Level best{};
#define POISE_TRY(level, solver) \
  if (machine_runs_##level()) best = {#level, &level::table, &solver::solver_table, &level::batch_table};
  POISE_FOR_EACH_LEVEL(POISE_TRY)
#undef POISE_TRY
  return best;
}

Level chosen = best_level();

}  // namespace

namespace {
constexpr std::align_val_t pack_alignment{64};
}

Scratch::Scratch() : block_(nullptr), size_(0) {}

Scratch::~Scratch() { ::operator delete(block_, pack_alignment); }

void* Scratch::reserve(std::size_t bytes) {
  if (bytes > size_) {
    ::operator delete(block_, pack_alignment);
    block_ = nullptr;
    size_ = 0;
    block_ = ::operator new(bytes, pack_alignment);
    size_ = bytes;
  }
  return block_;
}

const OpsTable& ops() { return *chosen.ops; }

const SolverOps& solver_ops() { return *chosen.solver; }

const BatchOps& batch_ops() { return *chosen.batch; }

void choose_level(const char* name) {
#define POISE_TRY(level, solver)                                \
  if (std::strcmp(name, #level) == 0 && machine_runs_##level()) \
    chosen = {#level, &level::table, &solver::solver_table, &level::batch_table};
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
