// spike.cu: the spike on the device, one thread one problem.
#define POISE_SMALL_BODY
#include "spike.h"

extern "C" __global__ void spike_float(float* q, const float* targets, const float* wanted, const float* gain, int n) {
  const int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= n) return;
  float x[spike::n_q], t[24];
  for (int k = 0; k < spike::n_q; ++k) x[k] = q[k * n + b];
  for (int k = 0; k < 24; ++k) t[k] = targets[k * n + b];
  spike::run(x, t, wanted, gain, 10);
  for (int k = 0; k < spike::n_q; ++k) q[k * n + b] = x[k];
}
