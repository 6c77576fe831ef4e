#!/usr/bin/env python3
"""report.py TOP FOLDER...: merges gcov's counts and judges them.

Every .gcda below the folders is read by gcov (JSON).  The same file compiled
several times, into the server and into unit tests, is merged: a line, function
or branch counts as covered when any of them ran it.

Branches are those that gcov sees at -O0: each way out of each condition, the
parts of && and || by themselves.  Left out are the branches on lines that
match SERVER_MACROS: they belong to the expansion of the server's macros (an
ereport has a way on which an error is not raised, SpinLockAcquire one for a
lock that is taken).

A run of uncovered lines needs a reason in reasons.txt: "file | a line of the
run or of the three before it | why".  A reason whose line is not in the file any more is an error.  A line
that only says elog() needs none: that is for what cannot happen.
Exits with 1 below the goals or when a reason is missing.
"""
import collections
import json
import os
import re
import subprocess
import sys

GOALS = (("functions", 100.0), ("lines", 95.0), ("branches", 90.0))
SERVER_MACROS = re.compile(
    r"\b(ereport|elog|CHECK_FOR_INTERRUPTS|PG_TRY|PG_CATCH|PG_FINALLY"
    r"|PG_END_TRY|PG_GETARG_\w+|VARDATA_ANY|VARSIZE_ANY_EXHDR|Assert"
    r"|PG_RETURN_\w+|PG_ENSURE_ERROR_CLEANUP|PG_END_ENSURE_ERROR_CLEANUP"
    r"|SpinLockAcquire|INSTR_TIME_\w+|RELKIND_HAS_\w+|VARATT_IS_\w+"
    r"|BufferGetPage|BufferIsValid|IsA)\b")


class Source:
    """What is known of one file."""

    def __init__(self, top, name):
        self.name = name
        self.lines = {}  # number: count
        self.functions = {}  # name: (first line, count)
        self.branches = collections.defaultdict(list)  # number: counts
        with open(os.path.join(top, name), encoding="utf-8") as file:
            self.text = [""] + file.read().split("\n")

    def add(self, data):
        for function in data["functions"]:
            name = function["name"]
            count = self.functions.get(name, (0, 0))[1]
            self.functions[name] = (function["start_line"],
                                    count + function["execution_count"])
        for line in data["lines"]:
            number = line["line_number"]
            self.lines[number] = self.lines.get(number, 0) + line["count"]
            if SERVER_MACROS.search(self.text[number]):
                continue
            counts = self.branches[number]
            for i, branch in enumerate(line["branches"]):
                if i == len(counts):
                    counts.append(0)
                counts[i] += branch["count"]

    def figures(self):
        """(covered, all) of functions, lines, branches"""
        def ratio(counts):
            counts = list(counts)
            return sum(1 for c in counts if c), len(counts)
        return (ratio(f[1] for f in self.functions.values()),
                ratio(self.lines.values()),
                ratio(c for counts in self.branches.values() for c in counts))

    def uncovered(self):
        """runs of uncovered lines: lists of numbers"""
        run = []
        for number in sorted(self.lines):
            if self.lines[number]:
                if run:
                    yield run
                run = []
            else:
                run.append(number)
        if run:
            yield run


def read_counts(top, folders):
    sources = {}
    for folder in folders:
        for root, _, names in os.walk(folder):
            counts = [n for n in names if n.endswith(".gcda")]
            if not counts:
                continue
            out = subprocess.run(
                ["gcov", "--json-format", "--branch-probabilities", "--stdout",
                 *counts], cwd=root, check=True, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL).stdout
            for document in out.decode().splitlines():
                for data in json.loads(document)["files"]:
                    match = re.search(r"(?:^|/)(src/.*)$", data["file"])
                    if not match or data["file"].startswith("/usr/") or \
                            data["file"].endswith(".def"):  # tests expand it
                        continue
                    name = os.path.normpath(match.group(1))
                    if name not in sources:
                        sources[name] = Source(top, name)
                    sources[name].add(data)
    return sources


def read_reasons(path, top):
    """(file, text): reason; ends the program when one is out of date"""
    reasons = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, text, reason = (part.strip() for part in line.split(" | "))
            with open(os.path.join(top, name), encoding="utf-8") as source:
                if text not in (known.strip() for known in source):
                    sys.exit(f"reasons.txt:{number}: no such line in {name}: {text}")
            reasons[name, text] = reason
    return reasons


def percent(pair):
    return 100.0 * pair[0] / pair[1] if pair[1] else 100.0


def print_row(name, figures):
    print(f"{name:34}" + "".join(
        f"{covered:6} of {count:5} {percent((covered, count)):6.1f} %"
        for covered, count in figures))


def print_uncovered(sources, reasons):
    """prints what did not run; returns how many runs have no reason"""
    missing = 0
    for name in sorted(sources):
        source = sources[name]
        for function, (first, count) in sorted(source.functions.items()):
            if not count:
                print(f"{name}:{first}: function {function} did not run")
        for run in source.uncovered():
            texts = [source.text[n].strip() for n in run]
            before = [t.strip() for t in source.text[max(run[0] - 3, 0):run[0]]]
            reason = next((reasons[name, t] for t in texts + before
                           if (name, t) in reasons), None)
            if all(re.match(r"elog\(", t) for t in texts):
                reason = "cannot happen"
            place = f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}"
            missing += reason is None
            print(f"{name}:{place}: {reason or 'NO REASON: ' + texts[0]}")
        if os.environ.get("BRANCHES"):
            for number, counts in sorted(source.branches.items()):
                if 0 in counts and source.lines[number]:
                    print(f"{name}:{number}: branches {counts}: "
                          f"{source.text[number].strip()}")
    return missing


def main():
    top, folders = sys.argv[1], sys.argv[2:]
    reasons = read_reasons(os.path.join(top, "test/coverage/reasons.txt"), top)
    sources = read_counts(top, folders)
    print(f"{'':34}{'functions':>17}{'lines':>18}{'branches':>21}")
    total = [(0, 0)] * len(GOALS)
    for name in sorted(sources):
        figures = sources[name].figures()
        if figures[1][1]:
            print_row(name, figures)
        total = [(a + c, b + d) for (a, b), (c, d) in zip(total, figures)]
    print_row("all", total)
    print()
    missing = print_uncovered(sources, reasons)
    bad = [f"{what} below {goal:.0f} %" for (what, goal), pair
           in zip(GOALS, total) if percent(pair) < goal or not pair[1]]
    if missing:
        bad.append(f"{missing} runs of lines without a reason in reasons.txt")
    print("coverage: " + ("FAILED: " + "; ".join(bad) if bad else "ok"))
    sys.exit(bool(bad))


main()
