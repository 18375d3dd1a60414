#!/usr/bin/env python3
"""Writes pytorch_optimizers.txt: a parameter after five steps of PyTorch's optimizers, in float64.

    python3 tests/golden/pytorch_optimizers.py > tests/golden/pytorch_optimizers.txt     # the test needs no PyTorch

A line is `case elements...`. The numbers of the optimizers are rounded to float32, as Tenon keeps them. An epsilon that
PyTorch adds at another place than Tenon is 0 here, and so small in the test that it changes nothing.
"""

import torch

ROWS, COLUMNS, STEPS = 3, 13, 5
VALUES = [1, -2, 0.5, 0.25, 1, -1, 3, 0.75, 0.125, -0.5, 0.75, 2, -0.25]


def matrix(values):
    return torch.tensor(values, dtype=torch.float64).reshape(ROWS, COLUMNS)


def start():
    return matrix([0.5 - 0.25 * (i % 6) for i in range(ROWS * COLUMNS)])


def gradient(step):
    return matrix([VALUES[(40 * step + i + i // COLUMNS) % len(VALUES)] for i in range(ROWS * COLUMNS)])


def single(x):
    return torch.tensor(x, dtype=torch.float32).item()


def case(name, optimizer, scale=1, state=None, show=None, **numbers):
    """`state` is what the optimizer starts from; `show` is the member of its state that is written."""
    numbers = {
        key: tuple(single(v) for v in value) if isinstance(value, tuple)
        else single(value) if isinstance(value, float) else value
        for key, value in numbers.items()
    }
    parameter = torch.nn.Parameter(start())
    opt = optimizer([parameter], **numbers)
    if state:
        opt.state[parameter] = {key: torch.full_like(start(), value) for key, value in state.items()}
        opt.state[parameter]["step"] = torch.tensor(0.0)
    for step in range(STEPS):
        parameter.grad = gradient(step) / scale
        opt.step()
    result = opt.state[parameter][show] if show else parameter.detach()
    print(name, *(f"{v:.17g}" for v in result.flatten().tolist()))


o = torch.optim
case("sgd", o.SGD, lr=0.1)
case("sgd_decay_scale", o.SGD, lr=0.1, weight_decay=0.25, scale=4)
case("sgd_momentum", o.SGD, lr=0.1, momentum=0.9, dampening=0.25, weight_decay=0.25)
case("sgd_nesterov", o.SGD, lr=0.1, momentum=0.9, nesterov=True)
case("momentum", o.SGD, lr=0.1, momentum=0.9)
case("momentum_decay_scale", o.SGD, lr=0.1, momentum=0.9, weight_decay=0.25, scale=4)
case("momentum_nesterov", o.SGD, lr=0.1, momentum=0.9, weight_decay=0.25, nesterov=True)
case("adam", o.Adam, lr=0.1)
case("adam_decay_scale", o.Adam, lr=0.1, betas=(0.75, 0.5), weight_decay=0.25, scale=4)
case("adam_amsgrad", o.Adam, lr=0.1, betas=(0.9, 0.5), amsgrad=True)
case("adam_amsgrad_decay", o.Adam, lr=0.1, betas=(0.75, 0.5), weight_decay=0.25, amsgrad=True)
case("adamw", o.AdamW, lr=0.1, weight_decay=0.01)
case("adamw_decay_scale", o.AdamW, lr=0.1, betas=(0.75, 0.5), weight_decay=0.25, scale=4)
case("adamax", o.Adamax, lr=0.1)
case("adamax_decay_scale", o.Adamax, lr=0.1, betas=(0.75, 0.5), weight_decay=0.25, scale=4)
square = {"square_avg": 1, "momentum_buffer": 0, "grad_avg": 0}
case("rmsprop", o.RMSprop, lr=0.1, alpha=0.9, eps=0.0, state=square)
case("rmsprop_momentum", o.RMSprop, lr=0.1, alpha=0.75, momentum=0.5, weight_decay=0.25, eps=0.0, state=square, scale=4)
case("rmsprop_centered", o.RMSprop, lr=0.1, alpha=0.75, momentum=0.5, eps=0.0, centered=True, state=square)
case("adagrad", o.Adagrad, lr=0.1, initial_accumulator_value=0.1, eps=0.0)
case("adagrad_decay_scale", o.Adagrad, lr=0.1, initial_accumulator_value=0.5, weight_decay=0.25, eps=0.0, scale=4)
case("adadelta", o.Adadelta, lr=1.0, rho=0.9, eps=1e-6)
case("adadelta_decay_scale", o.Adadelta, lr=0.5, rho=0.5, eps=0.125, weight_decay=0.25, scale=4)
case("asgd", o.ASGD, lr=0.1, lambd=1e-4, alpha=0.75)
case("asgd_decay_scale", o.ASGD, lr=0.1, lambd=0.5, alpha=2.0, weight_decay=0.25, scale=4)
case("asgd_average", o.ASGD, lr=0.1, lambd=0.5, alpha=0.75, t0=1.0, show="ax")
case("rprop", o.Rprop, lr=0.1)
case("rprop_limits", o.Rprop, lr=0.5, etas=(0.25, 2.0), step_sizes=(0.25, 0.75))
case("adafactor", o.Adafactor, lr=0.125, beta2_decay=-0.8, weight_decay=0.0)
case("adafactor_scale", o.Adafactor, lr=0.125, beta2_decay=-0.5, d=1.5, weight_decay=0.0, scale=4)
