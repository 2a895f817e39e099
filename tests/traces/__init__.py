"""Traces of other tools, imported."""
