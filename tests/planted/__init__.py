"""Faults planted one by one, or two at once, with the place and the cause that a replay has to find."""
