"""Limbs: poles, straight limbs, stiffness."""
