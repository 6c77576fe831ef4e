"""report_scale.py: how cost grows with the work, n, 4 n and 16 n."""

STEPS = ("n", "4n", "16n")


def growth(measured):
    """Of the whole from n to 16 n, 16 being linear, where there is a cost for each."""
    first, last = measured[0], measured[-1]
    if first.median == 0:
        return "-"
    times = last.median / first.median
    return f"{times * 16:.3g}" if first.unit == "us each" and first.metric != "a question" else f"{times:.3g}"


def in_unit(measured):
    """(unit, figures): microseconds where they are few, else the unit in which one reads them."""
    unit, factor = measured[0].unit.split()[0], 1
    if unit == "us":
        most = max(m.median for m in measured)
        unit, factor = ("s", 1e6) if most >= 1e6 else ("ms", 1e3) if most >= 1e3 else ("us", 1)
    return unit, [f"{m.median / factor:.3g}" for m in measured]


def part_scale(results, section, folder, plots):
    rows = []
    for case in results.cases():
        for metric in dict.fromkeys(m.metric for m in results.found.values() if m.case == case):
            measured = [results.get(case, step, metric) for step in STEPS]
            if all(measured):
                unit, figures = in_unit(measured)
                rows.append((case, f"{metric}, {unit}", *figures, growth(measured)))
    section.blocks.append(("table", "Cost by the number, and its growth from n to 16 n (16 is linear, 1 does not depend on it)",
                           ("case", "what", *STEPS, "growth"), rows, False))
    run, again = results.get("a run", "16n", "each relation"), results.get("a run with 2 workers", "16n", "each relation")
    old = results.get("a run beside an old snapshot", "16n", "each relation")
    if run and again and old:
        section.sentence = (f"A relation of one page costs a run {run.median:.0f} us, {old.median:.0f} us beside an old snapshot and "
                            f"{again.median:.0f} us with two workers, at the largest of three steps.")
