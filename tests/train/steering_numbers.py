#!/usr/bin/env python3
"""Prints what clipping, accumulated gradients, averages of weights, and schedules of the learning rate make of a small
training in PyTorch or MindSpore. The tests do not need either.

    python3 tests/train/steering_numbers.py torch | clang-format-19 > tests/train/steering_torch.hpp
    python3 tests/train/steering_numbers.py mindspore | clang-format-19 > tests/train/steering_mindspore.hpp

A linear network of three features and two outputs, the mean squared error, momentum, four batches of two samples. A row
of a table has the six weights and the two biases: after each of eight steps, or what an average has after three
numbers of epochs. Every table differs from the training without what it is about, and that is checked here.
mlp_* are the parameters of another network by their names, and what it makes of all samples.
"""

import itertools
import sys
from collections import OrderedDict

import numpy as np

WEIGHT = np.array([[0.5, -0.75, 1.25], [-1.5, 0.625, 0.875]], np.float32)
BIAS = np.array([1.0, -0.5], np.float32)
X = np.array(
    [[2, -1, 0.5], [1, 3, -2], [-1.5, 0.5, 4], [0.25, -2, 1], [3, 1, 1], [-2, -3, 0.5], [1, 0, -1], [0.5, 2.5, 1.5]],
    np.float32,
).reshape(4, 2, 3)
Y = np.array([[1, 2], [-3, 0.5], [4, -1], [0, 3], [-2, 1], [5, 0], [1.5, -4], [2, 2]], np.float32).reshape(4, 2, 2)
RATE, MOMENTUM = 0.05, 0.9
MOST_VALUE, MOST_NORM, MOST_GLOBAL = 1.5, 2.0, 3.0
EMA_DECAY, SWA_FIRST_EPOCH = 0.75, 2


def torch_tables():
    import torch
    from torch.optim import lr_scheduler as schedules
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    torch.set_num_threads(1)

    def row(module):
        return torch.cat([module.weight.flatten(), module.bias]).tolist()

    def train(epochs, clip=None, batches=1, average=None, each_epoch=None, schedule=None):
        net = torch.nn.Linear(3, 2)
        with torch.no_grad():
            net.weight.copy_(torch.from_numpy(WEIGHT))
            net.bias.copy_(torch.from_numpy(BIAS))
        optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM)
        scheduler = schedule(optimizer) if schedule else None
        averaged = average(net) if average else None
        rows, step = [], 0
        for epoch, (x, y) in itertools.product(range(1, epochs + 1), zip(X, Y)):
            loss = torch.nn.functional.mse_loss(net(torch.from_numpy(x)), torch.from_numpy(y))
            (loss / batches).backward()
            step += 1
            if step % batches == 0:
                if clip:
                    clip(list(net.parameters()))
                optimizer.step()
                optimizer.zero_grad()
                if scheduler:
                    scheduler.step()
            if averaged and not each_epoch:
                averaged.update_parameters(net)
            elif averaged and step % len(X) == 0 and epoch >= each_epoch:
                averaged.update_parameters(net)
            rows.append(row(net))
        return row(averaged.module) if averaged else rows

    def by_value(parameters):
        torch.nn.utils.clip_grad_value_(parameters, MOST_VALUE)

    def by_norm(parameters):
        for parameter in parameters:
            torch.nn.utils.clip_grad_norm_([parameter], MOST_NORM)

    def by_global_norm(parameters):
        torch.nn.utils.clip_grad_norm_(parameters, MOST_GLOBAL)

    def ema(net):
        return AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(EMA_DECAY))

    def one_cycle(optimizer):
        return schedules.OneCycleLR(optimizer, max_lr=0.08, total_steps=8, cycle_momentum=False)

    tables = {
        "plain": train(2),
        "by_value": train(2, clip=by_value),
        "by_norm": train(2, clip=by_norm),
        "by_global_norm": train(2, clip=by_global_norm),
        "accumulated": train(2, batches=2),
        "accumulated_by_global_norm": train(2, batches=4, clip=by_global_norm),
        "ema": [train(epochs, average=ema) for epochs in (1, 2, 3)],
        "swa": [train(epochs, average=AveragedModel, each_epoch=SWA_FIRST_EPOCH) for epochs in (2, 3, 4)],
        "one_cycle": train(2, schedule=one_cycle),
    }

    def rates(make, steps, rate=0.8):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))], lr=rate)
        scheduler, values = make(optimizer), []
        for _ in range(steps):
            values.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        return values

    def other_one_cycle(optimizer):
        return schedules.OneCycleLR(
            optimizer, 2.0, total_steps=17, pct_start=0.45, div_factor=4, final_div_factor=50
        )

    def warm_up_then_cosine(optimizer):
        rise = schedules.LinearLR(optimizer, start_factor=1 / 6, end_factor=1, total_iters=5)
        fall = schedules.CosineAnnealingLR(optimizer, T_max=14, eta_min=0.02)
        return schedules.SequentialLR(optimizer, [rise, fall], milestones=[5])

    lists = {
        "one_cycle_rates": rates(lambda o: schedules.OneCycleLR(o, 0.5, total_steps=21), 21),
        "other_one_cycle_rates": rates(other_one_cycle, 17),
        "step_rates": rates(lambda o: schedules.StepLR(o, 3, 0.4), 12),
        "warm_up_then_cosine_rates": rates(warm_up_then_cosine, 20),
    }

    layers = {"fc1": torch.nn.Linear(3, 8), "relu": torch.nn.ReLU(), "fc2": torch.nn.Linear(8, 2)}
    mlp = torch.nn.Sequential(OrderedDict(layers))
    with torch.no_grad():
        for p in mlp.parameters():
            p.copy_(torch.arange(p.numel()).mul(5).remainder(11).sub(4).div(7).reshape(p.shape))
        lists["mlp_output"] = mlp(torch.from_numpy(X.reshape(8, 3))).flatten().tolist()
    for name, p in mlp.named_parameters():
        lists["mlp_" + name.replace(".", "_")] = p.flatten().tolist()
    return f"PyTorch {torch.__version__.split('+')[0]}", tables, lists


def mindspore_tables():
    import mindspore as ms
    from mindspore import nn, ops

    def train(clip):
        net = nn.Dense(3, 2)
        net.weight.set_data(ms.Tensor(WEIGHT))
        net.bias.set_data(ms.Tensor(BIAS))
        optimizer = nn.Momentum(net.trainable_params(), RATE, MOMENTUM)
        loss = nn.MSELoss()
        gradients_of = ms.grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)
        rows = []
        for x, y in [*zip(X, Y)] * 2:
            optimizer(clip(gradients_of(ms.Tensor(x), ms.Tensor(y))))
            rows.append([*net.weight.asnumpy().flatten().tolist(), *net.bias.asnumpy().tolist()])
        return rows

    by_norm = nn.ClipByNorm()
    tables = {
        "plain": train(lambda gradients: gradients),
        "by_value": train(lambda gradients: ops.clip_by_value(gradients, -MOST_VALUE, MOST_VALUE)),
        "by_norm": train(lambda gradients: tuple(by_norm(g, ms.Tensor(MOST_NORM, ms.float32)) for g in gradients)),
        "by_global_norm": train(lambda gradients: ops.clip_by_global_norm(gradients, MOST_GLOBAL)),
    }
    return f"MindSpore {ms.__version__}", tables, {}


def single(value):
    digits = f"{value:.9g}"
    return digits + ("f" if "." in digits or "e" in digits else ".0f")


def main():
    framework = sys.argv[1]
    version, tables, lists = {"torch": torch_tables, "mindspore": mindspore_tables}[framework]()
    for name, rows in tables.items():
        assert name == "plain" or not np.allclose(rows[-1], tables["plain"][-1], atol=1e-2), name
    print(f"// Numbers of {version}, as steering_numbers.py says what and how.\n#pragma once\n")
    print(f"namespace {framework}_numbers {{\n")
    for name, rows in tables.items():
        print(f"inline constexpr float {name}[][8]{{")
        print("".join("{" + ", ".join(map(single, row)) + "}," for row in rows) + "};")
    for name, values in lists.items():
        kind, text = ("float", single) if name.startswith("mlp_") else ("double", "{:.17g}".format)
        print(f"inline constexpr {kind} {name}[]{{" + ", ".join(map(text, values)) + "};")
    print(f"\n}}  // namespace {framework}_numbers")


if __name__ == "__main__":
    main()
