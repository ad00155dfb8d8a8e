// nearest.h: exact nearest neighbours among points in a tree of boxes; and the Gaussian of the neighbours.
//
// A box is divided by the number of points along its longest side until few are left. A box whose nearest corner is
// farther than the current neighbours is not opened. The result equals a search over all points; of two points at equal
// distance the one that was given first is used.
// Source: Friedman, Bentley and Finkel, An algorithm for finding best matches in logarithmic expected time, ACM TOMS 3(3), 1977.
#pragma once
#include "kernels/portable.h"

namespace poise {

// Box k is divided into 2k + 1 and 2k + 2; those of the last level hold points [first, end), in the order of the
// divisions.
template <class T> struct PointTree {
  const T* points;  // n x dim, box after box
  const int* rows;  // for each: its index among the given points
  const T* boxes;   // for each box: dim lower bounds, then dim upper bounds
  int n, dim, depth;
};

constexpr int most_tree_depth = 30;

template <class T> POISE_LARGE_FN T square_from_box(const T* box, int dim, const T* place) {
  T sum = T(0);
  for (int k = 0; k < dim; ++k) {
    const T below = box[k] - place[k], above = place[k] - box[dim + k];
    const T out = maximum(maximum(below, above), T(0));
    sum += out * out;
  }
  return sum * T(1 - 1e-9);  // so that rounding never excludes a point
}

// The squared distance of a point; if it is farther than the farthest neighbour, any larger number.
template <class T> POISE_LARGE_FN T square_from_point(const T* point, int dim, const T* place, const T* farthest) {
  T sum = T(0);
  const int whole = dim - dim % 4;
  for (int k = 0; k < whole; k += 4) {
    T d[4];
    for (int j = 0; j < 4; ++j) d[j] = point[k + j] - place[k + j];
    sum += (d[0] * d[0] + d[1] * d[1]) + (d[2] * d[2] + d[3] * d[3]);
    if (farthest && sum > *farthest) return sum;
  }
  for (int k = whole; k < dim; ++k) sum += (point[k] - place[k]) * (point[k] - place[k]);
  return sum;
}

// The neighbours so far: a heap with the farthest on top.
template <class T> struct Found {
  T* squares;
  int* rows;
  int count, most;

  POISE_FN bool is_farther(int a, int b) const {
    return squares[a] > squares[b] || (squares[a] == squares[b] && rows[a] > rows[b]);
  }
  POISE_FN void swap(int a, int b) {
    const T square = squares[a];
    const int row = rows[a];
    squares[a] = squares[b];
    rows[a] = rows[b];
    squares[b] = square;
    rows[b] = row;
  }
  POISE_FN void sink(int at, int end) {
    for (int child = 2 * at + 1; child < end; child = 2 * at + 1) {  // ends: `at` grows
      if (child + 1 < end && is_farther(child + 1, child)) ++child;
      if (!is_farther(child, at)) return;
      swap(at, child);
      at = child;
    }
  }
  POISE_FN void add(T square, int row) {
    if (count == most) {
      if (square > squares[0] || (square == squares[0] && row > rows[0])) return;
      squares[0] = square;
      rows[0] = row;
      sink(0, count);
      return;
    }
    squares[count] = square;
    rows[count] = row;
    for (int at = count++; at > 0 && is_farther(at, (at - 1) / 2); at = (at - 1) / 2) swap(at, (at - 1) / 2);
  }
  POISE_FN void sort() {  // the nearest first
    for (int end = count - 1; end > 0; --end) {
      swap(0, end);
      sink(0, end);
    }
  }
};

// The nearest `most` points, nearest first, in `squares` and `rows`, which have that size; returns their number.
template <class T>
POISE_LARGE_FN int find_nearest(const PointTree<T>& tree, const T* place, int most, T* squares, int* rows) {
  struct Open {
    int box, level, first, end;
    T square;
  };
  Open open[most_tree_depth + 2];
  Found<T> found{squares, rows, 0, most < tree.n ? most : tree.n};
  int waiting = 0;
  const int stride = 2 * tree.dim;
  open[waiting++] = {0, 0, 0, tree.n, T(0)};
  // ends: every box is opened once
  while (waiting > 0) {
    const Open at = open[--waiting];
    if (found.count == found.most && at.square > found.squares[0]) continue;
    if (at.level == tree.depth) {
      for (int i = at.first; i < at.end; ++i) {
        const T* farthest = found.count == found.most ? found.squares : nullptr;
        const T square =
            square_from_point(tree.points + static_cast<long long>(i) * tree.dim, tree.dim, place, farthest);
        if (!farthest || square <= *farthest) found.add(square, tree.rows[i]);
      }
      continue;
    }
    const int half = at.first + (at.end - at.first) / 2, left = 2 * at.box + 1;
    const Open low{left, at.level + 1, at.first, half, square_from_box(tree.boxes + left * stride, tree.dim, place)};
    const Open high{left + 1, at.level + 1, half, at.end,
                    square_from_box(tree.boxes + (left + 1) * stride, tree.dim, place)};
    open[waiting++] = low.square <= high.square ? high : low;
    open[waiting++] = low.square <= high.square ? low : high;
  }
  found.sort();
  return found.count;
}

// The weights of points by their distances, nearest first: they decrease with the distance, nearly to zero for the
// farthest, so that a point that enters or leaves the neighbourhood changes nothing abruptly. They sum to 1.
template <class T> POISE_LARGE_FN void weigh_by_distance(const T* far, int n, T* weights) {
  T most = T(0), sum = T(0);
  for (int k = 0; k < n; ++k) most = maximum(most, far[k]);
  for (int k = 0; k < n; ++k) {
    const T part = most > T(0) ? far[k] / most : T(0), left = T(1) - part * part;
    weights[k] = left * left + T(1e-9);
    sum += weights[k];
  }
  for (int k = 0; k < n; ++k) weights[k] /= sum;
}

// The mean and covariance of rows of x (d numbers each) with `weights`, which sum to 1:
//
//   mean = sum w x,   spread = least + share sum w (x - mean) (x - mean)^T
//
// `away` is a workspace of n x d numbers.
template <class T> POISE_LARGE_FN void gather_gaussian(const T* x, const int* rows, const T* weights, int n, int d,
                                                       const T* least, T share, T* mean, T* spread, T* away) {
  for (int k = 0; k < d; ++k) mean[k] = T(0);
  for (int i = 0; i < n; ++i) {
    const T* from = x + static_cast<long long>(rows[i]) * d;
    for (int k = 0; k < d; ++k) mean[k] += weights[i] * from[k];
  }
  for (int i = 0; i < n; ++i) {
    const T* from = x + static_cast<long long>(rows[i]) * d;
    const T by = square_root(share * weights[i]);
    for (int k = 0; k < d; ++k) away[i * d + k] = by * (from[k] - mean[k]);
  }
  for (int r = 0; r < d; ++r) {
    T* out = spread + r * d;
    for (int k = 0; k <= r; ++k) out[k] = least[r * d + k];
    int i = 0;
    for (; i + 4 <= n; i += 4) {
      const T *a = away + i * d, *b = a + d, *c = b + d, *e = c + d;
      const T ar = a[r], br = b[r], cr = c[r], er = e[r];
      for (int k = 0; k <= r; ++k) out[k] += (ar * a[k] + br * b[k]) + (cr * c[k] + er * e[k]);
    }
    for (; i < n; ++i) {
      const T* a = away + i * d;
      for (int k = 0; k <= r; ++k) out[k] += a[r] * a[k];
    }
    for (int k = 0; k < r; ++k) spread[k * d + r] = out[k];
  }
}

}  // namespace poise
