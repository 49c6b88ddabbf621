"""One thin module per DVC stage: read, call one function, write. Rooms: setup, engine."""
