"""Landing: bytes that people export, to rows that can be trusted."""
