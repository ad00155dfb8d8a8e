// solver_bindings.h: what the bindings of the solver and of its batches share.
#pragma once
#include "prepared.h"

namespace poise {

void bind_codes(nb::module_& m);
void bind_solver(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_gpu(nb::module_& m);

}  // namespace poise
