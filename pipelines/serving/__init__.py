"""The load profile's analysis half: what a request log holds, what spoils its prefixes, what a cache makes of it."""
