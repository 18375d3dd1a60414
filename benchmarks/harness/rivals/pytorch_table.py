"""PyTorch's side of a table of operators (harness/table.py)."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from harness.numbers import numbers, some_of
from harness.rivals.pytorch_kernels import SECOND, THIRD, seconds
from harness.table import NAMES, row_of

LAYOUTS = (torch.channels_last, torch.contiguous_format)


def tensor(operand, n, first):
    shape = operand.of(n)
    u = numbers(math.prod(shape), first).reshape(shape)
    value = np.float32(operand.low / 8) + u * np.float32(operand.width / 8)
    if operand.dtype == "bool":
        return torch.from_numpy(value >= 0.5)
    if operand.dtype != "float":
        return torch.from_numpy(value.astype(np.int64))  # the dtype of PyTorch's indices
    return torch.from_numpy(value).requires_grad_(operand.gradient)


def arranged(x, layout):
    return x.detach().contiguous(memory_format=layout).requires_grad_(x.requires_grad) if x.dim() == 4 else x


def ssim(x, y, size=11, sigma=1.5):
    """Of images whose numbers are in [0, 1]: Wang and others 2004, by depthwise convolutions with two vectors."""
    k = torch.exp(-((torch.arange(size) - (size - 1) / 2) ** 2) / (2 * sigma**2))
    k, c = k / k.sum(), x.shape[1]
    column, line = k.reshape(1, 1, -1, 1).repeat(c, 1, 1, 1), k.reshape(1, 1, 1, -1).repeat(c, 1, 1, 1)
    mean = lambda t: F.conv2d(F.conv2d(t, column, groups=c), line, groups=c)
    mx, my = mean(x), mean(y)
    product, squares = 2 * mx * my, mx * mx + my * my
    structure = (2 * mean(x * y) - product + 9e-4) / (mean(x * x + y * y) - squares + 9e-4)
    return ((product + 1e-4) / (squares + 1e-4) * structure).mean((1, 2, 3))


def attention(q, k, v, heads, mask):
    split = lambda t: t.unflatten(2, (heads, -1)).transpose(1, 2)
    y = F.scaled_dot_product_attention(split(q), split(k), split(v), mask)
    return y.transpose(1, 2).flatten(2)


def results_of(result):
    return result if isinstance(result, (tuple, list)) else (result,)


def make(rows, name):
    """check() and call() of the faster layout of images."""
    row, what, n = row_of(rows, name)
    if what == "step":
        return steps(row, n)
    f = eval(f"lambda {', '.join(NAMES[:len(row.operands)])}: {row.torch}", globals())
    operands = [tensor(operand, n, SECOND * k) for k, operand in enumerate(row.operands)]
    runs = {}
    for layout in LAYOUTS if any(x.dim() == 4 for x in operands) else LAYOUTS[1:]:
        x = [arranged(one, layout) for one in operands]
        runs[layout] = training(f, x, layout) if what == "train" else forward(f, x)
    call = min(runs.values(), key=seconds) if len(runs) > 1 else next(iter(runs.values()))

    def check():
        return np.concatenate([some_of(r.detach().contiguous().float().numpy()) for r in results_of(call())])

    return check, call


def steps(row, n):
    """check() of three steps from the start, and call() of one more."""
    def start():
        p = torch.nn.Parameter(torch.from_numpy(numbers(n)).reshape(-1, 64))
        p.grad = torch.from_numpy(numbers(n, SECOND)).reshape(-1, 64) - 0.5
        return p, eval(row.torch, globals(), {"p": p})

    def check():
        p, optimizer = start()
        for _ in range(3):
            optimizer.step()
        return some_of(p.detach().numpy())

    p, optimizer = start()
    return check, optimizer.step


def forward(f, x):
    @torch.inference_mode()
    def call():
        return f(*x)

    return call


def training(f, x, layout):
    wanted = [one for one in x if one.requires_grad]
    y = results_of(f(*x))[0]
    dy = arranged(torch.from_numpy(numbers(y.numel(), THIRD)).reshape(y.shape), layout)

    def call():
        y = results_of(f(*x))[0]
        return y, *torch.autograd.grad(y, wanted, dy)

    return call
