"""Field, curve, transform and multi-scalar arithmetic, per primitive."""
