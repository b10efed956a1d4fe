"""Runs that landed before: which are the same, which copy counts, parts of traces made one."""
