"""What holds, and why."""
