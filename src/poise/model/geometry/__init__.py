"""Shapes of a body and of objects around it."""
