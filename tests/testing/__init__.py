"""Runs as tests, looked at with tests that run pytest."""
