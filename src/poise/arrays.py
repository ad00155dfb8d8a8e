"""Type aliases of arrays and small tuples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bytes", "Floats", "Indices", "Ints", "Triple"]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Ints = NDArray[np.int64]
Triple = tuple[float, float, float]
