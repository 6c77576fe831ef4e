"""pairs.py: what runs that took turns say: their ratios, pair by pair.

Two runs side by side met the same machine, so their ratio leaves out what both
met.  Shown is the median of the ratios, with an interval that covers the true
median with a probability of at least 95 %: the one of the sign test, between
two order statistics (W. J. Conover, Practical Nonparametric Statistics, 3rd
edition, 1999, chapter 3).  It assumes nothing of how the ratios are distributed.
A bootstrap was not taken: it gives an interval of three pairs too, and that of
a median of eight covers too little.  Fewer than six pairs have no such interval;
then the range stands there, marked "too few pairs".
"""
import math
import statistics
from dataclasses import dataclass

import measure

CONFIDENCE = 0.95
FEW = "too few pairs"
NOISE = "noise"


def rank(n):
    """The largest k such that the k-th smallest and the k-th largest of n values
    enclose the median with the confidence wanted; 0 where not even the range does."""
    k, tail = 0, 0.0
    while True:
        tail += math.comb(n, k) / 2 ** n  # that at most k of n lie below the median
        if 2 * tail > 1 - CONFIDENCE:
            return k
        k += 1


@dataclass(frozen=True)
class Pairs:
    ratios: tuple

    @property
    def count(self):
        return len(self.ratios)

    @property
    def median(self):
        return statistics.median(self.ratios)

    @property
    def interval(self):
        """That of the median; of too few pairs their range."""
        k = max(rank(self.count), 1)
        return sorted(self.ratios)[k - 1], sorted(self.ratios)[-k]

    @property
    def verdict(self):
        """Noise is what the interval cannot tell from 1, and only that."""
        if rank(self.count) == 0:
            return FEW
        low, high = self.interval
        return NOISE if low <= 1 <= high else ""

    @property
    def above(self):
        return sum(r > 1 for r in self.ratios)

    @property
    def below(self):
        return sum(r < 1 for r in self.ratios)

    def words(self, unit=""):
        """'1.15 times (1.09 to 1.22)', the verdict within the brackets."""
        if not self.count:
            return "-"
        low, high = self.interval
        digits = 3 if not self.verdict and "1.00" in (f"{low:.2f}", f"{high:.2f}") else 2
        shown = f"{self.median:.{digits}f}{unit}"
        if self.count == 1:
            return shown
        return f"{shown} ({low:.{digits}f} to {high:.{digits}f}{self.verdict and ', ' + self.verdict})"

    def ways(self, more, fewer):
        """How many of the pairs went the way of most: '5 of 5 faster'."""
        most, way = (self.above, more) if self.above >= self.below else (self.below, fewer)
        return f"{most} of {self.count} {way}"


def ratio(x, y):
    if x == y:
        return 1.0
    return y / x if x else math.inf


def resolved(m):
    """True where the clock or the counter is finer than a tenth of what was measured."""
    return measure.least_difference(m) <= 0.1 * abs(m.median)


def quantities(a, b):
    """b in multiples of a, of the runs that both have.  What the clock or the
    counter cannot tell apart is equal."""
    least = measure.least_difference(a)
    shared = [run for run in a.by_run if run in b.by_run]
    both = [(a.by_run[run], b.by_run[run]) for run in shared]
    return Pairs(tuple(1.0 if abs(x - y) <= least else ratio(x, y) for x, y in both))


def gains(a, b):
    """How many times better b was than a."""
    return quantities(a, b) if a.more_is_better else quantities(b, a)


def pooled(several):
    """Equal work at several sizes: all of its pairs."""
    return Pairs(tuple(r for one in several for r in one.ratios))
