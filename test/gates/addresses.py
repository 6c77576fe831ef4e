#!/usr/bin/env python3
"""addresses.py [--fix | --release | --try] [TREE]: ADDRESSES and the files that name
what it says.

Without an option: fails when a file differs from ADDRESSES.  --fix writes the files.
--release: fails while an address is unset, too.  --try: in a copy of the tree, made-up
addresses come to stand in each file, and go again without a trace.

An address is a URL (repository, tracker), a mail address or a URL (security), or
"Name <mail address>" (maintainer).
"""
import json
import os
import re
import shutil
import sys
import tempfile

UNSET = "unset"
KINDS = {
    "repository": r"https://[^\s<>\"]+",
    "tracker": r"https://[^\s<>\"]+",
    "security": r"https://[^\s<>\"]+|[^\s<>\"@]+@[^\s<>\"@]+",
    "maintainer": r"[^<>\"]+ <[^\s<>\"@]+@[^\s<>\"@]+>",
}
MADE_UP = {
    "repository": "https://git.example.org/crc32c_accel",
    "tracker": "https://git.example.org/crc32c_accel/issues",
    "security": "security@example.org",
    "maintainer": "A. Maintainer <maintainer@example.org>",
}
NOBODY = "the crc32c_accel developers"

# File, address, the lines as a pattern, the lines when it is set (with {} in its
# place) and when it is not.
PLACES = [
    ("README.md", "repository", r"(?:git clone \S+ && cd crc32c_accel\n)?(?=make -j)",
     "git clone {} && cd crc32c_accel\n", ""),
    ("CONTRIBUTING.md", "tracker", r"(?<=## Report a defect\n\n)(?:Report it at \S+\n)?(?=Say the version)",
     "Report it at {}.\n", ""),
    ("SECURITY.md", "security", r"Report security problems to \S+(?: maintainers)? in private,",
     "Report security problems to {} in private,", "Report security problems to the maintainers in private,"),
    ("META.json", "maintainer", r'"maintainer": "[^"]*"', '"maintainer": "{}"', f'"maintainer": "{NOBODY}"'),
    ("META.json", "repository", r'(?:,\n\t\t"repository": \{[^}]*\})?(?=(?:,\n\t\t"bugtracker": [^}]*\})?\n\t\},\n\t"tags")',
     ',\n\t\t"repository": {{ "url": "{}.git", "web": "{}", "type": "git" }}', ""),
    ("META.json", "tracker", r'(?:,\n\t\t"bugtracker": \{[^}]*\})?(?=\n\t\},\n\t"tags")',
     ',\n\t\t"bugtracker": {{ "web": "{}" }}', ""),
    *[place for file in ("debian/control", "debian/control.in") for place in (
        (file, "maintainer", r"(?m)^Maintainer: .*$", "Maintainer: {}", f"Maintainer: {NOBODY} <crc32c-accel@localhost>"),
        (file, "repository", r"(?:Homepage: .*\nVcs-Browser: .*\nVcs-Git: .*\n)?(?=Rules-Requires-Root)",
         "Homepage: {}\nVcs-Browser: {}\nVcs-Git: {}.git\n", ""))],
    ("debian/changelog", "maintainer", r"\A((?:.*\n)*?) -- .*?(?=  )", r"\1 -- {}",
     rf"\1 -- {NOBODY} <crc32c-accel@localhost>"),
    ("debian/copyright", "maintainer", r"(?<=Upstream-Name: crc32c_accel\n)(?:Upstream-Contact: .*\n)?",
     "Upstream-Contact: {}\n", ""),
]


def addresses(tree):
    """What ADDRESSES says, by name."""
    said = {}
    with open(os.path.join(tree, "ADDRESSES"), encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#") or not line.strip():
                continue
            name, _, value = line.strip().partition(": ")
            if name not in KINDS or name in said:
                sys.exit(f"addresses: ADDRESSES: unexpected line: {line.strip()}")
            if value != UNSET and not re.fullmatch(KINDS[name], value):
                sys.exit(f"addresses: ADDRESSES: {name} is no address of its kind: {value}")
            said[name] = value
    missing = sorted(set(KINDS) - set(said))
    if missing:
        sys.exit(f"addresses: ADDRESSES lacks {', '.join(missing)}")
    return said


def written(tree, said):
    """The files as they should be, by path."""
    files = {}
    for path, name, pattern, when_set, when_not in PLACES:
        if path not in files:
            with open(os.path.join(tree, path), encoding="utf-8") as file:
                files[path] = file.read()
        words = when_not if said[name] == UNSET else \
            when_set.replace("{{", "\0").replace("}}", "\1").replace("{}", said[name]).replace("\0", "{").replace("\1", "}")
        files[path], places = re.subn(pattern, words.replace("\\1", "\\g<1>"), files[path], count=1)
        if places != 1:
            sys.exit(f"addresses: {path} has no place for {name}")
    return files


def different(tree, files):
    """Which files differ."""
    found = []
    for path, text in files.items():
        with open(os.path.join(tree, path), encoding="utf-8") as file:
            if file.read() != text:
                found.append(path)
    return found


def write(tree, files):
    """Writes them."""
    for path, text in files.items():
        with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
            file.write(text)


def try_made_up(tree):
    """Made-up addresses come and go."""
    with tempfile.TemporaryDirectory() as copy:
        for path in sorted({place[0] for place in PLACES} | {"ADDRESSES"}):
            os.makedirs(os.path.dirname(os.path.join(copy, path)) or copy, exist_ok=True)
            shutil.copy(os.path.join(tree, path), os.path.join(copy, path))
        before = written(copy, addresses(copy))
        write(copy, written(copy, MADE_UP))
        wrong = different(copy, written(copy, MADE_UP))
        for path, name, *_ in PLACES:
            with open(os.path.join(copy, path), encoding="utf-8") as file:
                if MADE_UP[name] not in file.read():
                    wrong.append(f"{path} lacks {name}")
        json.loads(written(copy, MADE_UP)["META.json"])
        if "localhost" in "".join(written(copy, MADE_UP).values()):
            wrong.append("localhost stays")
        write(copy, written(copy, addresses(copy)))
        wrong += different(copy, before)
    if wrong:
        sys.exit(f"addresses: made-up ones: {', '.join(wrong)}")


def main():
    """Does what the arguments say."""
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    tree = ([argument for argument in sys.argv[1:] if not argument.startswith("--")] or ["."])[0]
    said = addresses(tree)
    files = written(tree, said)
    if options == ["--fix"]:
        write(tree, files)
    elif options == ["--try"]:
        try_made_up(tree)
    elif options not in ([], ["--release"]):
        sys.exit(__doc__)
    wrong = different(tree, files)
    if wrong:
        sys.exit(f"addresses: differ from ADDRESSES (--fix writes them): {', '.join(wrong)}")
    unset = [name for name, value in said.items() if value == UNSET]
    if unset:
        print(f"addresses: unset: {', '.join(unset)}")
        if options == ["--release"]:
            sys.exit(1)


main()
