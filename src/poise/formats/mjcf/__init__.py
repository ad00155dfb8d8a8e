"""MJCF, read with MuJoCo's compiler."""
