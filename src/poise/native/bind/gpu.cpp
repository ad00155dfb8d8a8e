// gpu.cpp: a prepared problem in numbers, from which native/gpu/source.py writes the source for a device.
#define NO_IMPORT_ARRAY
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/bindings.h"
#include "bind/prepared.h"
#include "run/batch/batch.h"
#include "run/ops.h"

namespace poise {
namespace {

template <class T> nb::list listed(const T* x, int n) {
  nb::list out;
  for (int k = 0; k < n; ++k) out.append(x[k]);
  return out;
}

nb::tuple axis_in(const FamilyAxis<double>& axis) {
  return nb::make_tuple(listed(axis.h, 3), listed(axis.p, 3), axis.middle, axis.half, axis.slides);
}

// closed forms, member by member as in kernels/closed/form.h
nb::list closed_forms(const SolverData& solver) {
  nb::list out;
  for (const ClosedForm<double>& form : solver.closed) {
    const FamilySpec<double>& s = form.spec;
    nb::list axes;
    for (const auto& axis : s.chain.axes) axes.append(axis_in(axis));
    const nb::tuple chain = nb::make_tuple(axes, listed(s.chain.center, 3), listed(s.chain.meet, 3), s.chain.plan,
                                           s.chain.prune, s.chain.length, s.chain.lowest, s.chain.highest);
    const nb::tuple spec = nb::make_tuple(chain, s.backwards, s.free_joint, axis_in(s.free), listed(s.R0, 9),
                                          listed(s.p0, 3), s.point_error, s.turn_error, s.nearest, s.farthest);
    out.append(nb::make_tuple(form.goal, form.joints, spec, listed(form.q_index, 7), listed(form.gain, 7),
                              listed(form.bias, 7)));
  }
  return out;
}

template <class T> AnyDict problem_in(const SolverData& solver) {
  const LaneProblem<T> lanes(solver);
  AnyDict out;
  nb::list primitives, frames, goals, freedoms, coordinates, reachable, idle;
  for (const auto& b : lanes.primitives) {
    primitives.append(nb::make_tuple(b.kind, b.parent, b.subtree_end, b.q_index, b.v_index, b.turn, b.gain, b.bias,
                                     b.pitch, listed(b.R, 9), listed(b.p, 3)));
  }
  for (const auto& f : lanes.frames) frames.append(nb::make_tuple(f.primitive, listed(f.R, 9), listed(f.p, 3)));
  for (const auto& g : lanes.goals) {
    goals.append(nb::make_tuple(g.op, g.frame, g.base, g.first_row, g.target, g.exact, listed(g.weight, 6),
                                listed(g.tolerance, 2), 0, g.local));
  }
  for (const auto& f : lanes.freedoms) {
    freedoms.append(nb::make_tuple(f.q_index, f.angular, f.lower, f.upper, f.weight, f.unit2));
  }
  for (const auto& c : solver.coordinates) coordinates.append(nb::make_tuple(c.q_index, c.v_index, c.quaternion));
  for (const auto& r : solver.reachable) {
    double at[3];  // as targets are: those in the world are told from the origin, and two of them from each other
    const bool world = r.other < 0 && solver.goals[static_cast<std::size_t>(r.goal)].base < 0;
    for (int k = 0; k < 3; ++k) at[k] = r.center[k] - (world ? lanes.origin[k] : 0.0);
    reachable.append(nb::make_tuple(r.goal, r.other, listed(at, 3), listed(r.local, 3), r.nearest, r.farthest));
  }
  for (const auto& f : solver.idle) idle.append(nb::make_tuple(f.q_index, f.lower, f.upper));
  const Settings<T>& s = lanes.settings;
  out["primitives"] = primitives;
  out["frames"] = frames;
  out["goals"] = goals;
  out["freedoms"] = freedoms;
  out["coordinates"] = coordinates;
  out["reachable"] = reachable;
  out["idle"] = idle;
  out["wanted"] = listed(lanes.posture_wanted.data(), static_cast<int>(lanes.posture_wanted.size()));
  out["gain"] = listed(lanes.posture_gain.data(), static_cast<int>(lanes.posture_gain.size()));
  out["settings"] = nb::make_tuple(s.method, s.limits, s.damping, s.damping_floor, s.reach, s.max_steps, s.stall_steps,
                                   s.stall_ratio, s.rounds);
  out["origin"] = listed(lanes.origin, 3);
  out["fraction"] = lanes.fraction;
  out["scale"] = T(solver.scale);
  out["n_q"] = solver.n_q;
  out["n_v"] = solver.n_v;
  out["n_rows"] = solver.n_rows;
  out["searches"] = solver.searches;
  out["shared_columns"] = solver.shared_columns;
  out["closed"] = closed_forms(solver);
  out["targets"] = listed(solver.targets.data(), static_cast<int>(solver.targets.size()));
  return out;
}

AnyDict problem_of(const PreparedSolver& solver, bool single) {
  return single ? problem_in<float>(solver.data) : problem_in<double>(solver.data);
}

// the starts of searches 1, 2, ... for a body that stands in the model's zero: (searches - 1, n_q)
NumpyArray seeds_of(const PreparedSolver& solver) {
  SolverData own = solver.data;
  allot(own);
  const npy_intp shape[2] = {own.searches - 1, own.n_q};
  Array out(PyArray_SimpleNew(2, shape, NPY_DOUBLE));
  for (int search = 1; search < own.searches; ++search) {
    double* q = out.data<double>() + (search - 1) * own.n_q;
    for (int k = 0; k < own.n_q; ++k) q[k] = 0.0;
    solver_ops().seed(own, static_cast<unsigned>(search), q);
  }
  return out.release();
}

}  // namespace

void bind_gpu(nb::module_& m) {
  m.def("problem_of", problem_of, nb::arg("solver"), nb::arg("single"));
  m.def("seeds_of", seeds_of, nb::arg("solver"));
}

}  // namespace poise
