"""How a checkpoint is made: recipes, calibration, backends, the manifest."""
