"""Bridges to other tools, one module each: import the one you need, such as `poise.bridges.mujoco`.

Nothing else in Poise imports them, and none of them needs the others.
"""
