"""The metrics: what every number means, as expressions over counts."""
