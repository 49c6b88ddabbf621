"""What we ask and what came back: items, toolsets, responses; loading, linting and the data itself."""
