"""Objects in hands: grips, palms, and motions that carry things."""
