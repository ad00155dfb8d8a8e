// clip.cpp: the door to the solver of whole clips. It takes a prepared Solver, for its goals, and arrays over frames.
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

// of each velocity of the body, those of the problem
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

// all frames from a start: (q, errors (frames, goals, 2), least gap of each frame, linear systems)
AnyTuple solve_clip(PreparedSolver& solver, nb::handle q, nb::handle guide, nb::handle targets, nb::handle weights,
                    nb::handle hard, nb::handle frozen, nb::handle hold, nb::handle smooth, nb::handle speed,
                    nb::handle acceleration, int max_steps) {
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
  clip.guide = numbers_of(guide, {frames, data.n_q}, "guide");
  clip.targets = numbers_of(targets, {frames, clip.n_targets}, "targets");
  clip.weights = numbers_of(weights, {frames, goals}, "weights");
  clip.hard = flags_of(hard, goals, "hard");
  clip.frozen = flags_of(frozen, frames, "frozen");
  clip.hold = gains_of(solver, hold, "hold");
  clip.smooth = gains_of(solver, smooth, "smooth");
  clip.timed = !speed.is_none();
  if (clip.timed) {
    clip.speed = gains_of(solver, speed, "speed");
    clip.acceleration = gains_of(solver, acceleration, "acceleration");
  }
  clip.max_steps = max_steps;
  allot(clip);
  data.watch = Watch{};
  data.watch.asks = hear_signals;
  {
    nb::gil_scoped_release release;
    clip_ops().solve(clip);
  }
  return nb::make_tuple(array_of(clip.q, {frames, data.n_q}).release(),
                        array_of(clip.errors, {frames, goals, 2}).release(), array_of(clip.gaps, {frames}).release(),
                        clip.systems);
}

// the goals of a solver as a clip lists them: their names, where the target of each begins, all targets as they are now
AnyTuple goals_of(const PreparedSolver& solver) {
  std::vector<int> first;
  for (const GoalSpec<double>& goal : solver.data.goals) first.push_back(goal.target);
  const auto size = static_cast<npy_intp>(solver.data.targets.size());
  return nb::make_tuple(solver.names, first, array_of(solver.data.targets, {size}).release());
}

}  // namespace

void bind_clips(nb::module_& m) {
  m.def("solve_clip", solve_clip, nb::arg("solver"), nb::arg("q"), nb::arg("guide"), nb::arg("targets"),
        nb::arg("weights"), nb::arg("hard"), nb::arg("frozen"), nb::arg("hold"), nb::arg("smooth"),
        nb::arg("speed").none(), nb::arg("acceleration").none(), nb::arg("max_steps"));
  m.def("goals_of_clip", goals_of, nb::arg("solver"));
}

}  // namespace poise
