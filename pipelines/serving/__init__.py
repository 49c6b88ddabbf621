"""The load profile: what a request log holds, what a prefix cache makes of it, what fits on a card and at what cost."""
