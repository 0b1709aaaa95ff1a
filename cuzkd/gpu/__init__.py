"""The gpu process: a, b, c, z in, a verified proof out; one function a stage."""
