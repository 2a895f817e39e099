"""Masking: what is found, what stands for it, and who may open it."""
