// banded.h: one linear system over all frames of a clip, in which a frame is coupled with the two before and the two
// after it.
//
// Each frame has a block of n rows. The coupling between frames is diagonal, like the second difference of every
// velocity over time:
//
//     [A_0 e_0 f_0            ]
//     [e_0 A_1 e_1 f_1        ]  x = b,     A_t dense, symmetric, positive;  e_t, f_t diagonal
//     [f_0 e_1 A_2 e_2 f_2 ...]
//
// Factored as L D L^T frame by frame, in a front of three frames: the columns of the first frame are eliminated, and
// the remainder of the next two stays in the front. The cost is linear in the number of frames and the order of all
// sums is fixed. Tiles of several registers stay there while the columns of L stream past them. f_t has filled up only
// on one side of its diagonal when its frame is eliminated, which halves its cost; that half and the lower triangle of
// L make one square in the memory that is kept. One more block of rows holds the right side.
#pragma once
#include "kernels/algebra/blocks.h"

namespace poise {

constexpr int frames_met = 3;  // a frame and the two after it; fewer if the clip has fewer

template <class S> POISE_FN constexpr int band_block(int n) { return tall_of<S>(n); }
template <class S> POISE_FN constexpr int band_stride(int n, int met = frames_met) {
  return met * band_block<S>(n) + Strip<S>::padding;
}
// the sizes of the front, and of the data kept of each frame for the back substitution; in units of the padding, which
// is the same at every instruction level
template <class S> POISE_FN constexpr int size_of_front(int n) {
  return (frames_met + 1) * band_block<S>(n) * band_stride<S>(n) + band_block<S>(n);
}
template <class S> POISE_FN constexpr int size_of_band_frame(int n) {
  return (2 * band_block<S>(n) + 1) * band_block<S>(n);
}

// The front: columns of `met` frames, each with `stride` rows: blocks of its own frame and of the met - 1 after it, then
// the right side.
template <class S> struct BandFront {
  S *A, *scaled, *inverse;
  int n, block, stride, met;

  // the row of the right side
  POISE_FN int right() const { return met * block; }
  // the columns of a frame; those of frame t + met take the place of those of frame t
  POISE_FN S* columns_of(int t) const { return A + t % met * block * stride; }
};

// `coupled` frames in a row, the number of frames of the clip, or 1 if none is coupled with another
template <class S> POISE_FN BandFront<S> make_front(int n, int coupled, S* memory) {
  const int met = coupled < frames_met ? coupled : frames_met;
  const int block = band_block<S>(n), stride = band_stride<S>(n, met);
  S* scaled = memory + met * block * stride;
  return {memory, scaled, scaled + block * stride, n, block, stride, met};
}

// clears the columns of a frame, with ones on the diagonal of the padding
template <class S> POISE_FN void clear_frame(const BandFront<S>& front, int t) {
  using T = real_t<S>;
  S* A = front.columns_of(t);
  for (int k = 0; k < front.block * front.stride; ++k) A[k] = S(T(0));
  for (int j = front.n; j < front.block; ++j) A[j * front.stride + j] = S(T(1));
}

// The columns [begin, end) of two factors, of `stride` numbers each.
template <class S> struct PanelFactors {
  const S *left, *right;
  int begin, end, stride;
};

// C += SIGN left right^T for H registers of rows and W columns
template <int SIGN, int H, class S> POISE_FN void add_tile(const PanelFactors<S>& f, S* C, int stride) {
  constexpr int W = Strip<S>::width;
  using Row = typename Strip<S>::Row;
  Row sum[H][W];
  POISE_UNROLL
  for (int h = 0; h < H; ++h) {
    POISE_UNROLL
    for (int k = 0; k < W; ++k) sum[h][k] = load_rows(C + k * stride + h * W);
  }
  for (int c = f.begin; c < f.end; ++c) {
    Row x[H];
    POISE_UNROLL
    for (int h = 0; h < H; ++h) x[h] = load_rows(f.left + c * f.stride + h * W);
    POISE_UNROLL
    for (int k = 0; k < W; ++k) {
      const Row y(f.right[c * f.stride + k]);
      POISE_UNROLL
      for (int h = 0; h < H; ++h) {
        if constexpr (SIGN > 0) {
          sum[h][k] += x[h] * y;
        } else {
          sum[h][k] -= x[h] * y;
        }
      }
    }
  }
  POISE_UNROLL
  for (int h = 0; h < H; ++h) {
    POISE_UNROLL
    for (int k = 0; k < W; ++k) store_rows(C + k * stride + h * W, sum[h][k]);
  }
}

// The same for many rows. If `upper`, row i of `left` is zero before column begin + i.
template <int SIGN, class S> POISE_FN void add_panel(PanelFactors<S> f, int rows, bool upper, S* C, int stride) {
  constexpr int W = Strip<S>::width, tall = 3 * W;
  // ends: every pass takes some of the rows
  while (rows > 0) {
    const int taken = rows < tall ? rows : tall;
    if (taken == tall) {
      add_tile<SIGN, 3>(f, C, stride);
    } else if (taken > W) {
      add_tile<SIGN, 2>(f, C, stride);
    } else {
      add_tile<SIGN, 1>(f, C, stride);
    }
    rows -= taken;
    C += taken;
    f.left += taken;
    if (upper) f.begin += taken;
  }
}

// Eliminates the columns of frame t; `kept` (size_of_band_frame numbers) receives its L and the reduced right side.
template <class S> POISE_LARGE_FN void eliminate_frame(const BandFront<S>& front, int t, real_t<S> floor, S* kept) {
  using T = real_t<S>;
  constexpr int W = Strip<S>::width;
  const int b = front.block, stride = front.stride, right = front.right(), met = front.met;
  const int full = met > 1 ? 2 * b : b;  // rows without zeros
  S* A = front.columns_of(t);
  const S* G = front.scaled;  // L D
  for (int k = 0; k < b; k += W) {
    S* C = A + k * stride;
    add_panel<-1, S>({G + k, A + k, 0, k, stride}, full - k, false, C + k, stride);
    if (met > 2) add_panel<-1, S>({G + 2 * b, A + k, 0, k, stride}, k, true, C + 2 * b, stride);
    add_panel<-1, S>({G + right, A + k, 0, k, stride}, W, false, C + right, stride);
    eliminate_columns(A, k, k + W, stride, floor, front.inverse, front.scaled + k * stride);
  }

  // the frames after it: A -= L D L^T, all columns of L at once
  for (int j = 0; j < b && met > 1; j += W) {
    S* C = front.columns_of(t + 1) + j * stride;
    add_panel<-1, S>({G + b + j, A + b + j, 0, b, stride}, b - j, false, C + j, stride);
    add_panel<-1, S>({G + right, A + b + j, 0, b, stride}, W, false, C + right, stride);
    if (met > 2) add_panel<-1, S>({G + 2 * b, A + b + j, 0, b, stride}, b, true, C + b, stride);
  }
  for (int j = 0; j < b && met > 2; j += W) {
    S* C = front.columns_of(t + 2) + j * stride;
    add_panel<-1, S>({G + 2 * b + j, A + 2 * b + j, j, b, stride}, b - j, true, C + j, stride);
    add_panel<-1, S>({G + right, A + 2 * b + j, j, b, stride}, W, false, C + right, stride);
  }
  for (int j = 0; j < b; ++j) {
    const S* column = A + j * stride;
    S *square = kept + 2 * j * b, *next = square + b;
    for (int i = 0; i <= j; ++i) square[i] = met > 2 ? column[2 * b + i] : S(T(0));
    for (int i = j + 1; i < b; ++i) square[i] = column[i];
    for (int i = 0; i < b; ++i) next[i] = met > 1 ? column[b + i] : S(T(0));
    kept[2 * b * b + j] = column[right];
  }
}

// Solves x of a frame from `kept` and the solution of the next frame. On entry, x is the solution two frames later. All
// have `block` numbers.
template <class S> POISE_LARGE_FN void substitute_frame(const BandFront<S>& front, const S* kept, const S* next, S* x) {
  constexpr int W = Strip<S>::width;
  using Row = typename Strip<S>::Row;
  const int b = front.block;
  for (int k = b - W; k >= 0; k -= W) {
    const S* square = kept + 2 * k * b;
    Row sum[W];
    POISE_UNROLL
    for (int c = 0; c < W; ++c) sum[c] = Row(real_t<S>(0));
    for (int i = 0; i < b; i += W) {
      const Row y = load_rows(next + i), z = i == k ? Row(real_t<S>(0)) : load_rows(x + i);
      POISE_UNROLL
      for (int c = 0; c < W; ++c) {
        sum[c] += load_rows(square + (2 * c + 1) * b + i) * y;
        sum[c] += load_rows(square + 2 * c * b + i) * z;
      }
    }
    // x before velocity k + c is that of the frame after the next
    for (int c = W - 1; c >= 0; --c) {
      S all = sum_rows<S>(sum[c]);
      for (int r = 0; r < W; ++r) all += square[2 * c * b + k + r] * x[k + r];
      x[k + c] = kept[2 * b * b + k + c] - all;
    }
  }
}

}  // namespace poise
