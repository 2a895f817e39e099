"""What the command says, and with which exit code."""
