"""Trains a small network on Fashion-MNIST (Debian's package dataset-fashion-mnist) with DistributedDataParallel over gloo, one process in
each rank: `fashion.py EPOCHS`. Every rank prints the digest of its parameters, and rank 0 the accuracy on the test images."""
import gzip
import hashlib
import os
import sys
import time

os.environ.setdefault("USE_LIBUV", "0")  # Debian builds PyTorch without libuv

import numpy  # noqa: E402
import torch  # noqa: E402
import torch.distributed  # noqa: E402

FOLDER = "/usr/share/datasets/fashion-mnist"
BATCH = 64


def read(name, header):
    with gzip.open(f"{FOLDER}/{name}.gz") as file:
        return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header)


def images(name):
    return torch.from_numpy(read(name + "-images-idx3-ubyte", 16).astype(numpy.float32) / 255).reshape(-1, 784)


def labels(name):
    return torch.from_numpy(read(name + "-labels-idx1-ubyte", 8).astype(numpy.int64))


torch.set_num_threads(1)
torch.manual_seed(1)
torch.distributed.init_process_group("gloo")
rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
print(f"rank {rank} of {ranks} met at {os.environ['MASTER_ADDR']}", flush=True)

model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
parallel = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.Adam(parallel.parameters(), lr=0.001)
loss_of = torch.nn.CrossEntropyLoss()
inputs, answers = images("train"), labels("train")
mine = torch.arange(rank, len(inputs) // ranks * ranks, ranks)
began = time.monotonic()
for epoch in range(int(sys.argv[1])):
    order = mine[torch.randperm(len(mine), generator=torch.Generator().manual_seed(epoch))]
    for batch in order.split(BATCH):
        optimizer.zero_grad()
        loss = loss_of(parallel(inputs[batch]), answers[batch])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}", flush=True)
print(f"seconds {time.monotonic() - began:.1f}")

digest = hashlib.sha256()
for parameter in model.parameters():
    digest.update(parameter.detach().numpy().tobytes())
print(f"parameters {digest.hexdigest()}")
if rank == 0:
    with torch.no_grad():
        right = (model(images("t10k")).argmax(1) == labels("t10k")).float().mean().item()
    print(f"accuracy {right:.4f}")
torch.distributed.destroy_process_group()
