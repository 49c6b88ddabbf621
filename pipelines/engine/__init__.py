"""The engine room: start a vLLM server, drive it, and record what it was."""
