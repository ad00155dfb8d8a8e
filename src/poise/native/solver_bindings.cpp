// solver_bindings.cpp: the door to the solver. A prepared Solver reads its start and targets, runs without the interpreter's
// lock, and hands back plain numbers.
#define NO_IMPORT_ARRAY
#include "solver_bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "body_data.h"
#include "kernels/rules.h"
#include "kernels/sweeps.h"
#include "ops.h"

namespace poise {
namespace {

struct PreparedSolver {
  SolverData data;
  std::vector<std::string> names;      // of the goals
  std::vector<nb::object> converters;  // any target to 12 numbers, for what is not a plain array
  std::vector<int> velocities;         // of the body, in the order of the problem's columns
  std::vector<int> quaternions;        // where the quaternions of q start, of joints that may move or not
  std::vector<double> pending;         // targets being read
};

// ---------------------------------------------------------------------------------------------- preparing

std::vector<double> numbers(const nb::dict& table, const char* key) {
  const Array a = as_array<double>(table[key], key);
  return {a.data<double>(), a.data<double>() + a.size()};
}

// the primitives between the goals' frames and the root, parents first, and their new indices
std::vector<int> needed_primitives(const std::vector<Primitive<double>>& all, const std::vector<int>& roots) {
  std::vector<int> index(all.size(), -1);
  for (int i : roots) {
    for (; i >= 0 && index[static_cast<std::size_t>(i)] < 0; i = all[static_cast<std::size_t>(i)].parent) {
      index[static_cast<std::size_t>(i)] = 0;
    }
  }
  int n = 0;
  for (int& i : index) i = i < 0 ? -1 : n++;
  return index;
}

void take_primitives(SolverData& to, const Body& body, const std::vector<int>& index, const std::vector<int>& column) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0) continue;
    Primitive<double> b = body.f64.primitives[i];
    b.parent = b.parent < 0 ? -1 : index[static_cast<std::size_t>(b.parent)];
    b.v_index =
        b.gain == 0.0 ? -1 : column[static_cast<std::size_t>(b.v_index)];  // a follower with ratio 0 stands still
    b.subtree_end = static_cast<int>(to.primitives.size()) + 1;
    to.primitives.push_back(b);
  }
  for (std::size_t i = to.primitives.size(); i-- > 0;) {
    const Primitive<double>& b = to.primitives[i];
    if (b.parent < 0) continue;
    int& end = to.primitives[static_cast<std::size_t>(b.parent)].subtree_end;
    end = end < b.subtree_end ? b.subtree_end : end;
  }
}

int add_frame(SolverData& to, FrameData<double> frame, const double* point, const std::vector<int>& index) {
  double offset[3];
  rotate(frame.R, point, offset);
  for (int k = 0; k < 3; ++k) frame.p[k] += offset[k];
  frame.primitive = frame.primitive < 0 ? -1 : index[static_cast<std::size_t>(frame.primitive)];
  to.frames.push_back(frame);
  return static_cast<int>(to.frames.size()) - 1;
}

void take_goals(PreparedSolver& solver, const Body& body, const nb::dict& table, const std::vector<int>& index) {
  SolverData& to = solver.data;
  for (nb::handle entry : nb::cast<nb::list>(table["goals"])) {
    const auto goal = nb::cast<nb::dict>(entry);
    GoalSpec<double> spec{};
    spec.op = nb::cast<int>(goal["op"]);
    const auto frame = nb::cast<std::size_t>(goal["frame"]);
    const int base = nb::cast<int>(goal["base"]);
    const std::vector<double> point = numbers(goal, "point"), weight = numbers(goal, "weight"),
                              tolerance = numbers(goal, "tolerance"), target = numbers(goal, "target");
    const double origin[3] = {0, 0, 0};
    spec.frame = add_frame(to, body.f64.frames[frame], point.data(), index);
    spec.base = base < 0 ? -1 : add_frame(to, body.f64.frames[static_cast<std::size_t>(base)], origin, index);
    spec.exact = nb::cast<int>(goal["exact"]);
    spec.first_row = to.n_rows;
    spec.target = static_cast<int>(to.targets.size());
    for (int k = 0; k < 6; ++k) spec.weight[k] = weight[static_cast<std::size_t>(k)];
    for (int k = 0; k < 2; ++k) spec.tolerance[k] = tolerance[static_cast<std::size_t>(k)];
    to.n_rows += rows_of_goal(spec.op);
    to.targets.insert(to.targets.end(), target.begin(), target.end());
    to.goals.push_back(spec);
    solver.names.push_back(nb::cast<std::string>(goal["name"]));
    solver.converters.push_back(goal["convert"]);
  }
}

// the velocities of the problem: those that may move and that a goal or the posture depends on
std::vector<int> choose_columns(SolverData& to, const Body& body, const nb::dict& table, const std::vector<int>& index,
                                bool posture) {
  const std::vector<double> may = numbers(table, "may_move"), lower = numbers(table, "lower"),
                            upper = numbers(table, "upper"), weight = numbers(table, "weight"),
                            turns = numbers(table, "turns");
  std::vector<int> column(static_cast<std::size_t>(body.n_v), -1);
  std::vector<bool> wanted(column.size(), posture);
  for (std::size_t i = 0; i < index.size(); ++i) {
    const Primitive<double>& b = body.f64.primitives[i];
    for (int k = 0; k < width_of(b.kind); ++k) {
      const auto v = static_cast<std::size_t>(b.v_index + k);
      if (index[i] >= 0) wanted[v] = true;
    }
  }
  for (Coordinate at : body.coordinates) {
    const auto v = static_cast<std::size_t>(at.v_index);
    const int wide = at.quaternion ? 3 : 1;
    if (may[v] == 0.0) continue;
    if (!wanted[v]) {
      if (!at.quaternion) to.idle.push_back(freedom(at.q_index, turns[v] != 0.0, lower[v], upper[v], 1.0, to.scale));
      continue;
    }
    at.v_index = to.n_v;
    to.coordinates.push_back(at);
    for (int k = 0; k < wide; ++k) {
      const std::size_t c = v + static_cast<std::size_t>(k);
      column[c] = to.n_v++;
      to.freedoms.push_back(
          freedom(at.quaternion ? -1 : at.q_index, turns[c] != 0.0, lower[c], upper[c], weight[c], to.scale));
    }
  }
  return column;
}

void take_settings(SolverData& to, const nb::dict& table) {
  const auto settings = nb::cast<nb::dict>(table["settings"]);
  const auto number = [&](const char* key) { return nb::cast<double>(settings[key]); };
  const auto whole = [&](const char* key) { return nb::cast<int>(settings[key]); };
  to.settings = {
      whole("method"),    whole("limits"),      number("damping"),     number("damping_floor"), number("reach"),
      whole("max_steps"), whole("stall_steps"), number("stall_ratio"), whole("rounds"),         {}};
  const std::vector<double> options = numbers(settings, "options");
  for (std::size_t k = 0; k < 4 && k < options.size(); ++k) to.settings.options[k] = options[k];
  to.mode = static_cast<Mode>(whole("mode"));
  to.searches = whole("searches");
  to.seed = static_cast<unsigned>(whole("seed"));
  to.time_limit = number("time_limit");
  to.span = number("span") * (1.0 - 1e-12);  // so that rounding of q never shows as more than was allowed
  to.polish = whole("polish") != 0;
  to.scale = number("scale");
  to.extra = whole("extra");
  to.record = whole("record") != 0;
}

void prepare(PreparedSolver* solver, const Body& body, const AnyDict& table) {
  new (solver) PreparedSolver();
  SolverData& to = solver->data;
  std::vector<int> roots;
  for (nb::handle entry : nb::cast<nb::list>(table["goals"])) {
    const auto goal = nb::cast<nb::dict>(entry);
    roots.push_back(body.f64.frames[nb::cast<std::size_t>(goal["frame"])].primitive);
    const int base = nb::cast<int>(goal["base"]);
    if (base >= 0) roots.push_back(body.f64.frames[static_cast<std::size_t>(base)].primitive);
  }
  const std::vector<int> index = needed_primitives(body.f64.primitives, roots);
  const bool posture = !table["posture_gain"].is_none();
  to.n_q = body.n_q;
  take_settings(to, table);
  for (const Coordinate& c : body.coordinates) {
    if (c.quaternion) solver->quaternions.push_back(c.q_index);
  }
  const std::vector<int> column = choose_columns(to, body, table, index, posture);
  take_primitives(to, body, index, column);
  to.shared_columns = body.f64.shared_columns;
  solver->velocities.assign(static_cast<std::size_t>(to.n_v), 0);
  for (std::size_t v = 0; v < column.size(); ++v) {
    if (column[v] >= 0) solver->velocities[static_cast<std::size_t>(column[v])] = static_cast<int>(v);
  }
  take_goals(*solver, body, table, index);
  if (posture) {
    const std::vector<double> gain = numbers(table, "posture_gain");
    to.posture_wanted = numbers(table, "posture_wanted");
    to.posture_gain.assign(static_cast<std::size_t>(to.n_v), 0.0);
    for (std::size_t v = 0; v < column.size(); ++v) {
      if (column[v] >= 0) to.posture_gain[static_cast<std::size_t>(column[v])] = gain[v];
    }
  }
  for (nb::handle entry : nb::cast<nb::list>(table["reachable"])) {
    const auto r = nb::cast<std::vector<double>>(entry);
    to.reachable.push_back({static_cast<int>(r[0]), {r[1], r[2], r[3]}, r[4], r[5]});
  }
  const int rule = workspace_of_method(to.settings.method, to.settings.limits, to.n_rows, to.n_v);
  if (to.extra < rule) to.extra = rule;
  const int swept =
      sweep_memory(to.settings.method, static_cast<int>(to.goals.size()), static_cast<int>(to.primitives.size()));
  if (to.extra < swept) to.extra = swept;
  allot(to);
}

// ---------------------------------------------------------------------------------------------- one call

// a rotation matrix to within rounding of six digits, made exact; false if it is none
bool read_rotation(const double* R, int stride, double* to) {
  double q[4], M[9];
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) M[3 * r + c] = R[stride * r + c];
  }
  direction_of_matrix(M, q);
  matrix_of_quaternion(q, to);
  for (int k = 0; k < 9; ++k) {
    if (!(absolute(to[k] - M[k]) < 2.5e-6)) return false;
  }
  return true;
}

constexpr double largest_length = 1e100;  // squares of more would overflow

// the plain cases: 3 numbers for a point, 3x3 for a rotation, 4x4 for both; false if it is something else
bool read_plain(const GoalSpec<double>& goal, nb::handle value, double* to) {
  if (!PyArray_CheckExact(value.ptr())) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(value.ptr());
  if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array)) return false;
  const auto* x = static_cast<const double*>(PyArray_DATA(array));
  const int ndim = PyArray_NDIM(array);
  const npy_intp* dims = PyArray_DIMS(array);
  if (goal.op == GOAL_POSITION && ndim == 1 && dims[0] == 3) {
    for (int k = 0; k < 3; ++k) to[9 + k] = x[k];
  } else if (goal.op == GOAL_ROTATION && ndim == 2 && dims[0] == 3 && dims[1] == 3) {
    if (!read_rotation(x, 3, to)) return false;
  } else if (goal.op == GOAL_POSE && ndim == 2 && dims[0] == 4 && dims[1] == 4) {
    if (x[12] != 0 || x[13] != 0 || x[14] != 0 || x[15] != 1 || !read_rotation(x, 4, to)) return false;
    for (int k = 0; k < 3; ++k) to[9 + k] = x[4 * k + 3];
  } else {
    return false;
  }
  return absolute(to[9]) < largest_length && absolute(to[10]) < largest_length && absolute(to[11]) < largest_length;
}

// a target's 12 numbers; what is not a plain array is read, or refused, by the goal's own converter
void read_target(PreparedSolver& solver, std::size_t g, nb::handle value) {
  const GoalSpec<double>& goal = solver.data.goals[g];
  double* to = solver.pending.data() + goal.target;
  if (read_plain(goal, value, to)) return;
  const nb::object converted = solver.converters[g](value);
  const Array twelve = as_array<double>(converted, "target");
  for (int k = 0; k < 12; ++k) to[k] = twelve.data<double>()[k];
}

// all of them or, where one is refused, none
void read_targets(PreparedSolver& solver, const nb::dict& targets) {
  solver.pending = solver.data.targets;
  for (auto [key, value] : targets) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_Check(key.ptr()) ? PyUnicode_AsUTF8AndSize(key.ptr(), &size) : "";
    if (!text) throw nb::python_error();
    const std::string_view name(text, static_cast<std::size_t>(size));
    std::size_t g = 0;
    while (g < solver.names.size() && solver.names[g] != name) ++g;
    if (g == solver.names.size()) {
      nb::object error =
          nb::module_::import_("poise.errors").attr("name_not_found")("goal", key, nb::cast(solver.names));
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
      throw nb::python_error();
    }
    read_target(solver, g, value);
  }
  solver.data.targets.swap(solver.pending);
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

  // quaternions that may move are made unit; the others do not change by one bit
  for (const Coordinate& c : solver.data.coordinates) {
    if (c.quaternion) quaternion_normalize(solver.data.start.data() + c.q_index);
  }
}

std::vector<double> listed(const double* x, int n) { return {x, x + n}; }

Array fresh(const std::vector<double>& from, std::vector<npy_intp> shape) {
  Array out(PyArray_SimpleNew(static_cast<int>(shape.size()), shape.data(), NPY_DOUBLE));
  for (std::size_t k = 0; k < from.size(); ++k) out.data<double>()[k] = from[k];
  return out;
}

// (q, errors, outcome, steps, searches, winner, seconds, out of time, proved unreachable)
AnyTuple solve(PreparedSolver& solver, nb::handle start, nb::handle targets) {
  read_start(solver, start);
  if (!targets.is_none()) read_targets(solver, nb::cast<nb::dict>(targets));
  SolverData& data = solver.data;
  {
    nb::gil_scoped_release release;
    solver_ops().solve(data);
  }
  Array q = fresh(data.best_q, {data.n_q});
  Array errors = fresh(data.best_errors, {static_cast<npy_intp>(data.goals.size()), 2});
  return nb::make_tuple(q.release(), errors.release(), static_cast<int>(data.outcome), data.total_steps,
                        data.total_searches, data.winner, data.seconds, data.out_of_time, data.proved_unreachable);
}

// (rows, velocities): rows that count, velocities that may move and that a goal depends on
AnyTuple sizes_of(const PreparedSolver& solver) {
  int rows = 0;
  for (const GoalSpec<double>& goal : solver.data.goals) {
    for (int k = goal.op == GOAL_ROTATION ? 3 : 0; k < (goal.op == GOAL_POSITION ? 3 : 6); ++k)
      rows += goal.weight[k] > 0;
  }
  return nb::make_tuple(rows, solver.data.n_v);
}

// the history of the last call, (rows, 3 + 2 goals + n_q): search, cost, damping, errors, q
NumpyArray history_of(const PreparedSolver& solver) {
  const SolverData& d = solver.data;
  const auto width = static_cast<npy_intp>(3 + 2 * d.goals.size()) + d.n_q;
  return fresh(d.history, {static_cast<npy_intp>(d.history.size()) / width, width}).release();
}

// rows of the Jacobian at q, weighted and scaled as the solver sees them, (n_rows, n_v), and the velocities they belong to
AnyTuple rows_jacobian(PreparedSolver& solver, nb::handle q) {
  read_start(solver, q);
  SolverData& d = solver.data;
  solver_ops().restart(d);
  solver_ops().advance(d);
  std::vector<double> J(static_cast<std::size_t>(d.n_rows * d.n_v));
  assemble(d.problem(), d.state.placements, d.targets.data(), d.state.J);
  for (int c = 0; c < d.n_v; ++c) {
    for (int r = 0; r < d.n_rows; ++r) J[static_cast<std::size_t>(r * d.n_v + c)] = d.state.J[c * d.n_rows + r];
  }
  return nb::make_tuple(fresh(J, {d.n_rows, d.n_v}).release(),
                        fresh(listed(d.state.rows, d.n_rows), {d.n_rows}).release(), nb::cast(solver.velocities));
}

// one search, phase by phase: for recording, teaching and tests
void restart(PreparedSolver& solver, nb::handle start, nb::handle targets) {
  read_start(solver, start);
  if (!targets.is_none()) read_targets(solver, nb::cast<nb::dict>(targets));
  solver.data.state.origin = solver.data.mode == Mode::CONTINUOUS ? solver.data.start.data() : nullptr;
  solver.data.state.span = solver.data.span;
  solver_ops().restart(solver.data);
}

AnyDict state_of(const PreparedSolver& solver) {
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

}  // namespace

void bind_solver(nb::module_& m) {
  nb::class_<PreparedSolver>(m, "Solver", "A prepared problem with all its memory. Private: use poise.Solver.")
      .def("__init__", prepare, nb::arg("body"), nb::arg("table"))
      .def("solve", solve, nb::arg("start"), nb::arg("targets").none())
      .def("restart", restart, nb::arg("start"), nb::arg("targets").none())
      .def("advance", [](PreparedSolver& s) { solver_ops().advance(s.data); })
      .def("state", state_of)
      .def("sizes", sizes_of)
      .def("history", history_of)
      .def("rows_jacobian", rows_jacobian, nb::arg("q"));
}

}  // namespace poise
