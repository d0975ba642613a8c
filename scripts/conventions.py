#!/usr/bin/env python3
"""Random modules of functions with many calling conventions and attributes: they print what LLVM's own build prints.

    scripts/conventions.py                100 modules, with seeds 1 to 100
    scripts/conventions.py 10000          this many modules
    scripts/conventions.py 1 --seed 77    one module again

Each module is LLVM IR for x86-64 or i386: small functions in random order, each with its own calling convention, attributes,
subtarget, parameters and results. They call each other with many values alive, and have frames of every kind and inline
assembly that destroys registers. chordal compiles the module with a random allocator, options and registers, with its checker
and LLVM's verifier, and without leaving anything to LLVM; if a function is refused, it compiles once more and leaves that one
to LLVM. The independent builds are llc's, without and with optimisation. Every random choice follows from the seed.

A module that llc itself cannot compile, or whose two builds by llc print different things, proves nothing; such modules are
counted. A failure is kept in a folder of its own: the module, its commands, the outputs of both sides, and `interesting`, a
script with which llvm-reduce makes the module small (llvm-reduce --test=interesting program.ll). Exit status 1 if anything
failed.
"""

import random
import shlex
import sys

from csmith import SECONDS, Failed, Trial, do, processor, run, try_all
from modules import Module

LLC = "llc-22"
# The builds with which ours is compared: the first one that exists; before ours is called wrong, all of them.
REFERENCES = [["-O0"], ["-O2", "-regalloc=basic"], ["-O2"]]
# Messages about limits that are not ours: LLVM's, after allocation, about assembly or a call that destroys the frame's
# registers, and while it hardens a jump to an address in memory; and an older linker's, about registers of APX that are loaded
# from the global offset table.
BEYOND = ["Interference usage of base pointer/frame pointer", "Unable to unfold load!", "unsupported relocation type"]
# Messages by which chordal reports its own defects, which never excuse leaving a function to LLVM.
DEFECTS = ("this is a bug in chordal", "LLVM's machine verifier rejects", "after all: ", "panicked")


def is_beyond(why):
    """Whether LLVM or the linker refuses what is no fault of ours."""
    return any(beyond in str(why) for beyond in BEYOND)


class Conventions(Trial):
    """A module and how it is compiled."""

    kept = ["program.ll", "program.s"]
    source = "program.ll"

    def __init__(self, seed, folder, chordal, names):
        chance = random.Random(seed)
        machine = chance.choice(["x86-64", "x86-64", "i386"])
        self.module = Module(chance, machine, processor())
        super().__init__(seed, folder, chordal)
        self.choose(chance, machine, names)

    def llc(self, *flags):
        """Has llc compile the module; its exit status."""
        command = [LLC, "program.ll", "-disable-symbolication", *self.module.flags, *flags]
        return run(command, cwd=self.folder).returncode

    def is_linked(self):
        """Makes a program of what llc has made, if the linker knows all that is in it."""
        try:
            self.link("reference.o", "reference")
            return True
        except Failed as why:
            if is_beyond(why):
                return False
            raise

    def references(self):
        """What llc's builds print, one after the other."""
        for flags in REFERENCES:
            if self.llc(*flags, "-filetype=obj", "-o", "reference.o") == 0 and self.is_linked():
                yield self.output("reference", SECONDS)
                yield self.output("reference", SECONDS)

    def is_verified(self):
        """Whether LLVM's verifier accepts what LLVM makes of it."""
        return self.llc("-verify-machineinstrs", "-o", "/dev/null") == 0

    def link(self, source, program):
        """Makes a program."""
        do(["clang++-22", *self.width, *self.module.linking, source, "-o", program], cwd=self.folder)

    def compiled(self):
        """Compiles the module; what was left to LLVM, and why."""
        try:
            self.compile("--no-fallback")
            return ""
        except Failed as why:
            if any(defect in str(why) for defect in DEFECTS):
                raise
        said = self.compile().decode(errors="replace")
        return ", with functions left to LLVM" if "left to LLVM" in said else ""

    def test(self):
        """What became of it."""
        (self.folder / "program.ll").write_text(str(self.module))
        references = self.references()
        expected = next(references, None)
        # A module of which LLVM's own build does not end well tells nothing.
        if expected is None or expected[1]:
            return "beyond LLVM"
        try:
            left = self.compiled()
            self.link("program.s", "program")
            found = self.output("program", SECONDS)
            if found != expected:
                raise Failed(f"it prints {found and found[0]!r}, not {expected[0]!r}")
        except Failed as why:
            if is_beyond(why) or ("verifier rejects" in str(why) and not self.is_verified()):
                return "beyond LLVM"
            if any(other != expected for other in references):
                return "different by LLVM alone"
            raise
        return "right" + left

    def script(self):
        """A script that says whether a module is still wrong."""
        flags, width, linking = (shlex.join(words) for words in (self.module.flags, self.width, self.module.linking))
        return f"""#!/bin/sh
# Whether a module is still wrong: llvm-reduce asks (llvm-reduce --test=interesting program.ll).
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cp "${{1:-program.ll}}" "$folder/program.ll" && cd "$folder" || exit 1
for level in O0 "O2 -regalloc=basic" O2; do
    {LLC} -$level -disable-symbolication {flags} program.ll -filetype=obj -o reference.o || continue
    clang++-22 {width} {linking} reference.o -o reference || exit 1
    timeout {SECONDS} ./reference >reference.out; echo $? >>reference.out
    [ -e expected.out ] || cp reference.out expected.out
    cmp -s reference.out expected.out || exit 1
done
[ "$(tail -n 1 expected.out)" = 0 ] || exit 1
{shlex.join(map(str, self.command))} || exit 0
clang++-22 {width} {linking} program.s -o program
timeout {SECONDS} ./program >program.out; echo $? >>program.out
! cmp -s expected.out program.out
"""


if __name__ == "__main__":
    sys.exit(try_all(__doc__, "conventions", Conventions))
