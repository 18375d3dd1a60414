#!/usr/bin/env python3
"""Writes special_values.txt: what PyTorch makes of NaN, infinities, zeros of either sign, integers at their limits,
empty batches, and extents of 1, for every operator, forward and backward (the gradient from above is 1).

    python3 tests/golden/special_values.py > tests/golden/special_values.txt     # needs PyTorch; the tests do not

A line is `case tensor elements...`. Tensors: x0, x1, ... what goes in, y what comes out, d0, d1, ... the gradients;
`y error` where PyTorch refuses. Denormal results are flushed to zero, as Tenon does.
"""

import warnings

import torch
import torch.nn.functional as F

import special_values_composed as composed

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.set_flush_denormal(True)

nan, inf = float("nan"), float("inf")
most = 3.4028234663852886e38
SPECIAL = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, most, -most, 1.2e-38, -1.2e-38, 0.5, -2.5, 30.0, -30.0, 100.0, -100.0]
FEW = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, -2.5, most]
LIMITS = [-(2**31), -(2**31) + 1, -7, -1, 0, 1, 2, 7, 2**31 - 1]
ROWS = [
    [nan, 1, 2, 3],
    [1, nan, nan, 0],
    [3, 2, 1, nan],
    [inf, 1, inf, 2],
    [-inf, 1, -inf, 2],
    [-inf, -inf, -inf, -inf],
    [inf, -inf, 0, 1],
    [0.0, -0.0, 0.0, -0.0],
    [-0.0, 0.0, -1, -2],
    [most, most, 1, 1],
    [-1, 5, 5, -1],
    [nan, inf, -inf, 0],
]


def text(t):
    def one(v):
        if isinstance(v, bool):
            return str(int(v))
        return str(v) if isinstance(v, int) else f"{v:.9g}"

    return " ".join(one(v) for v in t.reshape(-1).tolist()) if t.numel() else ""


def case(name, f, *x):
    """One case; what is a list becomes a float32 tensor."""
    x = [v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=torch.float32) for v in x]
    x = [v.clone().requires_grad_() if v.is_floating_point() else v for v in x]
    for k, v in enumerate(x):
        print(name, f"x{k}", text(v.detach()), sep=" ")
    try:
        y = f(*x)
    except (RuntimeError, IndexError):
        print(name, "y error")
        return
    print(name, "y", text(y.detach()))
    if y.requires_grad:
        y.backward(torch.ones_like(y))
        for k, v in enumerate(x):
            if v.is_floating_point() and v.grad is not None:
                print(name, f"d{k}", text(v.grad))


def pairs(values):
    t = torch.tensor(values)
    return t.repeat_interleave(len(values)), t.repeat(len(values))


def unary():
    gelu = lambda x: F.gelu(x, approximate="tanh")
    for name, f in dict(
        abs=torch.abs,
        exp=torch.exp,
        gelu=gelu,
        log=torch.log,
        neg=torch.neg,
        relu=torch.relu,
        rsqrt=torch.rsqrt,
        sigmoid=torch.sigmoid,
        silu=F.silu,
        softplus=F.softplus,
        sqrt=torch.sqrt,
        square=torch.square,
        tanh=torch.tanh,
    ).items():
        case(name, f, SPECIAL)
    case("gelu.erf", F.gelu, SPECIAL)
    for dtype, short in (torch.float16, "float16"), (torch.bfloat16, "bfloat16"):
        case(f"relu.{short}", torch.relu, torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0], dtype=dtype))
    integers = torch.tensor(LIMITS, dtype=torch.int32)
    for name, f in dict(abs=torch.abs, neg=torch.neg, square=torch.square, relu=torch.relu).items():
        case(f"{name}.int32", f, integers)
    case("logical.not", torch.logical_not, torch.tensor([False, True]))
    case("full_like", torch.ones_like, SPECIAL)


def binary():
    a, b = pairs(FEW)
    for name, f in dict(
        add=torch.add,
        sub=torch.sub,
        mul=torch.mul,
        div=torch.div,
        maximum=torch.maximum,
        minimum=torch.minimum,
        pow=torch.pow,
    ).items():
        case(name, f, a, b)
    case("floor_div", lambda a, b: torch.floor(a / b).detach(), a, b)
    for name in "equal not_equal less less_equal greater greater_equal".split():
        case(f"compare.{name}", getattr(torch, {"equal": "eq", "not_equal": "ne"}.get(name, name)), a, b)
    i, j = pairs(torch.tensor(LIMITS, dtype=torch.int32).tolist())
    i, j = i.to(torch.int32), j.to(torch.int32)
    for name, f in dict(
        add=torch.add, sub=torch.sub, mul=torch.mul, maximum=torch.maximum, minimum=torch.minimum
    ).items():
        case(f"{name}.int32", f, i, j)
    nonzero = (j != 0) & ~((i == LIMITS[0]) & (j == -1))
    case("floor_div.int32", lambda a, b: torch.div(a, b, rounding_mode="floor"), i[nonzero], j[nonzero])
    case(
        "floor_div.zero",
        lambda a, b: torch.div(a, b, rounding_mode="floor"),
        torch.tensor([7], dtype=torch.int32),
        torch.tensor([0], dtype=torch.int32),
    )
    p, q = torch.tensor([False, False, True, True]), torch.tensor([False, True, False, True])
    case("logical.and", torch.logical_and, p, q)
    case("logical.or", torch.logical_or, p, q)
    case("logical.xor", torch.logical_xor, p, q)
    case(
        "select", torch.where, torch.tensor([True, False] * len(FEW)), [v for v in FEW for _ in range(2)], FEW[::-1] * 2
    )
    small = [0.0, -0.0, 1.5, -1.5, 2.5, 255.0, 100.0]
    case("cast.int32", lambda x: x.to(torch.int32), small + [2147483520.0, -(2.0**31)])
    case("cast.bool", lambda x: x.to(torch.bool), SPECIAL)
    case(
        "cast.float16",
        lambda x: x.to(torch.float16),
        [nan, inf, -inf, 0.0, -0.0, 65504.0, 65519.0, 65520.0, -1e6, 1e-30],
    )
    case("cast.bfloat16", lambda x: x.to(torch.bfloat16), [nan, inf, -inf, 0.0, -0.0, most, 1.00390625])


def rows():
    for name, f in dict(softmax=F.softmax, log_softmax=F.log_softmax).items():
        case(name, lambda x: f(x, dim=1), ROWS)
        case(f"{name}.axis0", lambda x: f(x, dim=0), ROWS)
        case(f"{name}.one", lambda x: f(x, dim=1), [[nan], [inf], [-inf], [1.0]])
    no_minus = [r for r in ROWS if -inf not in r]
    labels = torch.arange(len(ROWS)) % 4
    case("softmax_cross_entropy", lambda x, t: F.cross_entropy(x, t, reduction="none"), ROWS, labels.to(torch.int64))
    case(
        "softmax_cross_entropy.shares",
        lambda x: F.cross_entropy(x, torch.full_like(x, 0.25), reduction="none"),
        no_minus[:4],
    )
    case("reduce_mean", lambda x: x.mean(1), ROWS)
    case("reduce_prod", lambda x: x.prod(1), ROWS)
    for axis in 0, 1:
        case(f"reduce_sum.axis{axis}", lambda x: x.sum(axis), ROWS)
        case(f"reduce_max.axis{axis}", lambda x: x.amax(axis), ROWS)
        case(f"reduce_min.axis{axis}", lambda x: x.amin(axis), ROWS)
        case(f"argmax.axis{axis}", lambda x: x.detach().argmax(axis), ROWS)
        case(f"argmin.axis{axis}", lambda x: x.detach().argmin(axis), ROWS)
    for axis in 0, 1:
        case(f"sort.axis{axis}", lambda x: x.sort(dim=axis, stable=True)[0], ROWS)
        case(f"sort.places{axis}", lambda x: x.detach().sort(dim=axis, stable=True, descending=True)[1].int(), ROWS)
    finite = [r for r in ROWS if not any(v != v or abs(v) > 1e30 for v in r)]
    case("cumsum", lambda x: x.cumsum(1), ROWS)
    case("cumprod", lambda x: x.cumprod(1), finite)
    empty = torch.zeros(0, 3)
    for name, f in dict(sum=torch.sum, mean=torch.mean, prod=torch.prod).items():
        case(f"reduce_{name}.empty", f, empty)
    case("reduce_max.empty", torch.amax, empty)
    case("reduce_sum.int32", lambda x: x.sum(dtype=torch.int32), torch.tensor(LIMITS, dtype=torch.int32))
    case("reduce_max.int32", torch.amax, torch.tensor(LIMITS, dtype=torch.int32))
    case("reduce_min.int32", torch.amin, torch.tensor(LIMITS, dtype=torch.int32))
    g = [1.0, -0.0, 2.0, 0.5]
    case("layer_norm", lambda x, a, b: F.layer_norm(x, [4], a, b, 1e-5), ROWS, g, [0.0, 1.0, -0.0, inf])
    case(
        "batch_norm",
        lambda x, a, b: F.batch_norm(x, None, None, a, b, True, 0, 1e-5),
        [[nan, 1, inf, -0.0], [1, 2, 1, 0.0], [0, 0, 0, 0]],
        g,
        [0.0, 1.0, -0.0, 0.0],
    )


def images():
    x = torch.tensor(
        [1, 2, 3, 4, nan, 5, 6, 7, 8, nan, inf, -inf, nan, 0, -inf, -inf, -0.0, 0, -inf, -inf, 0, -0.0, -1, -2]
        + [-3.0, -4] * 6
    ).reshape(1, 1, 6, 6)
    case("pool2d.max2", lambda x: F.max_pool2d(x, 2), x)
    case("pool2d.max3", lambda x: F.max_pool2d(x, 3, 2, 1), x)
    case("pool2d.avg2", lambda x: F.avg_pool2d(x, 2), x)
    wide = torch.cat([x, x.flip(3), x], 3)
    case("pool2d.max2.wide", lambda x: F.max_pool2d(x, 2), wide)
    w = torch.tensor([1.0, 0, -1, 2, 0.5, 1, 0, 1, -1]).reshape(1, 1, 3, 3)
    case("conv2d", lambda x, w: F.conv2d(x, w), x, w)
    case(
        "conv2d.weight",
        lambda x, w: F.conv2d(x, w, padding=1),
        torch.ones(1, 1, 4, 4),
        torch.tensor([nan, 1, 0, inf, 1, 0, -inf, 0, 0]).reshape(1, 1, 3, 3),
    )
    case("pad", lambda x: F.pad(x, (1, 2)), ROWS)
    case("matmul", torch.matmul, ROWS, [[1.0, 0], [0, 1], [-1, 0], [2, nan]])
    case("matmul.empty", torch.matmul, torch.zeros(0, 4), [[1.0, 0], [0, 1], [-1, 0], [2, nan]])
    attention = lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) / 2**0.5, 2) @ v
    q = [[[1.0, 0], [0.5, 1], [nan, 1]], [[1, 1], [-1, 0], [0, 0]]]
    case(
        "attention",
        attention,
        q,
        [[[1.0, 2], [0, 1], [1, 1]], [[1, 0], [0, inf], [2, 2]]],
        [[[1.0, 2], [3, 4], [5, 6]], [[nan, 0], [1, -inf], [1, 2]]],
    )


def movement():
    case("reshape", lambda x: x.reshape(4, -1), ROWS)
    case("transpose", lambda x: x.t(), ROWS)
    case("slice", lambda x: x[:, 1:3], ROWS)
    case("split", lambda x: x.split(2, 1)[1], ROWS)
    case("concat", lambda a, b: torch.cat([a, b], 1), ROWS, ROWS)
    case("broadcast_to", lambda x: x.expand(3, 9), FEW)
    case("sum_to", lambda a, b: a + b, ROWS, FEW[:4])
    case("triangle", torch.tril, ROWS)
    table = lambda t, i: F.embedding(i, t)
    case("gather", table, ROWS, torch.tensor([0, 3, 3, 11], dtype=torch.int64))
    case("gather_elements", lambda x, i: x.gather(1, i), ROWS, torch.arange(24).reshape(12, 2) % 4)
    case("gather.outside", table, ROWS, torch.tensor([0, 12], dtype=torch.int64))
    case("one_hot", lambda i: F.one_hot(i, 4).float(), torch.tensor([0, 3, 1], dtype=torch.int64))
    case("one_hot.outside", lambda i: F.one_hot(i, 4).float(), torch.tensor([-1, 4], dtype=torch.int64))
    case("dropout", lambda x: F.dropout(x, 0.0), SPECIAL)
    case("dropout.all", lambda x: F.dropout(x, 1.0), SPECIAL)
    x = torch.tensor([[[nan, 1.0]], [[0.5, inf]], [[1.0, -2]]])
    w = torch.tensor([[0.5, -1], [1, 0.25], [0.125, 2], [1, -1]])

    def lstm(x, w, r):
        cell, y = (torch.zeros(3, 1), torch.zeros(3, 1)), []
        for step in range(x.shape[1]):
            i, f, c, o = (x[:, step] @ w.t() + cell[0] @ r.t()).chunk(4, 1)
            state = torch.sigmoid(f) * cell[1] + torch.sigmoid(i) * torch.tanh(c)
            cell = torch.sigmoid(o) * torch.tanh(state), state
            y.append(cell[0])
        return torch.stack(y, 1)

    case("lstm", lstm, x, w, [[1.0], [0.5], [-1], [2]])


def activations():
    for name, f in {
        "elu": F.elu,
        "elu.celu": lambda x: F.celu(x, 2),
        "elu.selu": F.selu,
        "fast_gelu": lambda x: x * torch.sigmoid(1.702 * x),
        "hardtanh": F.hardtanh,
        "hardtanh.relu6": F.relu6,
        "hardtanh.hsigmoid": F.hardsigmoid,
        "hardtanh.hswish": F.hardswish,
        "leaky_relu": lambda x: F.leaky_relu(x, 0.125),
        "log_sigmoid": F.logsigmoid,
        "mish": F.mish,
        "shrink.hard": F.hardshrink,
        "shrink.soft": F.softshrink,
        "softsign": F.softsign,
    }.items():
        case(name, f, SPECIAL)
    case("leaky_relu.prelu", F.prelu, [v for v in SPECIAL if abs(v) <= 100.0], [0.25])


def functions():
    for name, f in {
        "rounding.floor": torch.floor,
        "rounding.ceil": torch.ceil,
        "rounding.round": torch.round,
        "rounding.trunc": torch.trunc,
        "rounding.sign": torch.sign,
        "expm1": torch.expm1,
        "expm1.exp2": torch.exp2,
        "log1p": torch.log1p,
        "log1p.log2": torch.log2,
        "log1p.log10": torch.log10,
        "trigonometric.sin": torch.sin,
        "trigonometric.cos": torch.cos,
        "trigonometric.tan": torch.tan,
        "trigonometric.asin": torch.asin,
        "trigonometric.acos": torch.acos,
        "trigonometric.atan": torch.atan,
        "hyperbolic.sinh": torch.sinh,
        "hyperbolic.cosh": torch.cosh,
        "hyperbolic.asinh": torch.asinh,
        "hyperbolic.acosh": torch.acosh,
        "hyperbolic.atanh": torch.atanh,
        "erf": torch.erf,
        "erf.erfc": torch.erfc,
        "lgamma": torch.lgamma,
        "lgamma.digamma": torch.digamma,
    }.items():
        case(name, f, SPECIAL)
    a, b = pairs(FEW)
    for name, f in {
        "trigonometric.atan2": torch.atan2,
        "fmod": torch.fmod,
        "fmod.floor_mod": torch.remainder,
        "hypot": torch.hypot,
        "xlogy": torch.xlogy,
    }.items():
        case(name, f, a, b)
    integers = torch.tensor(LIMITS, dtype=torch.int32)
    case("rounding.sign.int32", torch.sign, integers)
    case("bitwise.not", torch.bitwise_not, integers)
    i, j = pairs(integers.tolist())
    i, j = i.to(torch.int32), j.to(torch.int32)
    for name, f in {
        "bitwise.and": torch.bitwise_and,
        "bitwise.or": torch.bitwise_or,
        "bitwise.xor": torch.bitwise_xor,
        "bitwise.left_shift": torch.bitwise_left_shift,
        "bitwise.right_shift": torch.bitwise_right_shift,
        "pow.int32": torch.pow,
    }.items():
        case(name, f, i, j)
    nonzero = (j != 0) & ~((i == LIMITS[0]) & (j == -1))
    case("fmod.int32", torch.fmod, i[nonzero], j[nonzero])
    case("fmod.floor_mod.int32", torch.remainder, i[nonzero], j[nonzero])


unary()
binary()
rows()
images()
movement()
activations()
functions()
composed.rows(case, ROWS)
composed.pairs(case, SPECIAL, *pairs(FEW))
composed.images(case)
composed.layers(case)
composed.recurrent(case)
composed.sizes(case)
composed.integers(case, LIMITS)
