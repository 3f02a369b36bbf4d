#!/usr/bin/env bash
# Every function of playbooks/ that looks at processes, files, mounts, homes, sockets or logs of a host has a row in functions.tsv: the test of
# tests/ in which a user tries, or why no user can. A new one needs a row, and a row whose function is gone is removed.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
python3 - "$top" <<'END'
import pathlib, re, sys

top = pathlib.Path(sys.argv[1])
looks = re.compile(r"""/proc/(\[|\$|"|locks|mounts|self/mountinfo)|\bss -|(?<!images )(?<!image )(?<!containers )\bls -|\bfind |\bgetent\b|/\.kube/|/sys/fs/cgroup|/var/log/|/dev/shm|mktemp|list-units|\bdmesg\b|\bopen_files\b|\bprocess_awk\b""")
found = {}
for path in sorted([*top.glob("playbooks/*.sh"), *top.glob("playbooks/read/*.sh")]):
    if path.name.startswith("storage"):  # tests/hostile/storage-*, claims-*
        continue
    name, function = str(path.relative_to(top / "playbooks")), "-"
    for line in path.read_text().splitlines():
        head = re.match(r"([a-z_0-9]+)\(\) [{(]", line)
        if head:
            function = head[1]
        if looks.search(re.sub(r"(^|\s)#.*", "", line)):
            found.setdefault((name, function), line.strip())
        if line in ("}", ")") or head and line.endswith("}"):
            function = "-"

known, wrong = {}, []
for number, line in enumerate((top / "tests/hostile/functions.tsv").read_text().splitlines(), 1):
    if not line or line.startswith("#"):
        continue
    cells = line.split("\t")
    if len(cells) != 3:
        wrong.append(f"functions.tsv:{number}: not FILE, FUNCTION, and a test or a reason")
        continue
    known[cells[0], cells[1]] = cells[2]
    if re.fullmatch(r"[a-z0-9]+/[a-z0-9-]+", cells[2]) and not (top / f"tests/{cells[2]}.sh").exists():
        wrong.append(f"functions.tsv:{number}: there is no test tests/{cells[2]}.sh")
wrong += [f"playbooks/{file}: {function} looks at the host and has no row in tests/hostile/functions.tsv: {text}"
          for (file, function), text in found.items() if (file, function) not in known]
wrong += [f"functions.tsv: {function} of {file} does not look at the host (any more)" for file, function in known if (file, function) not in found]
print(*wrong, sep="\n", file=sys.stderr, end="\n" if wrong else "")
sys.exit(1 if wrong or len(found) < 40 else 0)
END
