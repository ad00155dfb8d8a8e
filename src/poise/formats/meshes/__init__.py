"""Mesh files (STL, OBJ, DAE and others): readers, materials, and decimation for drawing."""
