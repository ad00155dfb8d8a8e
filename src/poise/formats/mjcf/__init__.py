"""MJCF, read through MuJoCo's compiler."""
