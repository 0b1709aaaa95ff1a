"""Readers and writers of the file formats; no field arithmetic happens here."""
