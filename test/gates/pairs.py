#!/usr/bin/env python3
"""pairs.py: unit tests of bench/pairs.py: the interval, the verdicts, what is a pair."""
import itertools
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import measure  # noqa: E402
import pairs  # noqa: E402


def runs(*values, metric="elapsed", unit="s", first=1):
    m = measure.Measurement("part", "case", "variant", metric, unit)
    for run, value in enumerate(values, first):
        m.values.append(value)
        m.by_run[run] = value
    m.summarise()
    return m


def covered(n, k):
    """By counting: in how many of the ways in which n values fall on either side
    of the median do the k-th smallest and the k-th largest enclose it?"""
    ways = itertools.product((False, True), repeat=n)
    return sum(k <= sum(way) <= n - k for way in ways) / 2 ** n


class Interval(unittest.TestCase):
    def test_rank_is_that_of_printed_tables(self):
        # critical values of the two-sided sign test at 5 %, plus one
        table = {5: 0, 6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 14: 3, 15: 4, 16: 4, 17: 5, 19: 5, 20: 6, 22: 6, 25: 8}
        self.assertEqual(table, {n: pairs.rank(n) for n in table})

    def test_covers_what_it_promises_and_is_the_narrowest(self):
        for n in range(6, 15):
            k = pairs.rank(n)
            self.assertGreaterEqual(covered(n, k), 0.95, n)
            self.assertLess(covered(n, k + 1), 0.95, n)

    def test_is_between_order_statistics(self):
        nine = pairs.Pairs((1.9, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 0.2))
        self.assertEqual((1.1, 1.7), nine.interval)
        self.assertEqual(1.4, nine.median)


class Verdict(unittest.TestCase):
    def test_few_pairs_say_so_and_never_noise(self):
        for n in range(1, 6):
            self.assertEqual(pairs.FEW, pairs.Pairs((1.5,) * n).verdict)
            self.assertEqual(pairs.FEW, pairs.Pairs((0.5,) + (1.5,) * (n - 1)).verdict)

    def test_six_that_agree_are_an_effect(self):
        self.assertEqual("", pairs.Pairs((1.01, 1.02, 1.01, 1.03, 1.02, 1.50)).verdict)
        self.assertEqual("", pairs.Pairs((0.99, 0.98, 0.97, 0.99, 0.98, 0.50)).verdict)

    def test_noise_is_where_the_interval_holds_1(self):
        self.assertEqual(pairs.NOISE, pairs.Pairs((0.99, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2)).verdict)
        self.assertEqual("", pairs.Pairs((0.99, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2)).verdict)
        self.assertEqual(pairs.NOISE, pairs.Pairs((1.0, 1.2, 1.2, 1.2, 1.2, 1.2)).verdict)

    def test_words(self):
        self.assertEqual("1.02 (1.01 to 1.50)", pairs.Pairs((1.01, 1.02, 1.01, 1.03, 1.02, 1.50)).words())
        self.assertEqual("1.19 times (1.18 to 1.68, too few pairs)", pairs.Pairs((1.68, 1.19, 1.18)).words(" times"))
        self.assertEqual("1.20 (0.99 to 1.20, noise)", pairs.Pairs((0.99,) + (1.2,) * 7).words())
        self.assertEqual("1.003 (1.002 to 1.004)", pairs.Pairs((1.002, 1.003, 1.003, 1.003, 1.004, 1.003)).words())
        self.assertEqual("1.30", pairs.Pairs((1.3,)).words())
        self.assertEqual("-", pairs.Pairs(()).words())

    def test_ways(self):
        self.assertEqual("5 of 5 faster", pairs.Pairs((1.02, 1.03, 1.05, 1.03, 1.02)).ways("faster", "slower"))
        self.assertEqual("2 of 3 slower", pairs.Pairs((0.96, 1.03, 0.94)).ways("faster", "slower"))
        self.assertEqual("1 of 3 slower", pairs.Pairs((1.0, 1.0, 0.94)).ways("faster", "slower"))


class WhatIsAPair(unittest.TestCase):
    def test_time_and_rate_count_the_same_way(self):
        self.assertEqual((2.0, 0.5), pairs.gains(runs(4, 1), runs(2, 2)).ratios)
        self.assertEqual((2.0, 0.5), pairs.gains(runs(2, 2, unit="GB/s"), runs(4, 1, unit="GB/s")).ratios)
        self.assertEqual((0.5, 2.0), pairs.quantities(runs(4, 1), runs(2, 2)).ratios)

    def test_runs_meet_their_own(self):
        self.assertEqual((2.0, 4.0), pairs.quantities(runs(1, 2, 3), runs(4, 12, first=2)).ratios)
        self.assertEqual(0, pairs.quantities(runs(1, 2), runs(4, first=3)).count)

    def test_what_the_clock_cannot_tell_is_equal(self):
        off, on = runs(0.50, 0.50, 0.50, metric="CPU"), runs(0.51, 0.52, 0.53, metric="CPU")
        self.assertEqual((1.0, 1.0, 1.06), pairs.quantities(off, on).ratios)
        self.assertEqual((1.02,), pairs.quantities(runs(0.50), runs(0.51)).ratios)
        self.assertFalse(pairs.resolved(runs(0.19, metric="CPU")))
        self.assertTrue(pairs.resolved(runs(0.21, metric="CPU")))
        self.assertTrue(pairs.resolved(runs(0.001)))

    def test_start_up_is_taken_off_every_run(self):
        self.assertEqual((2.0, 3.0), pairs.gains(runs(5, 7).less(runs(1, 1, 9)), runs(2, 2)).ratios)

    def test_sizes_are_pooled(self):
        both = pairs.pooled([pairs.Pairs((1.1, 1.2, 1.3)), pairs.Pairs((1.4, 1.5, 1.6))])
        self.assertEqual(6, both.count)
        self.assertEqual("", both.verdict)

    def test_second_select_of_2026(self):
        cpu = pairs.quantities(runs(0.76, 0.70, 0.67, metric="CPU"), runs(1.28, 0.83, 0.79, metric="CPU"))
        self.assertEqual(("1.19 (1.18 to 1.68, too few pairs)", "3 of 3 more"), (cpu.words(), cpu.ways("more", "less")))


if __name__ == "__main__":
    unittest.main()
