// clip.cpp: bindings of the solver for whole clips. It takes a prepared Solver, for its goals, and arrays over frames.
#define NO_IMPORT_ARRAY
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/bindings.h"
#include "bind/prepared.h"
#include "memory/clip_data.h"

namespace poise {

namespace {

void require_shape(const Array& a, std::initializer_list<npy_intp> shape, const char* name) {
  bool fits = a.ndim() == static_cast<int>(shape.size());
  int k = 0;
  for (npy_intp size : shape) fits = fits && a.dim(k++) == size;
  if (!fits)
    refuse("ShapeMismatch", std::string(name) + " has shape " + shape_text(a) + ", which does not fit the clip.");
}

std::vector<double> numbers_of(nb::handle x, std::initializer_list<npy_intp> shape, const char* name) {
  const Array a = as_array<double>(x, name);
  require_shape(a, shape, name);
  require_finite(a.data<double>(), a.size(), shape.size() ? a.dim(a.ndim() - 1) : 1, name);
  return {a.data<double>(), a.data<double>() + a.size()};
}

std::vector<char> flags_of(nb::handle x, npy_intp n, const char* name) {
  const std::vector<double> all = numbers_of(x, {n}, name);
  return {all.begin(), all.end()};
}

// from velocities of the body to those of the problem
std::vector<double> gains_of(const PreparedSolver& solver, nb::handle x, const char* name) {
  const std::vector<double> all = numbers_of(x, {solver.n_v}, name);
  std::vector<double> out;
  for (int v : solver.data.velocities) out.push_back(all[static_cast<std::size_t>(v)]);
  return out;
}

Array array_of(const std::vector<double>& from, std::vector<npy_intp> shape) {
  Array out(PyArray_SimpleNew(static_cast<int>(shape.size()), shape.data(), NPY_DOUBLE));
  for (std::size_t k = 0; k < from.size(); ++k) out.data<double>()[k] = from[k];
  return out;
}

// The arrays of a clip from Python; they are checked when the clip is solved. memory/clip_data.h describes them.
struct ClipProblem {
  nb::object guide, targets, weights, hard, frozen, hold, smooth, speed, acceleration, damping;
  int max_steps = 0;
  double rest = 0.0;
  double first_weight = 0.0, last_weight = 0.0, most_correction = 0.0;
};

struct ClipSolution {
  NumpyArray q, errors, gaps, lengths;
  int systems;
};

// solves all frames of a clip from a start
ClipSolution solve_clip(const ClipProblem& given, PreparedSolver& solver, nb::handle q) {
  const Use use(solver);
  SolverData& data = solver.data;
  if (data.custom_rows) refuse("InvalidValue", "a clip is solved as a whole, and custom goals only pose by pose.");
  const Array first = as_array<double>(q, "q");
  if (first.ndim() != 2) refuse("ShapeMismatch", "q has shape " + shape_text(first) + "; it must be (frames, nq).");
  const npy_intp frames = first.dim(0), goals = static_cast<npy_intp>(data.goals.size());
  ClipData clip;
  clip.solver = &data;
  clip.frames = static_cast<int>(frames);
  clip.n_targets = static_cast<int>(data.targets.size());
  clip.q = numbers_of(q, {frames, data.n_q}, "q");
  clip.guide = numbers_of(given.guide, {frames, data.n_q}, "guide");
  clip.targets = numbers_of(given.targets, {frames, clip.n_targets}, "targets");
  clip.weights = numbers_of(given.weights, {frames, goals}, "weights");
  clip.hard = flags_of(given.hard, goals, "hard");
  clip.frozen = flags_of(given.frozen, frames, "frozen");
  clip.damping.assign(static_cast<std::size_t>(frames), 0.0);
  if (!given.damping.is_none()) clip.damping = numbers_of(given.damping, {frames}, "damping");
  clip.hold = gains_of(solver, given.hold, "hold");
  clip.smooth = gains_of(solver, given.smooth, "smooth");
  clip.timed = !given.speed.is_none();
  if (clip.timed) {
    clip.speed = gains_of(solver, given.speed, "speed");
    clip.acceleration = gains_of(solver, given.acceleration, "acceleration");
  }
  clip.max_steps = given.max_steps;
  clip.rest = given.rest;
  clip.first_weight = given.first_weight;
  clip.last_weight = given.last_weight;
  clip.most_correction = given.most_correction;
  allot(clip);
  data.watch = Watch{};
  data.watch.asks = hear_signals;
  {
    nb::gil_scoped_release release;
    clip_ops().solve(clip);
  }
  return {array_of(clip.q, {frames, data.n_q}).release(), array_of(clip.errors, {frames, goals, 2}).release(),
          array_of(clip.gaps, {frames}).release(), array_of(clip.lengths, {frames}).release(), clip.systems};
}

// the goals of a solver in the order of a clip: their names, the first index of each target, all current targets
AnyTuple goals_of(const PreparedSolver& solver) {
  std::vector<int> first;
  for (const GoalSpec<double>& goal : solver.data.goals) first.push_back(goal.target);
  const auto size = static_cast<npy_intp>(solver.data.targets.size());
  return nb::make_tuple(solver.names, first, array_of(solver.data.targets, {size}).release());
}

}  // namespace

void bind_clips(nb::module_& m) {
  nb::class_<ClipSolution>(m, "ClipSolution", "The frames of a clip after a solve.")
      .def_ro("q", &ClipSolution::q, "(frames, nq).")
      .def_ro("errors", &ClipSolution::errors, "(frames, goals, 2): metres and radians.")
      .def_ro("gaps", &ClipSolution::gaps, "(frames,): the least gap of a limit, negative where it is broken.")
      .def_ro("lengths", &ClipSolution::lengths, "(frames,): the last step [rad, lengths of the body].")
      .def_ro("systems", &ClipSolution::systems, "Linear systems over all frames that were solved.");
  const auto make = [](ClipProblem* self, nb::object guide, nb::object targets, nb::object weights, nb::object hard,
                       nb::object frozen, nb::object hold, nb::object smooth, nb::object speed, nb::object acceleration,
                       nb::object damping, int max_steps, double rest, double first_weight, double last_weight,
                       double most_correction) {
    new (self) ClipProblem{guide,        targets, weights,   hard, frozen,       hold,        smooth,         speed,
                           acceleration, damping, max_steps, rest, first_weight, last_weight, most_correction};
  };
  nb::class_<ClipProblem>(m, "ClipProblem", "The frames of a clip as one problem.")
      .def("__init__", make, nb::kw_only(), nb::arg("guide"), nb::arg("targets"), nb::arg("weights"), nb::arg("hard"),
           nb::arg("frozen"), nb::arg("hold"), nb::arg("smooth"), nb::arg("speed") = nb::none(),
           nb::arg("acceleration") = nb::none(), nb::arg("damping") = nb::none(), nb::arg("max_steps"),
           nb::arg("rest") = 1e-7, nb::arg("first_weight") = 1e2, nb::arg("last_weight") = 1e6,
           nb::arg("most_correction") = 1e6)
      .def_rw("guide", &ClipProblem::guide, "(frames, nq): displacements are measured from it.")
      .def_rw("targets", &ClipProblem::targets, "(frames, numbers): the targets of all goals.")
      .def_rw("weights", &ClipProblem::weights, "(frames, goals): a factor on each goal; 0 leaves it out.")
      .def_rw("hard", &ClipProblem::hard, "(goals,): 1 for goals that are held exactly.")
      .def_rw("frozen", &ClipProblem::frozen, "(frames,): 1 for frames that do not move.")
      .def_rw("hold", &ClipProblem::hold, "(nv,): the cost of a displacement, squared.")
      .def_rw("smooth", &ClipProblem::smooth, "(nv,): the cost of its second difference, squared.")
      .def_rw("speed", &ClipProblem::speed, "(nv,): the largest change from frame to frame; None: unbounded.")
      .def_rw("acceleration", &ClipProblem::acceleration, "(nv,): the largest change of that.")
      .def_rw("max_steps", &ClipProblem::max_steps, "The largest number of steps.")
      .def_rw("rest", &ClipProblem::rest, "Radians, or lengths of the body: a shorter step is the last one.")
      .def_rw("first_weight", &ClipProblem::first_weight, "The weight of hard goals in the first step, squared.")
      .def_rw("last_weight", &ClipProblem::last_weight, "That in the last step, squared.")
      .def_rw("most_correction", &ClipProblem::most_correction,
              "Radians, or lengths of the body: of a frame at the end.")
      .def_rw("damping", &ClipProblem::damping, "(frames,): the cost of a step, squared; None: 0.")
      .def("solve", solve_clip, nb::arg("solver"), nb::arg("q"), "Return all frames, searched from q (frames, nq).");
  m.def("goals_of_clip", goals_of, nb::arg("solver"));
}

}  // namespace poise
