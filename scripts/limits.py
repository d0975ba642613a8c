#!/usr/bin/env python3
"""Functions as large as functions can be: time and memory of compiling them, compared with LLVM's greedy allocator.

    scripts/limits.py                 every shape, at its full size, a quarter and a sixteenth of it
    scripts/limits.py switch phis     some shapes
    scripts/limits.py --largest 4     sizes divided by 4
    scripts/limits.py --timeout 600   a compilation that takes longer than ten minutes counts as failed

Both compile the same bitcode to an object file that is thrown away, chordal with its checker. The time is the processor time of
the whole process, so that other work on the machine hardly affects it; if cost is linear in size, the microseconds for each
instruction of the bitcode are constant. Exit status 1 if something was not compiled.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def straight(n):
    """One block: sums of values before them, near and far."""
    yield "define i64 @f(ptr %p) {\n%v0 = load i64, ptr %p"
    for i in range(1, n):
        yield f"%v{i} = {'add' if i % 3 else 'xor'} i64 %v{i - 1}, {f'%v{i - 7}' if i > 7 and i % 5 else i}"
    yield f"ret i64 %v{n - 1}\n}}"


def branches(n):
    """Ten instructions a turn: a sequence of conditions, and φs where their sides meet."""
    yield "define i64 @f(ptr %p, i64 %n) {\nbr label %b0\nb0:\n%x0 = add i64 %n, 0"
    for i in range(n // 10):
        yield f"%a{i} = getelementptr i64, ptr %p, i64 {i}\n%l{i} = load volatile i64, ptr %a{i}"
        yield f"%c{i} = icmp slt i64 %l{i}, %x{i}\nbr i1 %c{i}, label %t{i}, label %e{i}"
        yield f"t{i}:\n%y{i} = add i64 %x{i}, %l{i}\nstore volatile i64 %y{i}, ptr %a{i}\nbr label %b{i + 1}"
        yield f"e{i}:\n%z{i} = mul i64 %x{i}, %n\nstore volatile i64 %n, ptr %a{i}\nbr label %b{i + 1}"
        yield f"b{i + 1}:\n%x{i + 1} = phi i64 [ %y{i}, %t{i} ], [ %z{i}, %e{i} ]"
    yield f"ret i64 %x{n // 10}\n}}"


def switch(n):
    """A switch in a loop: each case goes back with a value of its own."""
    yield "define i64 @f(ptr %p, i64 %n) {\nbr label %head\nhead:"
    yield "%x = phi i64 [ 0, %0 ], " + ", ".join(f"[ %y{i}, %c{i} ]" for i in range(n))
    yield "%s = load volatile i64, ptr %p\nswitch i64 %s, label %out [" + " ".join(f"i64 {i}, label %c{i}" for i in range(n)) + "]"
    for i in range(n):
        yield f"c{i}:\n%l{i} = load volatile i64, ptr %p\n%y{i} = add i64 %x, %l{i}\nbr label %head"
    yield "out:\nret i64 %x\n}"


def phis(n):
    """A loop with so many φs, each of which takes its neighbour."""
    yield "define i64 @f(ptr %p, i64 %n) {"
    for i in range(n):
        yield f"%a{i} = getelementptr i64, ptr %p, i64 {i}\n%i{i} = load volatile i64, ptr %a{i}"
    yield "br label %head\nhead:"
    for i in range(n):
        yield f"%x{i} = phi i64 [ %i{i}, %0 ], [ %y{i}, %head ]"
    for i in range(n):
        yield f"%y{i} = add i64 %x{i}, %x{(i + 1) % n}"
    yield "%c = icmp slt i64 %y0, %n\nbr i1 %c, label %head, label %out\nout:"
    yield "store volatile i64 %y0, ptr %p"
    for i in range(1, n):
        yield f"store volatile i64 %y{i}, ptr %a{i}"
    yield "ret i64 %y0\n}"


def live(n):
    """Five values live at once for every six blocks."""
    values, blocks = 5 * n, 6 * n
    yield "define i64 @f(ptr %p, i64 %n) {"
    for i in range(values):
        yield f"%a{i} = getelementptr i64, ptr %p, i64 {i}\n%v{i} = load volatile i64, ptr %a{i}"
    yield "br label %b0\nb0:"
    for i in range(blocks // 2):
        yield f"%l{i} = load volatile i64, ptr %p\n%c{i} = icmp slt i64 %l{i}, %n\nbr i1 %c{i}, label %t{i}, label %b{i + 1}"
        yield f"t{i}:\nstore volatile i64 %v{i * 7 % values}, ptr %p\nbr label %b{i + 1}\nb{i + 1}:"
    for i in range(values):
        yield f"store volatile i64 %v{i}, ptr %p"
    yield "ret i64 %n\n}"


def nest(n):
    """Loops in loops."""
    yield "declare i64 @g(i64)\ndefine i64 @f(ptr %p, i64 %n) {\nbr label %h0"
    for i in range(n):
        outer = "%0" if i == 0 else f"%h{i - 1}"
        start = "0" if i == 0 else f"%r{i - 1}"
        yield f"h{i}:\n%x{i} = phi i64 [ {start}, {outer} ], [ %y{i}, %t{i} ]\n%r{i} = call i64 @g(i64 %x{i})"
        yield f"br label %{f'h{i + 1}' if i + 1 < n else f't{i}'}"
    for i in reversed(range(n)):
        yield f"t{i}:\n%y{i} = call i64 @g(i64 %x{i})\n%c{i} = icmp slt i64 %y{i}, %n"
        yield f"br i1 %c{i}, label %h{i}, label %{f't{i - 1}' if i else 'out'}"
    yield "out:\nret i64 %y0\n}"


def exits(n):
    """A sequence of loops that may be skipped, and that leave the function with a value of theirs."""
    yield "declare i64 @g(i64)\ndefine i64 @f(ptr %p, i64 %n) {\nbr label %b0\nb0:\n%x0 = add i64 %n, 0"
    for i in range(n):
        yield f"%a{i} = getelementptr i64, ptr %p, i64 {i}\n%l{i} = load volatile i64, ptr %a{i}"
        yield f"%c{i} = icmp slt i64 %l{i}, %n\nbr i1 %c{i}, label %h{i}, label %b{i + 1}"
        yield f"h{i}:\n%y{i} = phi i64 [ %x{i}, %b{i} ], [ %z{i}, %h{i} ]\n%z{i} = call i64 @g(i64 %y{i})"
        yield f"%d{i} = icmp slt i64 %z{i}, %n\nbr i1 %d{i}, label %h{i}, label %t{i}"
        yield f"t{i}:\n%e{i} = icmp eq i64 %z{i}, {i}\nbr i1 %e{i}, label %out, label %b{i + 1}"
        yield f"b{i + 1}:\n%x{i + 1} = phi i64 [ %x{i}, %b{i} ], [ %z{i}, %t{i} ]"
    yield f"br label %out\nout:\n%r = phi i64 [ %x{n}, %b{n} ], " + ", ".join(f"[ %z{i}, %t{i} ]" for i in range(n))
    yield "ret i64 %r\n}"


# Each with its size.
SHAPES = {
    "straight": (straight, 300_000),
    "branches": (branches, 1_000_000),
    "switch": (switch, 50_000),
    "phis": (phis, 10_000),
    "live": (live, 1_000),
    "nest": (nest, 1_000),
    "exits": (exits, 20_000),
}


def compiled(chordal, allocator, module, seconds):
    """Seconds of a processor and megabytes that a compilation takes, or why it fails."""
    command = [chordal, "compile", "--no-fallback", "--allocator", allocator, "--emit", "obj", "-o", "/dev/null", module]
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(["timeout", str(seconds), *command], stdout=subprocess.DEVNULL, stderr=messages)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        messages.seek(0)
        words = messages.read().decode(errors="replace")
    if process.returncode == 124:
        return None, f"not ended after {seconds} s"
    if process.returncode != 0:
        return None, words.strip().splitlines()[-1] if words.strip() else f"exit status {process.returncode}"
    return (usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024), ""


def measure(chordal, name, size, folder, seconds):
    """A line of the table; whether all was compiled."""
    shape, _ = SHAPES[name]
    text, module = folder / "limit.ll", folder / "limit.bc"
    instructions = 0
    # Line by line: a process begins with the memory of the one that starts it, as far as its peak is concerned.
    with text.open("w") as out:
        print('target triple = "x86_64-unknown-linux-gnu"', file=out)
        for lines in shape(size):
            print(lines, file=out)
            instructions += sum(line.startswith(("%", "br", "store", "switch", "ret")) for line in lines.splitlines())
    subprocess.run(["clang-22", "-Wno-override-module", "-c", "-emit-llvm", "-Xclang", "-disable-llvm-passes", text, "-o", module], check=True)
    theirs, _ = compiled(chordal, "llvm-greedy", module, seconds)
    ours, why = compiled(chordal, "tuned", module, seconds)
    cells = [f"{name:9} {size:9,}"]
    for run in (ours, theirs):
        cells.append(f"{run[0]:8.2f} {run[1]:7,.0f} {run[0] / instructions * 1e6:7.1f}" if run else f"{'-':>8} {'-':>7} {'-':>7}")
    if ours and theirs:
        cells.append(f"{ours[0] / theirs[0]:6.2f} {ours[1] / theirs[1]:6.2f}")
    print("  ".join(cells), why, flush=True)
    return ours is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", choices=[*SHAPES, []], metavar="SHAPE", help=", ".join(SHAPES))
    parser.add_argument("--largest", type=int, default=1, metavar="N", help="divide all sizes by N")
    parser.add_argument("--timeout", type=int, default=3600, metavar="SECONDS", help="for each compilation (default: an hour)")
    parser.add_argument("--chordal", type=Path, default=ROOT / "target/release/chordal", metavar="PATH")
    arguments = parser.parse_args()
    print(f"{'':19}  {'tuned':^24}  {'llvm-greedy':^24}  {'tuned / greedy':^13}")
    print(f"{'shape':9} {'size':>9}  {'s':>8} {'MB':>7} {'us/inst':>7}  {'s':>8} {'MB':>7} {'us/inst':>7}  {'time':>6} {'memory':>6}")
    good = True
    with tempfile.TemporaryDirectory(prefix="chordal-limits-") as folder:
        for name in arguments.shapes or SHAPES:
            for part in (16, 4, 1):
                good &= measure(arguments.chordal, name, max(SHAPES[name][1] // arguments.largest // part, 16), Path(folder), arguments.timeout)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
