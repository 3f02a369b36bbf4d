"""Open MPI and PyTorch number the processes of an MPI job equally: PyTorch meets by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT."""
import os

os.environ.setdefault("USE_LIBUV", "0")  # Debian builds PyTorch without libuv

import torch  # noqa: E402
import torch.distributed  # noqa: E402
from mpi4py import MPI  # noqa: E402

torch.distributed.init_process_group("gloo")
rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
world = MPI.COMM_WORLD
assert (rank, ranks) == (world.rank, world.size), (rank, ranks, world.rank, world.size)
print(f"process {world.rank} is rank {rank} of {ranks}", flush=True)
total = torch.tensor([float(rank)])
torch.distributed.all_reduce(total)
if rank == 0:
    print(f"the sum of the ranks is {total.item():.0f}", flush=True)
torch.distributed.destroy_process_group()
