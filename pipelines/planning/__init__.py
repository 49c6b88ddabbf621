"""What a run will take, and whether it can work at all: calculated before any GPU time is spent."""
