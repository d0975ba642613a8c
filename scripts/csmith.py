#!/usr/bin/env python3
"""Random C programs under random allocators: they print what another compiler's build prints.

    scripts/csmith.py               100 programs, with seeds 1 to 100
    scripts/csmith.py 10000         this many programs
    scripts/csmith.py 1 --seed 77   one program again

Csmith makes each program, without undefined behaviour. clang-22 compiles it to bitcode, at a random level, for x86-64 or i386,
with random features of this processor. chordal compiles that with a random allocator, options and registers, with its checker
and LLVM's verifier. gcc -O0 makes the independent build. Every random choice follows from the seed.

A failure is kept in a folder of its own: the program, its commands, the outputs of both sides, and `interesting`, a script with
which C-Reduce makes the program small (creduce ./interesting program.c). Exit status 1 if anything failed.
"""

import argparse
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 20
# Most programs that take longer never end; waiting for those took as long as everything else.
PATIENCE = 3
LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Os", "-Oz"]
FLAGS = ["-fPIC", "-fno-omit-frame-pointer", "-fstack-protector-all", "-fno-inline", "-fno-strict-aliasing", "-g", "-ftrapv"]
FEATURES = {"-mavx": "avx", "-mavx2": "avx2", "-mbmi2": "bmi2", "-mavx512f": "avx512f"}
LISTS = {
    "x86-64": ["4", "6", "8", "12", "15", "all", "rax,rcx,rbx,rsi,rdi,r12", "rbx,rbp,r12,r13,r14,rdx"],
    "i386": ["5", "6", "7", "all", "eax,ecx,ebx,esi,edi"],
}
OPTIONS = [
    "--spill weight", "--spill weight-dynamic", "--spill belady", "--spill min", "--spill second-chance", "--spill priced",
    "--effort 0", "--effort 3", "--share-slots off", "--phi-memory eliminate=brisk", "--rematerialise off", "--memory-operands none", "--memory-operands spilled", "--memory-operands all",
    "--set merge-copies=on", "--set park=on", "--set sink=on", "--set delay=on", "--set forms=on", "--set split-ties=on",
    "--set split-arguments=on", "--set weigh-size=on", "--set spare-jumps=on", "--set separate-saves=on", "--coalesce none",
    "--coalesce punctual", "--coalesce units", "--coalesce recolour", "--pins avoid", "--pins repair", "--pins perm",
    "--phi-memory store-hoist=off", "--phi-memory load-lower=off", "--phi-memory load-lower=weighted",
    "--phi-memory memory-coalesce=off", "--phi-memory eliminate=spare-register", "--phi-memory eliminate=on-demand",
    "--swap xchg", "--swap xor", "--cssa none", "--cssa phi-mem", "--cssa pairwise", "--cssa by-phi", "--cssa value",
    "--out-of-ssa after=graph-colouring", "--out-of-ssa interference=chaitin", "--out-of-ssa interference=intersection",
    "--out-of-ssa virtualise=off", "--out-of-ssa liveness=sets", "--out-of-ssa merge=at-once",
]
WRONG_USAGE = 2
# The names of LLVM's allocators and of another project's are no tests of ours.
FOREIGN = ("llvm-", "optimal")


class Failed(Exception):
    """Something differs; the message says what."""


def run(command, **kept):
    """Runs a command; what it did."""
    try:
        return subprocess.run(command, capture_output=True, timeout=SECONDS * 3, **kept)
    except subprocess.TimeoutExpired:
        raise Failed(f"no end after {SECONDS * 3} s: {shlex.join(map(str, command))}") from None


def do(command, **kept):
    """Runs a command that has to succeed."""
    done = run(command, **kept)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise Failed(f"{shlex.join(map(str, command))}: status {done.returncode}: {said[0] if said else 'it said nothing'}")
    return done


def allocators(chordal):
    """The names of chordal's allocators."""
    lines = do([chordal, "list"]).stdout.decode().partition("General-purpose registers")[0].splitlines()
    names = [line.split()[0] for line in lines if re.match("  [a-z0-9-]+ ", line)]
    return [name for name in names if not name.startswith(FOREIGN)]


def processor():
    """What this processor can do."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


class Trial:
    """A program and how it is compiled."""

    # The files to keep where something fails, and the one that chordal reads.
    kept = []
    source = "program.bc"

    def __init__(self, seed, folder, chordal):
        self.seed, self.folder, self.chordal = seed, folder, chordal
        self.command = ["false"]

    def choose(self, chance, machine, names):
        """Chooses how chordal is to compile."""
        self.machine = machine
        self.width = ["-m32"] if machine == "i386" else []
        self.allocator = chance.choice(names)
        chosen = (option for option in OPTIONS if chance.random() < 0.08)
        self.options = list({re.split("=| (?!.*=)", option)[0]: option for option in chosen}.values())
        self.registers = chance.choice(LISTS[machine])

    def compile(self, *also):
        """Runs the command with the options that the allocator reads; what chordal says."""
        command = [self.chordal, "compile", self.source, "-o", "program.s", "--verify-llvm", "--allocator", self.allocator]
        command += ["--registers", self.registers, *also]
        options = []
        for option in self.options:
            trial = [*options, *option.split()]
            # Wrong usage is told before the module is looked at.
            asked = run([self.chordal, "compile", "/dev/null", "-o", "-", "--allocator", self.allocator, *trial])
            options = options if asked.returncode == WRONG_USAGE else trial
        self.command = command + options
        done = run(self.command, cwd=self.folder)
        if done.returncode:
            raise Failed(f"chordal: status {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        return done.stderr

    def output(self, program, seconds):
        """What a program prints, and how it ends; nothing if it does not end."""
        try:
            done = subprocess.run([self.folder / program], capture_output=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        return done.stdout, done.returncode

    def keep(self, folder, why):
        """Keeps what somebody needs who looks for the cause."""
        place = folder / str(self.seed)
        place.mkdir(parents=True, exist_ok=True)
        for name in self.kept:
            if (self.folder / name).exists():
                (place / name).write_bytes((self.folder / name).read_bytes())
        (place / "why").write_text(f"{why}\n")
        (place / "interesting").write_text(self.script())
        (place / "interesting").chmod(0o755)
        return place


class Csmith(Trial):
    """Csmith's program."""

    kept = ["program.c", "program.bc", "program.s"]

    def __init__(self, seed, folder, chordal, names):
        super().__init__(seed, folder, chordal)
        chance, features = random.Random(seed), processor()
        machine = chance.choice(["x86-64", "x86-64", "i386"])
        self.flags = [chance.choice(LEVELS), *(flag for flag in FLAGS if chance.random() < 0.15)]
        self.flags += [flag for flag, name in FEATURES.items() if name in features and chance.random() < 0.15]
        self.choose(chance, machine, names)

    def test(self):
        """What became of it."""
        try:
            subprocess.run(["csmith", "--seed", str(self.seed), "-o", "program.c"], cwd=self.folder, timeout=SECONDS, check=True)
        except subprocess.TimeoutExpired:
            return "endless to generate"
        sources = ["-w", "-I/usr/include/csmith", "program.c"]
        do(["gcc", "-O0", *self.width, *sources, "-o", "reference"], cwd=self.folder)
        expected = self.output("reference", PATIENCE)
        if expected is None:
            return "endless"
        do(["clang-22", *self.width, *self.flags, *sources, "-emit-llvm", "-c", "-o", "program.bc"], cwd=self.folder)
        has_fallback = b"left to LLVM's greedy allocator" in self.compile()
        do(["clang-22", *self.width, "program.s", "-o", "program"], cwd=self.folder)
        found = self.output("program", SECONDS)
        if found != expected:
            raise Failed(f"it prints {found and found[0]!r}, not {expected[0]!r}")
        return "right, with functions left to LLVM" if has_fallback else "right"

    def script(self):
        """A script that says whether a program is still wrong."""
        width, flags, chordal = shlex.join(self.width), shlex.join(self.flags), shlex.join(map(str, self.command))
        return f"""#!/bin/sh
# Whether program.c is still wrong: C-Reduce asks (creduce ./interesting program.c).
set -e
gcc -O0 {width} -w -I/usr/include/csmith program.c -o reference
gcc -O1 {width} -w -fsanitize=undefined,address -fno-sanitize-recover -I/usr/include/csmith program.c -o sane && ./sane >/dev/null
timeout {SECONDS} ./reference >expected || exit 1
clang-22 {width} {flags} -w -I/usr/include/csmith program.c -emit-llvm -c -o program.bc
{chordal} || exit 0
clang-22 {width} program.s -o program
timeout {SECONDS} ./program >found || exit 0
! cmp -s expected found
"""


def attempt(kind, seed, arguments, names):
    """Tests one program; what became of it, and what to say."""
    with tempfile.TemporaryDirectory(prefix="chordal-random-") as folder:
        trial = kind(seed, Path(folder), arguments.chordal, names)
        try:
            return trial.test(), None
        except Failed as why:
            place = trial.keep(arguments.keep, why)
            return "WRONG", f"FAIL seed {seed}: {trial.allocator} {trial.registers} {trial.machine}: {why}\n     kept in {place}"


def try_all(says, folder, kind):
    """Tests programs of a kind as the command line says; the exit status."""
    parser = argparse.ArgumentParser(description=says, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=100, metavar="N", help="how many programs [default: 100]")
    parser.add_argument("--seed", type=int, default=1, help="the first seed [default: 1]")
    parser.add_argument("--jobs", type=int, default=2, help="how many side by side [default: 2]")
    parser.add_argument("--chordal", type=Path, default=ROOT / "target/release/chordal", help="the binary")
    parser.add_argument("--keep", type=Path, default=ROOT / "target" / folder, help="where failures are kept")
    arguments = parser.parse_args()
    arguments.chordal, arguments.keep = arguments.chordal.resolve(), arguments.keep.resolve()
    names = allocators(arguments.chordal)
    results = Counter()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        seeds = range(arguments.seed, arguments.seed + arguments.count)
        for done, (result, message) in enumerate(pool.map(lambda seed: attempt(kind, seed, arguments, names), seeds), 1):
            results[result] += 1
            if message:
                print(message, flush=True)
            if done % 100 == 0:
                print(f"{done} programs: {', '.join(f'{count} {result}' for result, count in sorted(results.items()))}", flush=True)
    print(", ".join(f"{count} {result}" for result, count in sorted(results.items())))
    return 1 if results["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(try_all(__doc__, "csmith", Csmith))
