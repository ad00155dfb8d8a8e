// noise.h: numbers in [-1, 1), the same on every machine; `drawn` counts them, and may be set back.
#pragma once

inline unsigned drawn = 0;

inline double noise() {
  unsigned x = ++drawn * 2654435761u + 12345u;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  return 2 * double(x) / 4294967296.0 - 1;
}
