// prepare.cpp: creates a problem, with all its memory, from the tables of poise.solvers.
#define NO_IMPORT_ARRAY
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/family.h"
#include "bind/limits.h"
#include "kernels/methods/rules.h"
#include "kernels/methods/sweeps.h"

namespace poise {
namespace {

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
        b.gain == 0.0 ? -1 : column[static_cast<std::size_t>(b.v_index)];  // a mimic joint with ratio 0 does not move
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
  for (int k = 0; k < 3; ++k) frame.p[k] += frame.scaled ? 0.0 : offset[k];
  for (int k = 0; k < 3; ++k) frame.point[k] = point[k];  // replaces the offset of a scaled frame
  frame.primitive = frame.primitive < 0 ? -1 : index[static_cast<std::size_t>(frame.primitive)];
  to.frames.push_back(frame);
  return static_cast<int>(to.frames.size()) - 1;
}

template <std::size_t N> void copy_numbers(const nb::dict& table, const char* key, double (&to)[N]) {
  const std::vector<double> from = numbers(table, key);
  for (std::size_t k = 0; k < N; ++k) to[k] = from[k];
}

const FrameData<double>& frame_at(const Body& body, int index) {
  return body.f64.frames[static_cast<std::size_t>(index)];
}

GoalSpec<double> take_goal(SolverData& to, const Body& body, const nb::dict& goal, const std::vector<int>& index) {
  GoalSpec<double> spec{};
  const auto whole = [&](const char* key) { return nb::cast<int>(goal[key]); };
  spec.op = whole("op");
  const std::vector<double> point = numbers(goal, "point"), point2 = numbers(goal, "point2");
  const int frame = whole("frame"), base = whole("base");
  spec.frame = frame < 0 ? -1 : add_frame(to, frame_at(body, frame), point.data(), index);
  spec.base = base < 0 ? -1 : add_frame(to, frame_at(body, base), point2.data(), index);
  spec.exact = whole("exact");
  spec.local = whole("local");
  spec.ranged = whole("ranged");
  spec.level = whole("level");
  spec.n_rows = whole("size");
  spec.first_row = to.n_rows;
  spec.target = static_cast<int>(to.targets.size());
  copy_numbers(goal, "weight", spec.weight);
  copy_numbers(goal, "tolerance", spec.tolerance);
  copy_numbers(goal, "axis", spec.axis);
  copy_numbers(goal, "axis2", spec.axis2);
  spec.first_point = static_cast<int>(to.points.size());
  for (nb::handle entry : nb::cast<nb::list>(goal["points"])) {
    const auto pair = nb::cast<nb::tuple>(entry);
    const Array at = as_array<double>(pair[1], "point");
    to.points.push_back(add_frame(to, frame_at(body, nb::cast<int>(pair[0])), at.data<double>(), index));
    ++spec.n_points;
  }
  return spec;
}

void take_goals(PreparedSolver& solver, const Body& body, const nb::dict& table, const std::vector<int>& index) {
  SolverData& to = solver.data;
  for (nb::handle entry : nb::cast<nb::list>(table["goals"])) {
    const auto goal = nb::cast<nb::dict>(entry);
    const GoalSpec<double> spec = take_goal(to, body, goal, index);
    const std::vector<double> target = numbers(goal, "target");
    to.n_rows += rows_of_goal(spec);
    to.ranged = to.ranged || spec.ranged || is_ranged(spec.op);
    to.loose = to.loose || (to.polish && nb::cast<int>(goal["loose"]) != 0);
    to.targets.insert(to.targets.end(), target.begin(), target.end());
    to.goals.push_back(spec);
    solver.names.push_back(nb::cast<std::string>(goal["name"]));
    solver.converters.push_back(goal["convert"]);
    solver.residuals.push_back(goal["residual"]);
    solver.jacobians.push_back(goal["jacobian"]);
  }
}

// the velocities of the problem: those that may move and that affect a goal or the posture
std::vector<int> choose_columns(SolverData& to, const Body& body, const nb::dict& table, const std::vector<int>& index,
                                bool posture) {
  const std::vector<double> may = numbers(table, "may_move"), lower = numbers(table, "lower"),
                            upper = numbers(table, "upper"), weight = numbers(table, "weight"),
                            turns = numbers(table, "turns"), period = numbers(table, "period");
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
      if (at.quaternion) continue;
      to.idle.push_back(freedom(at.q_index, turns[v] != 0.0, lower[v], upper[v], 1.0, to.scale));
      to.idle_velocities.push_back(at.v_index);
      continue;
    }
    at.v_index = to.n_v;
    to.coordinates.push_back(at);
    for (int k = 0; k < wide; ++k) {
      const std::size_t c = v + static_cast<std::size_t>(k);
      column[c] = to.n_v++;
      to.freedoms.push_back(
          freedom(at.quaternion ? -1 : at.q_index, turns[c] != 0.0, lower[c], upper[c], weight[c], to.scale));
      to.periods.push_back(period[c]);
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
  to.settings.gain = number("gain");
  to.mode = static_cast<Mode>(whole("mode"));
  to.searches = whole("searches");
  to.counted = whole("counted") != 0;
  to.seed = static_cast<unsigned>(whole("seed"));
  to.time_limit = number("time_limit");
  to.span = number("span") * (1.0 - 1e-12);  // so that rounding of q never exceeds the allowed motion
  to.polish = whole("polish") != 0;
  to.scale = number("scale");
  to.extra = whole("extra");
  to.record = whole("record") != 0;
}

// the primitives that goals and limits depend on; all of them if a goal depends on the centre of mass or on every joint
std::vector<int> roots_of(const Body& body, const nb::dict& table, bool& everything) {
  std::vector<int> roots;
  const auto add = [&](int frame) {
    if (frame >= 0) roots.push_back(frame_at(body, frame).primitive);
  };
  for (nb::handle entry : nb::cast<nb::list>(table["goals"])) {
    const auto goal = nb::cast<nb::dict>(entry);
    add(nb::cast<int>(goal["frame"]));
    add(nb::cast<int>(goal["base"]));
    for (nb::handle point : nb::cast<nb::list>(goal["points"])) add(nb::cast<int>(nb::cast<nb::tuple>(point)[0]));
    const int op = nb::cast<int>(goal["op"]);
    everything = everything || is_of_mass(op) || op == GOAL_CUSTOM;
  }
  for (nb::handle entry : nb::cast<nb::list>(table["capsules"])) add(nb::cast<int>(nb::cast<nb::tuple>(entry)[0]));
  for (nb::handle entry : nb::cast<nb::list>(table["limits"])) {
    if (!nb::isinstance<nb::dict>(entry)) continue;
    const Array frames = as_array<double>(nb::cast<nb::dict>(entry)["frames"], "frames");
    for (npy_intp i = 0; i < frames.size(); ++i) add(static_cast<int>(frames.data<double>()[i]));
  }
  if (!everything) return roots;
  for (std::size_t i = 0; i < body.f64.primitives.size(); ++i) roots.push_back(static_cast<int>(i));
  return roots;
}

void take_masses(SolverData& to, const Body& body, const std::vector<int>& index) {
  bool asked = false;
  for (const GoalSpec<double>& goal : to.goals) asked = asked || is_of_mass(goal.op);
  if (!asked) return;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] >= 0) to.masses.push_back(body.f64.masses[i]);
  }
  to.masses.push_back(body.f64.masses.back());
}

void take_posture(SolverData& to, const nb::dict& table, const std::vector<int>& column) {
  if (table["posture_gain"].is_none()) return;
  const std::vector<double> gain = numbers(table, "posture_gain");
  to.posture_wanted = numbers(table, "posture_wanted");
  to.posture_power = nb::cast<int>(table["posture_power"]);
  to.posture_gain.assign(static_cast<std::size_t>(to.n_v), 0.0);
  for (std::size_t v = 0; v < column.size(); ++v) {
    if (column[v] >= 0) to.posture_gain[static_cast<std::size_t>(column[v])] = gain[v];
  }
}

void take_method_memory(SolverData& to) {
  const int rule = workspace_of_method(to.settings.method, to.settings.limits, to.n_rows, to.n_v);
  const int swept =
      sweep_memory(to.settings.method, static_cast<int>(to.goals.size()), static_cast<int>(to.primitives.size()));
  if (to.extra < rule) to.extra = rule;
  if (to.extra < swept) to.extra = swept;
}

// Custom goals call Python between two steps: the rows of the residual (which should be zero, so the error is its
// negative) and the columns of its Jacobian.
void take_custom(PreparedSolver& solver) {
  bool any_custom = false;
  for (const GoalSpec<double>& goal : solver.data.goals) any_custom = any_custom || goal.op == GOAL_CUSTOM;
  if (!any_custom) return;
  if (solver.data.settings.method == METHOD_HALLEY) {
    const int size = 2 * solver.data.n_rows * solver.data.n_v + solver.data.n_q;
    solver.data.bend.assign(static_cast<std::size_t>(size), 0.0);
  }
  PreparedSolver* own = &solver;
  const auto call = [own](const nb::object& function, const double* q, npy_intp size) {
    const npy_intp n[1] = {own->data.n_q};
    Array at(PyArray_SimpleNew(1, const_cast<npy_intp*>(n), NPY_DOUBLE));
    for (npy_intp k = 0; k < n[0]; ++k) at.data<double>()[k] = q[k];
    const nb::object result = function(at.release());
    Array out = as_array<double>(result, "a custom goal");
    if (static_cast<npy_intp>(out.size()) != size) {
      refuse("ShapeMismatch", "a custom goal returned " + shape_text(out) + "; it must have " + std::to_string(size) +
                                  " numbers in all.");
    }
    require_finite(out.data<double>(), size, size, "what a custom goal returned");
    return out;
  };
  solver.data.custom_rows = [own, call](const double* q, double* rows, double* errors, int goals) {
    nb::gil_scoped_acquire hold;
    for (std::size_t g = 0; g < static_cast<std::size_t>(goals); ++g) {
      const GoalSpec<double>& goal = own->data.goals[g];
      if (goal.op != GOAL_CUSTOM) continue;
      const Array r = call(own->residuals[g], q, goal.n_rows);
      double sum = 0.0;
      for (int k = 0; k < goal.n_rows; ++k) {
        const double x = r.data<double>()[k];
        sum += x * x;
        rows[goal.first_row + k] = -goal.weight[0] * x;
      }
      errors[2 * g] = square_root(sum);
      errors[2 * g + 1] = 0.0;
    }
  };
  solver.data.custom_columns = [own, call](const double* q, double* J, int goals) {
    nb::gil_scoped_acquire hold;
    const SolverData& d = own->data;
    for (std::size_t g = 0; g < static_cast<std::size_t>(goals); ++g) {
      const GoalSpec<double>& goal = d.goals[g];
      if (goal.op != GOAL_CUSTOM) continue;
      const npy_intp nv = own->n_v;
      const Array all = call(own->jacobians[g], q, goal.n_rows * nv);
      for (int k = 0; k < goal.n_rows; ++k) {
        for (std::size_t c = 0; c < d.velocities.size(); ++c)
          J[static_cast<int>(c) * d.n_rows + goal.first_row + k] =
              goal.weight[0] * all.data<double>()[k * nv + d.velocities[c]];
      }
    }
  };
}

// each [goal, other or -1, centre (3), local (3), nearest, farthest]
void take_bounds(SolverData& to, const nb::list& bounds) {
  for (nb::handle entry : bounds) {
    const auto r = nb::cast<std::vector<double>>(entry);
    to.reachable.push_back(
        {static_cast<int>(r[0]), static_cast<int>(r[1]), {r[2], r[3], r[4]}, {r[5], r[6], r[7]}, r[8], r[9]});
  }
}

// Bounds that take milliseconds are computed once, after a search has missed.
void take_proofs(PreparedSolver& solver, const nb::object& prove) {
  if ((solver.prove = prove).is_none()) return;
  PreparedSolver* own = &solver;
  solver.data.more_proofs = [own] {
    nb::gil_scoped_acquire hold;
    complete_proofs(*own);
  };
}

void fill_solver(PreparedSolver& solver, const Body& body, const nb::dict& table) {
  SolverData& to = solver.data;
  bool everything = false;
  const std::vector<int> roots = roots_of(body, table, everything);
  const std::vector<int> index = needed_primitives(body.f64.primitives, roots);
  // a strict problem has all columns, so that a level does the same whatever levels are below it
  const bool all = everything || nb::cast<int>(table["strict"]) != 0 || !table["posture_gain"].is_none() ||
                   nb::len(nb::cast<nb::list>(table["terms"])) > 0 || nb::len(nb::cast<nb::list>(table["cones"])) > 0;
  to.n_q = body.n_q;
  solver.n_v = body.n_v;
  take_settings(to, table);
  for (const Coordinate& c : body.coordinates) {
    if (c.quaternion) solver.quaternions.push_back(c.q_index);
  }
  const std::vector<int> column = choose_columns(to, body, table, index, all);
  take_primitives(to, body, index, column);
  to.curves = body.curves;
  to.shared_columns = body.f64.shared_columns;
  to.velocities.assign(static_cast<std::size_t>(to.n_v), 0);
  for (std::size_t v = 0; v < column.size(); ++v) {
    if (column[v] >= 0) to.velocities[static_cast<std::size_t>(column[v])] = static_cast<int>(v);
  }
  take_goals(solver, body, table, index);
  take_masses(to, body, index);
  solver.index = index;
  solver.column = column;
  take_limits(solver, body, table);
  take_posture(to, table, column);
  take_bounds(to, nb::cast<nb::list>(table["reachable"]));
  to.early_bounds = to.bounds_used = to.reachable.size();
  take_proofs(solver, table["prove"]);
  take_branches(to, table["branches"]);
  to.strict = nb::cast<int>(table["strict"]) != 0;
  take_method_memory(to);
  take_custom(solver);
  allot(to);
}

// everything but the memory of a search
void copy_problem(PreparedSolver& to, const PreparedSolver& from) {
  to.data = from.data;
  to.data.first = nullptr;
  to.names = from.names;
  to.converters = from.converters;
  to.residuals = from.residuals;
  to.jacobians = from.jacobians;
  to.quaternions = from.quaternions;
  to.n_v = from.n_v;
  to.index = from.index;
  to.column = from.column;
  take_proofs(to, from.prove);
  take_custom(to);
}

}  // namespace

void complete_proofs(PreparedSolver& solver) {
  if (solver.data.proofs_complete || !solver.prove || solver.prove.is_none()) return;
  solver.data.proofs_complete = true;
  const auto found = nb::cast<nb::tuple>(solver.prove());
  take_bounds(solver.data, nb::cast<nb::list>(found[0]));
  for (nb::handle entry : nb::cast<nb::list>(found[1])) take_closed(solver.data, nb::cast<nb::dict>(entry));
  take_sampled(solver.data, found[2]);
}

void prepare(PreparedSolver* solver, const Body& body, const AnyDict& table) {
  new (solver) PreparedSolver();
  fill_solver(*solver, body, table);
  if (table["first"].is_none()) return;
  solver->first = std::make_unique<PreparedSolver>();
  fill_solver(*solver->first, body, nb::cast<nb::dict>(table["first"]));
  solver->data.first = &solver->first->data;
}

void prepare_again(PreparedSolver* solver, const PreparedSolver& other, const Body& body, const AnyDict& table) {
  const Use use(other);
  new (solver) PreparedSolver();
  copy_problem(*solver, other);
  solver->data.capsules.clear();
  solver->data.limits.clear();
  solver->data.surfaces.clear();
  solver->data.numbers.clear();
  solver->data.obstacles = {};
  take_rows(*solver, body, table);
  allot(solver->data);
  if (!other.first) return;
  solver->first = std::make_unique<PreparedSolver>();
  copy_problem(*solver->first, *other.first);
  allot(solver->first->data);
  solver->data.first = &solver->first->data;
}

}  // namespace poise
