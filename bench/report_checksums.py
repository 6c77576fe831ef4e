"""report_checksums.py: what data checksums cost, and the study of 2019."""
import pairs
import published
from report_servers import plot_ratios

OLTP = "OLTP"
WHOLE = "OLTP with final VACUUM and CHECKPOINT"
SPIKE = "the final VACUUM and CHECKPOINT alone"
OFF, ON, HINTS = "off", "on", "off + wal_log_hints"
COSTS = (("insert", ("elapsed", "CPU", "WAL", "written")), ("first SELECT", ("elapsed", "CPU", "WAL", "written")),
         ("second SELECT", ("elapsed", "CPU", "WAL")), ("dump of fresh rows", ("elapsed", "CPU", "WAL", "written")),
         ("dump of read rows", ("elapsed", "CPU", "WAL")), (OLTP, ("CPU", "WAL", "read")),
         (WHOLE, ("CPU", "WAL", "written")), (SPIKE, ("WAL", "written")), ("OLTP 9 reads to 1 write", ("CPU", "WAL")),
         ("OLTP 9 reads to 1 write with final VACUUM and CHECKPOINT", ("CPU", "WAL", "written")),
         ("read-only from cache", ("elapsed", "CPU")), ("data logging", ("CPU", "WAL", "written")),
         ("ETL", ("elapsed", "CPU", "WAL", "written")))
FILE, PAGE = "checksum of 1 GB", "page checksum in cache"
CORRECTIONS = (
    "Two things that the study takes for granted are otherwise. It says that PostgreSQL checksums pages with CRC-32 and estimates the CPU "
    "from `cksum`: the page checksum is 32 parallel FNV-1a lanes, which a compiler can vectorise, and costs far less than POSIX `cksum`. "
    "It says that WAL files are not checksummed: every WAL record carries a CRC-32C, with and without data checksums.")
WARM = ("The OLTP transactions of this run read nothing from the disk. Those of the study began with a cold cache, and its reads declined as shared "
        "buffers filled.")


def times(a, b):
    """b in multiples of a, run by run; nothing is said to be so."""
    if not a or not b:
        return "-"
    least = 1 if a.unit == "MB" else 0.01
    if a.median < least and b.median < least:
        return "none"
    if a.median < 0.01 or b.median / a.median > 1000:
        return f"{b.median:.4g} {b.unit} more"
    return pairs.quantities(a, b).words(" times")


def figure(m):
    return f"{m.median:.4g} {m.unit}" if m else "-"


def measured(results, case, variant, metric):
    """A measurement; the spike at the end is what the whole has beyond the transactions."""
    if case != SPIKE:
        return results.get(case, variant, metric)
    whole, part = results.get(WHOLE, variant, metric), results.get(OLTP, variant, metric)
    return whole.minus(part) if whole and part else None


def cost_table(results):
    rows = []
    for case, metrics in COSTS:
        for metric in metrics:
            off, on, hints = (measured(results, case, v, metric) for v in (OFF, ON, HINTS))
            if off and on:
                rows.append((case, metric, figure(off), figure(on), figure(hints), times(off, on), times(off, hints)))
    return ("table", "What would data checksums cost me?",
            ("work", "of what", "off", "on", "off, wal_log_hints on", "checksums", "wal_log_hints alone"), rows, False)


def study_table(results):
    rows = [("cksum over 1 GB", "rate", published.CKSUM, rate_words(results, FILE, "cksum"))]
    for case, metric, words in published.STUDY:
        off, on = measured(results, case, OFF, metric), measured(results, case, ON, metric)
        rows.append((case, metric, words, f"{figure(off)} and {figure(on)}: {times(off, on)}" if off and on else "not in this run"))
    first = [results.get("first SELECT", v, "WAL") for v in (ON, HINTS)]
    rows.append(("wal_log_hints without checksums", "WAL of the first SELECT", published.HINTS_WORDS,
                 f"{figure(first[1])}, with checksums {figure(first[0])}" if all(first) else "-"))
    return ("table", "The study of 2019 and here: off and on", ("work", "of what", "published (study)", "here"), rows, False)


def rate_words(results, case, prefix):
    return "; ".join(f"{m.variant} {m.median:,.0f} MB/s" for m in results.variants(case, "rate") if m.variant.startswith(prefix)) or "-"


def rate_table(results):
    rows = [(what, m.variant, f"{m.median:,.0f} MB/s") for case, what in ((FILE, "1 GB from the page cache"), (PAGE, "8 kB pages in the CPU's cache"))
            for m in results.variants(case, "rate")]
    return ("table", "How fast a core computes a checksum", ("of what", "by what", "rate"), rows, False)


def part_checksums(results, section, folder, plots):
    section.blocks += [cost_table(results), study_table(results), ("text", CORRECTIONS), rate_table(results)]
    if (reads := results.get(OLTP, OFF, "read")) and reads.median < 1:
        section.blocks.insert(2, ("text", WARM))
    costs = [(f"{case}: {metric}", results.get(case, OFF, metric), results.get(case, ON, metric))
             for case, metrics in COSTS for metric in metrics if metric in ("elapsed", "CPU")]
    plot_ratios(section, folder, plots, "checksums-cost", "Data checksums: time and CPU, on against off", costs,
                "with checksums, times without (above 1: checksums cost)", invert=True)
    elapsed = [figure(results.get("first SELECT", v, "elapsed")) for v in (OFF, ON)]
    wal = [figure(results.get("first SELECT", v, "WAL")) for v in (OFF, ON, HINTS)]
    second = [pairs.quantities(results.get("second SELECT", OFF, m), results.get("second SELECT", ON, m)).words() for m in ("elapsed", "CPU")]
    section.sentence = (f"The first SELECT after a load takes {elapsed[0]} without and {elapsed[1]} with data checksums, because hint bits are "
                        f"logged: {wal[0]} and {wal[1]} of WAL ({wal[2]} with wal_log_hints alone). The second SELECT, with checksums in multiples of without: time {second[0]}, CPU {second[1]}.")
