"""Fields that a format does not know: found, named, and kept as labels."""
