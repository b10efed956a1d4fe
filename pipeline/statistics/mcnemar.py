"""McNemar's test for 0/1 results of the same tasks, one trial in each arm: only changes count.

Under no difference each changed task is as likely a loss as a win, so that the losses among them
are binomial with ½. The mid-p value counts half of what was seen: the exact test is too careful
with few changes, the mid-p keeps close to its level (Fagerland, Lydersen and Laake 2013, "The
McNemar test for binary matched-pairs data: mid-p and asymptotic are better than exact
conditional", BMC Medical Research Methodology 13:91).
"""

from __future__ import annotations

# The tail of a binomial is an incomplete beta function: `scipy.stats`, which has it by name, takes
# longer to load than most comparisons take in all.
from scipy import special


def exact_p(losses: int, wins: int) -> float:
    """Return the exact two-sided p-value: twice the smaller tail, as ½ makes both alike.

    >>> round(exact_p(9, 1), 4)
    0.0215
    """
    return min(1.0, 2 * exact_p_one_sided(max(losses, wins), min(losses, wins)))


def exact_p_one_sided(losses: int, wins: int) -> float:
    """Return the exact p-value of more losses than wins: P(as many or more).

    >>> exact_p_one_sided(3, 0)
    0.125
    """
    return float(special.betainc(losses, wins + 1, 0.5)) if losses else 1.0


def mid_p_one_sided(losses: int, wins: int) -> float:
    """Return the mid-p value of more losses than wins: halfway from P(more) to P(as many or more).

    >>> mid_p_one_sided(3, 0), mid_p_one_sided(0, 0)
    (0.0625, 0.5)
    """
    more = float(special.betainc(losses + 1, wins, 0.5)) if wins else 0.0
    return (more + exact_p_one_sided(losses, wins)) / 2


def mid_p(losses: int, wins: int) -> float:
    """Return the two-sided mid-p value: twice the smaller one-sided one.

    >>> round(mid_p(9, 1), 4), mid_p(4, 4)
    (0.0117, 1.0)
    """
    return min(1.0, 2 * min(mid_p_one_sided(losses, wins), mid_p_one_sided(wins, losses)))
