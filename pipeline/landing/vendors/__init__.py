"""What one product or benchmark writes, where more than one format reads it, or it is much."""
