// bindings.h: what the bindings of the solver and of its batches share.
#pragma once
#include "bind/prepared.h"

namespace poise {

// Python's turn, now and then in a long solve: Ctrl-C arrives as the exception that its handler raises
bool hear_signals(const void*);

void bind_codes(nb::module_& m);
void bind_solver(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_gpu(nb::module_& m);
void bind_geometry(nb::module_& m);
void bind_family(nb::module_& m);
void bind_clips(nb::module_& m);
void bind_charts(nb::module_& m);
void bind_nearest(nb::module_& m);
void bind_answers(nb::class_<PreparedSolver>& solver);

// a solver's start, checked; and new numbers for all goals at once, in order, as the table has them
void read_start(PreparedSolver& solver, nb::handle start);
void take_numbers(PreparedSolver& solver, const Array& all);

}  // namespace poise
