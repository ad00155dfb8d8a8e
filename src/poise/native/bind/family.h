// family.h: reads a family from Python into the types of the kernels.
#pragma once
#include "bind/arrays.h"
#include "kernels/closed/decide.h"
#include "memory/solver_data.h"

namespace poise {

FamilySpec<double> read_family(const nb::dict& table);
void read_axis(const nb::handle& table, FamilyAxis<double>& to);

// adds the closed form of a goal to a prepared problem
void take_closed(SolverData& to, const nb::dict& form);

// stores the closed form of a part of the only goal's chain, if any
void take_sampled(SolverData& to, const nb::object& form);

// stores the closed form whose nearest branch a solve begins at; None to begin at the start
void take_branches(SolverData& to, const nb::object& form);

// further methods of the class, in listing.cpp
void bind_listing(nb::module_& m, nb::class_<FamilySpec<double>>& form);

// n rotations and places
struct Transforms {
  Array turns, places;
  npy_intp count;

  Transforms(nb::handle R, nb::handle p)
      : turns(as_array<double>(R, "R")), places(as_array<double>(p, "p")), count(places.size() / 3) {
    if (turns.size() / 9 != count) refuse("ShapeMismatch", "R and p must have the same length.");
    require_finite(turns.data<double>(), turns.size(), 9, "R");
    require_finite(places.data<double>(), places.size(), 3, "p");
  }
  const double* R(npy_intp i) const { return turns.data<double>() + 9 * i; }
  const double* p(npy_intp i) const { return places.data<double>() + 3 * i; }
};

}  // namespace poise
