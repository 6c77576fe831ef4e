#!/usr/bin/env python3
"""server_gains.py server.csv BACKUPS_A_YEAR

Sets off beside on for each case of the part `server`, and the talk's own pair,
sse42 beside avx512, and adds to the CSV what a schedule of backups saves in a
year (only where there is a gain): metric saved_a_year, for the size measured
and scaled to 1 TB.
"""
import re
import sys

import measure
import pairs


BETTER = {"off": "on", "sse42": "avx512"}


def saved(off, on, backups, scale):
    return (off.best - on.best) * backups * scale / 3600


def main(path, backups):
    found, _, _ = measure.read(path)
    rows = []
    print(f"{'case':90} {'first':>10} {'second':>10}     ratio")
    for (part, case, variant, metric), off in found.items():
        on = found.get((part, case, BETTER.get(variant), metric))
        if on is None:
            continue
        gain = pairs.gains(off, on)
        words = "" if off.unit == "%" else gain.words()
        megabytes = re.search(r"^backup .* (\d+) MB", case)
        if megabytes and metric == "elapsed" and not gain.verdict and gain.median > 1:
            per_year = saved(off, on, backups, 1)
            per_tb = saved(off, on, backups, 1e6 / int(megabytes[1]))
            rows.append((case, on.variant, "saved_a_year", "h", per_year))
            rows.append((case, on.variant, "saved_a_year_per_TB", "h", per_tb))
            words += f", {per_tb:.1f} h a year saved per TB and {backups} backups"
        label = f"{case}, {metric}: {variant}/{on.variant}"
        print(f"{label:90} {off.best:10.4g} {on.best:10.4g} {off.unit:3} {words}")
    with open(path, "a", encoding="utf-8") as f:
        for case, variant, metric, unit, value in rows:
            f.write(f"server,{case},{variant},{metric},{unit},0,{value:.4f}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))
