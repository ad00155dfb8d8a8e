// solver_bindings.h: adds the solver to the module.
#pragma once
#include <nanobind/nanobind.h>

namespace poise {
void bind_solver(nanobind::module_& m);
}
