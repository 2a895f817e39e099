"""What the command can do, one module a verb, each loaded when it is asked for."""
