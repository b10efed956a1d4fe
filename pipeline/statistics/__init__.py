"""Pure statistics of paired comparisons, over NumPy arrays; the extra `stats` brings what it needs.

Only `needs` may be imported without the extra.
"""
