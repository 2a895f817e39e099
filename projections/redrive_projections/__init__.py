"""Views of a run, each folded from its events and from nothing else."""
