// family.h: a family as Python found it, read into what the kernels know.
#pragma once
#include "bind/arrays.h"
#include "kernels/closed/decide.h"
#include "memory/solver_data.h"

namespace poise {

FamilySpec<double> read_family(const nb::dict& table);

// adds the closed form of a goal to a prepared problem
void take_closed(SolverData& to, const nb::dict& form);

}  // namespace poise
