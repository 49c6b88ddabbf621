"""The load test: traffic of the scenes against a real engine, its flags tuned, and what both say of a variant."""
