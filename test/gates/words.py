#!/usr/bin/env python3
"""words.py FILE...: measures the prose of documents.

Per file: mean words per sentence below 15, below 5 % of the sentences over 30
words.  A forbidden word or a dead link is a fault wherever it stands.  Code,
tables, headings and comments are no prose; words are looked for in tables and
headings too.
"""
import os
import re
import sys

MEAN, LONG, SHARE = 15, 30, 0.05

# (pattern, what to write instead); exceptions stand in the pattern
FORBIDDEN = [
    (r"\bbehind\b", "after, beyond"),
    (r"\b(write-ahead log|of log\b|former log|older log|log of (PostgreSQL|a timeline))", "WAL"),
    (r"\blinks? to the record before", "prev-link"),
    (r"\bthe definition\b", "the bitwise reference"),
    (r"\bstrangers?\b", "unrelated"),
    (r"\b(carry-less |VPCLMULQDQ |straight )products\b", "carry-less multiplications"),
    (r"\babandoned record", "aborted contrecord"),
    (r"\blooks? at interrupts", "checks for interrupts"),
    (r"\banother look\b", "pass"),
    (r"\bone (row|line|transaction|job|file|block) an? \w+", "per"),
    (r"\b(row|finding|test|row|kernel|line)s? an? (finding|relation|fork|session|kernel|segment|block|call|script|run)\b", "per"),
    (r"\b(one a transaction|ns a page|a step|seconds? a read)\b", "per"),
    (r"(?:^|[.;:] )(Who|Whoever|What|Whatever) [a-z]+s? [^.?]{3,60}(?:,|is|needs|waits)\b(?![^.]*\?)", "a subject"),
    (r"\bat the speed of the hardware\b", "a figure"),
    (r"\bhonest\b", "nothing"),
    (r"\bis to come\b", "xlp_rem_len, remaining"),
    (r"\b(dies|die) of an?\b", "crashes with"),
    (r"\blesser CPU", "older CPU"),
    (r"\bunknown kernel", "unrecognized kernel"),
]


def prose(lines):
    """(line number, text, is it running text) outside of code and comments."""
    code = comment = False
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*```", line):
            code = not code
            continue
        if code:
            continue
        comment = comment or line.startswith("<!--")
        if comment:
            comment = "-->" not in line
            continue
        yield number, line, not re.match(r"\s*(\||#|!\[)", line)


def plain(text):
    """Without markup; what is quoted as code counts as one word."""
    text = re.sub(r"`[^`]*`", "x", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text.replace("**", "")


def sentences(lines):
    """(line number, words) per sentence; items of a list end like sentences."""
    block, start = "", 0
    for number, line, running in [*prose(lines), (0, "", False)]:
        item = re.match(r"\s*([-*]|\d+\.) ", line)
        if not running or not line.strip() or item:
            yield from cut(start, block)
            block = ""
        if running and line.strip():
            if not block:
                start = number
            block += " " + (line[item.end():] if item else line)


def cut(start, block):
    """The sentences of a paragraph."""
    for part in re.split(r"(?<=[.?!:;])(?:\*\*)?\s+(?=[A-Z`*\"(]|[a-z])", plain(block)):
        words = re.findall(r"[\w'/+.-]*\w[\w'/+.-]*", part)
        # a colon or a semicolon ends a thought, not a sentence
        if words:
            yield start, words, bool(re.search(r"[.?!)]\W*$", part))


def joined(parts):
    """Joins what colons and semicolons separated: sentences end at a full stop."""
    words, start = [], 0
    for number, part, ends in parts:
        if words and number != start:
            yield start, words
            words = []
        start = number
        words = words + part
        if ends:
            yield start, words
            words = []
    if words:
        yield start, words


def measure(name, lines):
    """Faults of the sentences of a file."""
    found = [(n, len(w), " ".join(w)) for n, w in joined(sentences(lines))]
    if not found:
        return
    mean = sum(n for _, n, _ in found) / len(found)
    long = [s for s in found if s[1] > LONG]
    print(f"{name}: {len(found)} sentences, {mean:.1f} words in the mean, "
          f"{100 * len(long) / len(found):.1f} % over {LONG}")
    if mean >= MEAN or len(long) / len(found) >= SHARE:
        yield f"{name}: mean must be below {MEAN}, at most {SHARE:.0%} over {LONG} words; the longest:"
        for number, count, text in sorted(found, key=lambda s: -s[1])[:10]:
            yield f"{name}:{number}: {count} words: {text[:110]}"


def forbidden(name, lines):
    """Forbidden words; documents may quote them in the table of words."""
    for number, line, _ in prose(lines):
        if name.endswith("development.md") and line.startswith("|"):
            continue
        for pattern, instead in FORBIDDEN:
            match = re.search(pattern, re.sub(r"`[^`]*`", "``", line))
            if match:
                yield f"{name}:{number}: \"{match.group(0)}\": write {instead}"


def anchors(path):
    """The anchors of a document's headings."""
    text = open(path, encoding="utf-8").read()
    return [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-")
            for h in re.findall(r"^#+ (.*)$", text, re.M)]


def links(name, path, lines):
    """Links to files or headings that do not exist."""
    for number, line, _ in prose(lines):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if "://" in target:
                continue
            file, _, anchor = target.partition("#")
            there = os.path.join(os.path.dirname(path), file) if file else path
            if not os.path.exists(there):
                yield f"{name}:{number}: no file {file}"
            elif anchor and anchor not in anchors(there):
                yield f"{name}:{number}: no heading {target}"


def main():
    faults = []
    for path in sys.argv[1:]:
        name = os.path.relpath(path)
        lines = open(path, encoding="utf-8").read().splitlines()
        faults += [*measure(name, lines), *forbidden(name, lines), *links(name, path, lines)]
        if os.path.basename(path) == "README.md" and "docs" in os.listdir(os.path.dirname(path) or ".") \
                and len(lines) > 170:
            faults.append(f"{name}: {len(lines)} lines, 170 are allowed")
    print("\n".join(faults) if faults else "words: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
