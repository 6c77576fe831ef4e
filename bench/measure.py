"""measure.py: results of the benchmarks, read and judged.

A measurement is a set of runs of one (part, case, variant, metric).  bench_kernels
has too many rounds to keep and writes their minimum, median and maximum instead
(metrics ns_min, ns_median, ns_max): these become one measurement of metric ns.
Rows of metric "note" tell about the run: revision, time, machine, settings.
"""
import csv
import re
import statistics
from dataclasses import dataclass, field, replace

COLUMNS = ["part", "case", "variant", "metric", "unit", "run", "value"]
TRIPLE = ("ns_min", "ns_median", "ns_max")
# units of which more is better; of all others less is
MORE_IS_BETTER = ("/s", "x", "tps")


@dataclass
class Measurement:
    part: str
    case: str
    variant: str
    metric: str
    unit: str
    values: list = field(default_factory=list)  # of the runs; empty for a triple
    by_run: dict = field(default_factory=dict)  # run -> its first value
    low: float = 0.0
    median: float = 0.0
    high: float = 0.0
    outliers: list = field(default_factory=list)  # left out of the range, shown beside it
    rounds: int = 0

    @property
    def key(self):
        return (self.part, self.case, self.variant, self.metric)

    @property
    def triple(self):
        return not self.values

    @property
    def cold(self):
        """From memory, where a fast round is one that met data in a cache."""
        return self.triple and ("cold" in self.case or "in a set of" in self.case)

    @property
    def best(self):
        """What comparisons use: the minimum of many rounds, the median of few runs
        and of cold data."""
        return self.low if self.triple and not self.cold else self.median

    @property
    def spread(self):
        """How far the measurement may be off, as a fraction of it."""
        if self.best == 0:
            return 0.0
        if self.triple:
            return abs(self.median - self.low) / self.best
        return (self.high - self.low) / 2 / abs(self.best)

    @property
    def more_is_better(self):
        return self.unit.endswith(MORE_IS_BETTER)

    def less(self, start):
        """Without a program's start-up, the median of its runs."""
        rest = replace(self, values=[v - start.median for v in self.values], outliers=[],
                       by_run={run: v - start.median for run, v in self.by_run.items()})
        rest.summarise()
        return rest

    def minus(self, part):
        """What is left of each run without a part of it."""
        rest = replace(self, by_run={run: v - part.by_run[run] for run, v in self.by_run.items() if run in part.by_run}, outliers=[])
        rest.values = list(rest.by_run.values())
        rest.summarise()
        return rest

    def summarise(self):
        kept, self.outliers = without_outliers(self.values)
        self.low, self.high = min(kept), max(kept)
        self.median = statistics.median(self.values)
        self.rounds = len(self.values)


def without_outliers(values):
    """(kept, outliers).  An outlier lies further from the median than five median
    deviations and 10 %: one hiccup of a neighbour.  At most one run of five may
    be one; where more lie that far off, the measurement is wide and keeps all."""
    middle = statistics.median(values)
    deviation = statistics.median(abs(v - middle) for v in values)
    limit = max(5 * deviation, 0.1 * abs(middle))
    far = [v for v in values if abs(v - middle) > limit]
    if len(far) > len(values) // 5:
        return values, []
    return [v for v in values if abs(v - middle) <= limit], far


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as f:
        reader = csv.DictReader(f)
        if reader.fieldnames != COLUMNS:
            raise ValueError(f"{path}: columns are {reader.fieldnames}, expected {COLUMNS}")
        for number, row in enumerate(reader, 2):
            if None in row or None in row.values():
                raise ValueError(f"{path}, line {number}: not {len(COLUMNS)} columns")
            yield row


def read(path):
    """{key: Measurement} in the file's order, [(case, variant, reason)] of what
    could not run, and [(key, value)] of the notes about the run."""
    found, missing, notes = {}, [], []
    for row in read_rows(path):
        if row["metric"] == "missing":
            missing.append((row["case"], row["variant"], row["value"]))
        elif row["metric"] == "note":
            notes.append((row["variant"], row["value"]))
        else:
            add(found, row)
    for m in found.values():
        if m.values:
            m.summarise()
    return found, missing, notes


def add(found, row):
    metric = "ns" if row["metric"] in TRIPLE else row["metric"]
    key = (row["part"], row["case"], row["variant"], metric)
    m = found.setdefault(key, Measurement(*key, row["unit"]))
    value = float(row["value"])
    if row["metric"] in TRIPLE:
        setattr(m, ("low", "median", "high")[TRIPLE.index(row["metric"])], value)
        m.rounds = int(row["run"])
    else:
        m.values.append(value)
        m.by_run.setdefault(int(row["run"]), value)


def is_noise(a, b, least=0.0):
    """For results that were not measured side by side (else pairs.py): true when
    they differ by no more than their spreads, or what their clock or counter
    resolves, allow."""
    if a.best == 0 and b.best == 0 or abs(a.best - b.best) <= least_difference(a):
        return True
    difference = abs(a.best - b.best) / max(min(abs(a.best), abs(b.best)), 1e-300)
    return difference <= max(a.spread + b.spread, least)


TICK = 0.01  # seconds: what the kernel counts CPU in
CPU_TIME = re.compile(r"\b(cpu|user|system)\b", re.I)  # however a part spells it


VOLUMES = ("WAL", "read", "written")  # in MB: less than one is housekeeping


def least_difference(m):
    """Up to what two values are the same: two ticks of CPU time, 1 MB of I/O."""
    if m.unit == "s" and CPU_TIME.search(m.metric):
        return 2 * TICK + 1e-9  # values are decimal fractions
    return 1 if m.unit == "MB" and m.metric in VOLUMES else 0


def speedup(a, b):
    """How many times better b is than a (above 1: b wins)."""
    if a.best == 0 or b.best == 0:
        return float("nan")
    return b.best / a.best if a.more_is_better else a.best / b.best
