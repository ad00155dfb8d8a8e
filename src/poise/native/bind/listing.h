// listing.h: rows of branches of a transform, arcs of its free joint, and rows along them; for Python's doors in listing.cpp and answers.cpp.
#pragma once
#include <vector>

#include "bind/family.h"
#include "run/along.h"

namespace poise {

using FamilyNumbers = std::vector<double>;

// of a row: arc, value, branch, certain, way, then 7 joints, 7 slacks, 7 excesses
constexpr std::size_t row_width = 26, row_joints = 5, row_slacks = 12, row_excesses = 19;

FamilyTarget<double> target_without_errors(const double* R, const double* p);

// a leaf as a row; its way is the longest of a joint from the start
void write_row(const FamilySpec<double>& spec, const FamilyLeaf<double>& leaf, double value, const ListStart& start,
               double* row);

// calls visit(row) for every branch of `wanted` at a value of the free joint
template <class F> void visit_rows(const FamilyQuestion<double>& question, double value, unsigned wanted,
                                   const ListStart& start, F&& visit) {
  const FamilyAsked<double> asked = ask_of(question, value, 0.0);
  walk_branches(question.spec.chain, asked, 1, wanted, [&](const FamilyLeaf<double>& leaf) {
    double row[row_width];
    write_row(question.spec, leaf, value, start, row);
    visit(row);
    return false;
  });
}

}  // namespace poise
