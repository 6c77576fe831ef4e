"""report_parts.py: what each part of the report says.

build() makes a section from a part's results.  Every part has the generic
tables (each case, variant and metric, judged against the case's first variant);
a function named part_<name> adds sentence, published figures, plots and tables.
"""
import re
import traceback
from dataclasses import dataclass, field

import measure
import pairs
import report_checksums
import report_kernels
import report_scale
import report_servers

PARTS = ["pages", "wal", "backup", "program", "checksums", "server", "recovery", "recover", "dump", "scale", "kernels"]

TITLES = {
    "kernels": "Kernels: the checksum itself",
    "pages": "Pages: verifying a table while the server works",
    "wal": "WAL: verifying every record",
    "backup": "Backups: verifying files, pages and WAL",
    "program": "crc32c_verify: without a server",
    "server": "Server: PostgreSQL's own CRC-32C accelerated",
    "checksums": "Data checksums: what they cost",
    "recovery": "Recovery: a backup taken under load",
    "recover": "Recover: blocks beside a whole restore",
    "dump": "Dump: pg_dump by compression method",
    "scale": "Scale: how cost grows with the work",
}

EXTRAS = {
    "kernels": report_kernels.part_kernels,
    "pages": report_servers.part_pages,
    "wal": report_servers.part_wal,
    "backup": report_servers.part_backup,
    "program": report_servers.part_program,
    "server": report_servers.part_server,
    "checksums": report_checksums.part_checksums,
    "recovery": report_servers.part_recovery,
    "recover": report_servers.part_recover,
    "dump": report_servers.part_dump,
    "scale": report_scale.part_scale,
}

HIDDEN_NOTES = ("failed", "seconds", "command", "revision", "started", "load", "size", "machine")


@dataclass
class Results:
    part: str
    found: dict  # key -> Measurement
    missing: list  # (case, variant, reason)
    notes: list  # (key, value)

    def note(self, key, default=""):
        return dict(self.notes).get(key, default)

    def get(self, case, variant, metric="ns"):
        return self.found.get((self.part, case, variant, metric))

    def cases(self, prefix=""):
        return list(dict.fromkeys(m.case for m in self.found.values() if m.case.startswith(prefix)))

    def variants(self, case, metric):
        return [m for m in self.found.values() if m.case == case and m.metric == metric]


@dataclass
class Section:
    part: str
    title: str
    sentence: str
    blocks: list = field(default_factory=list)
    footer: str = ""


def build(results, folder, plots):
    section = Section(results.part, TITLES[results.part], "")
    failed = results.note("failed")
    if not results.found:
        reasons = "; ".join(f"{case}, {variant}: {why.strip()}" for case, variant, why in results.missing)
        section.sentence = f"Did not run here: {failed or reasons or 'it gave no results'}."
        return section
    if failed:
        section.blocks.append(("text", f"This part ended early: {failed}."))
    if words := crowded(results):
        section.blocks.append(("text", words))
    add_extras(results, section, folder, plots)
    section.sentence = section.sentence or "See the tables."
    if results.part != "kernels":
        section.blocks += generic_tables(results)
    if results.missing:
        section.blocks.append(("table", "What could not run here", ("case", "variant", "why"), results.missing, False))
    section.footer = footer(results)
    return section


def crowded(results):
    """Said where a part began on a machine that had other work for all its CPUs."""
    load, cpus = re.match(r"[0-9.]+", results.note("load")), re.search(r"(\d+) CPUs?\b", results.note("machine"))
    if not load or not cpus or float(load[0]) <= int(cpus[1]):
        return ""
    return (f"The machine had other work when this part began (load {float(load[0]):.3g}, {cpus[0]}): its times are longer than on an idle one, "
            "and vary more.")


def add_extras(results, section, folder, plots):
    """A part that ended early lacks cases: then the generic tables must do.  An
    error of ours is shown, too: an hour of measuring must not end without a report."""
    try:
        EXTRAS.get(results.part, lambda *_: None)(results, section, folder, plots)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        section.sentence = "Not all of its cases were measured."
        if not results.note("failed"):
            traceback.print_exc()
            section.sentence = "Its own tables could not be made, by a fault of bench/report.py; all measurements are in the last one."


def footer(results):
    """When, where and how this part ran, and its notes: settings, versions."""
    words = [f"{key}: {value}." for key, value in results.notes if key not in HIDDEN_NOTES and not key.startswith(report_kernels.VERSION)]
    run = ", ".join(f"{key} {results.note(key)}" for key in ("revision", "started", "machine", "load") if results.note(key))
    return (f"This part's run: {run}. To repeat: `{results.note('command')}` ({results.note('seconds', '?')} s). "
            f"Raw data: `{results.part}.csv`. " + " ".join(words))


def figure(m):
    value = f"{m.median:.4g}" if abs(m.median) < 1e6 else f"{m.median:,.0f}"
    return f"{value} {m.unit}".strip()


def span(m):
    """The range over runs, outliers told apart."""
    if m.rounds < 2:
        return "one run"
    words = f"{m.low:.4g} to {m.high:.4g}"
    return words + (f"; outlier {', '.join(f'{v:.4g}' for v in m.outliers)}" if m.outliers else "")


def against(base, m):
    if m is base:
        return "1"
    if m.median == 0 or base.median == 0:
        return "-"
    if not 0.001 < m.median / base.median < 1000:
        return "-"
    shared = pairs.quantities(base, m)
    return shared.words() if shared.count else f"{m.median / base.median:.2f}"


def generic_tables(results):
    """One table a metric: what was measured in which case, with its range."""
    rows = []
    for case in results.cases():
        metrics = list(dict.fromkeys(m.metric for m in results.found.values() if m.case == case))
        for metric in metrics:
            measured = results.variants(case, metric)
            for m in measured:
                base = next(b for b in measured if b.unit == m.unit)
                rows.append((case, metric, m.variant, figure(m), span(m), m.rounds, against(base, m)))
    return [("table", "All measurements (ratio: to the first variant of the case)",
             ("case", "metric", "variant", "median", "range", "runs", "ratio"), rows, len(rows) > 24)]


def targets(kernels):
    """The last section, for whoever works on the project."""
    table = report_kernels.targets(kernels) if kernels and not kernels.note("failed") else None
    if not table:
        return None
    return Section("targets", "For developers: the project's own targets",
                   "Goals that the project sets itself for its kernels; users need none of this.", [table])
