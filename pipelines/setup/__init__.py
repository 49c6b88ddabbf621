"""What must be there before anything runs: preflight and environments. Standard library only."""
