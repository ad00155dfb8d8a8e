"""Separation of parts of the body that collide in retargeted motions."""
