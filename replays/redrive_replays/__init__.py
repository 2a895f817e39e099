"""Recorded runs, driven again: the same to the byte, or exactly where they part."""
