"""report_servers.py: the report's parts that measure whole servers."""
import re

import measure
import published


def plot_metric(section, folder, plots, results, name, metric, title, own, cases=None, caption=""):
    """Bars of one metric, a group a case."""
    groups = {}
    for case in cases if cases is not None else results.cases():
        values = {m.variant: (m.median, m.low, m.high) for m in results.variants(case, metric)}
        if values and any(v[0] > 0 for v in values.values()):
            groups[case] = values
    if not plots or not groups:
        return
    unit = next(m.unit for c in groups for m in results.variants(c, metric))
    plots.bars(folder, name, title, groups, own, f"{metric}, {unit}")
    section.blocks.append(("plot", name, caption or "Median of the runs; whiskers: their range."))


def plot_ratios(section, folder, plots, name, title, pairs, xlabel, invert=False):
    """pairs: (words, base, other): how many times better other is, run by run."""
    rows = []
    for words, a, b in pairs:
        gains = measure.pair_gains(a, b) if a and b else []
        if gains:
            gains = [1 / g for g in gains] if invert else gains
            rows.append((words, measure.statistics.median(gains), min(gains), max(gains), measure.is_noise_interleaved(a, b)))
    if plots and rows:
        plots.ratios(folder, name, title, rows, xlabel)
        section.blocks.append(("plot", name, "Median of the runs' ratios; whiskers: their range; grey: noise."))


def change(results, case, base, other, metric="elapsed"):
    """'1.23 times' with noise called noise, or '-'."""
    a, b = results.get(case, base, metric), results.get(case, other, metric)
    if not a or not b or a.median == 0 or b.median == 0:
        return "-"
    gain = measure.speedup(a, b)
    if measure.is_noise_interleaved(a, b):
        return f"{gain:.2f} times, within noise"
    return f"{gain:.2f} times as fast" if gain >= 1 else f"{1 / gain:.2f} times slower"


def ratio_words(results, case, base, other, metric):
    """other / base of a quantity, noise called noise."""
    a, b = results.get(case, base, metric), results.get(case, other, metric)
    if not a or not b:
        return "-"
    shown = f"{a.median:.4g} and {b.median:.4g} {a.unit}"
    if a.median == 0 or b.median == 0 or not 0.01 < b.median / a.median < 100:
        return shown
    return f"{shown}: {b.median / a.median:.2f} times" + (", within noise" if measure.is_noise_interleaved(a, b) else "")


def megabytes(case):
    found = re.search(r"of (\d+) MB", case)
    return int(found.group(1)) if found else 0


# --- pages -----------------------------------------------------------------

# what the project wants to be, times the other's rate
PAGES_WANTED = (("warm", "pg_checksums", 1.6), ("warm", "page_checksum", 5.0), ("warm", "pread loop", 0.9), ("cold", "dd", 1.0))


def part_pages(results, section, folder, plots):
    ours = "verify_relation_summary"
    own = [v for v in dict.fromkeys(m.variant for m in results.found.values()) if v.startswith(ours)]
    rows, offline = [], "-"
    for case in results.cases():
        for m in results.variants(case, "rate"):
            if m.variant == ours:
                continue
            wanted = next((w for c, v, w in PAGES_WANTED if c == case and m.variant.startswith(v)), "-")
            words = change(results, case, m.variant, ours, "rate")
            if m.variant.startswith("pg_checksums"):
                offline = words
            rows.append((case, m.variant, f"{m.median:.2f} and {results.get(case, ours, 'rate').median:.2f} GB/s", words, wanted))
    section.blocks.append(("table", "Published and measured", ("what", "published", "here"), [
        ("page checksum, auto-vectorised", f"\"{published.PAGES_WORDS}\" (talk)",
         f"another comparison: verify_relation_summary against pg_checksums --check with its start-up: {offline}")], False))
    section.blocks.append(("table", "verify_relation_summary beside what else reads or checks the same table",
                           ("cache", "the other", "its rate and ours", "ours", "wanted, times"), rows, False))
    plot_metric(section, folder, plots, results, "pages-rate", "rate", "Verifying a table, and what else reads it", own,
                caption="More is better. Median of the runs; whiskers: their range.")
    m = results.get("warm", ours, "rate")
    if m:
        section.sentence = (f"A table in use is verified at {m.median:.1f} GB/s on one core; against pg_checksums, which needs the server "
                            f"stopped: {offline}.")


# --- WAL -------------------------------------------------------------------

LOGS = {"pgbench": "pgbench", "small": "small records", "fpi": "full-page images"}


def part_wal(results, section, folder, plots):
    own = ["auto", "auto 2 workers", "sse42", "slicing8"]
    logs = [c for c in LOGS if results.get(c, "pg_waldump", "elapsed")]
    size = results.get("pgbench", "log", "bytes")
    user = {kernel: m for kernel in ("slicing8", "sse42", "auto") if (m := results.get("pgbench", kernel, "user"))}
    rows = [(words, " and ".join(f"{s} s" for s in seconds),
             f"{user[kernel].low:.3g} to {user[kernel].high:.3g} s ({kernel})" if kernel in user else "not measured")
            for words, kernel, seconds in published.WAL_USER]
    if "auto" in user:
        rows.append(("the best kernel of this CPU", "-", f"{user['auto'].low:.3g} to {user['auto'].high:.3g} s"))
    section.blocks.append(("table", f"User time over pgbench's log (hackers: 11 GB{f', here {size.median / 1e6:.0f} MB' if size else ''}; compare the ratios)",
                           ("CRC", "published (hackers)", "here"), rows, False))
    rows = [(LOGS[c], v, f"{results.get(c, 'pg_waldump', 'elapsed').median:.3g} and {m.median:.3g} s", change(results, c, "pg_waldump", v))
            for c in logs for v in own if (m := results.get(c, v, "elapsed"))]
    section.blocks.append(("table", "pg_waldump -q and verify_wal_directory: the same log",
                           ("log", "kernel", "pg_waldump, ours", "ours"), rows, False))
    plot_metric(section, folder, plots, results, "wal-throughput", "throughput", "Reading and verifying WAL", own, logs,
                "More is better. Median of the runs; whiskers: their range.")
    gains = [f"{LOGS[c]} {change(results, c, 'pg_waldump', 'auto')}" for c in logs if results.get(c, "auto", "elapsed")]
    if gains:
        section.sentence = ("Every record of archived WAL is verified, past damage too; against pg_waldump, which stops at the first "
                            "error, on one core: " + "; ".join(gains) + ".")


# --- server ----------------------------------------------------------------

def backup_row(size, origin, off, on, gain, without=""):
    return (f"{size:g} GB", origin, f"{off:g} s", f"{on:g} s", gain, without)


def backup_rows(results, plain):
    """Published and measured backups in one list by size: none is put beside
    another of another size."""
    rows = [(gb, backup_row(gb, "published (talk)", off, on, f"{off / on:.2f} times as fast")) for gb, off, on in published.BACKUPS]
    for case in plain:
        gb = megabytes(case) / 1000
        off, on = (float(f"{results.get(case, v, 'elapsed').median:.3g}") for v in ("off", "on"))
        rows.append((gb, backup_row(gb, "here", off, on, change(results, case, "off", "on"),
                                    change(results, case + " without page verification", "off", "on"))))
    return [row for _, row in sorted(rows)]


def part_server(results, section, folder, plots):
    backups = sorted((c for c in results.cases("backup to blackhole") if megabytes(c) and results.get(c, "off", "elapsed")), key=megabytes)
    plain = [c for c in backups if "without" not in c]
    section.blocks.insert(0, ("table", "pg_basebackup by size of the database: published and measured",
                              ("size", "origin", "SSE4.2, or off", "AVX-512, or on", "gain", "gain without page verification"),
                              backup_rows(results, plain), False))
    plot_metric(section, folder, plots, results, "server-elapsed", "elapsed", "accelerate_server off and on: time", ["on"],
                caption="Less is better. Median of the runs; whiskers: their range.")
    plot_metric(section, folder, plots, results, "server-rate", "rate", "accelerate_server off and on: transactions a second", ["on"],
                caption="More is better. Median of the runs; whiskers: their range.")
    if plain:
        largest = plain[-1]
        without = next((c for c in backups if "without" in c and megabytes(c) == megabytes(largest)), None)
        off, on = (results.get(largest, v, "elapsed").median for v in ("off", "on"))
        section.sentence = (f"A base backup of {megabytes(largest)} MB takes {off:.2g} s, with accelerate_server on {on:.2g} s: "
                            + change(results, largest, "off", "on"))
        section.sentence += f" (without page verification {change(results, without, 'off', 'on')})." if without else "."
        others = [c for c in results.cases() if c.startswith(("updates", "COPY", "pgbench", "prepared", "crash"))]
        quiet = [c for c in others for metric in ("elapsed", "rate", "redo")
                 if (a := results.get(c, "off", metric)) and (b := results.get(c, "on", metric)) and measure.is_noise_interleaved(a, b)]
        if quiet:
            section.sentence += f" Within noise: {', '.join(dict.fromkeys(quiet))}."


# --- dump ------------------------------------------------------------------

def part_dump(results, section, folder, plots):
    rows, best = [], (0, None, None)
    for case in results.cases("pg_dump "):
        gzip, gzip_size = results.get(case, "gzip:6", "rate"), results.get(case, "gzip:6", "size")
        for m in results.variants(case, "rate"):
            size = results.get(case, m.variant, "size")
            if not gzip or not size:
                continue
            relative, relative_size = m.median / gzip.median, size.median / gzip_size.median
            noise = ", noise" if m is not gzip and measure.is_noise_interleaved(gzip, m) else ""
            rows.append((case, m.variant, f"{m.median:.1f}", f"{relative:.2f}{noise}", f"{size.median:.1f}", f"{relative_size:.2f}"))
            if relative_size <= 1.25 and relative > best[0]:
                best = (relative, m.variant, relative_size)
    section.blocks.append(("table", "Throughput and size, normalised to gzip at level 6",
                           ("case", "method", "MB/s", "to gzip:6", "size, MB", "size to gzip:6"), rows, False))
    section.blocks.append(("table", "Published: hardware that is not here, as throughput at the same number of jobs",
                           ("compared with", "hardware", "published (zlib-accel)", "cost in size"), published.DUMP, False))
    plot_metric(section, folder, plots, results, "dump-rate", "rate", "pg_dump -Fd: MB of database a second", ["none"])
    if best[1]:
        section.sentence = (f"A dump with {best[1]} is {best[0]:.1f} times as fast as with pg_dump's default, at {best[2]:.2f} times the size; "
                            "the CRC-32C of every dump file is kept in `dump-crc32c.csv`, so a changed dump shows later.")
