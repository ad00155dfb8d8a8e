// limits.h: reading limits from the tables of poise.solvers and poise.limits.
#pragma once
#include "bind/prepared.h"

namespace poise {

// an obstacle of Python's regions, which the problems share
struct SharedObstacle { std::shared_ptr<const ObstacleData> data; };

// Appends the capsules and obstacles of a clearance (`poise.limits.surfaces`) and returns its rules. `index` has the primitives of the
// problem; empty: those of the body.
SurfaceRules read_surfaces(const Body& body, const nb::dict& table, const std::vector<int>& index,
                           std::vector<CapsuleData<double>>& capsules, ObstacleList& obstacles);

// Reads the limits of a problem, after its primitives and columns.
void take_limits(PreparedSolver& solver, const Body& body, const nb::dict& table);

// Reads the rows and clearances of a problem, after its cones and sums.
void take_rows(PreparedSolver& solver, const Body& body, const nb::dict& table);

}  // namespace poise
