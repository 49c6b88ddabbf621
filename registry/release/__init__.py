"""What a scene is released as: the record, the files for the serving stack, the canary plan and its guard."""
