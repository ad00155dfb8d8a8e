// listing.h: rows of branches of a transform, arcs of its free joint, and rows along them; used by listing.cpp and
// answers.cpp.
#pragma once
#include <cstdint>
#include <vector>

#include "bind/family.h"
#include "bind/layout.h"
#include "run/along.h"

namespace poise {

// A branch of a target at a value of the free joint, for Python. way: the largest motion of a joint from the start.
struct BranchRow {
  std::int64_t target, branch, certain;
  double value, way;
  double joints[7], slacks[7], excesses[7];  // near the start; their uncertainties; distances outside their ranges
};

// The arcs of a target, and whether they are proved to be all.
struct ArcList {
  std::vector<Piece> arcs;
  bool complete;
};

FamilyTarget<double> target_without_errors(const double* R, const double* p);

BranchRow row_of(const FamilySpec<double>& spec, const FamilyLeaf<double>& leaf, double value, const ListStart& start);

// calls visit(row) for every branch of `wanted` at a value of the free joint
template <class F> void visit_rows(const FamilyQuestion<double>& question, double value, unsigned wanted,
                                   const ListStart& start, F&& visit) {
  const FamilyAsked<double> asked = ask_of(question, value, 0.0);
  walk_branches(question.spec.chain, asked, 1, wanted, [&](const FamilyLeaf<double>& leaf) {
    visit(row_of(question.spec, leaf, value, start));
    return false;
  });
}

}  // namespace poise
