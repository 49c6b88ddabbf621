"""Recomputing evidence offline: re-judge, re-compare, re-decide, and fail on any byte that differs."""
