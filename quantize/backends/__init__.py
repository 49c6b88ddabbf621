"""Backends: one file each, all with the same face: base folder, recipe, rows, staging folder."""
