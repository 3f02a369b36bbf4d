#!/usr/bin/env python3
"""Compares `gpuadm exec` of a short script with the same through ssh, and with a bare libssh2 loop. Called by tests/bench/run, in the
client's namespace."""
import facts
from facts import MIB, Tool

WALL = {1: 0.50}  # by hosts; more: 0.90


def tools_for(options):
    window = min(64, options.hosts)
    with open(options.probe, encoding="ascii") as file:
        script = file.read()
    quoted = "'" + script.replace("'", "'\\''") + "'"
    run = f"exec {options.gpuadm} exec -f {options.fleet}/cluster.yaml --window {window} -- {quoted}"
    others = {tool.name: tool for tool in facts.all_tools(options)}
    return [others["xargs ssh, curve25519"], Tool("gpuadm exec", run, b"=== end"), others["bare libssh2 loop"], others["xargs ssh"],
            others["pdsh"]]


def goals_of(rows, options):
    by_name = {row["tool"]: row for row in rows}
    ours, peers = by_name["gpuadm exec"], [by_name[name] for name in ("xargs ssh, curve25519", "xargs ssh", "pdsh") if name in by_name]
    most = WALL.get(options.hosts, 0.90)
    goals = [("client CPU ms a host, at most 1.5", 1000 * ours["cpu"] / options.hosts, 1.5),
             ("memory at most 12 MiB and 20 KiB a host", ours["memory"] / (12 * MIB + 20 * 1024 * options.hosts), 1.0)]
    if peers:
        goals.insert(0, (f"wall at most {most:.2f} of the best peer", ours["wall"] / min(peer["wall"] for peer in peers), most))
    return goals


if __name__ == "__main__":
    facts.compare(tools_for, goals_of)
