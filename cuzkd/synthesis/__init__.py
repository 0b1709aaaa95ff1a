"""The synthesis processes: a witness in, the vectors a, b, c, z out, in place."""
