"""The cases of derivatives.txt that compute element by element, along axes, or move elements."""

import torch
import torch.nn.functional as F

from derivatives_case import Operand, binary, case, n, unary


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
    binary("logaddexp", torch.logaddexp)
    binary("floor_div", lambda a, b: a * (a / b).floor().detach(), 0.25, 4)
    three = Operand(n, 3), Operand(3), Operand(n, 1)
    case("lerp", torch.lerp, *three)
    case("lerp.number", lambda a, b: torch.lerp(a, b, 0.25), *three[:2])
    case("addcmul", lambda x, a, b: torch.addcmul(x, a, b, value=0.5), *three)
    case("addcdiv", lambda x, a, b: torch.addcdiv(x, a, b, value=0.5), *three[:2], Operand(n, 1, low=0.25))
    bounds = Operand(3, low=-1.5, high=0), Operand(n, 1, low=0, high=1.5)
    case("clip.bounds", torch.clamp, Operand(n, 3), *bounds)
    case("clip_by_global_norm", of_one_norm, Operand(n, 3), Operand(2))
    case("nan_to_num", lambda x: x.nan_to_num() * x, Operand(n, 3))
    case("cast", lambda x: x.float().double() * x, Operand(n, 3))
    case("zeros_like", lambda x: 2 * x, Operand(n, 3))
    case("custom_gradient", WithGradient.apply, Operand(n, 3))


def of_one_norm(a, b):
    scale = 0.5 / (a.square().sum() + b.square().sum()).sqrt().clamp(min=0.5)
    return (a * scale).square().sum() + b * scale


class WithGradient(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context, dy):
        return context.saved_tensors[0].exp() * dy


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
    case("expand_dims", lambda x: x[:, None], x(n, 3))
    case("squeeze", lambda x: x.squeeze(1), x(n, 1, 3))
    case("flatten", lambda x: x.flatten(1), x(n, 2, 3))
    case("split_sizes", lambda x: x.split([1, 3, 2], 1)[1], x(n, 6))
    case("diagonal", lambda x: x.diagonal(1, 1, 2), x(n, 3, 4))
    case("trace", lambda x: x.diagonal(0, 1, 2).sum(1), x(n, 3, 2))
    case("diag", torch.diag_embed, x(n, 3))
    largest = lambda x: x.masked_fill(x < x.topk(2)[0][:, 1:], -torch.inf).softmax(1)
    case("top_k_filter", largest, x(n, 5))
    case("top_p_filter", nucleus, x(n, 5))


def nucleus(x):
    ordered = x.sort(1, descending=True)[0]
    p = ordered.softmax(1)
    least = ordered.masked_fill(p.cumsum(1) - p >= 0.75, torch.inf).amin(1, keepdim=True)
    return x.masked_fill(x < least, -torch.inf).softmax(1)


def turned(x, lengths):
    return torch.stack([torch.cat([row[:e].flip(0), row[e:]]) for row, e in zip(x, lengths.tolist())])


def numbers():
    x, some = Operand, lambda *shape, low=0, high: Operand(*shape, low=low, high=high, kind=int)
    case("gather", lambda x, k: x[k], x(4, 3), some(n, 2, high=4))
    case("gather_elements", lambda x, k: x.gather(1, k), x(n, 4), some(n, 3, high=4))
    case("gather_nd", lambda x, k: x[k[:, 0], k[:, 1]], x(2, 3, 2), some(n, 2, high=2))
    case("tensor_scatter_elements", lambda x, k, v: x.scatter(1, k, v), x(n, 4), some(n, 1, high=4), x(n, 1))
    case("tensor_scatter_elements.add", lambda x, k, v: x.scatter_add(1, k, v), x(n, 4), some(n, 3, high=4), x(n, 3))
    reduced = lambda how: lambda x, k, v: x.scatter_reduce(1, k, v, how)
    case("tensor_scatter_elements.max", reduced("amax"), x(n, 4), some(n, 1, high=4), x(n, 1))
    case("tensor_scatter_elements.mul", reduced("prod"), x(n, 4), some(n, 1, high=4), x(n, 1), order=1)
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
    case("reverse_sequence", turned, x(n, 5, 2), some(n, low=1, high=6))
    case("masked_fill", lambda x, m: x.masked_fill(m, -1.5), x(n, 3), Operand(n, 3, kind=bool))
