"""Holds META.json against the rules of PGXN's meta specification 1.0.0.

usage: check_meta.py FOLDER      the unpacked archive of a release

The rules are restated here as a JSON Schema; jsonschema applies them.  Then the
files that it names must be there and agree, and documents whose faults are
known must not pass, so that the rules are seen to hold.
"""
import copy
import json
import pathlib
import re
import sys

import jsonschema

SEMVER = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-?[A-Za-z][0-9A-Za-z-]*)?$"
TERM = {"type": "string", "minLength": 2, "pattern": r"^[^\x00-\x1f\x7f\s/\\]+$"}
TEXT = {"type": "string", "minLength": 1}
URL = {"type": "string", "pattern": r"^(https?|git|ftp)://[^\s/]+(/\S*)?$"}
LICENSES = ["agpl_3", "apache_1_1", "apache_2_0", "artistic_1", "artistic_2", "bsd", "freebsd",
            "gfdl_1_2", "gfdl_1_3", "gpl_1", "gpl_2", "gpl_3", "lgpl_2_1", "lgpl_3_0", "mit",
            "mozilla_1_0", "mozilla_1_1", "openssl", "perl_5", "postgresql", "qpl_1_0", "ssleay",
            "sun", "zlib", "open_source", "restricted", "unrestricted", "unknown"]


def table(properties, required=(), others=False):
    """An object of these members, and of custom ones, named x_..."""
    return {"type": "object", "properties": properties, "required": list(required),
            "patternProperties": {"^[xX]_": {}}, "additionalProperties": others}


def texts(item):
    """One, or a list of at least one."""
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


REQUIREMENTS = {"type": "object", "minProperties": 1, "propertyNames": TERM,
                "additionalProperties": {"anyOf": [
                    {"const": 0},
                    {"type": "string", "pattern": r"^\s*(([<>]=?|[!=]=)?\s*\d[^,\s]*\s*(,|$)\s*)+$"}]}}
PHASE = table({kind: REQUIREMENTS for kind in ("requires", "recommends", "suggests", "conflicts")})
SCHEMA = table({
    "name": TERM,
    "version": {"type": "string", "pattern": SEMVER},
    "abstract": TEXT,
    "description": TEXT,
    "maintainer": texts(TEXT),
    "license": texts({"enum": LICENSES}),
    "release_status": {"enum": ["stable", "testing", "unstable"]},
    "generated_by": TEXT,
    "tags": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 255},
             "minItems": 1, "uniqueItems": True},
    "no_index": table({kind: texts(TEXT) for kind in ("file", "directory")}),
    "provides": {"type": "object", "minProperties": 1, "propertyNames": TERM,
                 "additionalProperties": table(
                     {"file": TEXT, "docfile": TEXT, "abstract": TEXT,
                      "version": {"type": "string", "pattern": SEMVER}}, ["file", "version"])},
    "prereqs": table({phase: PHASE for phase in ("configure", "build", "test", "runtime", "develop")}),
    "resources": table({
        "homepage": URL,
        "bugtracker": table({"web": URL, "mailto": {"type": "string", "pattern": "@"}}),
        "repository": table({"url": URL, "web": URL, "type": {"type": "string", "pattern": "^[a-z]+$"}})}),
    "meta-spec": table({"version": {"const": "1.0.0"}, "url": URL}, ["version"]),
}, ["name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"])

# Faults that the rules must find: a path in the document, and what stands there
# instead (None: nothing).
FAULTS = [(path, None) for path in (["name"], ["version"], ["abstract"], ["maintainer"], ["license"],
                                    ["provides"], ["meta-spec"], ["meta-spec", "version"])] + [
    (["name"], "crc32c accel"), (["version"], "1.0"), (["version"], 1), (["license"], "mine"),
    (["release_status"], "ready"), (["provides"], {}), (["tags"], ["a", "a"]),
    (["prereqs", "runtime", "requires", "PostgreSQL"], "fifteen"), (["surprise"], True),
    (["resources", "homepage"], "nowhere"), (["meta-spec", "version"], "2.0.0")]


def change(document, path, value):
    changed = copy.deepcopy(document)
    at = changed
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return changed


def main():
    folder = pathlib.Path(sys.argv[1])
    meta = json.loads((folder / "META.json").read_text())
    rules = jsonschema.Draft7Validator(SCHEMA)
    wrong = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in rules.iter_errors(meta)]
    wrong += [f"the rules let pass: {path} = {value}" for path, value in FAULTS
              if rules.is_valid(change(meta, path, value))]
    for name, extension in meta["provides"].items():
        wrong += [f"{name}: no file {extension[key]}" for key in ("file", "docfile")
                  if not (folder / extension[key]).is_file()]
        control = (folder / f"{name}.control").read_text()
        default = re.search(r"^default_version = '(.*)'", control, re.M).group(1)
        if extension["version"] != f"{default}.0":
            wrong.append(f"{name}: version {extension['version']}, the control file has {default}")
    if folder.name != f"{meta['name']}-{meta['version']}":
        wrong.append(f"the archive's folder is {folder.name}")
    print("\n".join(wrong) or f"META.json: ok, and {len(FAULTS)} faults found")
    sys.exit(bool(wrong))


main()
