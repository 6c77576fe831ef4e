#!/usr/bin/env python3
"""server_gains.py server.csv BACKUPS_A_YEAR

Sets off beside on for each case of the part `server` and adds to the CSV what
a schedule of backups saves in a year (only where there is a gain): metric
saved_a_year, for the size measured and scaled to 1 TB.
"""
import re
import sys

import measure
import pairs


def saved(off, on, backups, scale):
    return (off.best - on.best) * backups * scale / 3600


def main(path, backups):
    found, _, _ = measure.read(path)
    rows = []
    print(f"{'case':74} {'off':>10} {'on':>10}   off/on")
    for (part, case, variant, metric), off in found.items():
        on = found.get((part, case, "on", metric))
        if variant != "off" or on is None:
            continue
        gain = pairs.gains(off, on)
        words = "" if off.unit == "%" else gain.words()
        megabytes = re.search(r"^backup .* (\d+) MB", case)
        if megabytes and metric == "elapsed" and not gain.verdict and gain.median > 1:
            per_year = saved(off, on, backups, 1)
            per_tb = saved(off, on, backups, 1e6 / int(megabytes[1]))
            rows.append((case, "saved_a_year", "h", per_year))
            rows.append((case, "saved_a_year_per_TB", "h", per_tb))
            words += f", {per_tb:.1f} h a year saved per TB and {backups} backups"
        print(f"{case + ', ' + metric:74} {off.best:10.4g} {on.best:10.4g} {off.unit:3} {words}")
    with open(path, "a", encoding="utf-8") as f:
        for case, metric, unit, value in rows:
            f.write(f"server,{case},on,{metric},{unit},0,{value:.4f}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))
