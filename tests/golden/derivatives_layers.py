"""The cases of derivatives.txt that are convolutions, products, layers, and losses."""

import torch
import torch.nn.functional as F

from derivatives_case import Operand, case, n
from derivatives_elements import turned


def sizes():
    x = Operand
    resize = lambda size, mode, **more: lambda x: F.interpolate(x, size, mode=mode, **more)
    scale = lambda factor, mode: lambda x: F.interpolate(x, scale_factor=factor, mode=mode)
    case("interpolate.nearest", resize((5, 3), "nearest"), x(n, 2, 3, 4))
    case("interpolate.linear", resize((5, 3), "bilinear"), x(n, 2, 3, 4))
    case("interpolate.corners", resize((2, 7), "bilinear", align_corners=True), x(n, 2, 3, 4))
    case("interpolate.cubic", resize((5, 8), "bicubic"), x(n, 2, 3, 4))
    case("interpolate.area", resize((3, 3), "area"), x(n, 1, 6, 4))
    case("interpolate.exact", resize((5, 3), "nearest-exact"), x(n, 2, 3, 4))
    case("interpolate.antialias", resize((3, 5), "bilinear", antialias=True), x(n, 1, 6, 4))
    case("interpolate.antialias_cubic", resize((2, 3), "bicubic", antialias=True), x(n, 1, 7, 4))
    case("interpolate.scale", scale(1.5, "bilinear"), x(n, 2, 3, 4))
    case("interpolate.scale_sequence", scale(0.75, "nearest"), x(n, 2, 5))
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
    volume = dict(kernel_size=2, stride=(2, 1, 1), padding=1)
    case("max_pool3d", lambda x: F.max_pool3d(x, 2), x(n, 1, 2, 4, 3))
    case("max_pool3d.overlapping", lambda x: F.max_pool3d(x, **volume), x(n, 1, 3, 2, 3))
    case("avg_pool3d", lambda x: F.avg_pool3d(x, 2), x(n, 1, 2, 4, 3))
    case("avg_pool3d.overlapping", lambda x: F.avg_pool3d(x, **volume), x(n, 1, 3, 2, 3))
    case("max_unpool2d", unpooled, x(n, 2, 4, 6))
    case("lrn", lambda x: F.local_response_norm(x, 3, alpha=0.75, beta=0.5, k=1), x(n, 5, 2, 3))


def unpooled(x):
    y, pixels = F.max_pool2d(x, 2, return_indices=True)
    return F.max_unpool2d(y * y, pixels, 2)


def attend(q, k, v, mask=None, causal=False, scale=None, weights=False):
    heads = lambda x: x.unflatten(2, (2, -1)).transpose(1, 2)
    q, k, v = heads(q), heads(k), heads(v)
    scores = q @ k.transpose(2, 3) * (scale or q.shape[3] ** -0.5)
    if causal:
        mask = torch.ones(scores.shape[2:], dtype=bool).triu(1)
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    if weights:
        return scores.softmax(3).mean(1)
    return (scores.softmax(3) @ v).transpose(1, 2).flatten(2)


def rotary(x, table, position=None, interleaved=False):
    """x [n, T, heads D], a table [L, D] of cosines and sines without a gradient."""
    rows = torch.arange(x.shape[1]) + (0 if position is None else position[:, None])
    cos, sin = table.detach()[rows].unsqueeze(-2).chunk(2, -1)
    heads = x.unflatten(2, (-1, table.shape[1]))
    a, b = (heads[..., ::2], heads[..., 1::2]) if interleaved else heads.chunk(2, -1)
    turned = a * cos - b * sin, b * cos + a * sin
    return (torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)).flatten(2)


def products():
    x = Operand
    case("matmul", torch.matmul, x(n, 3), x(3, 4))
    case("matmul.stacks", lambda a, b: a.transpose(1, 2) @ b, x(n, 3, 2), x(n, 3, 4))
    case("matmul.transposed", lambda a, b: a @ b.t(), x(1, 3), x(4, 3))
    case("attention", attend, x(n, 3, 4), x(n, 5, 4), x(n, 5, 4))
    packed = lambda x: attend(*x.chunk(3, 2), causal=True, scale=0.25)
    case("attention.packed", packed, x(n, 4, 12))
    mask = Operand(3, 5, low=-6, high=1, kind=bool)
    case("masked_attention", attend, x(n, 3, 4), x(n, 5, 4), x(n, 5, 4), mask)
    weights = lambda *all: attend(*all, weights=True)
    case("masked_attention.weights", weights, x(n, 3, 4), x(n, 5, 4), x(n, 5, 4), mask)
    case("rotary_embedding", rotary, x(n, 3, 8), x(5, 4))
    place = Operand(n, low=0, high=3, kind=int)
    interleaved = lambda x, t, position: rotary(x * x, t, position, interleaved=True)
    case("rotary_embedding.interleaved", interleaved, x(n, 3, 8), x(5, 4), place)
    sums = lambda text: lambda *all: torch.einsum(text, *all)
    case("einsum", sums("bij,bjk->bik"), x(n, 2, 3), x(n, 3, 4))
    case("einsum.diagonal", lambda a: torch.einsum("ii->i", a * a), x(3, 3))
    case("einsum.three", sums("ij,jk,lk->il"), x(n, 2), x(2, 3), x(4, 3))
    case("einsum.batch", sums("ni,nj->ij"), x(n, 2), x(n, 3))
    case("einsum.dots", sums("...ij,jk->...i"), x(n, 2, 3), x(3, 1))
    case("tensordot", torch.tensordot, x(n, 3, 2), x(3, 2, 4))
    case("tensordot.axes", lambda a, b: torch.tensordot(a, b, ([0, 2], [1, 0])), x(2, 3, 4), x(4, 2, 5))
    case("inner", torch.inner, x(n, 3), x(4, 3))
    case("dot", lambda a, b: torch.einsum("ni,kij->nkj", a, b), x(n, 3), x(2, 3, 4))


def systems():
    a, b = Operand(n, 3, 3), Operand(n, 3, 2)
    regular = lambda a: a + 8 * torch.eye(3)
    positive = lambda a: a @ a.transpose(1, 2) + torch.eye(3)
    case("solve", lambda a, b: torch.linalg.solve(regular(a), b), a, b)
    vectors = lambda a, b: torch.linalg.solve(regular(a), b[..., None])[..., 0]
    case("solve.vectors", vectors, a, Operand(n, 3))
    triangular = torch.linalg.solve_triangular
    case("solve_triangular", lambda a, b: triangular(regular(a), b, upper=False), a, b)
    upper = lambda a, b: triangular(a, b, upper=True, unitriangular=True)
    case("solve_triangular.upper", upper, Operand(3, 3), Operand(3, 1))
    case("inverse", lambda a: torch.linalg.inv(regular(a)), a)
    case("det", lambda a: torch.linalg.det(regular(a)), a)
    case("slogdet", lambda a: torch.linalg.slogdet(-regular(a))[1], a)
    case("slogdet.sign", lambda a: torch.linalg.slogdet(a)[0] * a.diagonal(0, 1, 2).sum(1), a)
    case("logdet", lambda a: torch.logdet(positive(a)), a)
    case("cholesky", lambda a: torch.linalg.cholesky(positive(a)), a)
    solution = lambda a, b: torch.cholesky_solve(b, torch.linalg.cholesky(positive(a)))
    case("cholesky_solve", solution, a, b)


def steps(cell, x, units, first=None, lengths=None, reverse=False, states=1):
    """h of all steps, and the last states. h is 0 after the length of a sample."""
    state = torch.zeros(len(x), states, units).unbind(1) if first is None else first.unbind(1)
    y = []
    for t in reversed(range(x.shape[1])) if reverse else range(x.shape[1]):
        after = cell(x[:, t], *state)
        runs = torch.ones(len(x), 1, dtype=bool) if lengths is None else (t < lengths)[:, None]
        y.append(torch.where(runs, after[0], 0))
        state = [torch.where(runs, new, old) for new, old in zip(after, state)]
    return torch.stack(y[::-1] if reverse else y, 1), torch.stack(list(state), 1)


def lstm(x, v, w, b=0, **how):
    def cell(x, h, c):
        i, f, g, o = (x @ v.t() + h @ w.t() + b).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    return steps(cell, x, w.shape[1], states=2, **how)


def rnn(f, x, v, w, b=0, **how):
    return steps(lambda x, h: [f(x @ v.t() + h @ w.t() + b)], x, w.shape[1], **how)


def gru(x, w, b=0, **how):
    def cell(x, h):
        (r, z, m), (p, q, s) = x.chunk(3, 1), (h @ w.t() + b).chunk(3, 1)
        m = (m + (r + p).sigmoid() * s).tanh()
        return [m + (z + q).sigmoid() * (h - m)]

    return steps(cell, x, w.shape[1], **how)


def recurrent():
    x, lengths = Operand, Operand(n, low=1, high=5, kind=int)
    both = lambda results: torch.cat(results, 1)
    case("lstm", lambda *all: lstm(*all)[0], x(n, 4, 3), x(8, 3), x(8, 2), x(8), order=1)
    case("lstm.reverse", lambda *all: lstm(*all, reverse=True)[1], x(n, 3, 2), x(12, 2), x(12, 3), order=1)
    layer = lambda x, v, w, first, k: both(lstm(x, v, w, first=first, lengths=k))
    case("lstm.lengths", layer, x(n, 4, 3), x(8, 3), x(8, 2), x(n, 2, 2), lengths, order=1)
    case("rnn_tanh", lambda *all: rnn(torch.tanh, *all)[0], x(n, 4, 3), x(2, 3), x(2, 2), x(2), order=1)
    layer = lambda x, v, w, first, k: both(rnn(torch.tanh, x, v, w, first=first, lengths=k))
    case("rnn_tanh.lengths", layer, x(n, 4, 3), x(2, 3), x(2, 2), x(n, 1, 2), lengths, order=1)
    layer = lambda *all: rnn(torch.relu, *all, reverse=True)[0]
    case("rnn_relu", layer, x(n, 3, 2), x(3, 2), x(3, 3), order=1)
    case("gru", lambda *all: gru(*all)[0], x(n, 4, 6), x(6, 2), x(6), order=1)
    layer = lambda x, w, first: gru(x, w, first=first, reverse=True)[1]
    case("gru.reverse", layer, x(n, 4, 6), x(6, 2), x(n, 1, 2), order=1)
    layer = lambda x, w, b, first, k: both(gru(x, w, b, first=first, lengths=k))
    case("gru.lengths", layer, x(n, 4, 6), x(6, 2), x(6), x(n, 1, 2), lengths, order=1)
    sides = lambda f, x, w, u: torch.cat([f(x, w)[0], f(x, u, reverse=True)[0]], 2)
    layer = lambda x, v, w, u: sides(lambda x, w, **how: rnn(torch.tanh, x, v, w, **how), x, w, u)
    case("rnn_tanh.both", layer, x(n, 3, 2), x(2, 2), x(2, 2), x(2, 2), order=1)
    with_lengths = lambda f, x, k: torch.cat([f(x)[0], turned(f(turned(x, k))[0], k)], 2)
    layer = lambda x, v, w, k: with_lengths(lambda x: lstm(x, v, w, lengths=k), x, k)
    case("lstm.both_with_lengths", layer, x(n, 4, 2), x(8, 2), x(8, 2), lengths, order=1)
    layer = lambda x, w, k: with_lengths(lambda x: gru(x, w, lengths=k), x, k)
    case("gru.both_with_lengths", layer, x(n, 4, 6), x(6, 2), lengths, order=1)


def control():
    x = Operand

    def scan(h, xs, w):
        ys = []
        for t in range(xs.shape[1]):
            h = torch.tanh(h @ w + xs[:, t])
            ys.append(h * xs[:, t])
        return torch.stack(ys, 1) * h[:, None]

    def while_loop(x, v):
        turn = 0
        while turn < 6 and x.square().mean() < 2:
            x, turn = x * 1.5 + v, turn + 1
        return x

    case("scan", scan, x(n, 2), x(n, 4, 2), x(2, 2), order=1)
    case("map", lambda xs, v: xs.exp() * v, x(n, 3, 2), x(2), order=1)
    case("while_loop", while_loop, x(n, 2, low=-0.5, high=0.5), x(2, low=-0.5, high=0.5), order=1)
    case("cond", lambda x, v: x.sin() * v if x.sum() > 0 else x * x, x(n, 2), x(2), order=1)


def normalizations():
    x, eps = Operand, 2**-10
    case("layer_norm", lambda x, a, b: F.layer_norm(x, [5], a, b, eps), x(n, 5), x(5), x(5))
    case("layer_norm.axes", lambda x, a, b: F.layer_norm(x, [2, 3], a, b, eps), x(2, 1, 2, 3), x(2, 3), x(2, 3))
    case("rms_norm", lambda x, a: F.rms_norm(x, [5], a, eps), x(n, 5), x(5))
    case("rms_norm.axes", lambda x, a: F.rms_norm(x, [2, 3], a, eps), x(2, 1, 2, 3), x(2, 3))
    batch = lambda x, a, b: F.batch_norm(x, None, None, a, b, True, 0, eps)
    case("batch_norm", batch, x(5, 3), x(3), x(3))
    case("batch_norm.images", batch, x(n, 2, 1, 3), x(2), x(2))
    case("group_norm", lambda x, a, b: F.group_norm(x, 2, a, b, eps), x(n, 4, 2, 3), x(4), x(4))
    case("normalize_groups", lambda x: F.group_norm(x, 2, eps=eps), x(n, 4, 3))


def labelled(f):
    return lambda x, y: f(x, y.detach())


def losses():
    x, entropy = Operand, lambda x, t: F.cross_entropy(x, t, reduction="none")
    label, truth = Operand(n, low=0, high=4, kind=int), Operand(n, 3, kind=bool)
    case("softmax_cross_entropy", entropy, x(n, 4), label)
    shares = lambda x, t: entropy(x.transpose(1, 2), t.transpose(1, 2))
    case("softmax_cross_entropy.shares", shares, x(2, 1, 3), x(2, 1, 3, low=0))
    ctc = lambda how: lambda x, t, k, m: F.ctc_loss(x.log_softmax(2).transpose(0, 1), t, k, m, reduction=how)
    some = lambda *shape, low, high: Operand(*shape, low=low, high=high, kind=int)
    labels = some(n, 2, low=1, high=4), some(n, low=3, high=6), some(n, low=0, high=3)
    case("ctc_loss", ctc("none"), x(n, 5, 4), *labels, order=1)
    case("CTCLoss", ctc("mean"), x(n, 5, 4), *labels, order=1)
    pair, shares = (x(n, 3), x(n, 3)), x(n, 3, low=0.125, high=0.875)
    case("MSELoss", F.mse_loss, *pair)
    case("L1Loss", lambda x, y: F.l1_loss(x, y, reduction="none"), *pair)
    case("RMSELoss", lambda x, y: F.mse_loss(x, y).sqrt(), *pair)
    case("HuberLoss", lambda x, y: F.huber_loss(x, y, reduction="none", delta=0.5), *pair)
    case("SmoothL1Loss", lambda x, y: F.smooth_l1_loss(x, y, reduction="sum", beta=0.5), *pair)
    case("BCELoss", labelled(lambda x, y: F.binary_cross_entropy(x, y, reduction="none")), shares, shares)
    case("BCEWithLogitsLoss", labelled(F.binary_cross_entropy_with_logits), x(n, 3), shares)
    case("KLDivLoss", labelled(lambda x, y: F.kl_div(x, y, reduction="none")), x(n, 3), shares)
    dice = lambda x, y: 1 - (2 * (x * y).sum() + 0.5) / (x.square().sum() + y.square().sum() + 0.5)
    case("DiceLoss", labelled(dice), shares, shares)
    case("NLLLoss", F.nll_loss, x(n, 4), label)
    smoothed = lambda x, y: F.cross_entropy(x, y, reduction="none", label_smoothing=0.25)
    case("CrossEntropyLoss", smoothed, x(n, 4), label)
    ignored = lambda x, y: F.cross_entropy(x, y, ignore_index=1, reduction="sum")
    case("CrossEntropyLoss.ignored", ignored, x(n, 4), label)
    focal = lambda x, y: (1 - (-entropy(x, y)).exp()).square() * entropy(x, y)
    case("FocalLoss", focal, x(n, 4), label)
    sign = lambda y: torch.where(y, 1, -1)
    case("SoftMarginLoss", lambda x, y: F.soft_margin_loss(x, sign(y), reduction="none"), x(n, 3), truth)
    case("HingeEmbeddingLoss", lambda x, y: F.hinge_embedding_loss(x, sign(y)), x(n, 3), truth)
    angle = lambda a, b, y: F.cosine_embedding_loss(a, b, sign(y), margin=0.25, reduction="none")
    case("CosineEmbeddingLoss", angle, *pair, Operand(n, kind=bool))
    ranking = lambda a, b, y: F.margin_ranking_loss(a, b, sign(y), margin=0.5, reduction="none")
    case("MarginRankingLoss", ranking, *pair, truth)
