"""A case of derivatives.txt: random operands, and sums of what PyTorch computes of them. See derivatives.py."""

import warnings

import numpy
import torch

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

DRAWS, OF_RESULT, OF_DIRECTION, OF_SUM = 40, 8, 9, 16
n = None  # in a shape: the batch


def uniform(shape, draw, tensor):
    """Numbers in [0, 1): splitmix64, as in derivatives.hpp."""
    z = numpy.arange(int(numpy.prod(shape)), dtype=numpy.uint64)
    z += numpy.uint64(((draw * 32 + tensor) << 32) + 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
    z = (z ^ z >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    z = (z ^ z >> numpy.uint64(31)) >> numpy.uint64(11)
    return torch.from_numpy(z.astype(numpy.float64) * 2.0**-53).reshape(shape)


def signed(shape, draw, tensor):
    return 2 * uniform(shape, draw, tensor) - 1


class Operand:
    def __init__(self, *shape, low=-2, high=2, kind=float):
        self.shape, self.low, self.high, self.kind = shape, low, high, kind

    def draw(self, draw, tensor):
        shape = [1 + draw % 6 if extent is n else extent for extent in self.shape]
        x = self.low + (self.high - self.low) * uniform(shape, draw, tensor)
        if self.kind is float:
            return x.requires_grad_()
        return x.floor().long() if self.kind is int else x >= 0


def gradients(y, w, operands):
    """Zeros where y does not depend on an operand."""
    found = [None] * len(operands)
    if y.requires_grad:
        found = torch.autograd.grad(y, operands, w, create_graph=True, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, operands)]


def case(name, f, *operands, order=2):
    sums = None
    for draw in range(DRAWS):
        x = [operand.draw(draw, k) for k, operand in enumerate(operands)]
        real = [v for v in x if v.is_floating_point()]
        y = f(*x)
        found = [y]
        g = gradients(y, signed(y.shape, draw, OF_RESULT), real)
        found += g
        if order == 2:
            v = [signed(o.shape, draw, OF_DIRECTION + k) for k, o in enumerate(x) if o.is_floating_point()]
            found += gradients(sum((a * b).sum() for a, b in zip(g, v)), None, real)
        parts = [(t * signed(t.shape, draw, OF_SUM + k)).sum().item() for k, t in enumerate(found)]
        sums = parts if sums is None else [a + b for a, b in zip(sums, parts)]
    ranges = [v for o in operands for v in (o.low, o.high)]
    print(name, *(f"{v:g}" for v in ranges), "=", *(f"{v:.14g}" for v in sums))


def unary(name, f, low=-2, high=2, order=2):
    case(name, f, Operand(n, 5, low=low, high=high), order=order)
    case(name + ".fixed", f, Operand(2, 1, 3, low=low, high=high), order=order)


def binary(name, f, low=-2, high=2):
    case(name, f, Operand(n, 3, low=low, high=high), Operand(n, 3, low=low, high=high))
    case(name + ".broadcast", f, Operand(2, 1, 4, low=low, high=high), Operand(3, 1, low=low, high=high))
