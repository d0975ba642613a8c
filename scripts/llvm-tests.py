#!/usr/bin/env python3
"""LLVM's own tests of x86 code generation: chordal compiles what llc compiles, and hardly anything is left to LLVM's allocator.

    scripts/llvm-tests                          all of them, after fetching their sources
    scripts/llvm-tests.py FOLDER                those in a folder
    scripts/llvm-tests.py FOLDER --only AMX/    those with this in their names
    scripts/llvm-tests.py FOLDER --list         the findings, by test
    scripts/llvm-tests.py FOLDER --compare      and the functions that cost more than with LLVM's greedy allocator

A test is a module and the commands that compile it. Each different way in which it calls `llc` is a case: processor, target and
attributes are put into a copy of the module (by opt), with Linux in place of other systems. Both `chordal compile --verify-llvm`
and llc compile the copy. A case that both refuse, or in which llc crashes as well, proves nothing.

The output lists the functions left to LLVM's greedy allocator, by reason; code that chordal's checker or LLVM's verifier rejects;
and cases that only one of the two compiles. Exit status 1 if any of this is not among the exceptions that the file
testdata/llvm-tests.txt explains.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPT, LLC = "opt-22", "llc-22"
LINUX = "-unknown-linux-gnu"
# How long a module may take.
SECONDS = 120
# Options of llc that say what functions are like: opt has them, too, and turns them into attributes.
ATTRIBUTES = ("mcpu", "mattr", "frame-pointer", "stackrealign", "disable-tail-calls")
# Options of llc that flags of the module stand for.
FLAGS = {
    ("relocation-model", "pic"): ('i32 8, !"PIC Level", i32 2', '"PIC Level"'),
    ("code-model", "medium"): ('i32 1, !"Code Model", i32 3', '"Code Model"'),
    ("code-model", "large"): ('i32 1, !"Code Model", i32 4', '"Code Model"'),
}
FELL_BACK = re.compile(r"warning: .*: function (.+): left to LLVM's greedy allocator: (.*)")
# What chordal says of itself where it finds a defect.
DEFECTS = ("this is a bug in chordal", "LLVM's machine verifier rejects", "after all: ", "panicked", "internal error")


def target(triple):
    """The triple for Linux that stands for one, if there is any."""
    processor = triple.split("-")[0]
    if triple.endswith("x32") or not re.fullmatch(r"x86_64h?|amd64|x86[-_]64|i[3-6]86|x86", processor):
        return None
    if "linux" in triple and triple.count("-") > 1:
        return triple
    return ("x86_64" if "64" in processor else "i386") + LINUX


def options(words):
    """The options of a command, by name; those that may be repeated are joined."""
    found, words = {}, [re.sub("^--", "-", word) for word in words]
    for at, word in enumerate(words):
        name, _, value = word[1:].partition("=")
        if word[:1] != "-":
            continue
        if not value and name in ("mtriple", "mcpu", "mattr", "march", "relocation-model", "code-model"):
            value = words[at + 1] if at + 1 < len(words) else ""
        found[name] = f"{found[name]},{value}" if name == "mattr" and name in found else value
    return found


def commands(text):
    """The commands that a test has llc do with the module as it is, each as a list of words."""
    runs = re.sub(r"\\\s*\n[;#\s]*RUN:", " ", "\n".join(re.findall(r"RUN:.*", text)))
    for run in runs.splitlines():
        try:
            lexer = shlex.shlex(run.removeprefix("RUN:"), posix=True, punctuation_chars="|")
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:
            words = run.removeprefix("RUN:").replace("|", " | ").split()
        words = words[1:] if words[:1] == ["not"] else words
        if words[:1] == ["llc"]:
            yield words[1 : words.index("|") if "|" in words else None]


def cases(text):
    """How a test has its module compiled: pairs of what opt is told and of the flags that the module gets."""
    own = re.search(r'^target triple *= *"([^"]*)"', text, re.MULTILINE)
    found = {}
    for words in list(commands(text)) or [[]]:
        said = options(words)
        triple = said.get("mtriple") or {"x86": "i386", "x86-64": "x86_64"}.get(said.get("march")) or (own and own[1])
        triple = target(triple or "x86_64" + LINUX)
        if triple:
            told = [f"-mtriple={triple}"] + [f"-{name}={said[name]}".rstrip("=") for name in ATTRIBUTES if name in said]
            flags = [flag for option, flag in FLAGS.items() if said.get(option[0]) == option[1]]
            found[tuple(told), tuple(flags)] = None
    return list(found)


def flagged(text, flags):
    """A module with flags that it does not have."""
    for number, (flag, name) in enumerate(flags, 900_000_001):
        if name not in text:
            text += f"\n!llvm.module.flags = !{{!{number}}}\n!{number} = !{{{flag}}}\n"
    return text


class Case:
    """A module and how it is compiled."""

    def __init__(self, name, text, told, flags):
        self.name, self.text, self.told, self.flags = name, text, told, flags
        self.fallbacks, self.problem, self.compared = [], None, []

    def __str__(self):
        return f"{self.name} {' '.join(self.told)}{''.join(' ' + name for _, name in self.flags)}"

    def prepare(self, file):
        """Makes the copy; whether there is a module to speak of."""
        command = [OPT, *self.told, "-o", file]
        return subprocess.run(command, input=flagged(self.text, self.flags).encode(errors="surrogateescape"), capture_output=True).returncode == 0

    def llc(self, file, *also):
        """The exit status of LLVM's own compiler."""
        return run([LLC, f"-relocation-model={self.relocation()}", *also, file, "-o", "/dev/null"])[0]

    def relocation(self):
        """Where its code will be; llc's default where neither the test nor the module says."""
        return "pic" if '"PIC Level"' in flagged(self.text, self.flags) else "static"

    def test(self, arguments):
        """What became of it."""
        with tempfile.TemporaryDirectory(prefix="chordal-llvm-tests-") as folder:
            file = f"{folder}/{Path(self.name).stem}.bc"
            if not self.prepare(file):
                return "no module"
            command = [arguments.chordal, "compile", file, "-o", "/dev/null", f"--relocation-model={self.relocation()}"]
            status, said = run([*command, "--verify-llvm", *arguments.options.split()])
            llc = self.llc(file)
            compiles = llc == 0
            if status == 0 and arguments.compare:
                self.compared = list(compared(command, folder, arguments.options.split()))
            if status == 0:
                self.fallbacks = [found.groups() for found in FELL_BACK.finditer(said)]
                if not compiles:
                    self.problem = "chordal compiles what llc does not"
                return "compiled"
            why = next((line for line in said.splitlines() if "error: " in line), said.strip()[-300:])
            why = why.split("error: ")[-1].replace(f"{file}: ", "")
            if "verifier rejects" in why and self.llc(file, "-verify-machineinstrs") != 0:
                return "LLVM's verifier rejects LLVM's code"
            if status and llc and status < 0 and llc < 0:
                return "LLVM crashes too"
            if status != 1 or any(defect in said for defect in DEFECTS):
                self.problem = f"status {status}: {why}"
                return "defect"
            if compiles:
                self.problem = f"llc compiles it: {why}"
                return "refused by chordal alone"
            return "refused by LLVM too"


def run(command):
    """Runs a command; its exit status (`None` if there is no end of it), and what it says."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return None, f"no end after {SECONDS} s"


def compared(command, folder, options):
    """The functions with their overhead, and that under LLVM's greedy allocator."""
    overheads = []
    for also in (options, ["--allocator", "llvm-greedy"]):
        statistics = f"{folder}/statistics.json"
        if run([*command, "--stats", statistics, "--no-times", *also])[0] != 0:
            return
        functions = json.loads(Path(statistics).read_text())["functions"]
        overheads.append({function["name"]: function["overhead"] for function in functions if function["overhead"] is not None})
    ours, greedys = overheads
    yield from ((name, overhead, greedys[name]) for name, overhead in ours.items() if name in greedys)


def explanations(file):
    """The exceptions, by what they are about: the beginning of a reason, or a test; and why."""
    found = {}
    for line in file.read_text().splitlines():
        if line and not line.startswith("#"):
            kind, about, _why = (part.strip() for part in line.split("|", 2))
            found[kind, about] = 0
    return found


def is_explained(known, kind, text):
    """Whether an exception is about it."""
    about = next((key for key in known if key[0] == kind and text.startswith(key[1])), None)
    if about:
        known[about] += 1
    return about is not None


def some(names, most=4):
    """A few of the names."""
    names = sorted(set(names))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def report(tried, arguments):
    """Prints what was found; whether all of it is explained."""
    known = explanations(arguments.explained)
    by_reason = defaultdict(list)
    for case in tried:
        for function, reason in case.fallbacks:
            by_reason[re.sub(r"[%@]?\b[vib]?\d+\b", "N", reason)].append((case, function))
    if by_reason:
        print("\nfunctions left to LLVM's greedy allocator, by reason (N: a number):")
    unexplained = 0
    for reason, where in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        is_known = is_explained(known, "fallback", reason)
        unexplained += not is_known
        print(f"  {len(where):5}  {reason}{'' if is_known else '  (NOT EXPLAINED)'}: {some(case.name for case, _ in where)}")
        if arguments.list:
            print("".join(f"           {case}: {function}\n" for case, function in where), end="")
    problems = [case for case in tried if case.problem]
    for case in problems:
        is_known = is_explained(known, "case", case.name)
        unexplained += not is_known
        print(f"{'known' if is_known else 'FAIL '} {case}: {case.problem}")
    if arguments.compare:
        report_compared(tried, arguments.list)
    unused = [key for key, count in known.items() if not count]
    if unused and not arguments.only:
        print(f"explained, and not found: {'; '.join(f'{kind} {about}' for kind, about in unused)}")
    return unexplained == 0


def report_compared(tried, is_long):
    """Prints how many functions cost more than with LLVM's greedy allocator, each once for a test; which, the worst first."""
    found = {(case.name, name): (case, name, *costs) for case in tried for name, *costs in case.compared}
    worse = [row for row in found.values() if row[2] > row[3] * 1.02 + 0.01]
    print(f"\n{len(worse)} of {len(found)} functions have more overhead than with LLVM's greedy allocator (by more than 2%)")
    for case, name, ours, greedys in sorted(worse, key=lambda row: row[3] - row[2])[: None if is_long else 10]:
        print(f"  {ours:10.2f} {greedys:10.2f}  {case}: {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the tests are")
    parser.add_argument("--only", default="", metavar="NAME", help="tests with that in their names")
    parser.add_argument("--list", action="store_true", help="name every function that is left to LLVM")
    parser.add_argument("--compare", action="store_true", help="compare overheads with those of LLVM's greedy allocator")
    parser.add_argument("--options", default="", help="further options of chordal compile")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many side by side [default: as there are processors]")
    parser.add_argument("--chordal", type=Path, default=ROOT / "target/release/chordal", help="the binary")
    parser.add_argument("--explained", type=Path, default=ROOT / "testdata/llvm-tests.txt", help="the exceptions")
    arguments = parser.parse_args()
    files = [file for file in sorted(arguments.folder.rglob("*.ll")) if arguments.only in str(file.relative_to(arguments.folder))]
    texts = {str(file.relative_to(arguments.folder)): file.read_text(errors="surrogateescape") for file in files}
    tried = [Case(name, text, *case) for name, text in texts.items() for case in cases(text)]
    if not tried:
        sys.exit(f"no tests in {arguments.folder}")
    results = Counter()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for done, result in enumerate(pool.map(lambda case: case.test(arguments), tried), 1):
            results[result] += 1
            if done % 1000 == 0:
                print(f"{done} of {len(tried)} cases", flush=True)
    print(f"{len(files)} tests, {len(tried)} cases: {', '.join(f'{count} {result}' for result, count in results.most_common())}")
    return 0 if report(tried, arguments) else 1


if __name__ == "__main__":
    sys.exit(main())
