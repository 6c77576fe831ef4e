#!/usr/bin/env python3
"""layers.py SRC OBJECTS POSTGRES ROOM...: which folder of src/ may know which.

What the linker would join decides, not what the sources look like: symbols are
read from the objects below OBJECTS (src/ of the built tree) by nm.

- A folder uses folders that stand before it in ORDER, no other one.  That holds
  for symbols and for includes, however they are written.
- Rooms (a .c file and its header) stand in no circle of calls, nor of includes.
- program/ and recover/ are no part of the library.  They use nothing but ROOMs, and
  serve the seam host/host.h itself.
- ROOMs are compiled without the server's headers (the list is in the Makefile).
  They use no symbol that the program POSTGRES has, and no room of ours that
  does, but SEAMS.
- A folder uses no symbol of the C library that FORBIDDEN or KERNEL_MAY rule out.
"""
import glob
import os
import re
import subprocess
import sys

# Left may not know right; folders of one word do not know each other.
ORDER = "kernel < decode server host < page < wal < cluster < lost manifest < backup < repair recover < func program < run < ."
RANK = {folder: rank for rank, level in enumerate(ORDER.split(" < ")) for folder in level.split()}

# What server-free rooms ask of the program around them.
SEAMS = {"host/host_server", "host/temporary_server"}

# Folders of the program, which the library does not have.
PROGRAM = {"program", "recover"}

# Symbols by the folders that may not use them.
FORBIDDEN = [
    ("decode", r"f?open|read|f?printf", "decode/ is given bytes: it opens and prints nothing"),
    ("decode server host page wal cluster lost manifest backup repair",
     r"tuplestore_.*|InitMaterializedSRF|SPI_.*", "rows and statements are made in func/ and run/"),
]
KERNEL_MAY = r"mem(cpy|set|cmp|move)|str(cmp|len)|getauxval|snprintf|__snprintf_chk|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__cpu_model|__(asan|ubsan|gcov)_.*"

failed = False


def fail(what):
    global failed
    print("check-layers:", what, file=sys.stderr)
    failed = True


def room_of(path):
    return re.sub(r"\.[^/]*$", "", path)


def folder_of(room):
    return os.path.dirname(room) or "."


def may_use(room, other):
    """Whether a room may know another one, by their folders."""
    here, there = folder_of(room), folder_of(other)
    return here == there or RANK.get(there, 99) < RANK.get(here, -1)


def read_symbols(src, objects):
    """Room -> symbols that it uses; symbol -> room of the library, of the program."""
    used, defined, program = {}, {}, {}
    for path in sorted(glob.glob(objects + "/**/*.o", recursive=True)):
        room = room_of(os.path.relpath(path, objects))
        if not os.path.exists(os.path.join(src, room + ".c")):
            continue  # of an earlier tree
        own = defined if folder_of(room) not in PROGRAM else program
        used[room] = set()
        for line in subprocess.check_output(["nm", path], text=True).splitlines():
            kind, name = line.split()[-2:]
            if kind in "Uw":
                used[room].add(name)
            elif kind.isupper():
                own[name] = room
    return used, defined, program


def check_folders(src, rooms):
    includes = {}
    for room in rooms:
        if folder_of(room) not in RANK:
            fail("the folder of %s.c stands nowhere in ORDER" % room)
    for root, _, names in os.walk(src):
        for name in names:
            if not re.search(r"\.(c|h|def)$", name):
                continue
            path = os.path.relpath(os.path.join(root, name), src)
            with open(os.path.join(src, path), encoding="utf-8") as file:
                targets = check_includes(src, path, re.sub(r"\\\n", "", file.read()))
            room = room_of(path)
            includes.setdefault(room, set()).update({room_of(target) for target in targets} - {room})
    check_circles("includes", includes)


def check_includes(src, path, text):
    """The files of ours that a file includes."""
    targets = []
    for target in re.findall(r'^[ \t]*(?:#|%:|\?\?=)[ \t]*include[ \t]*(.*)', text, re.M):
        quoted = re.match(r'"([^"]*)"|<([^>]*)>', target)
        if not quoted:
            fail("%s: an include that names no file: %s" % (path, target))
            continue
        name = quoted.group(1) or quoted.group(2)
        for base in (os.path.dirname(path), ""):
            target = os.path.normpath(os.path.join(base, name))
            if os.path.exists(os.path.join(src, target)):
                if not may_use(room_of(path), room_of(target)) and target != "compat.h":
                    fail("%s includes %s" % (path, target))
                targets.append(target)
                break
    return targets


def check_calls(used, library, program):
    calls = {}
    for room, symbols in used.items():
        defined = {"program": {**library, **program}, "recover": {**program, **library}}.get(folder_of(room), library)
        calls[room] = {defined[symbol] for symbol in symbols if symbol in defined} - {room}
        for symbol in sorted(symbols):
            if symbol in defined and not may_use(room, defined[symbol]):
                fail("%s.c uses %s of %s.c" % (room, symbol, defined[symbol]))
    check_circles("calls", calls)


def check_circles(what, edges):
    """Takes away rooms that lead to none, or that none leads to, of those left."""
    left = dict(edges)
    while True:
        reached = set().union(*left.values()) if left else set()
        kept = {room: others & left.keys() for room, others in left.items()
                if others & left.keys() and room in reached}
        if kept == left:
            break
        left = kept
    for room in sorted(left):
        fail("circle of %s: %s -> %s" % (what, room, ", ".join(sorted(left[room]))))


def check_free(free, used, defined, server):
    for room in sorted(free):
        for symbol in sorted(used.get(room, ())):
            owner = defined.get(symbol)
            if owner and owner not in free and owner not in SEAMS:
                fail("%s.c knows no server, and uses %s of %s.c" % (room, symbol, owner))
            elif not owner and symbol in server:
                fail("%s.c knows no server, and uses its %s" % (room, symbol))


def check_program(free, used, defined, program, server):
    for room in sorted(used):
        for symbol in sorted(used[room] if folder_of(room) in PROGRAM else ()):
            if symbol not in program and defined.get(symbol, symbol) not in free | {symbol}:
                fail("%s.c is of the program, and uses %s of %s.c" % (room, symbol, defined[symbol]))
            elif symbol not in program and symbol not in defined and symbol in server:
                fail("%s.c is of the program, and uses the server's %s" % (room, symbol))


def check_library(used, defined):
    for room, symbols in used.items():
        for symbol in sorted(symbols - defined.keys()):
            if folder_of(room) == "kernel" and not re.fullmatch(KERNEL_MAY, symbol):
                fail("%s.c uses %s: kernel/ computes, and asks nobody" % (room, symbol))
            for folders, pattern, why in FORBIDDEN:
                if folder_of(room) in folders.split() and re.fullmatch(pattern, symbol):
                    fail("%s.c uses %s: %s" % (room, symbol, why))


def main():
    src, objects, postgres = sys.argv[1:4]
    free = {re.sub(r"^.*?src/", "", room) for room in sys.argv[4:]}
    used, defined, program = read_symbols(src, objects)
    if not used or free - used.keys():
        sys.exit("check-layers: no objects: build first")
    server = set(subprocess.check_output(
        ["nm", "-D", "--defined-only", "--format=posix", postgres], text=True).split())
    check_folders(src, used)
    check_calls(used, defined, program)
    check_free(free, used, defined, server)
    check_program(free, used, defined, program, server)
    check_library(used, defined)
    sys.exit(failed)


main()
