#!/usr/bin/env bash
# Two sources of a folder do not define the same name in their anonymous namespaces: a unity build compiles several of them as one.
# Functions with different parameters may share a name; a function and a constant may not.
set -euo pipefail
cd "$(dirname "$0")/../.."
python3 - <<'END'
import collections, glob, os, re, sys

defined = collections.defaultdict(set)
for path in glob.glob("src/**/*.cpp", recursive=True):
    with open(path) as file:
        text = file.read()
    outer = re.search(r"^namespace ([\w:]+) \{", text, re.M)
    for body in re.findall(r"^namespace \{\n(.*?)^\}  // namespace\n", text, re.S | re.M):
        for line in re.findall(r"^[A-Za-z].*", body, re.M):
            if match := re.match(r"(?:struct|class|enum class) (\w+)", line):
                name, parameters = match.group(1), ""
            elif match := re.match(r"(?:const|constexpr)\b[\w:<>,*& ]*?[ *&](\w+)(?:\[\])?(?: =|\{|;)", line):
                name, parameters = match.group(1), ""
            elif match := re.match(r"(?!using|return)[\w:<>,*& ]*?[ *&](\w+)\((.*)", line):
                name, parameters = match.group(1), re.sub(r"\b\w+(?=[,)])", "", match.group(2))
            else:
                continue
            defined[os.path.dirname(path), outer and outer.group(1), name, parameters].add(path)
places = collections.defaultdict(set)
for (*where, parameters), paths in defined.items():
    if parameters:
        places[(*where, parameters)] |= paths | defined.get((*where, ""), set())
    else:
        places[(*where, "")] |= paths
twice = sorted({f"{name} is defined in {' and '.join(sorted(paths))}" for (_, _, name, _), paths in places.items() if len(paths) > 1})
print("\n".join(twice))
sys.exit(1 if twice or len(defined) < 1000 else 0)
END
