"""The 3D scene of the studio."""
