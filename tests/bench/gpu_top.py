#!/usr/bin/env python3
"""What `gpuadm gpu top` costs its client for each host and interval, compared with ssh over connections that are already open. Called by
tests/bench/run, in the client's namespace. The difference between a long and a short run is what the intervals cost, without the
connections. What nvidia-smi prints is canned: eight busy GPUs."""
import os
import statistics
import sys

import facts
from facts import MIB, Tool
from measure import adopt_orphans

SHORT, LONG = 4, 16  # intervals of one second
MASTER = "ssh -o ControlMaster=auto -o ControlPath={fleet}/tmp/%h -o ControlPersist=60"


def tools_for(options, intervals):
    hosts = f"{options.fleet}/hosts"
    ssh = MASTER.format(fleet=options.fleet)
    # One ssh a host and second through its master, as a loop by hand would do it.
    loop = (f"xargs -a {hosts} -P 64 -I% {ssh} {facts.QUICK_KEX} -Nf % </dev/null; i=0; while [ $i -lt {intervals} ]; do "
            f"xargs -a {hosts} -P 64 -I% sh -c '{ssh} % sh -s <{options.probe} >/dev/null'; i=$((i + 1)); done; "
            f"xargs -a {hosts} -I% {ssh} -O exit % 2>/dev/null; cat {hosts}")
    top = f"exec {options.gpuadm} gpu top -f {options.fleet}/cluster.yaml --assets {options.assets} --interval 1 --count {intervals}"
    return [Tool("ssh, open masters", loop, b"10.77."),
            Tool("gpuadm gpu top", f"{top} | grep -o '^{8 * options.hosts} GPUs on' | tail -n 1", b"GPUs on", one=True),
            Tool("gpuadm gpu top, record", f"{top} -o json --record {options.fleet}/tmp/record.$$ | tail -n 1 | jq -r '.gpus[].host' | sort -u",
                 b"10.77.")]


def cost(tool, options, sample_memory):
    found, _ = facts.once(tool, options, sample_memory)
    return found


def main():
    options = facts.read_options()
    adopt_orphans()
    facts.write_cluster(options)
    rows = []
    for short, long in zip(tools_for(options, SHORT), tools_for(options, LONG)):
        memory = cost(short, options, True).memory
        each = [1000 * (cost(long, options, False).cpu - cost(short, options, False).cpu) / (LONG - SHORT) / options.hosts
                for _ in range(options.rounds)]
        rows.append((short.name, statistics.median(each), memory))
    peer = rows[0][1]
    print(f"\n### {options.title}: {options.hosts} hosts of 8 GPUs, every second\n")
    print("| tool | client CPU ms a host and interval | × ssh | memory MiB |\n|---|---|---|---|")
    for name, each, memory in rows:
        print(f"| {name} | {each:.2f} | {each / peer:.2f} | {memory / MIB:.1f} |")
    print()
    for name, each, memory in rows[1:]:
        print(f"- {name}: at most 2 ms: {'met' if each <= 2 else 'missed'}; at most 12 MiB and 60 KiB a host "
              f"({12 + 60 * options.hosts / 1024:.1f} MiB): {'met' if memory <= 12 * MIB + 60 * 1024 * options.hosts else 'missed'}")
    print(f"\nload {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    sys.exit(main())
