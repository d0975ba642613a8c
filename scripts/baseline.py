"""Short forms of the documents that `chordal compare` writes, for scripts/regress.

  shorten VERSIONS FILE...        one document of the same schema: only the watched totals, one run a line, and the
                                  versions of the programs
  select VERSIONS FILE MODULES    from a short form, the modules that are named in a file and still have the same version
  modules FILE                    the names of the modules of a short form

A full document has some seventy lines for each run, and a few hundred runs; a short form can be committed and reviewed.
"""

import json
import os
import sys

WATCHED = ("static", "spill", "selected", "overhead", "overhead_share", "fallbacks")


def versions(path):
    """The version of each program; of none if the corpus does not tell."""
    if not os.path.exists(path):
        return {}
    with open(path) as lines:
        next(lines, None)  # the header
        rows = (line.split() for line in lines)
        return {row[0]: row[2] for row in rows if len(row) > 2}


def program(module):
    return os.path.basename(module).split(".")[0]


def read(path):
    with open(path) as file:
        return json.load(file)


def write(modules, versions):
    programs = {program(module["source"]) for module in modules}
    known = {name: versions[name] for name in sorted(programs) if name in versions}
    print('{\n  "schema": "chordal-compare/1",')
    print(f'  "versions": {json.dumps(known)},')
    print('  "modules": [')
    texts = []
    for module in modules:
        runs = ",\n".join("      " + json.dumps(run) for run in module["runs"])
        texts.append(f'    {{"source": {json.dumps(module["source"])}, "runs": [\n{runs}\n    ]}}')
    print(",\n".join(texts))
    print("  ]\n}")


def short(run, folder):
    """What is in a folder of the corpus is summed up under the folder's name, as a target of its own."""
    kept = {key: run[key] for key in ("allocator", "registers", "outcome", "message") if key in run}
    if "statistics" in run:
        statistics = run["statistics"]
        total = {key: statistics["total"][key] for key in WATCHED}
        kept["statistics"] = {"target": folder or statistics["target"], "total": total, "functions": []}
    return kept


def shorten(versions_file, *files):
    modules = []
    for file in files:
        for module in read(file)["modules"]:
            folder = os.path.dirname(module["source"])
            modules.append({"source": module["source"], "runs": [short(run, folder) for run in module["runs"]]})
    modules.sort(key=lambda module: module["source"])
    write(modules, versions(versions_file))


def select(versions_file, file, names_file):
    document, now = read(file), versions(versions_file)
    with open(names_file) as lines:
        names = set(lines.read().split())
    selected = []
    for module in document["modules"]:
        name = module["source"]
        was = document["versions"].get(program(name))
        if name not in names:
            print(f"SKIP {name}: it is not in the corpus", file=sys.stderr)
        elif was != now.get(program(name)):
            print(f"SKIP {name}: the baseline is of version {was}, this is {now.get(program(name))}", file=sys.stderr)
        else:
            selected.append(module)
    for name in sorted(names - {module["source"] for module in document["modules"]}):
        print(f"SKIP {name}: it is not in the baseline", file=sys.stderr)
    write(selected, document["versions"])


def modules(file):
    for module in read(file)["modules"]:
        print(module["source"])


if __name__ == "__main__":
    {"shorten": shorten, "select": select, "modules": modules}[sys.argv[1]](*sys.argv[2:])
