// interface.cpp: the kernels as a WebAssembly module. Every function has C types; a page passes addresses in the module's
// memory. A null pointer means that the bytes were not those of a body or a problem.
#include "kernels/algebra/factor.h"
#include "kernels/body/kinematics.h"
#include "memory/problem_bytes.h"
#include "run/branch_lists.h"
#include "run/ops.h"
#include "wasm/choice.h"

#define POISE_EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace poise {
namespace page {
extern const SolverOps solver_table;
const ListOps list_table = {1, list_packed<double>, {}, {}, {}, {}, {}, {}};  // only batches judge
}  // namespace page
const ListOps& list_ops() { return page::list_table; }

namespace {

enum Count : int {
  N_Q,
  N_V,
  N_ROWS,
  N_GOALS,
  N_POINTS,
  N_LIMITS,
  N_TARGETS,
  N_STEPS,
  N_SEARCHES,
  IS_PROVED,
  N_HISTORY
};
enum Numbers : int { START, TARGETS, BEST_Q, BEST_ERRORS, SEARCH_Q, SEARCH_ROWS, SEARCH_DQ, SEARCH_ERRORS, HISTORY };

std::unique_ptr<PageProblem> read_problem(ByteReader& in) {
  auto out = std::make_unique<PageProblem>();
  bool more = false;
  visit_problem(in, out->data);
  visit_plain(in, more);
  if (!in.good()) return nullptr;
  if (more) out->first = read_problem(in);
  if (more && !out->first) return nullptr;
  out->data.first = out->first ? &out->first->data : nullptr;
  allot(out->data);
  return out;
}

}  // namespace

POISE_EXPORT(poise_allocate) void* poise_allocate(std::size_t size) { return ::operator new(size); }
POISE_EXPORT(poise_release) void poise_release(void* at) { ::operator delete(at); }

// ---------------------------------------------------------------------------------------------- bodies

POISE_EXPORT(poise_read_body) Body* poise_read_body(const char* bytes, std::size_t size) {
  auto out = std::make_unique<Body>();
  ByteReader in(bytes, size);
  visit_body(in, *out);
  return in.is_complete() ? out.release() : nullptr;
}

POISE_EXPORT(poise_count_frames) int poise_count_frames(const Body* body) {
  return static_cast<int>(body->f64.frames.size());
}

// T_world_frame of all frames, 4x4 each, row by row
POISE_EXPORT(poise_fk) void poise_fk(const Body* body, const double* q, double* out) {
  std::vector<double> placements(
      static_cast<std::size_t>(size_of_placements(static_cast<int>(body->f64.primitives.size()))) + 8);
  place_all(body->f64.view(body->n_q, body->n_v), q, placements.data());
  for (const FrameData<double>& frame : body->f64.frames) {
    double R[9], p[3];
    frame_from(frame, placements.data(), R, p);
    for (int r = 0; r < 3; ++r, out += 4) {
      for (int c = 0; c < 3; ++c) out[c] = R[3 * r + c];
      out[3] = p[r];
    }
    for (int c = 0; c < 4; ++c) *out++ = c == 3;
  }
}

// (6, n_v), in world axes at the frame's origin
POISE_EXPORT(poise_jacobian) void poise_jacobian(const Body* body, int frame, const double* q, double* out) {
  const double origin[3] = {};
  frame_jacobian(body->f64.view(body->n_q, body->n_v), body->f64.frames[static_cast<std::size_t>(frame)], origin, WORLD,
                 q, body->n_v, out);
}

// of A (m, n), which is overwritten; `sigma` (m) in no particular order
POISE_EXPORT(poise_singular_values) void poise_singular_values(int m, int n, double* A, double* sigma) {
  std::vector<double> left(static_cast<std::size_t>(m * m));
  jacobi_svd(m, n, A, left.data(), sigma);
}

// ---------------------------------------------------------------------------------------------- problems

POISE_EXPORT(poise_read_problem) PageProblem* poise_read_problem(const char* bytes, std::size_t size) {
  ByteReader in(bytes, size);
  auto out = read_problem(in);
  return in.is_complete() ? out.release() : nullptr;
}

POISE_EXPORT(poise_choose)
PageProblem* poise_choose(PageProblem* from, const unsigned char* goals, const unsigned char* points,
                          const unsigned char* limits) {
  return choose(*from, goals, points, limits).release();
}

POISE_EXPORT(poise_release_problem) void poise_release_problem(PageProblem* problem) { delete problem; }

POISE_EXPORT(poise_count) int poise_count(const PageProblem* problem, int what) {
  const SolverData& d = problem->data;
  switch (static_cast<Count>(what)) {
    case N_Q:
      return d.n_q;
    case N_V:
      return d.n_v;
    case N_ROWS:
      return d.n_rows;
    case N_GOALS:
      return static_cast<int>(d.goals.size());
    case N_POINTS:
      return static_cast<int>(d.points.size());
    case N_LIMITS:
      return static_cast<int>(d.limits.size());
    case N_TARGETS:
      return static_cast<int>(d.targets.size());
    case N_STEPS:
      return d.total_steps;
    case N_SEARCHES:
      return d.total_searches;
    case IS_PROVED:
      return d.proved_unreachable;
    case N_HISTORY:
      return static_cast<int>(d.history.size());
  }
  return -1;
}

POISE_EXPORT(poise_numbers) double* poise_numbers(PageProblem* problem, int what) {
  SolverData& d = problem->data;
  switch (static_cast<Numbers>(what)) {
    case START:
      return d.start.data();
    case TARGETS:
      return d.targets.data();
    case BEST_Q:
      return d.best_q.data();
    case BEST_ERRORS:
      return d.best_errors.data();
    case SEARCH_Q:
      return d.state.q;
    case SEARCH_ROWS:
      return d.state.rows;
    case SEARCH_DQ:
      return d.state.dq;
    case SEARCH_ERRORS:
      return d.state.errors;
    case HISTORY:
      return d.history.data();
  }
  return nullptr;
}

// where the numbers of a goal's target begin: R (9), then p (3)
POISE_EXPORT(poise_find_target) int poise_find_target(const PageProblem* problem, int goal) {
  return problem->data.goals[static_cast<std::size_t>(goal)].target;
}

POISE_EXPORT(poise_hold) void poise_hold(PageProblem* problem, int goal, const double* q) {
  hold(problem->data, goal, q);
}

// keeps every evaluated pose of the next solves in HISTORY (run/history.h has the layout)
POISE_EXPORT(poise_record) void poise_record(PageProblem* problem) { problem->data.record = true; }

// solves from START to BEST_Q; returns the Outcome
POISE_EXPORT(poise_solve) int poise_solve(PageProblem* problem) {
  fetch_targets(*problem);
  page::solver_table.solve(problem->data);
  return static_cast<int>(problem->data.outcome);
}

// one search from START, phase by phase
POISE_EXPORT(poise_restart) void poise_restart(PageProblem* problem) {
  SolverData& d = problem->data;
  fetch_targets(*problem);
  d.state.origin = d.mode == Mode::CONTINUOUS ? d.start.data() : nullptr;
  d.state.span = d.span;
  page::solver_table.restart(d);
}

POISE_EXPORT(poise_advance) int poise_advance(PageProblem* problem) {
  page::solver_table.advance(problem->data);
  return static_cast<int>(problem->data.state.phase);
}

}  // namespace poise
