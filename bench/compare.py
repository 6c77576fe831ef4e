#!/usr/bin/env python3
"""compare.py OLD NEW [--threshold PERCENT] [--all]

Compares two results of the same benchmark part (CSV files), or two reports
(folders of bench/run.sh: of two revisions, or of two PostgreSQL versions), and
tells a regression from noise: a change counts when it exceeds the spreads of
both measurements and the threshold (default 5 %).  Prints what changed (--all:
everything) and what is only in one of them; exit status 1 when something became
slower, 2 on bad input.  Absolute figures compare on one machine only: where the
machines differ, it says so.
"""
import argparse
import math
import os
import re
import sys

import measure

NEUTRAL = ("limit",)


def verdict(old, new, threshold):
    if measure.is_noise(old, new, threshold):
        return "noise"
    return "better" if (new.best > old.best) == old.more_is_better else "WORSE" # also of 0


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


def size_alike(key):
    """Sizes in names to two digits: databases of two versions differ by some MB."""
    return tuple(re.sub(r"\d+(?= MB)", lambda m: f"{float(m[0]):.2g}", part) for part in key)


def files_of(old, new):
    """[(old file, new file)]: the two, or those that both folders have."""
    if not os.path.isdir(old) or not os.path.isdir(new):
        return [(old, new)]
    names = sorted(n for n in os.listdir(old) if n.endswith(".csv") and "-" not in n and os.path.exists(os.path.join(new, n)))
    return [(os.path.join(old, n), os.path.join(new, n)) for n in names]


def print_runs(old_notes, new_notes):
    """What the two runs were, where they tell."""
    old, new = dict(old_notes), dict(new_notes)
    for key in ("revision", "started", "server", "machine", "size"):
        if old.get(key) != new.get(key):
            print(f"# {key}: {old.get(key, '-')} | {new.get(key, '-')}")
    if old.get("machine") != new.get("machine"):
        print("# these are two machines: only ratios within each compare")


def print_rows(rows, everything):
    for what, key, a, b in rows:
        if what == "noise" and not everything:
            continue
        change = measure.speedup(a, b) if a and b else math.nan
        print(f"{what:9}{' / '.join(key[1:]):60} {figure(a):>24} -> {figure(b):>24}"
              + ("" if math.isnan(change) else f"  {change:.2f} times as good"))


def compare_files(old_file, new_file, options):
    """{verdict: count}, or None where they have nothing in common."""
    old, _, old_notes = measure.read(old_file)
    new, _, new_notes = measure.read(new_file)
    old, new = ({size_alike(key): m for key, m in found.items()} for found in (old, new))
    if not set(old) & set(new):
        return None
    print(f"# {old_file} and {new_file}")
    print_runs(old_notes, new_notes)
    rows = compare(old, new, options.threshold / 100)
    print_rows(rows, options.all)
    return {what: sum(row[0] == what for row in rows) for what in ("WORSE", "better", "noise")}


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--threshold", type=float, default=5.0, metavar="PERCENT")
    parser.add_argument("--all", action="store_true", help="also what is within noise")
    options = parser.parse_args(argv)
    try:
        counts = [c for pair in files_of(options.old, options.new) if (c := compare_files(*pair, options))]
    except (OSError, ValueError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    if not counts:
        print("compare.py: the two have no measurement in common", file=sys.stderr)
        return 2
    worse, better, noise = (sum(c[what] for c in counts) for what in ("WORSE", "better", "noise"))
    print(f"{worse} worse, {better} better, {noise} within noise")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
