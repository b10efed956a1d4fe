"""Messages in any shape to steps: what was said, called and returned."""
