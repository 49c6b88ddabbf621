"""What may be released where, and what is: evidence, the gate, the MLflow store."""
