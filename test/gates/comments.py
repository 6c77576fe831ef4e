#!/usr/bin/env python3
"""comments.py [-v FOLDER]: measures the comments of src/.

A comment is made of sentences.  Per folder it counts those with a semicolon or
a colon inside, which stand for a verb left out ("NULL: none").  Each folder must
stay below the share, and below the mean of words.  No comment may have a word
that words.py forbids, but it may begin with "What".  -v FOLDER prints the
sentences that count.
"""
import os
import re
import sys

import words

SHARE, MEAN = 0.15, 15

COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\\n])*'|" r"/\*.*?\*/|//[^\n]*", re.S)


def text_of(comment):
    """The words of a comment, without stars, rulers and the file's name."""
    lines = []
    for line in comment.strip("/").strip("*").splitlines():
        line = re.sub(r"^\s*\*+ ?", "", line).strip()
        if not re.fullmatch(r"[-*= ]*|[\w/.-]+\.(c|h|def)", line):
            lines.append(re.sub(r"^-{2,}|-{2,}$", "", line).strip())
        else:
            lines.append("")
    return "\n".join(lines)


def sentences(path):
    """(line number, sentence) of the comments of a file of C."""
    source = open(path, encoding="utf-8").read()
    for match in COMMENT.finditer(source):
        if match.group()[0] != "/":
            continue
        line = source.count("\n", 0, match.start()) + 1
        for block in re.split(r"\n\s*\n", text_of(match.group())):
            for part in re.split(r"(?<=[.?!])\s+(?=[A-Z(\"])", " ".join(block.split())):
                if len(re.findall(r"\w+", part)) > 1:
                    yield line, part


def counts(part):
    """Has it a semicolon or a colon that is not of a name, a time or an address?"""
    return re.search(r";|:(?=\s|$)", re.sub(r'"[^"]*"', "x", part)) is not None


def folders(top):
    """{folder: its files}"""
    found = {}
    for place, _, names in os.walk(os.path.join(top, "src")):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".def")) and not name.endswith(".auto.h"):
                folder = os.path.relpath(place, os.path.join(top, "src"))
                found.setdefault(folder, []).append(os.path.join(place, name))
    return dict(sorted(found.items()))


def main():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    shown = sys.argv[2] if sys.argv[1:2] == ["-v"] else None
    failed = total = bad = 0
    for folder, paths in folders(top).items():
        parts = [(path, *entry) for path in paths for entry in sentences(path)]
        marked = [entry for entry in parts if counts(entry[2])]
        total, bad = total + len(parts), bad + len(marked)
        share = len(marked) / max(len(parts), 1)
        length = sum(len(entry[2].split()) for entry in parts) / max(len(parts), 1)
        late = share >= SHARE or length >= MEAN
        failed += late
        print(f"src/{folder}: {len(parts)} sentences, {length:.1f} words in the mean, "
              f"{share:.0%} with ; or :{'  TOO MANY' if late else ''}")
        for path, line, part in marked if folder == shown else []:
            print(f"  {os.path.relpath(path, top)}:{line}: {part}")
        for path, line, part in parts:
            for pattern, instead in words.FORBIDDEN:
                if instead != "a subject" and re.search(pattern, part):
                    failed += 1
                    print(f"{os.path.relpath(path, top)}:{line}: write {instead}: {part}")
    print(f"comments: {total} sentences, {bad / max(total, 1):.0%} with ; or :")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
