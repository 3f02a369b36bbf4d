"""A small convolution net on the digits of scikit-learn, on the GPU, with DistributedDataParallel: prints accuracy and a sum of the parameters."""
import argparse
import hashlib
import os
import time

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn

options = argparse.ArgumentParser()
options.add_argument("--backend", default="nccl")
options.add_argument("--seconds", type=float, default=0)
options.add_argument("--workers", type=int, default=0, help="processes that hand batches over in /dev/shm, without a GPU job")
options = options.parse_args()

if options.workers:
    # 64 MiB a batch and worker do not fit into the 64 MiB that a container has by default.
    big = torch.utils.data.TensorDataset(torch.zeros(64, 1 << 20))
    for (batch,) in torch.utils.data.DataLoader(big, batch_size=16, num_workers=options.workers):
        print("batch", batch.shape, flush=True)
    raise SystemExit("the batches fitted")

dist.init_process_group(options.backend)
rank, size = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
torch.manual_seed(1)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target)
order = torch.randperm(len(labels))
train, test = order[:1437], order[1437:]
mine = train[rank::size][: len(train) // size]
images, labels = images.cuda(), labels.cuda()
net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1024, 10)).cuda()
net = nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
begun = time.monotonic()
for epoch in range(15):
    for at in range(0, len(mine), 64):
        batch = mine[at : at + 64]
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images[batch]), labels[batch]).backward()
        optimizer.step()
torch.cuda.synchronize()
took = time.monotonic() - begun
# Work for `gpuadm gpu top` to see.
matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
while time.monotonic() - begun < options.seconds:
    matrix @ matrix
    torch.cuda.synchronize()
with torch.no_grad():
    accuracy = (net(images[test]).argmax(1) == labels[test]).float().mean().item()
weights = b"".join(parameter.detach().cpu().numpy().tobytes() for parameter in net.parameters())
print(f"rank {rank} of {size} on {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {options.backend}: {took:.1f} s")
print(f"accuracy {accuracy:.3f}, parameters {hashlib.sha256(weights).hexdigest()[:16]}", flush=True)
dist.destroy_process_group()
