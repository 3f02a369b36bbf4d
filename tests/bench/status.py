#!/usr/bin/env python3
"""What `gpuadm status` of many hosts costs, compared with a bare libssh2 loop that runs the same probe. Called by tests/bench/run, in the
client's namespace. The hosts are sshds and no nodes: what the control plane says is canned."""
import argparse
import os
import sys

import facts
from facts import MIB, Tool
from measure import adopt_orphans


def write_roles(options):
    """One control plane, the others workers."""
    facts.write_cluster(options)
    path = f"{options.fleet}/cluster.yaml"
    with open(path, encoding="ascii") as file:
        head, hosts = file.read().split("hosts:\n")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{head}kubernetes: {{ source: installed }}\nhosts:\n" +
                   hosts.replace(" }\n", ", role: worker }\n").replace("role: worker", "role: controlPlane", 1))


def tools_for(options):
    bare = next(tool for tool in facts.all_tools(options) if tool.name == "bare libssh2 loop")
    status = f"{options.gpuadm} status --assets {options.assets} -f {options.fleet}/cluster.yaml; [ $? -le 1 ]"
    return [bare, Tool("gpuadm status", status, b"CONTROL PLANE", one=True)]


def main():
    verb = argparse.ArgumentParser(add_help=False)
    verb.add_argument("--most", type=float, required=True, help="the goal, in seconds")
    own, rest = verb.parse_known_args()
    sys.argv[1:] = rest
    options = facts.read_options()
    vars(options).update(vars(own))
    adopt_orphans()
    write_roles(options)
    rows = facts.run(tools_for(options), options)
    ours = rows[-1]
    facts.show(rows, options, [(f"wall at most {options.most:g} s", ours["wall"], options.most)])
    print(f"\nmemory of {ours['tool']}: {ours['memory'] / MIB:.1f} MiB; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
