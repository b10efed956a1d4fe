"""Spans to runs: the tree they make, and the vocabularies in which tracers tell of agents."""
