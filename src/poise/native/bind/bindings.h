// bindings.h: functions shared by the bindings of the solver and of its batches.
#pragma once
#include "bind/prepared.h"

namespace poise {

// runs Python's signal handlers at intervals in a long solve: Ctrl-C raises the exception of its handler
bool hear_signals(const void*);

void bind_codes(nb::module_& m);
void bind_solver(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_bytes(nb::module_& m);
void bind_gpu(nb::module_& m);
void bind_geometry(nb::module_& m);
void bind_hulls(nb::module_& m);
void bind_family(nb::module_& m);
void bind_general(nb::module_& m);
void bind_clips(nb::module_& m);
void bind_charts(nb::module_& m);
void bind_nearest(nb::module_& m);
void bind_answers(nb::module_& m, nb::class_<PreparedSolver>& solver);

// checks a solver's start; and sets new numbers for all goals at once, in the order of the table
void read_start(PreparedSolver& solver, nb::handle start);
void take_numbers(PreparedSolver& solver, const Array& all);

}  // namespace poise
