"""`cuzkd bench`: circuits, keys and witnesses to measure with."""
