#!/usr/bin/env python3
"""Damaged inputs: each is refused with one message or processed correctly, and nothing is left behind.

    scripts/fuzz-input.py                       1000 inputs, with seeds 1 to 1000
    scripts/fuzz-input.py 100000                this many inputs
    scripts/fuzz-input.py 1 --seed 77           one input again
    scripts/fuzz-input.py 5000 --only bitcode   inputs of one kind

Bitcode, textual IR, objects and archives, statistics, records of comparisons, run times and functions in text form are made
from the programs and functions in testdata, and damaged: bytes, words and lines are changed, dropped, repeated, or taken from
elsewhere, and JSON gets wrong types, missing and duplicate keys, huge numbers, deep nesting, and bytes that are not text. Then a
command reads them. It must do its work (status 0, with warnings at most; output declared as JSON is JSON), or say in one line
what is wrong with which file (status 1) and leave the old output in place. It must not crash, panic, run for ever or leave
temporary files. Where LLVM crashes, the message must say that it was LLVM. Every random choice follows from the seed.

A failure is kept in a folder of its own, with the command. Exit status 1 if anything failed.
"""

import argparse
import json
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 60
BYTES = 8 << 30
OLD = "what was there before\n"
# With how clang compiles them.
PROGRAMS = {
    "asm_goto.c": "-O2",
    "exceptions.cpp": "-O1",
    "hash_table.c": "-O0 -Xclang -disable-O0-optnone",
    "inline_asm.c": "-O2",
    "interpreter.c": "-O2",
    "long_double.c": "-O2 -m32",
    "pressure.c": "-O3 -mavx2",
    "sha256.c": "-Os -g",
    "switches.c": "-O1 -m32 -fPIC",
    "tls_setjmp.c": "-O2 -g",
}
ALLOCATORS = ["tuned", "spill-free", "bin-packing", "ch-o3", "linear-scan", "irc", "out-of-ssa", "regalloc2"]
# What reads which kind of input; `{}` is the input, `{a}` an allocator. Statistics and results have an old file in their way.
COMMANDS = {
    "bitcode": [
        "compile {} -o out --stats counts --verify-llvm --allocator {a}",
        "compile {} -o out --emit obj --allocator {a}",
        "compile {} -o out --stats counts --no-times --allocator llvm-greedy",
        "compare {} --allocators local,llvm-basic --format json -o out",
        "paper join-sets {} -o out",
    ],
    "object": ["count {}", "count {} --per function --top 3", "count {} whole.o --format json"],
    "statistics": [
        "stats {} -o out",
        "stats {} whole.json --per function --format csv -o out",
        "stats whole.json {} --format json -o out",
        "diff {} whole.json -o out",
        "diff whole.json {} --format json -o out",
        "diff {} {} --format markdown -o out",
    ],
    "records": [
        "compare whole.bc --allocators local,simple --records {} --resume --format json -o out",
        "compare whole.bc --allocators local,simple --records {} --resume --per function -o out",
        "paper sra-table3 whole.bc --records {} --resume -o out",
        "diff {} whole.jsonl -o out",
        "diff whole.jsonl {} --format json -o out",
    ],
    "times": ["paper sra-table3 sra-figure10 whole.bc --records whole.jsonl --resume --run-times {} -o out"],
    "text": ["allocate {} --allocator {a}"],
}
COMMANDS["ir"] = COMMANDS["bitcode"]
# These show the results of other runs when one has failed.
SHOW_ALL = ("compare", "paper")
LOUD = ("panicked", "bug in chordal", "internal error", "stack overflow")
CRASHED = re.compile("LLVM's.* crashed")


class Failed(Exception):
    """Something is wrong; the message says what."""


def do(command, folder):
    """Runs a command that has to succeed."""
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def samples(chordal, folder):
    """Whole inputs of each kind, by kind; what commands need beside them is in the folder."""
    made = {kind: [] for kind in COMMANDS}
    for name, flags in PROGRAMS.items():
        source, stem = ROOT / "testdata/programs" / name, Path(name).stem
        clang = ["clang-22", "-w", *flags.split(), source]
        for kind, extra in {"bitcode": "-emit-llvm -c", "ir": "-emit-llvm -S", "object": "-c"}.items():
            do([*clang, *extra.split(), "-o", f"{stem}.{kind}"], folder)
            made[kind].append((folder / f"{stem}.{kind}").read_bytes())
        do([chordal, "compile", f"{stem}.bitcode", "-o", "/dev/null", "--stats", f"{stem}.statistics"], folder)
        made["statistics"].append((folder / f"{stem}.statistics").read_bytes())
    do(["ar", "rcs", "archive", *(f"{Path(name).stem}.object" for name in list(PROGRAMS)[:3])], folder)
    made["object"].append((folder / "archive").read_bytes())
    for name, kind in {"whole.bc": "bitcode", "whole.o": "object", "whole.json": "statistics"}.items():
        shutil.copy(folder / f"asm_goto.{kind}", folder / name)
    compare = [chordal, "compare", "whole.bc", "--allocators", "local,simple", "--records", "whole.jsonl"]
    do([*compare, "--format", "json", "-o", "whole.compare"], folder)
    do([chordal, "paper", "sra-table3", "whole.bc", "-o", "/dev/null", "--records", "whole.jsonl", "--resume"], folder)
    made["records"] = [(folder / "whole.jsonl").read_bytes()]
    made["statistics"] += [path.read_bytes() for path in sorted((ROOT / "testdata/diff").glob("*.json"))]
    made["statistics"].append((folder / "whole.compare").read_bytes())
    made["times"] = [b"program,machine,allocator,registers,seconds\n" + b"whole,x86-64,ch-o3,4,1.25\nwhole,x86-64,simple,all,2\n" * 2]
    made["text"] = [path.read_bytes() for path in sorted((ROOT / "testdata/functions").rglob("*.txt"))]
    return made


def damaged_bytes(data, other, chance):
    """Bytes changed, dropped, repeated, taken from elsewhere."""
    data = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 4, 16])):
        at, length = chance.randrange(len(data) + 1), chance.choice([1, 1, 4, 8, chance.randrange(1, 400)])
        match chance.randrange(8):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1 if at < len(data):
                data[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = chance.randbytes(length)
            case 4:
                data[at:at] = data[at : at + length]
            case 5:
                word = chance.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, chance.getrandbits(32)])
                data[at & ~3 : (at & ~3) + 4] = word.to_bytes(4, "little")
            case 6:
                start = chance.randrange(len(other))
                data[at : at + length] = other[start : start + length]
            case 7 if chance.randrange(3) == 0:
                del data[at:]
    return bytes(data)


def damaged_text(data, other, chance):
    """Words and lines changed, dropped, repeated, taken from elsewhere."""
    if chance.randrange(6) == 0:
        return damaged_bytes(data, other, chance)
    cut = re.compile(r'"[^"\n]*"|[\w.$%@!#-]+|\s+|.')
    text = data.decode(errors="surrogateescape")
    by_line = chance.randrange(3) == 0
    parts = text.splitlines(keepends=True) if by_line else cut.findall(text)
    foreign = other.decode(errors="surrogateescape")
    foreign = foreign.splitlines(keepends=True) if by_line else cut.findall(foreign)
    numbers = ["0", "1", "-1", "255", "4294967295", "4294967296", "18446744073709551616", "1e999", "9" * 400]
    for _ in range(chance.choice([1, 1, 2, 3])):
        at = chance.randrange(len(parts))
        new = chance.choice([[], [parts[at]] * 2, [chance.choice(parts)], [chance.choice(foreign)]])
        parts[at : at + 1] = [chance.choice(numbers)] if parts[at].isdigit() and chance.random() < 0.7 else new or [""]
    return "".join(parts).encode(errors="surrogateescape")


def nodes(value):
    """All places in a JSON value, as pairs of what they are in and their key there."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []:
        yield value, key
        yield from nodes(value[key])


def odd_json(chance):
    """The text of some value that nobody expects."""
    number = ["-1", "0", "0.5", "-0.0", "9007199254740993", "18446744073709551615", "18446744073709551616", "1e308", "1e999", "NaN"]
    depth = chance.choice([100, 127, 128, 100_000])
    text = ['""', '"\\u0000\\u001b[2J"', '"\\ud800"', json.dumps("x" * 100_000), '"chordal-stats/1"', '"\n"']
    other = ["null", "true", "[]", "{}", "[[]]", "[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, '{"a":1,"a":2}']
    return chance.choice(chance.choice([number, text, other]))


def damaged_json(data, other, chance):
    """Wrong types, missing and double keys, huge numbers, depth; of JSON Lines, in one of the lines."""
    if chance.randrange(5) == 0:
        return damaged_bytes(data, other, chance)
    lines = data.decode().splitlines(keepends=True)
    is_lines = lines[0].startswith('{"')
    index = chance.randrange(len(lines)) if is_lines else 0
    document = json.loads(lines[index] if is_lines else data)
    mark = "\ue000"
    for _ in range(chance.choice([1, 1, 2])):
        places = list(nodes(document))
        (inside, key), (donor, donated) = chance.choice(places), chance.choice(places)
        match chance.randrange(6):
            case 0 | 1:
                inside[key] = mark
            case 2:
                del inside[key]
            case 3:
                inside[key] = json.loads(json.dumps(donor[donated]))
            case 4 if isinstance(inside, dict):
                inside[f"{mark}{key}"] = inside[key]
            case 5 if isinstance(inside, list):
                inside += [inside[key]] * chance.choice([1, 1000])
    text = json.dumps(document, ensure_ascii=False)
    # What has a mark in front of its key is there twice.
    text = text.replace(f'"{mark}"', odd_json(chance)).replace(f'"{mark}', '"')
    lines[index:] = [text, "\n", *lines[index + 1 :]] if is_lines else [text]
    return "".join(lines).encode()


DAMAGE = {"bitcode": damaged_bytes, "object": damaged_bytes, "statistics": damaged_json, "records": damaged_json}


class Trial:
    """An input and a command that reads it."""

    def __init__(self, seed, folder, arguments, whole, kinds):
        chance = random.Random(seed)
        self.folder, self.chordal = folder, arguments.chordal
        self.kind = chance.choice(kinds)
        data, other = chance.choice(whole[self.kind]), chance.choice(whole[self.kind])
        self.input = f"input.{self.kind}"
        command = chance.choice(COMMANDS[self.kind])
        self.words = command.replace("{}", self.input).replace("{a}", chance.choice(ALLOCATORS)).split()
        (folder / self.input).write_bytes(DAMAGE.get(self.kind, damaged_text)(data, other, chance))
        for path in arguments.samples.glob("whole.*"):
            if path.name in self.words:
                shutil.copy(path, folder)
        self.outputs = [name for name in ["out", "counts"] if name in self.words]
        for name in self.outputs:
            (folder / name).write_text(OLD)

    def run(self):
        """Runs the command; what it did, if it came to an end."""
        (self.folder / "tmp").mkdir()
        environment = {"TMPDIR": str(self.folder / "tmp"), "PATH": "/usr/bin:/bin"}
        command = ["prlimit", f"--as={BYTES}", "--", self.chordal, *self.words]
        try:
            return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"no end after {SECONDS} s") from None

    def test(self):
        """What became of it."""
        before = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        done = self.run()
        said = done.stderr.decode(errors="replace")
        loud = next((word for word in LOUD if word in said), None)
        if loud or done.returncode not in (0, 1):
            raise Failed(f"status {done.returncode}: {said.strip()[:500]}")
        for name in ["tmp", "."]:
            new = {path.name for path in (self.folder / name).iterdir()} - {*before, "tmp"}
            if new:
                raise Failed(f"it left {', '.join(sorted(new))}")
        errors = [line for line in said.splitlines() if not line.startswith("chordal: warning: ")]
        if done.returncode == 0:
            return self.succeeded(errors, done)
        if len(errors) != 1 or not errors[0].startswith("chordal: error: "):
            raise Failed(f"not one message: {said.strip()[:500]}")
        changed = [name for name, old in before.items() if (self.folder / name).read_bytes() != old]
        if self.words[0] not in SHOW_ALL:
            if changed or done.stdout:
                raise Failed(f"it failed, but wrote {changed or 'to standard output'}: {said.strip()}")
            if self.input not in errors[0]:
                raise Failed(f"the message does not name the file: {said.strip()}")
        return "LLVM crashed" if CRASHED.search(errors[0]) else "refused"

    def succeeded(self, errors, done):
        """What is wrong with what is said to be right."""
        if errors:
            raise Failed(f"done, but: {errors[0][:500]}")
        unchanged = [name for name in self.outputs if (self.folder / name).read_text(errors="replace") == OLD]
        if unchanged:
            raise Failed(f"done, but {unchanged[0]} is the old one")
        json_files = ["counts"] if "counts" in self.outputs else []
        texts = [(self.folder / name).read_bytes() for name in json_files]
        if "json" in self.words:
            texts.append((self.folder / "out").read_bytes() if "out" in self.outputs else done.stdout)
        for text in texts:
            json.loads(text, parse_constant=lambda word: self.no_json(word))
        return "done"

    @staticmethod
    def no_json(word):
        raise Failed(f"the result has {word}, which is no JSON")

    def keep(self, kept, seed, why):
        """Keeps what somebody needs who looks for the cause."""
        place = kept / str(seed)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.folder, place)
        (place / "why").write_text(f"{why}\n")
        (place / "command").write_text(f"#!/bin/sh\n{shlex.join(map(str, [self.chordal, *self.words]))}\n")
        return place


def attempt(seed, arguments, whole, kinds):
    """Tries one input; what kind it was, what became of it, and what to say."""
    with tempfile.TemporaryDirectory(prefix="chordal-fuzz-") as folder:
        trial = Trial(seed, Path(folder), arguments, whole, kinds)
        try:
            return trial.kind, trial.test(), None
        except (Failed, json.JSONDecodeError) as why:
            place = trial.keep(arguments.keep, seed, why)
            return trial.kind, "WRONG", f"FAIL seed {seed}: chordal {shlex.join(trial.words)}: {why}\n     kept in {place}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=1000, metavar="N", help="how many inputs [default: 1000]")
    parser.add_argument("--seed", type=int, default=1, help="the first seed [default: 1]")
    parser.add_argument("--jobs", type=int, default=2, help="how many side by side [default: 2]")
    parser.add_argument("--only", choices=COMMANDS, action="append", help="a kind of input [default: all]")
    parser.add_argument("--chordal", type=Path, default=ROOT / "target/release/chordal", help="the binary")
    parser.add_argument("--keep", type=Path, default=ROOT / "target/fuzz-input", help="where failures are kept")
    arguments = parser.parse_args()
    arguments.chordal, arguments.keep = arguments.chordal.resolve(), arguments.keep.resolve()
    kinds = arguments.only or list(COMMANDS)
    results = Counter()
    with tempfile.TemporaryDirectory(prefix="chordal-fuzz-") as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        arguments.samples = Path(folder)
        whole = samples(arguments.chordal, arguments.samples)
        seeds = range(arguments.seed, arguments.seed + arguments.count)
        for done, (kind, result, message) in enumerate(pool.map(lambda seed: attempt(seed, arguments, whole, kinds), seeds), 1):
            results[f"{kind} {result}"] += 1
            if message:
                print(message, flush=True)
            if done % 1000 == 0 or done == arguments.count:
                print(f"{done} inputs: {', '.join(f'{count} {result}' for result, count in sorted(results.items()))}", flush=True)
    return 1 if any(result.endswith("WRONG") for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
