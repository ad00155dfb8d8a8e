"""Limbs: poles, straight limbs and stiffness."""
