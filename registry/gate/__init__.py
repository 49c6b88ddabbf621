"""The gate: paired statistics, policy, decision. Pure functions over comparisons."""
