"""A rank of PyTorch's DistributedDataParallel over gloo, on one thread: `python -m harness.rivals.pytorch_ddp GROUP
NETWORK BATCH FOLDER STEPS RANK RANKS FILE`. Rank 0 prints the losses of the whole batches and when each step ended."""
import importlib
import json
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from harness.numbers import safetensors, texts_of
from harness.plan import Transformer
from harness.rivals import pytorch, pytorch_gpt

COMPARED = 10  # losses


def parts(network, weights, batch, rank, ranks):
    """The network, its optimizer, the loss, and this rank's part of the batch."""
    part = slice(rank * batch // ranks, (rank + 1) * batch // ranks)
    if isinstance(network, Transformer):
        x, y = (torch.from_numpy(text).long()[part] for text in texts_of(network, batch))
        net = pytorch_gpt.build(network, weights)
        optimizer = torch.optim.Adam(net.parameters(), 1e-4, fused=True)
        return net, optimizer, lambda out, y: F.cross_entropy(out.view(-1, network.vocabulary), y.view(-1)), x, y
    x, y = pytorch.batch(network, batch)
    x = x[part].clone(memory_format=torch.channels_last)
    net = pytorch.build(network, weights)
    return net, torch.optim.SGD(net.parameters(), 0.01, momentum=0.9, fused=True), F.cross_entropy, x, y[part]


def main():
    group, name, batch, folder, steps, rank, ranks, meeting = sys.argv[1:]
    rank, ranks = int(rank), int(ranks)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    network = importlib.import_module("groups." + group).GROUP.networks[name]
    net, optimizer, loss_of, x, y = parts(network, safetensors(f"{folder}/{name}.safetensors"), int(batch), rank, ranks)
    # what makes it fastest: gradients are views of the buckets, one graph for all steps, statistics of each rank's own
    net = DistributedDataParallel(net, gradient_as_bucket_view=True, static_graph=True, broadcast_buffers=False)
    losses, ends = [], []
    for step in range(int(steps)):
        optimizer.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        if step < COMPARED:
            mean = loss.detach() / ranks
            dist.all_reduce(mean)
            losses.append(mean.item())
        ends.append(time.perf_counter())
    if rank == 0:
        print(json.dumps({"losses": losses, "ends": ends}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
