"""report_me.py: "how fast for me": 1 TB at the rates of this machine."""
TB = 1e12


def duration(gb_per_s):
    seconds = TB / (gb_per_s * 1e9)
    if seconds < 20 * 60:
        return f"{seconds / 60:.1f} minutes"
    return f"{seconds / 60:.0f} minutes" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} hours"


def rate(results, case, variant, metric="rate"):
    m = results.get(case, variant, metric)
    return (m.median, min(m.values), max(m.values)) if m and m.median > 0 else None


def backup_rate(results, variant):
    """GB/s of the largest backup into the blackhole."""
    cases = [c for c in results.cases("backup to blackhole of ") if "without" not in c]
    m = results.get(cases[-1], variant, "elapsed") if cases else None
    gb = int(cases[-1].split(" of ")[1].split(" ")[0]) / 1000 if cases else 0
    return (gb / m.median, gb / max(m.values), gb / min(m.values)) if m else None


def lines(parts):
    """(what, GB/s as median, least and most, or None, remark) in the order of a
    DBA's questions."""
    pages, wal, server = parts["pages"], parts["wal"], parts["server"]
    yield "reading 1 TB from this disk (dd, page cache dropped)", rate(pages, "cold", "dd bs=128k"), "one stream, the bound of one that verifies; a virtual disk's rate varies: compare the ranges"
    yield "verifying 1 TB of tables from this disk, server in use", rate(pages, "cold", "verify_relation_summary"), "verify_relation_summary, one core"
    yield "verifying 1 TB of tables, if the disk were no limit", rate(pages, "warm", "verify_relation_summary"), "from the page cache, one core"
    yield "the same with 2 workers", rate(pages, "warm", "verify_relation_summary 2 workers"), ""
    yield "pg_checksums --check from this disk, server stopped", rate(pages, "cold", "pg_checksums --check"), "for comparison; its start-up counts, which small sizes show"
    yield "verifying 1 TB of WAL", rate(wal, "pgbench", "auto", "throughput"), "verify_wal, one core, from the page cache"
    yield "reading 1 TB of WAL by pg_waldump -q", rate(wal, "pgbench", "pg_waldump", "throughput"), "for comparison"
    yield "pg_basebackup of 1 TB, server's own CRC-32C", backup_rate(server, "off"), "into the server's blackhole: CPU only, no disk, no network"
    yield "pg_basebackup of 1 TB, accelerate_server on", backup_rate(server, "on"), "the same"


def how_fast(parts):
    """The first table of the report, or None."""
    rows = [(what, f"{value[0]:.2f} GB/s", f"{value[1]:.2f} to {value[2]:.2f}", duration(value[0]), remark) for what, value, remark in lines(parts) if value]
    if not rows:
        return None
    return ("table", "How fast for me? 1 TB at the rates measured here", ("what", "rate", "of the runs", "1 TB takes", "remark"), rows, False)
