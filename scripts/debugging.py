#!/usr/bin/env python3
"""What gdb shows of variables in chordal's code, beside clang's.

Compiles testdata/debugging/program.c at -O2 -g by clang and by `chordal cc`, and at -O0; stops at each line marked `here` the first
time that it is reached; and prints, for each line, how many variables of the function there are, and how many each build shows. A
value that differs from the unoptimised program's although clang's does not is wrong.

    scripts/debugging.py [--chordal COMMAND] [--registers N] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "testdata/debugging/program.c"

# Run by gdb's Python: the variables at each line, as JSON.
INSIDE = r"""
import gdb, json
lines = json.loads('@LINES@')
gdb.execute('set pagination off')
gdb.execute('set width 0')
shown = {}
class Stop(gdb.Breakpoint):
    def stop(self):
        frame = gdb.newest_frame()
        found, block = {}, frame.block()
        while block:
            for symbol in block:
                if (symbol.is_argument or symbol.is_variable) and symbol.name not in found:
                    try:
                        value = symbol.value(frame)
                        found[symbol.name] = None if value.is_optimized_out else str(value)
                    except Exception as error:
                        found[symbol.name] = None
            if block.function:
                break
            block = block.superblock
        shown.setdefault(self.line, {'function': frame.name(), 'values': found})
        self.enabled = False
        return False
for line in lines:
    stop = Stop('program.c:%d' % line)
    stop.line = line
gdb.execute('run > /dev/null', to_string=True)
print('@@' + json.dumps(shown))
"""


def lines():
    text = SOURCE.read_text().splitlines()
    return [number for number, line in enumerate(text, 1) if line.rstrip().endswith("// here")]


def build(folder, name, command, environment=None):
    program = folder / name
    run = subprocess.run([*command, "-g", str(SOURCE), "-o", str(program)], env={**os.environ, **(environment or {})}, cwd=folder)
    if run.returncode:
        sys.exit(f"debugging.py: {name} cannot be built")
    return program


def variables(folder, program):
    """The variables at each line, by name: a value, or None if gdb has none."""
    script = folder / "inside.py"
    script.write_text(INSIDE.replace("@LINES@", json.dumps(lines())))
    run = subprocess.run(["gdb", "-nx", "-batch", "-x", str(script), str(program)], capture_output=True, text=True, timeout=120)
    found = [line for line in run.stdout.splitlines() if line.startswith("@@")]
    if not found:
        sys.exit(f"debugging.py: gdb says nothing of {program}: {run.stderr}")
    return {int(line): shown for line, shown in json.loads(found[0][2:]).items()}


def is_shown(value):
    return value is not None and "<optimized out>" not in value


def row(line, unoptimised, clang, chordal):
    base = unoptimised[line]["values"]
    result = {"line": line, "function": unoptimised[line]["function"], "variables": len(base), "wrong": []}
    for name, build in (("clang", clang), ("chordal", chordal)):
        values = build.get(line, {"values": {}})["values"]
        result[name] = sorted(variable for variable in base if is_shown(values.get(variable)))
    theirs, ours = clang.get(line, {"values": {}})["values"], chordal.get(line, {"values": {}})["values"]
    for variable in result["chordal"]:
        if variable in result["clang"] and theirs[variable] == base[variable] != ours[variable]:
            result["wrong"].append(f"{variable} is {base[variable]}, not {ours[variable]}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chordal", default=str(ROOT / "target/release/chordal"))
    parser.add_argument("--registers", default="all")
    parser.add_argument("--json", help="also write the rows to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        builds = [
            build(folder, "unoptimised", ["clang-22", "-O0"]),
            build(folder, "clang", ["clang-22", "-O2"]),
            build(folder, "chordal", [arguments.chordal, "cc", "-O2"], {"CHORDAL_REGISTERS": arguments.registers}),
        ]
        unoptimised, clang, chordal = (variables(folder, program) for program in builds)
    rows = [row(line, unoptimised, clang, chordal) for line in lines() if line in unoptimised]
    print("line  function     variables  clang  chordal  only clang shows")
    for it in rows:
        missing = ", ".join(sorted(set(it["clang"]) - set(it["chordal"])))
        counts = f"{it['variables']:9}  {len(it['clang']):5}  {len(it['chordal']):7}"
        print(f"{it['line']:4}  {it['function']:11}  {counts}  {missing}".rstrip())
    total = [sum(it["variables"] for it in rows), *(sum(len(it[name]) for it in rows) for name in ("clang", "chordal"))]
    print(f"{'in all':17}  {total[0]:9}  {total[1]:5}  {total[2]:7}")
    wrong = [f"line {it['line']}: {fault}" for it in rows for fault in it["wrong"]]
    for fault in wrong:
        print(f"wrong: {fault}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
