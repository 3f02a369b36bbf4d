#!/usr/bin/env bash
# Every function that a step of a playbook calls is in a file that the playbook names under `functions`: elsewhere the shell does not
# find it.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
python3 - "${1:-$top/playbooks}" <<'END'
import pathlib, re, sys, yaml

folder = pathlib.Path(sys.argv[1])
books = {path.name: yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml"))}
books = {name: book for name, book in books.items() if "phases" in book}

def files(value):
    return [value] if isinstance(value, str) else value or []

# A name that ends with a slash is a folder.
def sources(phase):
    return [file for name in files(phase.get("from"))
            for file in (sorted(str(path.relative_to(folder)) for path in (folder / name).iterdir()) if name.endswith("/") else [name])]

home = {}
for file in sorted({file for book in books.values() for file in files(book.get("functions"))}):
    for function in re.findall(r"^([a-z_0-9]+)\(\)", (folder / file).read_text(), re.M):
        home.setdefault(function, set()).add(file)
command = re.compile(r"(?:^\s*|[;&|({!]\s*|\b(?:if|then|else|do|until|while)\s+)([a-z_0-9]+)(?=[\s;)]|$)", re.M)

missing = {f"{name}: {source} calls {function} of {', '.join(sorted(home[function]))}, which is not among its functions"
           for name, book in books.items() for phase in book["phases"] for source in sources(phase)
           for function in command.findall((folder / source).read_text())
           if function in home and not home[function] & set(files(book.get("functions")))}
# The file of an OS family has scripts by the ids of steps.
ids = {step["id"] for book in books.values() for phase in book["phases"] for source in sources(phase)
       for step in yaml.safe_load((folder / source).read_text())}
missing |= {f"families/{path.name}: no step is called {id}" for path in folder.glob("families/*.yaml")
            for id in yaml.safe_load(path.read_text()) if id not in ids}
print(*sorted(missing), sep="\n", file=sys.stderr, end="\n" if missing else "")
sys.exit(1 if missing or len(home) < 50 else 0)
END
