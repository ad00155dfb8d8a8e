// family.h: reads a family from Python into the types of the kernels.
#pragma once
#include "bind/arrays.h"
#include "kernels/closed/decide.h"
#include "memory/solver_data.h"

namespace poise {

FamilySpec<double> read_family(const nb::dict& table);

// adds the closed form of a goal to a prepared problem
void take_closed(SolverData& to, const nb::dict& form);

// stores the closed form of a part of the only goal's chain, if any
void take_sampled(SolverData& to, const nb::object& form);

// stores the closed form whose nearest branch a solve begins at; None to begin at the start
void take_branches(SolverData& to, const nb::object& form);

// further methods of the class, in listing.cpp
void bind_listing(nb::module_& m, nb::class_<FamilySpec<double>>& form);

}  // namespace poise
