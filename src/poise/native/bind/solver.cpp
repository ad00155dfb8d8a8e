// solver.cpp: bindings of the solver: it reads its start and targets, runs without the GIL, and returns numbers.
#define NO_IMPORT_ARRAY
#include "bind/bindings.h"

#include <algorithm>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/answer_type.h"
#include "bind/prepared.h"
#include "kernels/goals/targets.h"
#include "run/history.h"
#include "run/ops.h"
#include "run/rounding.h"

namespace poise {
namespace {

// the simple cases: 3 numbers for a point, 3x3 for a rotation, 4x4 for both; false for others
bool read_plain(const GoalSpec<double>& goal, nb::handle value, double* to) {
  if (!PyArray_CheckExact(value.ptr())) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(value.ptr());
  if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array)) return false;
  const auto* x = static_cast<const double*>(PyArray_DATA(array));
  const int ndim = PyArray_NDIM(array);
  const npy_intp* dims = PyArray_DIMS(array);
  if (goal.ranged || goal.local) return false;
  const bool point = goal.op == GOAL_POSITION || goal.op == GOAL_LOOK;
  const bool fits = point                      ? ndim == 1 && dims[0] == 3
                    : goal.op == GOAL_ROTATION ? ndim == 2 && dims[0] == 3 && dims[1] == 3
                    : goal.op == GOAL_POSE     ? ndim == 2 && dims[0] == 4 && dims[1] == 4
                                               : false;
  return fits && read_target(point ? static_cast<int>(GOAL_POSITION) : goal.op, x, to);
}

// reads a target; the goal's converter reads, or rejects, anything but a plain array
void take_target(PreparedSolver& solver, std::size_t g, nb::handle value) {
  const GoalSpec<double>& goal = solver.data.goals[g];
  double* to = solver.pending.data() + goal.target;
  if (read_plain(goal, value, to)) return;
  const nb::object converted = solver.converters[g](value);
  const Array all = as_array<double>(converted, "target");
  const bool last = g + 1 == solver.data.goals.size();
  const npy_intp end = last ? static_cast<npy_intp>(solver.pending.size()) : solver.data.goals[g + 1].target;
  if (static_cast<npy_intp>(all.size()) != end - goal.target) {
    refuse("ShapeMismatch",
           "the new target of goal '" + solver.names[g] + "' is of another kind than the one it was made with.");
  }
  for (npy_intp k = 0; k < end - goal.target; ++k) to[k] = all.data<double>()[k];
}

// reads all targets, or none if one is invalid
void read_targets(PreparedSolver& solver, const nb::dict& targets) {
  solver.pending = solver.data.targets;
  for (auto [key, value] : targets) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_Check(key.ptr()) ? PyUnicode_AsUTF8AndSize(key.ptr(), &size) : "";
    if (!text) throw nb::python_error();
    const std::string_view name(text, static_cast<std::size_t>(size));
    std::size_t g = 0;
    // ends: at the last name
    while (g < solver.names.size() && solver.names[g] != name) ++g;
    if (g == solver.names.size()) {
      nb::object error =
          nb::module_::import_("poise.errors").attr("name_not_found")("goal", key, nb::cast(solver.names));
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
      throw nb::python_error();
    }
    take_target(solver, g, value);
  }
  solver.data.targets.swap(solver.pending);
}

std::vector<double> listed(const double* x, int n) { return {x, x + n}; }

Array fresh(const std::vector<double>& from, std::initializer_list<npy_intp> shape) {
  auto* dims = const_cast<npy_intp*>(shape.begin());  // numpy only reads them
  Array out(PyArray_SimpleNew(static_cast<int>(shape.size()), dims, NPY_DOUBLE));
  std::copy(from.begin(), from.end(), out.data<double>());
  return out;
}

// the largest motion of each velocity of the body from the start in this call: (nv, 2), or none
void read_window(PreparedSolver& solver, nb::handle window) {
  solver.data.window.clear();
  if (window.is_none()) return;
  const Array a = as_array<double>(window, "window");
  solver.data.window.assign(a.data<double>(), a.data<double>() + a.size());
}

AnyTuple solve(PreparedSolver& solver, nb::handle start, nb::handle targets, nb::handle window) {
  const Use use(solver);
  solver.solved_by = std::this_thread::get_id();
  read_start(solver, start);
  nb::object own = nb::none();
  if (PyArray_Check(targets.ptr())) {
    take_numbers(solver, as_array<double>(targets, "targets"));
  } else if (!targets.is_none()) {
    const auto given = nb::cast<nb::dict>(targets);
    read_targets(solver, given);
    own = copy_targets(given);
  }
  read_window(solver, window);
  SolverData& data = solver.data;
  const Mode mode = data.mode;
  for (SolverData* d = &data; d; d = d->first) {
    d->mode = window.is_none() ? mode : Mode::CONTINUOUS;
    d->watch.asks = hear_signals;
  }
  const auto put_back = [&] {
    for (SolverData* d = &data; d; d = d->first) {
      d->mode = mode;
      d->state.window = nullptr;  // it belonged to this call
    }
  };
  try {
    nb::gil_scoped_release release;
    solver_ops().solve(data);
  } catch (...) {  // an error of a custom goal, or Ctrl-C
    put_back();
    throw;
  }
  put_back();
  Array q = fresh(data.best_q, {data.n_q});
  nb::bytes errors(data.best_errors.data(), data.best_errors.size() * sizeof(double));  // an array takes longer
  return make_answer(q.release(), errors, nb::int_(static_cast<int>(data.outcome)), nb::int_(data.total_steps),
                     nb::int_(data.total_searches), nb::int_(data.winner), nb::float_(data.seconds),
                     nb::bool_(data.out_of_time), nb::bool_(data.proved_unreachable), nb::int_(data.colliding), own);
}

// (rows, velocities): active rows, and movable velocities that affect a goal
AnyTuple sizes_of(const PreparedSolver& solver) {
  int rows = 0;
  for (const GoalSpec<double>& goal : solver.data.goals) rows += count_asking_rows(goal);
  return nb::make_tuple(rows, solver.data.n_v);
}

// the history of the last call by name: search, cost, damping (rows,), errors (rows, goals, 2), q (rows, n_q)
AnyDict history_of(const PreparedSolver& solver) {
  const Use use(solver);
  if (solver.solved_by != std::this_thread::get_id()) Use::refuse_use();  // another thread has solved in between
  const SolverData& d = solver.data;
  const std::size_t width = history_width(d), poses = d.history.size() / width;
  const auto rows = static_cast<npy_intp>(poses), goals = static_cast<npy_intp>(d.goals.size());
  nb::dict out;
  const auto give = [&](const char* name, std::size_t first, std::size_t count, std::initializer_list<npy_intp> shape) {
    std::vector<double> numbers;
    numbers.reserve(poses * count);
    for (std::size_t i = 0; i < poses; ++i) {
      const double* from = d.history.data() + i * width + first;
      numbers.insert(numbers.end(), from, from + count);
    }
    out[name] = fresh(numbers, shape).release();
  };
  give("search", HISTORY_SEARCH, 1, {rows});
  give("cost", HISTORY_COST, 1, {rows});
  give("damping", HISTORY_DAMPING, 1, {rows});
  give("errors", HISTORY_ERRORS, 2 * d.goals.size(), {rows, goals, 2});
  give("q", history_q(d), static_cast<std::size_t>(d.n_q), {rows, d.n_q});
  return AnyDict(out);
}

// the cost of the last call: (evaluated poses, the most of them between two checks whether to stop)
AnyTuple effort_of(const PreparedSolver& solver) {
  const SolverData* first = solver.data.first;
  const Watch &own = solver.data.watch, other = first ? first->watch : Watch{};
  return nb::make_tuple(own.poses + other.poses, std::max(own.most_unasked, other.most_unasked));
}

// the Jacobian at q, weighted and scaled as in the solver, (n_rows, n_v), and the indices of its velocities
AnyTuple rows_jacobian(PreparedSolver& solver, nb::handle q) {
  const Use use(solver);
  read_start(solver, q);
  SolverData& d = solver.data;
  solver_ops().restart(d);
  solver_ops().advance(d);
  std::vector<double> J(static_cast<std::size_t>(d.n_rows * d.n_v));
  assemble(d.problem(), d.state.q, d.state.placements, d.targets.data(), d.state.J, d.state.room);
  if (d.custom_columns) d.custom_columns(d.state.q, d.state.J, static_cast<int>(d.goals.size()));
  for (int c = 0; c < d.n_v; ++c) {
    for (int r = 0; r < d.n_rows; ++r) J[static_cast<std::size_t>(r * d.n_v + c)] = d.state.J[c * d.n_rows + r];
  }
  return nb::make_tuple(fresh(J, {d.n_rows, d.n_v}).release(),
                        fresh(listed(d.state.rows, d.n_rows), {d.n_rows}).release(), nb::cast(d.velocities));
}

// the gap of every limit other than the joint ranges at q, and its derivative: gaps (n,), rows (n, n_v)
AnyTuple gaps_at(PreparedSolver& solver, nb::handle q) {
  const Use use(solver);
  read_start(solver, q);
  SolverData& d = solver.data;
  const auto problem = d.problem();
  const LimitList<double> limits = d.limit_list();
  solver_ops().restart(d);
  solver_ops().advance(d);
  place_capsules(limits, d.state.placements);
  std::vector<double> gaps(d.limits.size()), rows(d.limits.size() * static_cast<std::size_t>(d.n_v));
  for (int i = 0; i < limits.n; ++i) {
    gaps[static_cast<std::size_t>(i)] = gap_of(problem, limits, i, d.state.q);
    row_of_limit(problem, limits, i, d.state.q, d.state.placements, rows.data() + i * d.n_v);
  }
  const auto n = static_cast<npy_intp>(gaps.size());
  return nb::make_tuple(fresh(gaps, {n}).release(), fresh(rows, {n, d.n_v}).release(), nb::cast(d.velocities));
}

// q with every ball joint inside its cone, if it has one
NumpyArray brought_into_cones(PreparedSolver& solver, nb::handle q) {
  read_start(solver, q);
  SolverData& d = solver.data;
  for (const ConeSpec<double>& cone : d.cones) clamp_to_cone(cone, d.start.data() + cone.q_index);
  return fresh(d.start, {static_cast<npy_intp>(d.n_q)}).release();
}

// q in single precision, inside the ranges and cones, its errors, and whether it reaches
AnyTuple rounded(PreparedSolver& solver, nb::handle q, nb::handle targets) {
  const Use use(solver);
  read_start(solver, q);
  if (!targets.is_none()) read_targets(solver, nb::cast<nb::dict>(targets));
  SolverData& d = solver.data;
  round_pose(d, d.start.data());
  solver_ops().restart(d);
  solver_ops().advance(d);
  const bool kept = !(outside_of(d.problem(), d.settings, d.start.data()) > 0.0);
  const int n = static_cast<int>(d.goals.size());
  return nb::make_tuple(fresh(d.start, {static_cast<npy_intp>(d.n_q)}).release(),
                        fresh(listed(d.state.errors, 2 * n), {static_cast<npy_intp>(n), 2}).release(),
                        kept && within_tolerance(d.problem(), d.state.errors, 1.0));
}

// one search, phase by phase
void restart(PreparedSolver& solver, nb::handle start, nb::handle targets) {
  const Use use(solver);
  read_start(solver, start);
  if (!targets.is_none()) read_targets(solver, nb::cast<nb::dict>(targets));
  solver.data.state.origin = solver.data.mode == Mode::CONTINUOUS ? solver.data.start.data() : nullptr;
  solver.data.state.span = solver.data.span;
  solver_ops().restart(solver.data);
}

void advance(PreparedSolver& solver) {
  const Use use(solver);
  solver_ops().advance(solver.data);
}

AnyDict state_of(const PreparedSolver& solver) {
  const Use use(solver);
  const SolverData& d = solver.data;
  const SearchState<double>& s = d.state;
  AnyDict out;
  out["phase"] = static_cast<int>(s.phase);
  out["outcome"] = static_cast<int>(s.outcome);
  out["steps"] = s.steps;
  out["cost"] = s.cost;
  out["damping"] = s.damping;
  out["q"] = fresh(listed(s.q, d.n_q), {d.n_q}).release();
  out["errors"] =
      fresh(listed(s.errors, 2 * static_cast<int>(d.goals.size())), {static_cast<npy_intp>(d.goals.size()), 2})
          .release();
  out["rows"] = fresh(listed(s.rows, d.n_rows), {d.n_rows}).release();
  out["dq"] = fresh(listed(s.dq, d.n_v), {d.n_v}).release();
  out["J"] = fresh(listed(s.J, d.n_rows * d.n_v), {d.n_v, d.n_rows}).release();  // transposed
  return out;
}

// The garbage collector must see the solver's Python functions (converters, custom goals), which may refer to it.
int visit_solver(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  for (PreparedSolver* s = nb::inst_ptr<PreparedSolver>(self); s; s = s->first.get()) {
    for (const auto* functions : {&s->converters, &s->residuals, &s->jacobians}) {
      for (const nb::object& function : *functions) Py_VISIT(function.ptr());
    }
    Py_VISIT(s->prove.ptr());
  }
  return 0;
}

// sets the configuration of the posture and the gain of each velocity, if there is a posture
void rest_at(PreparedSolver& solver, const nb::handle& q, const nb::handle& gains) {
  const Use use(solver);
  SolverData& data = solver.data;
  const Array all = as_array<double>(q, "q"), each = as_array<double>(gains, "gains");
  if (data.posture_gain.empty()) return;
  const auto n = static_cast<npy_intp>(data.posture_wanted.size());
  if (all.size() != n) refuse("ShapeMismatch", "q has another length than the model's.");
  for (npy_intp k = 0; k < n; ++k) data.posture_wanted[static_cast<std::size_t>(k)] = all.data<double>()[k];
  for (std::size_t c = 0; c < data.velocities.size(); ++c) {
    const npy_intp v = data.velocities[c];
    if (v >= each.size()) refuse("ShapeMismatch", "gains has another length than the model's velocities.");
    data.posture_gain[c] = each.data<double>()[v];
  }
}

int clear_solver(PyObject* self) {
  for (PreparedSolver* s = nb::inst_ptr<PreparedSolver>(self); s; s = s->first.get()) {
    for (auto* functions : {&s->converters, &s->residuals, &s->jacobians}) functions->clear();
    s->prove.reset();
  }
  return 0;
}

void complete_all_proofs(PreparedSolver& solver, bool early) {
  for (PreparedSolver* p = &solver; p; p = p->first.get()) {
    complete_proofs(*p);
    if (early) p->data.early_bounds = p->data.bounds_used = p->data.reachable.size();
  }
}

}  // namespace

void take_numbers(PreparedSolver& solver, const Array& all) {
  const auto n = static_cast<npy_intp>(solver.data.targets.size());
  if (all.size() != n) refuse("ShapeMismatch", "targets must be " + std::to_string(n) + " numbers.");
  std::copy_n(all.data<double>(), all.size(), solver.data.targets.begin());
}

void read_start(PreparedSolver& solver, nb::handle start) {
  const Array q = as_array<double>(start, "start");
  if (q.ndim() != 1 || q.dim(0) != solver.data.n_q) {
    refuse("ShapeMismatch", "start has shape " + shape_text(q) + "; it must be (" + std::to_string(solver.data.n_q) +
                                ",), one configuration.");
  }
  require_finite(q.data<double>(), q.dim(0), q.dim(0), "start");
  for (int at : solver.quaternions) {
    const double* x = q.data<double>() + at;
    const double n2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
    if (n2 > 1e-12 && n2 < 1e12) continue;
    refuse("InvalidValue", "start[" + std::to_string(at) + ":" + std::to_string(at + 4) +
                               "] is not a quaternion of length about 1 (w x y z).");
  }
  for (std::size_t k = 0; k < solver.data.start.size(); ++k) solver.data.start[k] = q.data<double>()[k];

  // quaternions that may move are normalised; the others stay bitwise equal
  for (const Coordinate& c : solver.data.coordinates) {
    if (!c.quaternion) continue;
    double* x = solver.data.start.data() + c.q_index;
    const double off = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] - 1.0;
    if (absolute(off) > 2e-15) quaternion_normalize(x);  // a result of a solver stays bitwise equal
  }
}

bool hear_signals(const void*) {
  nb::gil_scoped_acquire hold;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  return false;
}

void bind_solver(nb::module_& m) {
  m.attr("Answer") = define_answer();
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_solver)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear_solver)},
                                {0, nullptr}};
  nb::class_<PreparedSolver> solver(m, "Solver", nb::type_slots(slots),
                                    "A prepared problem with all its memory. Private: use poise.Solver.");
  solver.def("__init__", prepare, nb::arg("body"), nb::arg("table"))
      .def("__init__", prepare_again, nb::arg("other"), nb::arg("body"), nb::arg("table"))
      .def(
          "solve", solve,
          nb::sig("def solve(self, start: object, targets: object | None, window: object | None = None) -> typing.Any"),
          nb::arg("start"), nb::arg("targets").none(), nb::arg("window").none() = nb::none())
      .def("gaps", gaps_at, nb::arg("q"))
      .def("into_cones", brought_into_cones, nb::arg("q"))
      .def("rounded", rounded, nb::arg("q"), nb::arg("targets").none())
      .def("rest_at", rest_at, nb::arg("q"), nb::arg("gains"))
      .def("restart", restart, nb::arg("start"), nb::arg("targets").none())
      .def("advance", advance)
      .def("state", state_of)
      .def("sizes", sizes_of)
      .def("complete_proofs", complete_all_proofs, nb::arg("early") = true)
      .def("set_time_limit", set_time_limit, nb::arg("seconds"))
      .def("history", history_of)
      .def("effort", effort_of)
      .def("rows_jacobian", rows_jacobian, nb::arg("q"));
  bind_answers(m, solver);
}

}  // namespace poise
