"""Frames, messages, descriptors and shared memory; nothing here knows what a proof is."""
