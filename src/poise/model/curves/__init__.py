"""Curves that path joints follow."""
