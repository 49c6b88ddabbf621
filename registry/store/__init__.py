"""The MLflow side: plan the moves a decision asks for, apply them, keep the journal."""
