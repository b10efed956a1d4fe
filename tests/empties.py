"""What metrics are where a list is empty: the table of the metrics' definitions, once for all engines."""

from __future__ import annotations

# both empty, E empty and A not, A empty and E not
EMPTY = {
    "exact_match": (1, 0, 0),
    "prefix_match": (1, 0, 0),
    "position_match": (1, 0, 0),
    "in_order": (1, 1, 0),
    "in_order_match": (1, 1, 0),
    "lcs": (1, 1, 0),
    "lcs_f1": (1, 0, 0),
    "tp": (0, 0, 0),
    "precision": (1, 0, 0),
    "recall": (1, 1, 0),
    "f1": (1, 0, 0),
    "any_order_match": (1, 1, 0),
    "unordered_match": (1, 0, 0),
    "only_expected": (1, 0, 1),
    "set_precision": (1, 0, 0),
    "set_recall": (1, 1, 0),
    "set_f1": (1, 0, 0),
    "set_jaccard": (1, 0, 0),
    "n_missing": (0, 0, 3),  # the list that is not empty has three calls
    "n_extra": (0, 3, 0),
}
