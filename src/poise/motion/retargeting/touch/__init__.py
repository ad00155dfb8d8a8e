"""Touch between parts of the body in retargeted motions."""
