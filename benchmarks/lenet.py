#!/usr/bin/env python3
"""LeNet-5 training step against PyTorch eager: both sides take turns in one run, from the same weights on the same batch.

    python3 benchmarks/lenet.py [--batch 32] [--threads 1] [--rounds 7] [--program build/release/benchmarks/run/lenet]

Prints the median step of each side per round, the median of the ratios of the rounds, and compares the losses.
Needs PyTorch (pip install torch) and the program (cmake --preset release -DTENON_BUILD_BENCHMARKS=ON).
"""
import argparse
import json
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F


def safetensors(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = torch.frombuffer(bytearray(data[8 + size + begin:8 + size + end]), dtype=torch.float32).reshape(entry["shape"])
    return tensors


class LeNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = torch.nn.Conv2d(6, 16, 5)
        self.fc1 = torch.nn.Linear(400, 120)
        self.fc2 = torch.nn.Linear(120, 84)
        self.fc3 = torch.nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x.flatten(1))))))


class Torch:
    def __init__(self, batch, weights):
        self.net = LeNet()
        self.net.load_state_dict(weights)
        index = torch.arange(batch * 784, dtype=torch.int64)
        self.x = (((index * 2654435761) % 2**32) // 65536).to(torch.float32).div(65536.0).reshape(batch, 1, 28, 28)
        self.y = torch.arange(batch) % 10
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.01, momentum=0.9)

    def run(self, steps):
        times, loss = [], None
        for _ in range(steps):
            start = time.perf_counter()
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.net(self.x), self.y)
            loss.backward()
            self.optimizer.step()
            value = loss.item()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e6, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=60, help="steps per side and round")
    parser.add_argument("--program", default="build/release/benchmarks/run/lenet")
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    torch.set_flush_denormal(True)
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/weights.safetensors"
        program = subprocess.Popen([o.program, str(o.batch), str(o.threads), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if program.stdout.readline().strip() != "ready":
            sys.exit("the program did not start")
        peer = Torch(o.batch, safetensors(path))

        def tenon(mode):
            program.stdin.write(f"{mode} {o.steps}\n")
            program.stdin.flush()
            microseconds, loss = program.stdout.readline().split()
            return float(microseconds), float(loss)

        ratios = {"graph": [], "pynative": []}
        worst = 0.0
        print(f"LeNet-5 training step, batch {o.batch}, {o.threads} thread(s); microseconds")
        print("round      graph   pynative    pytorch")
        for r in range(o.rounds):
            g, lg = tenon("graph")
            p, lp = tenon("pynative")
            t, lt = peer.run(o.steps)
            if lg != lp:
                sys.exit(f"graph and PyNative differ: {lg} {lp}")
            if r < 3:  # later the rounding of the two sides leads them apart
                worst = max(worst, abs(lg - lt))
            if r:  # the first round warms up
                ratios["graph"].append(t / g)
                ratios["pynative"].append(t / p)
            print(f"{r:5d} {g:10.1f} {p:10.1f} {t:10.1f}   loss {lg:.6f} (PyTorch {lt:.6f})")
        program.stdin.close()
    for mode, values in ratios.items():
        print(f"{mode}: {statistics.median(values):.2f} x PyTorch (from {min(values):.2f} to {max(values):.2f})")
    print(f"largest difference of the losses in the first {min(3, o.rounds) * o.steps} steps: {worst:.2g}")
    if worst > 1e-4:
        sys.exit("the two sides do not compute the same")


if __name__ == "__main__":
    main()
