// chart.cpp: bindings of charts of poses, and of the search for the most likely pose of a Gaussian that reaches a
// solver's goals.
#define NO_IMPORT_ARRAY
#include "bind/bindings.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "kernels/loop/gaussian.h"
#include "run/ops.h"

namespace poise {
namespace {

// A chart about one pose, and the coordinates that Gaussians over it contain.
struct Chart {
  std::vector<ChartNumber<double>> numbers;
  std::vector<ChartTurn<double>> turns;
  std::vector<int> place;
  std::vector<double> loose;
  int n_q = 0, n_v = 0, d = 0;

  ChartView<double> view() const {
    return {numbers.data(), static_cast<int>(numbers.size()), turns.data(), static_cast<int>(turns.size())};
  }
};

Array table_of(nb::handle x, npy_intp width, const char* name) {
  Array a = as_array<double>(x, name);
  if (a.ndim() != 2 || a.dim(1) != width) refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(a));
  return a;
}

int whole(double x) { return static_cast<int>(std::lround(x)); }

// numbers: rows of (index in q, velocity, endless, origin); turns: (index in q, velocity, three axes or -1, inverse of
// the origin); for every coordinate its index in the Gaussian, or -1, and its variance if it has none
void make_chart(Chart* self, int n_q, int n_v, nb::handle numbers, nb::handle turns, nb::handle place,
                nb::handle loose) {
  new (self) Chart();
  self->n_q = n_q;
  self->n_v = n_v;
  const Array n = table_of(numbers, 4, "numbers"), t = table_of(turns, 9, "turns");
  for (const double* row = n.data<double>(); row != n.data<double>() + n.size(); row += 4) {
    self->numbers.push_back({whole(row[0]), whole(row[1]), whole(row[2]), row[3]});
  }
  for (const double* row = t.data<double>(); row != t.data<double>() + t.size(); row += 9) {
    self->turns.push_back({whole(row[0]),
                           whole(row[1]),
                           {whole(row[2]), whole(row[3]), whole(row[4])},
                           {row[5], row[6], row[7], row[8]}});
  }
  const Array p = as_array<double>(place, "place"), l = as_array<double>(loose, "loose");
  const int size = self->view().size();
  if (p.size() != size || l.size() != size) refuse("ShapeMismatch", "place and loose need a number a coordinate.");
  for (npy_intp k = 0; k < size; ++k) self->place.push_back(whole(p.data<double>()[k]));
  self->loose.assign(l.data<double>(), l.data<double>() + size);
  for (const int at : self->place) self->d = std::max(self->d, 1 + at);
  const auto in = [](int at, int width, int end) { return at >= 0 && at + width <= end; };
  bool fits = true;
  for (const auto& x : self->numbers) fits = fits && in(x.q_index, 1, n_q) && in(x.v_index, 1, n_v);
  for (const auto& x : self->turns) {
    fits = fits && in(x.q_index, x.axes[0] < 0 ? 4 : 3, n_q) && in(x.v_index, 3, n_v);
    for (int axis : x.axes) fits = fits && axis < 3 && (axis >= 0) == (x.axes[0] >= 0);
  }
  if (!fits) refuse("InvalidValue", "numbers and turns are not those of the body.");
}

Array poses_of(const Chart& chart, nb::handle q) {
  Array a = as_array<double>(q, "q");
  if (a.ndim() == 0 || a.dim(a.ndim() - 1) != chart.n_q) {
    refuse("ShapeMismatch", "q has shape " + shape_text(a) + ".");
  }
  return a;
}

// the coordinates of poses: (..., n + 3 r)
NumpyArray measure(const Chart& chart, nb::handle q) {
  const Array a = poses_of(chart, q);
  const ChartView<double> view = chart.view();
  const npy_intp tail[1] = {view.size()}, rows = chart.n_q ? a.size() / chart.n_q : 0;
  Array out = new_array<double>(a, tail);
  const nb::gil_scoped_release release;
  for (npy_intp k = 0; k < rows; ++k) {
    read_chart(view, a.data<double>() + k * chart.n_q, out.data<double>() + k * view.size());
  }
  return out.release();
}

// the derivative of the coordinates of each rotation of one pose by its velocities: (r, 3, 3)
NumpyArray blocks(const Chart& chart, nb::handle q) {
  const Array a = poses_of(chart, q);
  if (a.ndim() != 1) refuse("ShapeMismatch", "q must be one pose.");
  const ChartView<double> view = chart.view();
  npy_intp dims[3] = {view.n_turns, 3, 3};
  Array out(PyArray_SimpleNew(3, dims, NPY_DOUBLE));
  std::vector<double> x(static_cast<std::size_t>(view.size()));
  read_chart(view, a.data<double>(), x.data());
  for (int k = 0; k < view.n_turns; ++k) {
    block_of_turn(view.turns[k], a.data<double>(), x.data() + view.n_numbers + 3 * k, out.data<double>() + 9 * k);
  }
  return out.release();
}

// ---------------------------------------------------------------------------------------------- the likeliest pose

// rows and their Jacobian at solver.data.start
void evaluate_start(SolverData& d) {
  solver_ops().restart(d);
  solver_ops().advance(d);
  assemble(d.problem(), d.state.q, d.state.placements, d.targets.data(), d.state.J, d.state.room);
  if (d.custom_columns) d.custom_columns(d.state.q, d.state.J, static_cast<int>(d.goals.size()));
}

// The largest coordinate of a step in the chart, in radians or lengths L. Near the singular angle of an Euler joint its
// rates are large although its rotation is not.
double length_of(const SolverData& d, const GaussianView<double>& g, const double* step) {
  double most = 0.0;
  for (int i = 0; i < g.chart.size(); ++i) {
    if (g.column[i] < 0) continue;
    const double unit2 = d.freedoms[static_cast<std::size_t>(g.column[i])].unit2;
    most = std::max(most, std::fabs(step[i]) / std::sqrt(unit2));
  }
  return most;
}

GaussianView<double> view_of(PreparedSolver& solver, const Chart& chart, const Array& mean, const Array& spread) {
  const ChartView<double> view = chart.view();
  std::vector<int> column_of(static_cast<std::size_t>(chart.n_v), -1);
  for (std::size_t c = 0; c < solver.data.velocities.size(); ++c) {
    column_of[static_cast<std::size_t>(solver.data.velocities[c])] = static_cast<int>(c);
  }
  std::vector<int>& columns = solver.gaussian_columns;
  columns.clear();
  for (const auto& number : chart.numbers) columns.push_back(column_of[static_cast<std::size_t>(number.v_index)]);
  for (const auto& turn : chart.turns) {
    for (int k = 0; k < 3; ++k) columns.push_back(column_of[static_cast<std::size_t>(turn.v_index + k)]);
  }
  return {view,   chart.place.data(), columns.data(), mean.data<double>(), spread.data<double>(), chart.loose.data(),
          chart.d};
}

// Moves rotations along the chart, on which the Gaussian is defined, not along their velocities. Joints with a cone
// keep the step.
void take_turns(SolverData& d, const GaussianView<double>& g, const GaussianWork<double>& w, double share,
                bool bounded) {
  const auto problem = d.problem();
  for (int k = 0; k < g.chart.n_turns; ++k) {
    const ChartTurn<double>& turn = g.chart.turns[k];
    const int at = g.chart.n_numbers + 3 * k;
    const bool whole_turn = g.column[at] >= 0 && g.column[at + 1] >= 0 && g.column[at + 2] >= 0;
    if (!whole_turn || (bounded && turn.axes[0] < 0 && problem.n_cones)) continue;
    double x[3];
    for (int i = 0; i < 3; ++i) x[i] = w.x[at + i] + share * w.step[at + i];
    write_turn(turn, x, d.state.q, d.start.data());
    for (int i = 0; i < 3 && bounded && turn.axes[0] >= 0; ++i) {
      const Freedom<double>& f = d.freedoms[static_cast<std::size_t>(g.column[at + i])];
      const double before = d.state.q[turn.q_index + i];
      double& now = d.start[static_cast<std::size_t>(turn.q_index + i)];
      now = std::min(std::max(now, std::min(before, f.lower)), std::max(before, f.upper));
    }
  }
}

// A diagonal posture in addition to a Gaussian, as Python numbers: (shrink, loose, pull, wanted); see
// poise.goals.postures.gaussian.
struct Posed {
  Array shrink, loose, pull, wanted;

  Posed(const nb::tuple& given, const Chart& chart)
      : shrink(as_array<double>(given[0], "shrink")),
        loose(as_array<double>(given[1], "loose")),
        pull(as_array<double>(given[2], "pull")),
        wanted(as_array<double>(given[3], "wanted")) {
    if (shrink.size() != static_cast<npy_intp>(chart.d) * chart.d || loose.size() != chart.view().size() ||
        pull.size() != chart.n_v || wanted.size() != chart.n_q) {
      refuse("ShapeMismatch", "the diagonal posture is not of the body of the Gaussian.");
    }
  }

  // `gains` has one number per velocity of the problem
  void join(GaussianView<double>& g, const SolverData& d, double* gains) const {
    for (std::size_t c = 0; c < d.velocities.size(); ++c) gains[c] = pull.data<double>()[d.velocities[c]];
    g.shrink = shrink.data<double>();
    g.loose = loose.data<double>();
    g.pull = gains;
    g.wanted = wanted.data<double>();
  }
};

// Returns the share of a step to take after `taken` of the previous one. If the goals are more curved than the
// Gaussian, whole steps oscillate; if they shrink by the factor 1 - taken mu, as two steps show, a share of 1 / mu
// stops this. Source: Irons and Tuck, A version of the Aitken accelerator for computer iteration, International Journal
// for Numerical Methods in Engineering 1, 1969.
double relax(double taken, double along, double square) {
  if (!(square > 0.0)) return 1.0;
  const double left = 1.0 - along / square;  // taken mu
  return left > taken ? std::max(taken / left, 0.05) : 1.0;
}

// the largest error of a goal, in radians or lengths L
double farthest_off(const SolverData& d) {
  double most = 0.0;
  for (std::size_t g = 0; g < 2 * d.goals.size(); ++g) {
    most = std::max(most, d.state.errors[g] / (g % 2 ? 1.0 : d.scale));
  }
  return most;
}

constexpr double exact = 1e-10;  // radians, or lengths L: rounding, and the tolerance of the strict solve
constexpr int most_corrections = 4;
constexpr int patience = 12;  // steps within which the errors of the goals must halve, or the search is abandoned

struct Pace {
  int most_steps;
  double longest, close;
  bool serve;
};

// Steps from solver.data.start, which becomes the result; returns (steps, whether they converged). Converged: the last
// step was shorter than `close` and every goal is within its tolerance. Further steps for the goals alone then remove
// the remaining error, so that no goal is worse than without the Gaussian. The search is abandoned if the goals do not
// improve. Without `serve` the goals are ignored.
std::pair<int, bool> step_to_likeliest(SolverData& d, const GaussianView<double>& g, const Pace& pace, double* memory) {
  const int size = g.chart.size(), turns = g.chart.n_turns;
  double *dq = memory, *previous = dq + d.n_v;
  const GaussianWork<double> work = lay_out_gaussian(previous + size, size, turns, d.n_rows, d.n_v);
  const bool bounded = d.settings.limits != LIMITS_OFF;
  bool near = false;
  double share = 1.0, least = 1e300;
  int nearer_at = 0, corrections = 0;
  std::fill_n(previous, size, 0.0);
  for (int steps = 0; steps <= pace.most_steps; ++steps) {
    evaluate_start(d);
    const bool served = !pace.serve || within_tolerance(d.problem(), d.state.errors, 1.0);
    if (near && served && (!pace.serve || farthest_off(d) < exact)) return {steps, true};
    if (near && served && ++corrections > most_corrections) return {steps, true};
    if (served || d.state.cost < 0.25 * least) {
      least = d.state.cost;
      nearer_at = steps;
    }
    if (steps == pace.most_steps || steps - nearer_at > patience) return {steps, false};
    const GaussianAim<double> aim{pace.serve ? 1.0 : 0.0, near && served ? 0.0 : 1.0};
    gaussian_step(d.problem(), g, d.state.q, d.state.J, d.state.rows, aim, bounded, 8, work, dq);
    share = aim.likely > 0.0 ? relax(share, inner(size, work.step, previous), inner(size, previous, previous)) : 1.0;
    const double length = length_of(d, g, work.step);
    share = std::min(share, pace.longest / std::max(length, 1e-300));
    if (!(length < 1e12) || (near && !served && length < 1e-3 * pace.close)) return {steps, false};
    for (int c = 0; c < d.n_v; ++c) dq[c] *= share;
    take_step(d.problem(), d.state.q, dq, bounded, d.start.data());
    if (pace.serve) take_turns(d, g, work, share, bounded);
    near = length < pace.close;
    std::copy_n(work.step, size, previous);
  }
  return {pace.most_steps, false};  // not reached: the last round returns above
}

// Searches from a pose for the most likely pose that reaches the goals: (q, steps, whether they converged). Steps are
// at most `longest` long. If it fails, an ordinary solve follows.
AnyTuple settle(PreparedSolver& solver, const Chart& chart, nb::handle mean, nb::handle spread, nb::handle start,
                int most_steps, double longest, double close, bool serve, nb::handle diagonal) {
  const Use use(solver);
  SolverData& d = solver.data;
  const Array m = as_array<double>(mean, "mean"), s = as_array<double>(spread, "spread");
  const Array q = as_array<double>(start, "start");
  if (q.size() != d.n_q || chart.n_q != d.n_q || chart.n_v != solver.n_v || m.size() != chart.d ||
      s.size() != static_cast<npy_intp>(chart.d) * chart.d) {
    refuse("ShapeMismatch", "the Gaussian is not of the solver's body.");
  }
  require_finite(q.data<double>(), q.size(), q.size(), "start");
  std::copy_n(q.data<double>(), q.size(), d.start.begin());
  GaussianView<double> g = view_of(solver, chart, m, s);
  const int size = g.chart.size();
  const auto room = static_cast<std::size_t>(gaussian_room(size, g.chart.n_turns, d.n_rows, d.n_v) + 2 * d.n_v + size);
  if (solver.gaussian_memory.size() < room) solver.gaussian_memory.resize(room);
  double* memory = solver.gaussian_memory.data();
  std::optional<Posed> posed;
  if (!diagonal.is_none()) posed.emplace(nb::cast<nb::tuple>(diagonal), chart);
  if (posed) posed->join(g, d, memory);
  const auto [steps, settled] = step_to_likeliest(d, g, {most_steps, longest, close, serve}, memory + d.n_v);
  npy_intp dims[1] = {d.n_q};
  Array out(PyArray_SimpleNew(1, dims, NPY_DOUBLE));
  std::copy(d.start.begin(), d.start.end(), out.data<double>());
  return nb::make_tuple(out.release(), steps, settled);
}

// the current targets of a solver, consecutively, and the first index of each goal
NumpyArray targets_of(const PreparedSolver& solver) {
  const Use use(solver);
  const std::vector<double>& targets = solver.data.targets;
  npy_intp dims[1] = {static_cast<npy_intp>(targets.size())};
  Array out(PyArray_SimpleNew(1, dims, NPY_DOUBLE));
  std::copy(targets.begin(), targets.end(), out.data<double>());
  return out.release();
}

AnyDict target_places(const PreparedSolver& solver) {
  AnyDict out;
  for (std::size_t g = 0; g < solver.names.size(); ++g) out[solver.names[g].c_str()] = solver.data.goals[g].target;
  return out;
}

}  // namespace

void bind_charts(nb::module_& m) {
  nb::class_<Chart>(m, "Chart", "Coordinates of poses about one of them. Private: see poise.kinematics.charts.")
      .def("__init__", make_chart, nb::arg("n_q"), nb::arg("n_v"), nb::arg("numbers"), nb::arg("turns"),
           nb::arg("place"), nb::arg("loose"))
      .def("measure", measure, nb::arg("q"))
      .def("blocks", blocks, nb::arg("q"));
  m.def("settle", settle, nb::arg("solver"), nb::arg("chart"), nb::arg("mean"), nb::arg("spread"), nb::arg("start"),
        nb::arg("most_steps"), nb::arg("longest"), nb::arg("close"), nb::arg("serve") = true,
        nb::arg("diagonal").none() = nb::none());
  m.def("targets_of", targets_of, nb::arg("solver"));
  m.def("target_places", target_places, nb::arg("solver"));
}

}  // namespace poise
