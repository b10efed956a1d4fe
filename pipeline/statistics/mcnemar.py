"""McNemar's test for 0/1 results of the same tasks, one trial in each arm: only changes count.

Under no difference each changed task is as likely a loss as a win, so that the losses among them
are binomial with ½. The mid-p value counts half of what was seen: the exact test is too careful
with few changes, the mid-p keeps close to its level (Fagerland, Lydersen and Laake 2013, "The
McNemar test for binary matched-pairs data: mid-p and asymptotic are better than exact
conditional", BMC Medical Research Methodology 13:91).
"""

from __future__ import annotations

from scipy import stats


def exact_p(losses: int, wins: int) -> float:
    """Return the exact two-sided p-value.

    >>> round(exact_p(9, 1), 4)
    0.0215
    """
    changed = losses + wins
    return float(stats.binomtest(losses, changed).pvalue) if changed else 1.0


def exact_p_one_sided(losses: int, wins: int) -> float:
    """Return the exact p-value of more losses than wins.

    >>> exact_p_one_sided(3, 0)
    0.125
    """
    return float(stats.binom.sf(losses - 1, losses + wins, 0.5))


def mid_p_one_sided(losses: int, wins: int) -> float:
    """Return the mid-p value of more losses than wins: P(more) + ½·P(as many).

    >>> mid_p_one_sided(3, 0), mid_p_one_sided(0, 0)
    (0.0625, 0.5)
    """
    changed = losses + wins
    beyond = stats.binom.sf(losses, changed, 0.5)
    return float(beyond + stats.binom.pmf(losses, changed, 0.5) / 2)


def mid_p(losses: int, wins: int) -> float:
    """Return the two-sided mid-p value: twice the smaller one-sided one.

    >>> round(mid_p(9, 1), 4), mid_p(4, 4)
    (0.0117, 1.0)
    """
    return min(1.0, 2 * min(mid_p_one_sided(losses, wins), mid_p_one_sided(wins, losses)))
