"""The guarantees of the production controls, each of which is switched off in turn, and then missed by a test."""
