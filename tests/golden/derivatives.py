#!/usr/bin/env python3
"""Writes derivatives.txt: values, gradients, and second derivatives of operators in PyTorch, on random operands in
float64.

    python3 tests/golden/derivatives.py > tests/golden/derivatives.txt     # needs PyTorch; the tests do not

A line is `case low high low high ... = sums`: the range of each operand; the sum of the result, of the gradient of each
floating-point operand, and of each second derivative, multiplied with random numbers and added up over 20 draws. With a
random gradient w of the result and random directions v, the second derivative of operand k is that of sum(g * v), where
g are the gradients of sum(y * w).
"""

import warnings

import numpy
import torch
import torch.nn.functional as F

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

DRAWS, OF_RESULT, OF_DIRECTION, OF_SUM = 20, 8, 9, 16
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


def elements():
    for name, f in {
        "abs": torch.abs,
        "exp": torch.exp,
        "square": torch.square,
        "neg": torch.neg,
        "sigmoid": torch.sigmoid,
        "silu": F.silu,
        "softplus": F.softplus,
        "tanh": torch.tanh,
        "relu": torch.relu,
        "gelu": lambda x: F.gelu(x, approximate="tanh"),
        "gelu.erf": F.gelu,
        "clip": lambda x: x.clamp(-0.5, 1.0),
        "identity": torch.clone,
        "stop_gradient": lambda x: x * x.detach(),
    }.items():
        unary(name, f)
    for name, f in dict(log=torch.log, sqrt=torch.sqrt, rsqrt=torch.rsqrt).items():
        unary(name, f, 0.25, 4)
    for name in "add sub mul maximum minimum".split():
        binary(name, getattr(torch, name))
    binary("div", torch.div, 0.25, 4)
    binary("pow", torch.pow, 0.25, 4)
    where = lambda c, a, b: torch.where(c, a, b)
    case("select", where, Operand(n, 3, kind=bool), Operand(n, 3), Operand(n, 3))
    case("select.broadcast", where, Operand(3, 1, kind=bool), Operand(2, 1, 4), Operand(1))


def activations():
    for name, f in {
        "elu": F.elu,
        "celu": lambda x: F.celu(x, 2),
        "selu": F.selu,
        "fast_gelu": lambda x: x * torch.sigmoid(1.702 * x),
        "hardtanh": F.hardtanh,
        "logsigmoid": F.logsigmoid,
        "mish": F.mish,
        "leaky_relu": lambda x: F.leaky_relu(x, 0.125),
        "hardshrink": F.hardshrink,
        "softshrink": F.softshrink,
        "softsign": F.softsign,
    }.items():
        unary(name, f)
    hsigmoid = lambda x: ((x + 3) / 6).clamp(0, 1)  # PyTorch has no second derivative
    for name, f in {"relu6": F.relu6, "hsigmoid": hsigmoid, "hswish": F.hardswish}.items():
        unary(name, f, -8, 8)
    case("prelu", F.prelu, Operand(n, 3), Operand(3, low=0))
    case("prelu.one", F.prelu, Operand(n, 3, 2), Operand(1, low=0))


def functions():
    for name in "floor ceil round trunc sign expm1 exp2 sin cos atan sinh cosh asinh erf erfc".split():
        unary(name, getattr(torch, name))
    for name in "tan asin acos atanh".split():
        unary(name, getattr(torch, name), -0.75, 0.75)
    for name in "log1p log2 log10 lgamma".split():
        unary(name, getattr(torch, name), 0.25, 4)
    unary("acosh", torch.acosh, 1.25, 4)
    unary("digamma", torch.digamma, 0.25, 4, order=1)
    for name, f in dict(atan2=torch.atan2, fmod=torch.fmod, floor_mod=torch.remainder, hypot=torch.hypot).items():
        binary(name, f)
    binary("xlogy", torch.xlogy, 0.25, 4)


def reduction(name, f, order=2):
    """Over all axes, over the last, and over the first two."""
    case(name + ".all", lambda x: f(x, tuple(range(x.dim())), False), Operand(n, 4), order=order)
    case(name + ".last", lambda x: f(x, (1,), False), Operand(n, 3), order=order)
    case(name + ".first", lambda x: f(x, (0, 1), True), Operand(2, 1, 3), order=order)


def along(name, last, first, order=2):
    case(name + ".last", last, Operand(n, 4), order=order)
    case(name + ".first", first, Operand(3, 1, 2), order=order)


def product(x, axes, keep):
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def normalized(x, axes):
    return x / x.square().sum(axes, keepdim=True).clamp(min=2**-10).sqrt()


def axes():
    vector = lambda order: lambda x, axes, keep: torch.linalg.vector_norm(x, order, axes, keep)
    reduction("reduce_sum", torch.sum)
    reduction("reduce_mean", torch.mean)
    reduction("reduce_max", torch.amax)
    reduction("reduce_min", torch.amin)
    reduction("reduce_prod", product, order=1)
    reduction("logsumexp", torch.logsumexp)
    reduction("norm", vector(2))
    reduction("l1_norm", vector(1))
    reduction("max_norm", lambda x, axes, keep: x.abs().amax(axes, keep))
    for name, f in dict(reduce_var=torch.var, reduce_std=torch.std).items():
        along(name, lambda x: f(x, 1), lambda x: f(x, (0, 1), correction=0, keepdim=True))
    for name, f in dict(softmax=torch.softmax, log_softmax=torch.log_softmax).items():
        along(name, lambda x: f(x, 1), lambda x: f(x, 0))
    from_end = lambda x: x.flip(0)
    along("cumsum", lambda x: x.cumsum(1), lambda x: from_end(from_end(x).cumsum(0)) - x)
    exclusive = lambda x: from_end(torch.cat([torch.ones_like(x[:1]), from_end(x)[:-1]]).cumprod(0))
    along("cumprod", lambda x: x.cumprod(1), exclusive, order=1)
    along("l2_normalize", lambda x: normalized(x, 1), lambda x: normalized(x, (0, 1)))
    along("sort", lambda x: x.sort(1)[0], lambda x: x.sort(0, descending=True)[0])
    along("topk", lambda x: x.topk(2, 1)[0], lambda x: x.topk(2, 0, largest=False)[0])
    case("clip_by_norm", lambda x: x * 0.5 / x.norm().clamp(min=0.5), Operand(n, 4))


def shapes():
    x, border = Operand, lambda mode: lambda x: F.pad(x[:, None], (2, 1), mode=mode)[:, 0]
    case("reshape", lambda x: x.reshape(-1, 6), x(n, 2, 3))
    case("transpose", lambda x: x.permute(2, 0, 1), x(3, 1, 2))
    case("swap_axes", lambda x: x.transpose(0, 2), x(2, 1, 3))
    case("slice", lambda x: x[:, 1:6:2], x(n, 7))
    case("slice.axes", lambda x: x[:2, :, 1:4], x(3, 1, 4))
    case("split", lambda x: x.split(2, 1)[1], x(n, 6))
    case("concat", lambda *all: torch.cat(all, 1), x(n, 2), x(n, 1), x(n, 3))
    case("stack", lambda *all: torch.stack(all, 1), x(2, 1), x(2, 1))
    case("broadcast_to", lambda x: x.expand(4, 2, 5, 3), x(2, 1, 3))
    case("tile", lambda x: x.tile(1, 3), x(n, 2))
    case("repeat_interleave", lambda x: x.repeat_interleave(2, 1), x(n, 3))
    case("roll", lambda x: x.roll(2, 1), x(n, 5))
    case("flip", lambda x: x.flip(1, 2), x(n, 2, 3))
    case("tril", lambda x: x.tril(1), x(n, 3, 4))
    case("triu", lambda x: x.triu(-1), x(3, 1))
    case("pad", lambda x: F.pad(x, (2, 1), value=3), x(n, 3))
    case("pad_reflect", border("reflect"), x(n, 4))
    case("pad_symmetric", lambda x: torch.cat([x[:, [1, 0]], x, x[:, 3:]], 1), x(n, 4))
    case("pad_replicate", border("replicate"), x(n, 4))
    case("pad_circular", border("circular"), x(n, 4))
    case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), x(n, 8, 1, 3))
    case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), x(n, 1, 2, 4))
    case("meshgrid", lambda a, b: torch.mul(*torch.meshgrid(a, b, indexing="ij")), x(2), x(3))
    case("outer", torch.outer, x(2), x(3))


def numbers():
    x, some = Operand, lambda *shape, low=0, high: Operand(*shape, low=low, high=high, kind=int)
    case("gather", lambda x, k: x[k], x(4, 3), some(n, 2, high=4))
    case("gather_elements", lambda x, k: x.gather(1, k), x(n, 4), some(n, 3, high=4))
    case("gather_nd", lambda x, k: x[k[:, 0], k[:, 1]], x(2, 3, 2), some(n, 2, high=2))
    case("tensor_scatter_elements", lambda x, k, v: x.scatter(1, k, v), x(n, 4), some(n, 1, high=4), x(n, 1))
    case("tensor_scatter_elements.add", lambda x, k, v: x.scatter_add(1, k, v), x(n, 4), some(n, 3, high=4), x(n, 3))
    add = lambda x, k, v, sign=1: x.index_add(0, k[:, 0], v, alpha=sign)
    case("scatter_nd", lambda k, v: add(torch.zeros(4, 3), k, v), some(n, 1, high=4), x(n, 3))
    case("tensor_scatter_add", add, x(4, 3), some(n, 1, high=4), x(n, 3))
    case("tensor_scatter_sub", lambda x, k, v: add(x, k, v, -1), x(4, 3), some(n, 1, high=4), x(n, 3))
    update = lambda f: lambda x, k, v: x.index_put((k[:, 0],), f(x[k[:, 0]], v))
    case("tensor_scatter_update", update(lambda x, v: v), x(4, 3), some(1, 1, high=4), x(1, 3))
    case("tensor_scatter_max", update(torch.maximum), x(4, 3), some(1, 1, high=4), x(1, 3))
    case("tensor_scatter_min", update(torch.minimum), x(4, 3), some(1, 1, high=4), x(1, 3))
    total = lambda x, k: torch.zeros(4, 3).index_add(0, k, x)
    count = lambda k: torch.bincount(k, minlength=4).clamp(min=1)[:, None]
    case("unsorted_segment_sum", total, x(n, 3), some(n, high=4))
    case("unsorted_segment_mean", lambda x, k: total(x, k) / count(k), x(n, 3), some(n, high=4))
    turned = lambda x, k: torch.stack([torch.cat([row[:e].flip(0), row[e:]]) for row, e in zip(x, k.tolist())])
    case("reverse_sequence", turned, x(n, 5, 2), some(n, low=1, high=6))
    case("masked_fill", lambda x, m: x.masked_fill(m, -1.5), x(n, 3), Operand(n, 3, kind=bool))


def sizes():
    x = Operand
    resize = lambda size, mode, **more: lambda x: F.interpolate(x, size, mode=mode, **more)
    case("interpolate.nearest", resize((5, 3), "nearest"), x(n, 2, 3, 4))
    case("interpolate.linear", resize((5, 3), "bilinear"), x(n, 2, 3, 4))
    case("interpolate.corners", resize((2, 7), "bilinear", align_corners=True), x(n, 2, 3, 4))
    case("interpolate.cubic", resize((5, 8), "bicubic"), x(n, 2, 3, 4))
    case("interpolate.area", resize((3, 3), "area"), x(n, 1, 6, 4))
    case("interpolate.sequence", resize(8, "linear"), x(n, 2, 5))
    case("unfold", lambda x: F.unfold(x, (3, 2), padding=1, stride=2), x(n, 2, 4, 5))
    case("fold", lambda x: F.fold(x, (4, 5), (3, 2), padding=1, stride=2), x(n, 12, 6))


def convolutions():
    x = Operand
    case("conv2d", lambda x, w: F.conv2d(x, w, padding=1), x(n, 2, 5, 4), x(3, 2, 3, 3))
    groups = lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=2)
    case("conv2d.groups", groups, x(n, 2, 5, 6), x(4, 1, 2, 3))
    case("conv2d.dilation", lambda x, w: F.conv2d(x, w, dilation=(3, 2)), x(1, 2, 7, 6), x(1, 2, 2, 2))
    case("conv1d", lambda x, w: F.conv1d(x, w[:, :, 0], stride=2, padding=1), x(n, 2, 7), x(3, 2, 1, 3))
    case("conv3d", lambda x, w: F.conv3d(x, w, groups=2), x(n, 2, 3, 4, 3), x(2, 1, 2, 2, 3))
    back = lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)
    case("conv2d_transpose", back, x(n, 2, 3, 2), x(2, 3, 3, 2))
    back = lambda x, w: F.conv_transpose2d(x, w, dilation=2, groups=2)
    case("conv2d_transpose.groups", back, x(1, 4, 3, 1), x(4, 1, 2, 2))
    back = lambda x, w: F.conv_transpose1d(x, w[:, :, 0], stride=2)
    case("conv1d_transpose", back, x(n, 2, 4), x(2, 2, 1, 3))
    case("conv3d_transpose", lambda x, w: F.conv_transpose3d(x, w, stride=2), x(n, 2, 2, 2, 3), x(2, 1, 2, 2, 1))


def pooling():
    x = Operand
    case("max_pool2d", lambda x: F.max_pool2d(x, 2), x(n, 2, 4, 6))
    case("max_pool2d.overlapping", lambda x: F.max_pool2d(x, 3, 2, 1), x(n, 1, 5, 6))
    case("avg_pool2d", lambda x: F.avg_pool2d(x, 2), x(n, 2, 4, 6))
    case("avg_pool2d.overlapping", lambda x: F.avg_pool2d(x, 3, 2, 1), x(n, 1, 5, 6))
    case("max_pool1d", lambda x: F.max_pool1d(x, 2), x(n, 2, 7))
    case("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2), x(n, 2, 7))
    case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (3, 2)), x(n, 1, 5, 7))
    case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 2)), x(n, 1, 5, 7))
    case("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 3), x(n, 2, 7))
    case("adaptive_max_pool1d", lambda x: F.adaptive_max_pool1d(x, 3), x(n, 2, 7))
    case("lrn", lambda x: F.local_response_norm(x, 3, alpha=0.75, beta=0.5, k=1), x(n, 5, 2, 3))


def attend(q, k, v, mask=None, causal=False, scale=None):
    heads = lambda x: x.unflatten(2, (2, -1)).transpose(1, 2)
    q, k, v = heads(q), heads(k), heads(v)
    scores = q @ k.transpose(2, 3) * (scale or q.shape[3] ** -0.5)
    if causal:
        mask = torch.ones(scores.shape[2:], dtype=bool).triu(1)
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    return (scores.softmax(3) @ v).transpose(1, 2).flatten(2)


def products():
    x = Operand
    case("matmul", torch.matmul, x(n, 3), x(3, 4))
    case("matmul.stacks", lambda a, b: a.transpose(1, 2) @ b, x(n, 3, 2), x(n, 3, 4))
    case("matmul.transposed", lambda a, b: a @ b.t(), x(1, 3), x(4, 3))
    case("attention", attend, x(n, 3, 4), x(n, 5, 4), x(n, 5, 4))
    packed = lambda x: attend(*x.chunk(3, 2), causal=True, scale=0.25)
    case("attention.packed", packed, x(n, 4, 12))
    case("masked_attention", attend, x(n, 3, 4), x(n, 5, 4), x(n, 5, 4), Operand(3, 5, low=-2, high=1, kind=bool))


def loop(cell, x, w_in, w, b, states, reverse=False):
    state, y = [torch.zeros(x.shape[0], w.shape[1])] * states, []
    for t in reversed(range(x.shape[1])) if reverse else range(x.shape[1]):
        state = cell(x[:, t] @ w_in.t() + state[0] @ w.t() + b, *state)
        y.append(state[0])
    return torch.stack(y[::-1] if reverse else y, 1), torch.stack(state, 1)


def lstm_cell(gates, h, c):
    i, f, g, o = gates.chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def recurrent():
    x = Operand
    layer = lambda x, v, w, b: loop(lstm_cell, x, v, w, b, 2)[0]
    case("lstm", layer, x(n, 4, 3), x(8, 3), x(8, 2), x(8), order=1)
    layer = lambda x, v, w: loop(lstm_cell, x, v, w, 0, 2, reverse=True)[1]
    case("lstm.reverse", layer, x(n, 3, 2), x(12, 2), x(12, 3), order=1)
    layer = lambda x, v, w, b: loop(lambda g, h: [g.tanh()], x, v, w, b, 1)[0]
    case("rnn_tanh", layer, x(n, 4, 3), x(2, 3), x(2, 2), x(2), order=1)
    layer = lambda x, v, w: loop(lambda g, h: [g.relu()], x, v, w, 0, 1, reverse=True)[0]
    case("rnn_relu", layer, x(n, 3, 2), x(3, 2), x(3, 3), order=1)


def normalizations():
    x, eps = Operand, 2**-10
    case("layer_norm", lambda x, a, b: F.layer_norm(x, [5], a, b, eps), x(n, 5), x(5), x(5))
    case("layer_norm.axes", lambda x, a, b: F.layer_norm(x, [2, 3], a, b, eps), x(2, 1, 2, 3), x(2, 3), x(2, 3))
    batch = lambda x, a, b: F.batch_norm(x, None, None, a, b, True, 0, eps)
    case("batch_norm", batch, x(5, 3), x(3), x(3))
    case("batch_norm.images", batch, x(n, 2, 1, 3), x(2), x(2))
    case("group_norm", lambda x, a, b: F.group_norm(x, 2, a, b, eps), x(n, 4, 2, 3), x(4), x(4))


def losses():
    x, entropy = Operand, lambda x, t: F.cross_entropy(x, t, reduction="none")
    case("softmax_cross_entropy", entropy, x(n, 4), Operand(n, low=0, high=4, kind=int))
    shares = lambda x, t: -(t.detach() * x.log_softmax(2)).sum(2)
    case("softmax_cross_entropy.shares", shares, x(2, 1, 3), x(2, 1, 3, low=0))


for group in elements, activations, functions, axes, shapes, numbers, sizes, convolutions, pooling, products, recurrent:
    group()
normalizations()
losses()
