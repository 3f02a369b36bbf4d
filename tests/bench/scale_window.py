#!/usr/bin/env python3
"""Compares the simulation of the window (tests/bench/scale) with real connections: `gpuadm exec` of a program that sleeps, on addresses of
one sshd. Called by tests/bench/scale-check, in the client's namespace: scale_window.py FLEET PORT SERVER GPUADM BENCH_SCALE HOSTS..."""
import argparse
import os
import statistics
import subprocess
import types

import facts
from measure import adopt_orphans, measure

SLEEP, WINDOW, ROUNDS = 2, 16, 3


def cost(options, hosts, program):
    with open(f"{options.fleet}/hosts", encoding="ascii") as file:
        names = file.read().split()[:hosts]
    command = [options.gpuadm, "exec", "-f", f"{options.fleet}/cluster.yaml", "--window", str(WINDOW), *names, "--", program]
    runs = [measure(command, os.environ, options.server, 300, False) for _ in range(ROUNDS)]
    if any(run.status for run in runs):
        raise SystemExit(f"gpuadm exec failed: {runs[0].output[-400:].decode(errors='replace')}")
    return types.SimpleNamespace(**{key: statistics.median(getattr(run, key) for run in runs) for key in ("wall", "cpu", "hosts_cpu")})


def main():
    parser = argparse.ArgumentParser()
    for name in ("fleet", "port", "server", "gpuadm", "scale"):
        parser.add_argument(name, type=int if name in ("port", "server") else str)
    parser.add_argument("hosts", nargs="+", type=int)
    options = parser.parse_args()
    adopt_orphans()
    facts.write_cluster(options)
    # What one host costs, and of it what does not depend on the number of hosts.
    some = max(options.hosts)
    begun = min(measure([options.gpuadm, "--version"], os.environ, options.server, 60, False).wall for _ in range(ROUNDS))
    one, many = cost(options, 1, "true"), cost(options, some, "true")
    given = {"connect": max(0.0, one.wall - begun - many.hosts_cpu / some), "program": 0, "client-cpu": many.cpu / some,
             "host-cpu": many.hosts_cpu / some, "shared-cores": os.cpu_count(), "window": WINDOW, "sleep": SLEEP}
    print(f"\n### The window of {WINDOW} hosts: `sleep {SLEEP}`, simulated and measured\n")
    print("One host: " + ", ".join(f"{key} {value:.4g}" for key, value in given.items()) + "\n")
    print("| hosts | simulated s | measured s | ratio |\n|---|---|---|---|")
    for hosts in options.hosts:
        words = [f"{key}={value}" for key, value in {**given, "hosts": hosts}.items()]
        said = subprocess.run([options.scale, "window", *words], check=True, capture_output=True, text=True).stdout
        simulated, measured = float(said.split()[0]), cost(options, hosts, f"sleep {SLEEP}").wall
        print(f"| {hosts} | {simulated:.1f} | {measured:.1f} | {measured / simulated:.2f} |")


if __name__ == "__main__":
    main()
