"""Meshes: STL, OBJ, DAE and others, their materials, and fewer triangles for drawing."""
