"""URDF and xacro: reader and writer."""
