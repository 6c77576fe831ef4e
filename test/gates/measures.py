#!/usr/bin/env python3
"""measures.py SRC: functions stay small.

Prints median, 90th percentile and maximum of the lines between a function's braces.
The last two are bounded. Generated files are left out.
"""
import re
import statistics
import sys
from pathlib import Path

P90, MOST = 25, 62


def functions(path):
    """(lines, name) per function: its braces stand alone, in the first column."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for start, line in enumerate(lines):
        if line == "{" and lines[start - 1].rstrip().endswith(")"):
            name = next(text for text in reversed(lines[:start])
                        if re.match(r"[A-Za-z_]", text))
            yield lines.index("}", start) - start - 1, name.split("(")[0].strip()


def main(src):
    """The three figures, and what is above them."""
    found = sorted((length, path.name, name)
                   for path in Path(src).rglob("*.[ch]") if ".auto." not in path.name
                   for length, name in functions(path))
    lengths = [length for length, _, _ in found]
    median, p90 = statistics.median(lengths), lengths[int(len(lengths) * 0.9)]
    print(f"measures: {len(found)} functions, median {median:g}, p90 {p90}, max {lengths[-1]} lines")
    for length, file, name in found:
        if length > MOST:
            print(f"measures: {file}: {name}: {length} lines")
    return p90 > P90 or lengths[-1] > MOST


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
