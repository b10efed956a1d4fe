"""Single values: bytes to typed structs, moments, literals, and the one text that keys are made of."""
