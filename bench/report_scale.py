"""report_scale.py: how cost grows with the work, n, 4 n and 16 n."""

STEPS = ("n", "4n", "16n")


def growth(measured):
    """Of the whole from n to 16 n, 16 being linear, where there is a cost for each."""
    first, last = measured[0], measured[-1]
    if first.median == 0:
        return "-"
    times = last.median / first.median
    return f"{times * 16:.3g}" if first.unit == "us each" and first.metric != "a question" else f"{times:.3g}"


def part_scale(results, section, folder, plots):
    rows = []
    for case in results.cases():
        for metric in dict.fromkeys(m.metric for m in results.found.values() if m.case == case):
            measured = [results.get(case, step, metric) for step in STEPS]
            if all(measured):
                rows.append((case, f"{metric}, {measured[0].unit.split()[0]}", *(f"{m.median:.3g}" for m in measured), growth(measured)))
    section.blocks.append(("table", "Cost by the number, and its growth from n to 16 n (16 is linear, 1 does not depend on it)",
                           ("case", "what", *STEPS, "growth"), rows, False))
    run, again = results.get("a run", "16n", "each relation"), results.get("a run with 2 workers", "16n", "each relation")
    old = results.get("a run beside an old snapshot", "16n", "each relation")
    if run and again and old:
        section.sentence = (f"A relation of one page costs a run {run.median:.0f} us, {old.median:.0f} us beside an old snapshot and "
                            f"{again.median:.0f} us with two workers, at the largest of three steps.")
