"""cuzkd: a Groth16 proving daemon."""
