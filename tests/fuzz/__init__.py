"""Bytes that nobody wrote: whatever a reader is given, it reads it, or says in its own words that it cannot."""
