#!/usr/bin/env python3
"""reference.py TOP [--fix]: docs/reference.md agrees with what the extension has.

Functions, arguments, defaults and result columns: test/pgtap/contract.tsv.
Tables and views: types and COMMENTs of their columns in the install script.
--fix writes those into the document; types of views are the document's own.
Parameters: src/guc.c.  Both ways: what is missing, and what is too much.
Columns of a finding: src/func/finding.def, against verify_relation and verify_findings.
Statuses: src/page/status.def, which names the section that explains each family.
Names that begin with internal_ are for the extension itself: they have no entry.
"""
import re
import sys

TYPES = {"timestamp with time zone": "timestamptz"}
SCRIPT = "sql/crc32c_accel--1.0.sql"


def read(top, path):
    """The text of a file."""
    with open(f"{top}/{path}", encoding="utf-8") as file:
        return file.read()


def split_arguments(text):
    """Splits at commas outside of quotes and parentheses."""
    parts, depth, quoted, part = [], 0, False, ""
    for char in text:
        quoted ^= char == "'"
        if not quoted:
            depth += (char in "({[") - (char in ")}]")
        if char == "," and depth == 0 and not quoted:
            parts.append(part.strip())
            part = ""
        else:
            part += char
    return parts + [part.strip()] if part.strip() else parts


def parse_arguments(text):
    """{name: (type, default)} of the arguments, {name: type} of the columns."""
    arguments, columns = {}, {}
    for part in split_arguments(text):
        match = re.match(r'(IN |OUT )?"?(\w+)"? (.*?)(?: DEFAULT (.*))?$', part)
        mode, name, kind, default = match.groups()
        kind = TYPES.get(kind, kind)
        if mode == "OUT ":
            columns[name] = kind
        else:
            default = re.sub(r"::[\w \[\]]+$", "", default or "")
            arguments[name] = (kind, default)
    return arguments, columns


def contract(top):
    """{(function, its arguments' names): (arguments, columns, grantee)}"""
    found = {}
    for line in read(top, "test/pgtap/contract.tsv").splitlines(True):
        if "\t" not in line:  # COPY
            continue
        name, text, _, _, grantee = line.rstrip("\n").split("\t")
        if name.startswith("internal_"):
            continue
        arguments, columns = parse_arguments(text)
        found[name, tuple(arguments)] = (arguments, columns, grantee)
    return found


def tables(top):
    """{table or view: {column: its comment}}, of the newest install script."""
    found = {}
    for name, column, text in re.findall(r"^COMMENT ON COLUMN (\w+)\.(\w+) IS '((?:[^']|'')*)';",
                                         read(top, SCRIPT), re.M):
        if not name.startswith("internal_"):
            found.setdefault(name, {})[column] = text.replace("''", "'")
    return found


def rows(text, first):
    """Cells of the table whose head begins with this cell."""
    match = re.search(rf"^\| {first} \|.*\n\|[-|]+\n((?:\|.*\n)*)", text, re.M)
    if not match:
        return []
    return [[cell.strip() for cell in line.strip("|").split(" | ")]
            for line in match.group(1).splitlines()]


def sections(top):
    """{heading: text} of the entries, and the text of the parameters."""
    text = read(top, "docs/reference.md")
    entries = dict(re.findall(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", text, re.M | re.S))
    return entries, text[text.index("## Parameters"):]


def plain(cell):
    """A cell without its quotes."""
    return cell.strip().strip("`")


def entry_of(entries, heading, text):
    """What an entry says: (function, names), arguments, columns."""
    arguments = {plain(r[0]): (r[1], plain(r[2])) for r in rows(text, "argument")}
    same = re.search(r"^Columns: as of \[(\w+)\]", text, re.M)
    columns = {plain(r[0]): r[1] for r in rows(entries[same.group(1)] if same else text, "column")}
    return (heading.split()[0], tuple(arguments)), arguments, columns


def compare(what, wanted, got):
    """Lines on what differs between two dictionaries."""
    for name in sorted(set(wanted) | set(got)):
        if name not in got:
            yield f"{what}: {name} is missing"
        elif name not in wanted:
            yield f"{what}: {name} does not exist"
        elif wanted[name] != got[name]:
            yield f"{what}: {name} is {wanted[name]}, not {got[name]}"
    if not set(wanted) ^ set(got) and list(wanted) != list(got):
        yield f"{what}: another order: {', '.join(wanted)}"


def declared(top):
    """{table: {column: type}}, of the newest install script."""
    tables = re.findall(r"^CREATE TABLE (\w+) \((.*?)\);\n", read(top, SCRIPT), re.M | re.S)
    return {name: dict(re.findall(r"^\t(\w+) (\w+(?:\[\])?)", columns, re.M)) for name, columns in tables}


def families(top):
    """{section: {word: whether it is a finding}}, of the families of statuses."""
    found = {}
    for line in read(top, "src/page/status.def").splitlines(True):
        where = re.match(r"/\* .*\((docs/\S+\.md#\S+)\)\. \*/", line)
        row = re.match(r'[A-Z]+_STATUS\(\w+, "(\w+)", (true|false)\)', line)
        if where:
            words = found.setdefault(where.group(1), {})
        elif row:
            words[row.group(1)] = row.group(2) == "true"
    return found


def section(top, where):
    """The text of the section that a link names."""
    path, anchor = where.split("#")
    text = read(top, path)
    for heading, body in re.findall(r"^##+ ([^\n]+)\n(.*?)(?=^##|\Z)", text, re.M | re.S):
        if heading.lower().replace(" ", "-") == anchor:
            return body
    return ""


def check_statuses(top):
    """Differences between the families and the documents."""
    for where, words in families(top).items():
        text = section(top, where)
        listed = set()
        for cells in rows(text, "status"):
            listed.update(re.findall(r"`(\w+)`", cells[0]))
        for word in sorted(listed - set(words)):
            yield f"{where}: {word} is no status of this family"
        reference = read(top, "docs/reference.md")
        for word, is_finding in words.items():
            if f"`{word}`" not in (text if is_finding else text + reference):
                yield f"{where}: {word} is missing"


def check_findings(top):
    """Differences between the rows of finding.def and what SQL declares."""
    names = {oid: name for name, oid in
             re.findall(r'oid\["(.+?)"\] = "(\w+)"', read(top, "src/func/signatures.awk"))}
    wanted = {name: names[oid] for name, oid in
              re.findall(r"^FINDING_COLUMN\((\w+), (\w+),", read(top, "src/func/finding.def"), re.M)}
    table = {name: kind for name, kind in declared(top)["verify_findings"].items() if name in wanted}
    yield from compare("verify_findings", wanted, table)
    for (function, _), (_, columns, _) in contract(top).items():
        if function == "verify_relation":
            del columns["relation"]  # relid, as a regclass
            yield from compare("verify_relation", wanted, {"relid": "oid", **columns})


def table_of(top, name, text):
    """The columns of a table or view, as its entry must have them."""
    kinds = {plain(row[0]): row[1] for row in rows(text, "column")}
    kinds.update(declared(top).get(name, {}))
    return "| column | type | |\n|---|---|---|\n" + "".join(
        f"| `{column}` | {kinds.get(column, '?')} | {comment} |\n"
        for column, comment in tables(top)[name].items())


def fix(top):
    """Writes the columns of tables and views into their entries."""
    path, text = f"{top}/docs/reference.md", read(top, "docs/reference.md")
    for name, entry in sections(top)[0].items():
        if name in tables(top):
            new = re.sub(r"^\| column \|.*\n(\|.*\n)*", lambda _, n=name, e=entry: table_of(top, n, e),
                         entry, count=1, flags=re.M)
            text = text.replace(entry, new)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def check(top):
    """Every difference, as a line."""
    yield from check_statuses(top)
    yield from check_findings(top)
    entries, parameters = sections(top)
    functions, relations = contract(top), tables(top)
    seen = set()
    for heading, text in entries.items():
        key, arguments, columns = entry_of(entries, heading, text)
        if key[0] in relations and key not in functions:
            relations.pop(key[0])
            if table_of(top, key[0], text) not in text:
                yield f"{heading}: differs from the install script, which reference.py TOP --fix copies"
            if "| ? |" in text:
                yield f"{heading}: a column of a view has no type"
        elif key in functions:
            seen.add(key)
            wanted, wanted_columns, grantee = functions[key]
            yield from compare(heading, wanted, arguments)
            yield from compare(heading, wanted_columns, columns)
            who = {"PUBLIC": "everybody", "superuser": "superuser"}.get(grantee, f"`{grantee}`")
            if f"Privileges: {who}." not in text:
                yield f"{heading}: no \"Privileges: {who}.\""
        else:
            same = [" ".join(k[1]) for k in functions if k[0] == key[0]]
            yield f"{heading}({', '.join(key[1])}): not in contract.tsv" + \
                (f", which has ({'; '.join(same)})" if same else "")
        if "Locks: " not in text and heading.split()[0] not in tables(top):
            yield f"{heading}: no \"Locks:\""
        if "```sql" not in text:
            yield f"{heading}: no example"
    for name, names in sorted(set(functions) - seen):
        yield f"{name}({', '.join(names)}): no entry"
    for name in relations:
        yield f"{name}: no entry"
    defined = re.findall(r'DefineCustom\w+\("(crc32c_accel\.\w+)"',
                         read(top, "src/guc.c"))
    listed = [plain(row[0]) for row in rows(parameters, "parameter")]
    yield from compare("parameters", dict.fromkeys(sorted(defined)), dict.fromkeys(sorted(listed)))


def main():
    top = sys.argv[1]
    if "--fix" in sys.argv:
        fix(top)
    faults = list(check(top))
    print("\n".join(faults) if faults else
          f"reference: {len(contract(top))} functions, {len(tables(top))} tables and views: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
