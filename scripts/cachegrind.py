"""cachegrind.py ASSEMBLY FILE...: what Cachegrind counted, for scripts/executed.

Instructions, loads and stores of each function that is in the assembly file, summed over Cachegrind's output files. The
program has been assembled with debug information, so that each instruction has a line of its own.
"""

import json
import os
import re
import sys
from collections import defaultdict

# Instructions that read their last operand and write it. Cachegrind takes both for one read.
MODIFIES = re.compile(
    r"(add|sub|adc|sbb|and|or|xor|inc|dec|neg|not|sh[lr]d?|sa[lr]|ro[lr]|rc[lr]|xchg|xadd|cmpxchg|bt[src])[bwlq]?\s+(.*)"
)
PREFIXES = re.compile(r"\s*((lock|rep\w*|xacquire|xrelease)\s+)*")


def modifies_memory(line):
    """Whether an instruction reads and writes one place in memory."""
    match = MODIFIES.fullmatch(line, PREFIXES.match(line).end())
    if not match:
        return False
    operands = re.split(r",\s*(?![^(]*\))", match[2].split("#")[0].strip())
    if match[1] == "xchg":
        return any(in_memory(operand) for operand in operands)
    return in_memory(operands[-1])


def in_memory(operand):
    return not re.fullmatch(r"%\w+|\$.*", operand)


def count(assembly, *files):
    with open(assembly) as file:
        modifying = {number for number, line in enumerate(file, 1) if modifies_memory(line.rstrip("\n"))}
    functions = defaultdict(lambda: [0, 0, 0])
    for file in files:
        for function, line, instructions, reads, writes in events(file, os.path.basename(assembly)):
            counts = functions[function]
            counts[0] += instructions
            counts[1] += reads
            counts[2] += writes + (reads if line in modifying else 0)
    total = [sum(column) for column in zip(*functions.values())]
    json.dump({"total": dict(zip(("instructions", "loads", "stores"), total)), "functions": functions}, sys.stdout)


def events(path, source):
    """Of each line of a source file that Cachegrind saw executed: function, line, instructions, reads and writes."""
    ours, columns = False, None
    with open(path) as file:
        for text in file:
            key, _, rest = text.partition("=")
            if text.startswith("events: "):
                names = text.split()[1:]
                columns = [1 + names.index(name) for name in ("Ir", "Dr", "Dw")]
            elif key == "fl":
                ours = os.path.basename(rest.rstrip("\n")) == source
            elif key == "fn":
                function = rest.rstrip("\n")
            elif ours and text[0].isdigit():
                row = [int(word) for word in text.split()]
                yield (function, row[0], *(row[column] for column in columns))


if __name__ == "__main__":
    count(*sys.argv[1:])
