"""Retargeting of hands: places of joints and tips, pinches, and fingers out of each other."""
