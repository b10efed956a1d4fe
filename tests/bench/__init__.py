"""Measurements: ratios within one run, printed with machine and versions. `make bench`."""
