// point_data.cpp: builds trees of points.
#include "memory/point_data.h"

#include <algorithm>
#include <numeric>

namespace poise {
namespace {

constexpr int few_points = 16;  // in a box that is not divided

// Computes the bounds of box `k` with rows [first, end), then divides it.
void halve(PointData& self, const double* given, int k, int level, int first, int end) {
  const int dim = self.dim;
  double *low = self.boxes.data() + static_cast<std::ptrdiff_t>(k) * 2 * dim, *high = low + dim;
  std::fill_n(low, dim, 1e300);
  std::fill_n(high, dim, -1e300);
  const auto point = [&](int row) { return given + static_cast<std::ptrdiff_t>(row) * dim; };
  for (int i = first; i < end; ++i) {
    const double* x = point(self.rows[static_cast<std::size_t>(i)]);
    for (int c = 0; c < dim; ++c) {
      low[c] = std::min(low[c], x[c]);
      high[c] = std::max(high[c], x[c]);
    }
  }
  if (level == self.depth) return;
  int longest = 0;
  for (int c = 1; c < dim; ++c) longest = high[c] - low[c] > high[longest] - low[longest] ? c : longest;
  const int half = first + (end - first) / 2;
  const auto begin = self.rows.begin();
  std::nth_element(begin + first, begin + half, begin + end, [&](int a, int b) {
    const double xa = point(a)[longest], xb = point(b)[longest];
    return xa < xb || (xa == xb && a < b);
  });
  halve(self, given, 2 * k + 1, level + 1, first, half);
  halve(self, given, 2 * k + 2, level + 1, half, end);
}

}  // namespace

PointData make_point_data(const double* given, int n, int dim) {
  PointData self;
  self.dim = dim;
  // ends: n is bounded
  while ((n >> self.depth) > few_points) ++self.depth;
  self.rows.resize(static_cast<std::size_t>(n));
  std::iota(self.rows.begin(), self.rows.end(), 0);
  const auto width = static_cast<std::size_t>(dim);
  self.boxes.resize(((std::size_t{2} << self.depth) - 1) * 2 * width);
  self.points.resize(static_cast<std::size_t>(n) * width);
  halve(self, given, 0, 0, 0, n);
  for (std::size_t i = 0; i < self.rows.size(); ++i) {
    std::copy_n(given + static_cast<std::size_t>(self.rows[i]) * width, width,
                self.points.begin() + static_cast<std::ptrdiff_t>(i * width));
  }
  return self;
}

}  // namespace poise
