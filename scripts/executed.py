"""Sums up what programs executed, for scripts/executed.

  report BASE FOLDER BUILD...    ratios to the allocator BASE, what profiles gain, and how well the estimate predicts them:
                                 tables on standard output, FOLDER/executed.json (chordal-executed/1); each build has record.json and stats.json,
                                 the counts are in FOLDER/runs
  chart FOLDER SVG               draws FOLDER/executed.json, for tuned with all registers
"""

import itertools
import json
import math
import os
import sys
from collections import defaultdict

COUNTED = ("instructions", "loads", "stores")
# And their sum as the estimate weighs them.
EXECUTED = (*COUNTED, "cost")
LOAD, STORE, OTHER = 4, 1, 0.2

# Targets that are another one with a profile.
PROFILED = {"profile": "x86-64", "v3-profile": "v3"}

# What may stand for an estimate: of the whole module, or of the functions that ran; and against the base allocator's.
ESTIMATES = [(share, how) for share in ("overhead_share", "executed_share") for how in ("ratio", "difference")]


def read(*path):
    with open(os.path.join(*path)) as file:
        return json.load(file)


def records(folder, builds):
    """One a program, target, register list and allocator, with what was counted and what was estimated, and with the
    instructions that each function executed and its statistics."""
    for build in builds:
        if not os.path.exists(os.path.join(build, "record.json")):
            continue
        # Those that are older than the numeric programs say nothing of a suite.
        record, statistics = {"suite": "corpus"} | read(build, "record.json"), read(build, "stats.json")
        run = read(folder, "runs", record.pop("run") + ".json")
        record |= run["total"] | {"cost": cost(run["total"]), "overhead_share": statistics["total"]["overhead_share"]}
        functions = {function["name"]: function for function in statistics["functions"]}
        yield record, {name: counts[0] for name, counts in run["functions"].items()}, functions


def cost(counts):
    others = counts["instructions"] - counts["loads"] - counts["stores"]
    return LOAD * counts["loads"] + STORE * counts["stores"] + OTHER * others


def case(record):
    return record["program"], record["target"], record["registers"]


def compared(base, folder, builds):
    """All records, each with its ratios to the base allocator's in the same program and with the same registers."""
    rows = list(records(folder, builds))
    bases = {case(record): row for row in rows if (record := row[0])["allocator"] == base}
    for record, _, functions in rows:
        if case(record) in bases:
            _, executed, base_functions = bases[case(record)]
            # The functions that ran, each weighted by what it executed under the base allocator.
            ran = [(functions[name], base_functions[name], weight) for name, weight in executed.items() if name in functions]
            weight = sum(weight for *_, weight in ran)
            record["executed_share"] = sum(function["overhead_share"] * weight for function, _, weight in ran) / weight
            record["weighted"] = weighted(ran)
    for record, *_ in rows:
        if case(record) in bases:
            other = bases[case(record)][0]
            names = (*EXECUTED, "overhead_share", "executed_share")
            record["ratios"] = {name: ratio(record[name], other[name]) for name in names}
            record["differences"] = {name: record[name] - other[name] for name in names[-2:]}
    return [record for record, *_ in rows]


def weighted(ran):
    """What was counted by block frequency, as ratios: each function is scaled to the instructions that it executed under the
    base allocator."""
    ours, base = defaultdict(float), defaultdict(float)
    for function, base_function, executed in ran:
        if estimated := base_function["weighted"]["instructions"]:
            for sums, counts in ((ours, function["weighted"]), (base, base_function["weighted"])):
                for name, count in (counts | {"cost": cost(counts)}).items():
                    sums[name] += count * executed / estimated
    return {name: ratio(ours[name], base[name]) for name in EXECUTED}


def ratio(count, base):
    return count / base if base else None


def geometric_mean(values):
    """None of no values."""
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else None


def ranks(values):
    """From 1; equal values share the mean of theirs."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) + 1) / 2 for value in values]


def spearman(pairs):
    """The rank correlation; none of fewer than three pairs, or where one side is constant."""
    if len(pairs) < 3:
        return None
    xs, ys = (ranks(side) for side in zip(*pairs))
    mean = (len(pairs) + 1) / 2
    product = sum((x - mean) * (y - mean) for x, y in zip(xs, ys))
    norm = math.sqrt(sum((x - mean) ** 2 for x in xs) * sum((y - mean) ** 2 for y in ys))
    return product / norm if norm else None


def groups(rows):
    """By suite of programs, target and register list, in the order of appearance."""
    found = defaultdict(list)
    for record in rows:
        found[record["suite"], record["target"], record["registers"]].append(record)
    return found


def summaries(rows):
    for (suite, target, registers), group in groups(rows).items():
        for allocator in dict.fromkeys(record["allocator"] for record in group):
            chosen = [record["ratios"] for record in group if record["allocator"] == allocator]
            yield {"suite": suite, "target": target, "registers": registers, "allocator": allocator,
                   "programs": len(chosen), "ratios": means(chosen)}


def means(ratios):
    return {name: geometric_mean([each[name] for each in ratios if each[name]]) for name in EXECUTED}


def gains(rows):
    """What is executed with a profile, by what the same allocator's code executes without."""
    counted = {(*case(record), record["allocator"]): record for record in rows}
    for (suite, target, registers), group in groups(rows).items():
        if target not in PROFILED:
            continue
        for allocator in dict.fromkeys(record["allocator"] for record in group):
            pairs = [(record, counted.get((record["program"], PROFILED[target], registers, allocator)))
                     for record in group if record["allocator"] == allocator]
            chosen = [{name: ratio(record[name], other[name]) for name in EXECUTED} for record, other in pairs if other]
            yield {"suite": suite, "target": target, "registers": registers, "allocator": allocator,
                   "programs": len(chosen), "ratios": means(chosen)}


def correlations(rows):
    """Of the estimates with what was executed, which is a ratio to the base allocator's."""
    for (suite, target, registers), group in [(("all", "all", "all"), rows), *groups(rows).items()]:
        for estimate, how in ESTIMATES:
            estimated = [(record[how + "s"][estimate], record["ratios"]) for record in group]
            estimated = [(value, ratios) for value, ratios in estimated if value is not None]
            line = {"suite": suite, "target": target, "registers": registers, "estimate": estimate, "as": how,
                    "points": len(estimated)}
            for name in EXECUTED:
                line[name] = spearman([(value, ratios[name]) for value, ratios in estimated if ratios[name] is not None])
            yield line
        line = {"suite": suite, "target": target, "registers": registers, "estimate": "weighted", "as": "ratio",
                "points": len(group)}
        for name in EXECUTED:
            pairs = [(record["weighted"][name], record["ratios"][name]) for record in group]
            line[name] = spearman([pair for pair in pairs if None not in pair])
        yield line


def agreements(rows):
    """Pairs of allocators in the same program and with the same registers: how many does an estimate put in their order?"""
    for (suite, target, registers), group in [(("all", "all", "all"), rows), *groups(rows).items()]:
        pairs = [pair for pair in itertools.combinations(group, 2) if case(pair[0]) == case(pair[1])]
        for estimate in ("overhead_share", "executed_share"):
            line = {"suite": suite, "target": target, "registers": registers, "estimate": estimate, "pairs": len(pairs)}
            yield line | {name: sum((x[estimate] < y[estimate]) == (x[name] < y[name]) for x, y in pairs) for name in EXECUTED}


def table(header, rows):
    print(f"\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def numbers(values):
    return ["-" if values[name] is None else f"{values[name]:.3f}" for name in EXECUTED]


def machine(line):
    if line["target"] == "all":
        return "all"
    return f"{line['target']}, {line['registers']}" + (", numeric" if line["suite"] == "numeric" else "")


def report(base, folder, *builds):
    rows = [record for record in compared(base, folder, builds) if "ratios" in record]
    if not rows:
        sys.exit("error: nothing was counted")
    others = [record for record in rows if record["allocator"] != base]
    document = {"schema": "chordal-executed/1", "base": base, "records": rows,
                "summary": list(summaries(others)), "profile": list(gains(rows)), "correlation": list(correlations(others)),
                "agreement": list(agreements(rows))}
    with open(os.path.join(folder, "executed.json"), "w") as file:
        json.dump(document, file, indent=1)
    show(document, others)


def show(document, others):
    base = document["base"]
    print(f"Geometric means of the ratios to {base}:")
    table(["registers", "allocator", "programs", *EXECUTED],
          [[machine(line), line["allocator"], str(line["programs"]), *numbers(line["ratios"])] for line in document["summary"]])
    if document["profile"]:
        print("\nWith profiles, by the same allocator's code without:")
        table(["registers", "allocator", "programs", *EXECUTED],
              [[machine(line), line["allocator"], str(line["programs"]), *numbers(line["ratios"])] for line in document["profile"]])
    print("\nRank correlation with what was executed:")
    table(["registers", "estimate", "points", *EXECUTED],
          [[machine(line), f"{line['estimate']}, {line['as']}", str(line["points"]), *numbers(line)]
           for line in document["correlation"]])
    print("\nPairs of allocators in the same program, and how many of them the estimate puts in the order of what was executed:")
    table(["registers", "estimate", "pairs", *EXECUTED],
          [[machine(line), line["estimate"], str(line["pairs"]), *(str(line[name]) for name in EXECUTED)]
           for line in document["agreement"]])
    print(f"\nEach program; {base} in millions, the others as ratios:")
    absolute = {case(record): record for record in document["records"] if record["allocator"] == base}
    table(["registers", "program", *(f"{base}: {name}" for name in COUNTED), "allocator", *EXECUTED],
          [[machine(record), record["program"], *(f"{absolute[case(record)][name] / 1e6:.2f}" for name in COUNTED),
            record["allocator"], *numbers(record["ratios"])]
           for group in groups(others).values() for record in group])


# The two charts, side by side, and their bars: what is drawn, in which colour.
DRAWN = ("instructions", "loads")
COLOURS = {("x86-64", "all"): "#0072B2", ("i386", "all"): "#D55E00"}
NAMES, WIDTH, BAR, GAP, TOP = 110, 340, 9, 6, 48


def chart(folder, svg):
    document = read(folder, "executed.json")
    ratios = {case(record): record["ratios"] for record in document["records"] if record["allocator"] == "tuned"}
    programs = list(dict.fromkeys(program for program, target, registers in ratios if (target, registers) in COLOURS))
    group = BAR * len(COLOURS) + GAP
    width, height = NAMES + len(DRAWN) * WIDTH, TOP + group * len(programs) + 40
    marks = [text(NAMES - 8, TOP + group * row + BAR + 4, program, "end") for row, program in enumerate(programs)]
    for index, name in enumerate(DRAWN):
        marks += panel(ratios, programs, name, NAMES + index * WIDTH, height - 40, document["base"])
    for row, ((target, registers), colour) in enumerate(COLOURS.items()):
        marks += [rectangle(NAMES + 190 * row, height - 16, 12, colour), text(NAMES + 190 * row + 18, height - 7,
                                                                            f"{target}, {registers} registers")]
    with open(svg, "w") as file:
        file.write(f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"'
                   f' font-family="sans-serif" font-size="12">\n<rect width="{width}" height="{height}" fill="#FFFFFF"/>\n')
        file.write("\n".join(marks) + "\n</svg>\n")


def panel(ratios, programs, name, left, bottom, base):
    """Bars from 1, to the left where less is executed than by the base allocator's code."""
    values = [ratios[case][name] for case in ratios if case[1:] in COLOURS]
    low, high = min(0.9, *values), max(1.05, *values)
    room = 40

    def place(value):
        return left + room + (value - low) / (high - low) * (WIDTH - 2 * room)

    yield text(left + WIDTH / 2, 20, f"executed {name}, ratio to {base}", "middle")
    group = BAR * len(COLOURS) + GAP
    for row, program in enumerate(programs):
        for index, (case_of, colour) in enumerate(COLOURS.items()):
            if (program, *case_of) not in ratios:
                continue
            value, top = ratios[program, *case_of][name], TOP + group * row + BAR * index
            yield rectangle(min(place(value), place(1)), top, abs(place(value) - place(1)), colour)
            side, away = ("end", -3) if value < 1 else ("start", 3)
            yield text(place(value) + away, top + BAR - 1, f"{value:.2f}", side, 9)
    yield f'<line x1="{place(1):.1f}" x2="{place(1):.1f}" y1="{TOP - 8}" y2="{bottom}" stroke="#000000"/>'
    yield text(place(1), TOP - 12, "1", "middle")


def text(x, y, content, anchor="start", size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{content}</text>'


def rectangle(x, y, width, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'


if __name__ == "__main__":
    {"report": report, "chart": chart}[sys.argv[1]](*sys.argv[2:])
