"""Every process of an MPI job adds its rank to those of the others, over the network: prints where it runs, and on rank 0 the sum."""
import socket

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
values = numpy.full(1 << 18, float(world.rank + 1))
total = numpy.empty_like(values)
began = MPI.Wtime()
world.Allreduce(values, total)
took = MPI.Wtime() - began
wanted = world.size * (world.size + 1) / 2
print(f"process {world.rank} of {world.size} on {socket.gethostname()}", flush=True)
assert (total == wanted).all(), total
hosts = len(set(world.allgather(socket.gethostname())))
if world.rank == 0:
    print(f"sum {total[0]:.0f} of {world.size} processes on {hosts} hosts, {took * 1000:.1f} ms", flush=True)
