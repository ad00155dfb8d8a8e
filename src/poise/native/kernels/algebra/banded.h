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
// the remainder of the next two stays in the front. The cost is linear in the number of frames, the order of all sums
// is fixed, and the arithmetic is that of blocks.h: a block of W x W numbers stays in registers while columns stream
// past it. One more block of rows holds the right side.
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
  return frames_met * band_block<S>(n) * band_stride<S>(n) + Strip<S>::padding * band_stride<S>(n) +
         frames_met * band_block<S>(n);
}
template <class S> POISE_FN constexpr int size_of_band_frame(int n) { return band_block<S>(n) * band_stride<S>(n); }

// The front: columns of `met` frames, three unless the clip has fewer, each with `stride` rows: a block for each frame
// and the right side.
template <class S> struct BandFront {
  S *A, *scaled, *inverse;
  int n, block, stride, met;

  // the row of the right side
  POISE_FN int right() const { return met * block; }
};

template <class S> POISE_FN BandFront<S> make_front(int n, int frames, S* memory) {
  const int met = frames < frames_met ? frames : frames_met;
  const int block = band_block<S>(n), stride = band_stride<S>(n, met);
  S* scaled = memory + met * block * stride;
  return {memory, scaled, scaled + Strip<S>::padding * stride, n, block, stride, met};
}

// clears the columns of one frame, with ones on the diagonal of the padding
template <class S> POISE_FN void clear_frame(const BandFront<S>& front, int which) {
  using T = real_t<S>;
  for (int j = which * front.block; j < (which + 1) * front.block; ++j) {
    for (int i = 0; i < front.stride; ++i) front.A[j * front.stride + i] = S(T(0));
    if (j - which * front.block >= front.n) front.A[j * front.stride + j] = S(T(1));
  }
}

// Moves the front on by one frame: the remainder of the next two frames comes first.
template <class S> POISE_FN void shift_front(const BandFront<S>& front) {
  const int b = front.block, stride = front.stride, left = front.right() - b;
  for (int j = 0; j < left; ++j) {
    const S* from = front.A + (j + b) * stride + b;
    S* to = front.A + j * stride;
    for (int i = 0; i < left; ++i) to[i] = from[i];
    for (int i = left; i < front.right(); ++i) to[i] = S(real_t<S>(0));
    for (int i = front.right(); i < stride; ++i) to[i] = front.A[(j + b) * stride + i];
  }
  clear_frame(front, front.met - 1);
}

// Eliminates the first frame's columns; `kept` (size_of_band_frame numbers) receives its L and the reduced right side.
template <class S> POISE_LARGE_FN void eliminate_frame(const BandFront<S>& front, real_t<S> floor, S* kept) {
  using T = real_t<S>;
  constexpr int W = Strip<S>::width;
  const int b = front.block, stride = front.stride;
  S* A = front.A;
  for (int k = 0; k < b; k += W) eliminate_columns(A, k, b, stride, floor, front.inverse, front.scaled);

  // the following frames: A -= L D L^T, all columns of L at once
  S* minus = front.inverse + b;
  for (int c = 0; c < b; ++c) minus[c] = S(T(-1)) / front.inverse[c];
  for (int j = b; j < front.right(); j += W) {
    for (int i = j; i < stride; i += W) add_block(A, minus, 0, b, i, j, stride, A);
  }
  for (int k = 0; k < b * stride; ++k) kept[k] = A[k];
}

// x of a frame from its L and the x of the two frames after it (null beyond the last one)
template <class S>
POISE_LARGE_FN void substitute_frame(const BandFront<S>& front, const S* kept, const S* next, const S* after, S* x) {
  const int n = front.n, b = front.block, stride = front.stride;
  for (int j = n - 1; j >= 0; --j) {
    const S* column = kept + j * stride;
    S sum = column[front.right()];
    for (int i = j + 1; i < n; ++i) sum -= column[i] * x[i];
    if (next) {
      for (int i = 0; i < n; ++i) sum -= column[b + i] * next[i];
    }
    if (after) {
      for (int i = 0; i < n; ++i) sum -= column[2 * b + i] * after[i];
    }
    x[j] = sum;
  }
}

}  // namespace poise
