// point_data.h: points in a tree of boxes.
#pragma once
#include <vector>

#include "kernels/algebra/nearest.h"

namespace poise {

struct PointData {
  std::vector<double> points, boxes;
  std::vector<int> rows;
  int dim = 0, depth = 0;

  PointTree<double> view() const {
    return {points.data(), rows.data(), boxes.data(), static_cast<int>(rows.size()), dim, depth};
  }
};

// Makes the tree of n points, one or more, with `dim` numbers each.
PointData make_point_data(const double* given, int n, int dim);

}  // namespace poise
