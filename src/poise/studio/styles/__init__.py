"""Styles learned in the studio."""
