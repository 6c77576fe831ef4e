#!/usr/bin/env python3
"""compare.py OLD.csv NEW.csv [--threshold PERCENT] [--all]

Compares two results of the same benchmark part and tells a regression from
noise: a change counts when it exceeds the spreads of both measurements and the
threshold (default 5 %).  Prints what changed (--all: everything) and what is
only in one of them; exit status 1 when something became slower, 2 on bad input.
Compare results of one machine only.
"""
import argparse
import math
import sys

import measure

NEUTRAL = ("limit",)


def verdict(old, new, threshold):
    if measure.is_noise(old, new, threshold):
        return "noise"
    return "better" if measure.speedup(old, new) > 1 else "WORSE"


def compare(old, new, threshold):
    """[(verdict, key, old, new)], regressions first."""
    rows = []
    for key in list(old) + [k for k in new if k not in old]:
        a, b = old.get(key), new.get(key)
        if a and a.metric in NEUTRAL or b and b.metric in NEUTRAL:
            continue
        if a is None or b is None:
            rows.append(("only new" if a is None else "only old", key, a, b))
        else:
            rows.append((verdict(a, b, threshold), key, a, b))
    order = ["WORSE", "better", "only old", "only new", "noise"]
    return sorted(rows, key=lambda row: order.index(row[0]))


def figure(m):
    return f"{m.best:.4g} {m.unit} ±{m.spread:.0%}" if m else "-"


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--threshold", type=float, default=5.0, metavar="PERCENT")
    parser.add_argument("--all", action="store_true", help="also what is within noise")
    options = parser.parse_args(argv)
    try:
        old, _, _ = measure.read(options.old)
        new, _, _ = measure.read(options.new)
    except (OSError, ValueError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    if not set(old) & set(new):
        print("compare.py: the two files have no measurement in common", file=sys.stderr)
        return 2
    rows = compare(old, new, options.threshold / 100)
    for what, key, a, b in rows:
        if what == "noise" and not options.all:
            continue
        change = measure.speedup(a, b) if a and b else math.nan
        print(f"{what:9}{' / '.join(key[1:]):60} {figure(a):>24} -> {figure(b):>24}"
              + ("" if math.isnan(change) else f"  {change:.2f} times as good"))
    counts = {what: sum(row[0] == what for row in rows) for what in ("WORSE", "better", "noise")}
    print(f"{counts['WORSE']} worse, {counts['better']} better, {counts['noise']} within noise")
    return 1 if counts["WORSE"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
