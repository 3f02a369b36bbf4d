#!/usr/bin/env python3
"""Compares `gpuadm facts` with a bare libssh2 loop and the usual tools, all doing the same thing on the same hosts: log in,
run the probe, and return its output. Called by tests/bench/run, in the client's namespace."""
import argparse
import base64
import dataclasses
import os
import shutil
import statistics
import sys

from measure import adopt_orphans, measure

MIB = 1 << 20


@dataclasses.dataclass
class Tool:
    name: str
    command: str
    done: bytes           # what a host's output has once
    one: bool = False     # it stands once for all hosts
    slow: bool = False    # one round, without a warm-up
    needs: str = "sh"


QUICK_KEX = "-o KexAlgorithms=curve25519-sha256"


def all_tools(options):
    hosts, window = f"{options.fleet}/hosts", min(64, options.hosts)
    with open(options.probe, "rb") as file:
        # Some tools expand % and {{ }} in commands; this form passes through all of them.
        packed = base64.b64encode(file.read()).decode()
    remote = f"echo {packed} | base64 -d | sh"
    xargs = f"xargs -a {hosts} -P {window} -I% sh -c 'ssh {{}} % sh -s <{options.probe}'"
    ansible = (f"ANSIBLE_FORKS={window} ANSIBLE_PIPELINING=1 ANSIBLE_PYTHON_INTERPRETER=/usr/bin/python3 "
               f"ANSIBLE_SSH_ARGS='-o ControlMaster=no' ANSIBLE_NOCOLOR=1 ansible all -i {hosts} ")
    mark = b"=== end"
    return [
        Tool("bare libssh2 loop", f"exec {options.bare_loop} {hosts} {options.probe} /root/.ssh/id_ed25519 "
                                  f"/root/.ssh/known_hosts {options.port} {window}", mark),
        Tool("gpuadm facts", f"exec {options.gpuadm} facts -f {options.fleet}/cluster.yaml --assets "
                             f"{options.assets} -o json", b'"machineId"'),
        Tool("xargs ssh, curve25519", xargs.format(QUICK_KEX), mark, needs="ssh"),
        Tool("xargs ssh", xargs.format(""), mark, needs="ssh"),
        Tool("pdsh", f'pdsh -R ssh -f {window} -w ^{hosts} "{remote}"', mark, needs="pdsh"),
        Tool("ansible raw", ansible + f'-m raw -a "{remote}"', mark, slow=True, needs="ansible"),
        Tool("ansible setup", ansible + "-m setup", b'"ansible_facts": {', slow=True, needs="ansible"),
    ]


def usable(found, options):
    """Those that are asked for and installed."""
    if options.only:
        found = [tool for tool in found if any(word in tool.name for word in options.only)]
    for tool in found:
        if not shutil.which(tool.needs):
            print(f"left out, not installed: {tool.name}", file=sys.stderr)
    return [tool for tool in found if shutil.which(tool.needs)]


def write_cluster(options):
    with open(f"{options.fleet}/hosts", encoding="ascii") as file:
        hosts = "".join(f"  - {{ address: {line.strip()} }}\n" for line in file)
    with open(f"{options.fleet}/cluster.yaml", "w", encoding="ascii") as file:
        file.write(f"apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nssh: {{ user: root, port: {options.port}, "
                   f"identityFile: /root/.ssh/id_ed25519, hostKeys: strict }}\nhosts:\n{hosts}")


def once(tool, options, sample_memory):
    cost = measure(["/bin/sh", "-c", tool.command], os.environ, options.server, options.limit, sample_memory)
    answered = cost.output.count(tool.done) * (options.hosts if tool.one else 1)
    if answered != options.hosts or cost.status != 0:
        tail = cost.output[-400:].decode(errors="replace")
        print(f"{tool.name}: exit {cost.status}, {answered} of {options.hosts} hosts answered: {tail}", file=sys.stderr)
    print(f"  {tool.name}: {cost.wall:.2f} s, client CPU {cost.cpu:.2f} s", file=sys.stderr)
    return cost, answered


def run(chosen, options):
    """Every tool once for its memory, then rounds in which each runs once: a drift of the machine hits all alike."""
    runs, memory, answers = {}, {}, {}
    for tool in chosen:
        cost, answers[tool.name] = once(tool, options, sample_memory=True)
        memory[tool.name] = cost.memory
        runs[tool.name] = [cost] if tool.slow else []
    for round_number in range(options.rounds):
        turn = round_number % len(chosen)
        for tool in chosen[turn:] + chosen[:turn]:
            if not tool.slow:
                runs[tool.name].append(once(tool, options, sample_memory=False)[0])
    return [dict(tool=tool.name, hosts=options.hosts, answered=answers[tool.name], rounds=len(runs[tool.name]),
                 wall=statistics.median(cost.wall for cost in runs[tool.name]),
                 cpu=statistics.median(cost.cpu for cost in runs[tool.name]),
                 tail=statistics.median(cost.tail for cost in runs[tool.name]),
                 hosts_cpu=statistics.median(cost.hosts_cpu for cost in runs[tool.name]),
                 memory=memory[tool.name]) for tool in chosen]


def ratio(row, to, key):
    return f"{row[key] / to[key]:.2f}" if to and to[key] else "–"


def show(rows, options, goals):
    """The first tool is what the others are compared with."""
    bare = rows[0]
    print(f"\n### {options.title}: {options.hosts} hosts, {options.rtt} ms\n")
    print("| tool | wall s | × first | client CPU ms a host | × first | memory MiB | hosts' CPU ms a host | rounds |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        name = row["tool"] if row["answered"] == row["hosts"] else f"{row['tool']} ({row['answered']} answered)"
        print(f"| {name} | {row['wall']:.2f} | {ratio(row, bare, 'wall')} | {1000 * row['cpu'] / options.hosts:.2f} | "
              f"{ratio(row, bare, 'cpu')} | {row['memory'] / MIB:.1f} | {1000 * row['hosts_cpu'] / options.hosts:.1f} | "
              f"{row['rounds']} |")
    if goals:
        print()
    for name, value, most in goals:
        judged = "met" if value <= most else "missed"
        print(f"- {name}: {value:.3g}, {judged if all(row['answered'] == row['hosts'] for row in rows) else 'not all hosts answered'}")


def goals_of(rows, options):
    by_name = {row["tool"]: row for row in rows}
    bare, ours, pdsh = (by_name.get(name) for name in ("bare libssh2 loop", "gpuadm facts", "pdsh"))
    if not ours or not options.goals:
        return []
    goals = [("memory at most 12 MiB and 60 KiB a host", ours["memory"] / (12 * MIB + 60 * 1024 * options.hosts), 1.0)]
    if bare:
        goals += [("client CPU at most 1.5 of the bare loop", ours["cpu"] / bare["cpu"], 1.5),
                  ("wall at most 1.15 of the bare loop", ours["wall"] / bare["wall"], 1.15)]
    if pdsh:
        goals.append(("client CPU at most 1/25 of pdsh", 25 * ours["cpu"] / pdsh["cpu"], 1.0))
    return goals


def read_options():
    parser = argparse.ArgumentParser()
    for name in ("fleet", "gpuadm", "bare-loop", "probe", "assets", "title"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("port", "server", "hosts", "rounds"):
        parser.add_argument(f"--{name}", required=True, type=int)
    parser.add_argument("--rtt", type=int, default=0)
    parser.add_argument("--limit", type=float, default=900, help="seconds for one run of one tool")
    parser.add_argument("--goals", action="store_true", help="say which goals are met")
    parser.add_argument("--only", nargs="*", help="tools whose name contains one of the words")
    return parser.parse_args()


def compare(tools_for, goals):
    """Runs the tools, prints their table and whether the goals are met, and returns the rows."""
    options = read_options()
    adopt_orphans()
    write_cluster(options)
    rows = run(usable(tools_for(options), options), options)
    show(rows, options, goals(rows, options))
    return rows


if __name__ == "__main__":
    compare(all_tools, goals_of)
