"""Crashes on purpose: power that fails under the log, and processes that are killed while they write to it."""
