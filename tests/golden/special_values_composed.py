"""The cases of special_values.txt that operators of several others compute. special_values.py calls them."""

import torch
import torch.nn.functional as F

nan, inf = float("nan"), float("inf")


def normalized(x):
    return x / x.square().sum(1, keepdim=True).clamp(min=2**-10).sqrt()


def attention(q, k, v, mask):
    return (q @ k.transpose(1, 2) / 2**0.5).masked_fill(mask, -inf).softmax(2) @ v


def rows(case, rows):
    vector = lambda order: lambda x: torch.linalg.vector_norm(x, order, 1)
    few = [r for r in rows if all(abs(v) <= 1e30 for v in r if v == v)]
    case("logsumexp", lambda x: x.logsumexp(1), rows)
    case("norm", vector(2), few)
    case("norm.l1", vector(1), rows)
    case("norm.max", lambda x: x.abs().amax(1), rows)
    case("reduce_var", lambda x: x.var(1), few)
    case("reduce_var.std", lambda x: x.std(1), few)
    case("reduce_var.one", lambda x: x.var(1), [[nan], [inf], [1.0]])
    case("l2_normalize", normalized, few)
    case("reduce_all", lambda x: (x != 0).all(1), rows)
    case("reduce_all.any", lambda x: (x != 0).any(1), rows)
    case("clip", lambda x: x.clamp(-1, 2), rows)
    case("clip.norm", lambda x: x * 0.5 / x.norm().clamp(min=0.5), [[1.0, -2], [inf, 0]])
    case("clip.zeros", lambda x: x * 0.5 / x.norm().clamp(min=0.5), [[0.0, -0.0], [0, 0]])
    case("group_norm", lambda x: F.group_norm(x, 2, eps=2**-10), few)
    affine = lambda x, a, b: F.group_norm(x, 2, a, b, 0.25)
    case("group_norm.affine", affine, few + [[inf, 1, 2.0, 2], [1.0, 2, -inf, inf]], [2.0, -1, 0, 1], [0.5, 0, 0, nan])
    case("group_norm.one", affine, [[1.0, nan], [inf, -1], [0.0, 2]], [2.0, -1], [0.5, 3])
    root_mean_square = lambda x, a: F.rms_norm(x, [4], a, 2**-10)
    case("rms_norm", root_mean_square, few + [[inf, 1, 2.0, 2], [0.0, 0, -0.0, 0]], [2.0, -1, 0, 1])
    case("sort.topk", lambda x: x.sort(dim=1, descending=True, stable=True)[0][:, :2], rows)
    largest = lambda x: x.masked_fill(x < x.sort(dim=1, descending=True)[0][:, 1:2], -inf)
    case("sampling", largest, rows)
    case("tile", lambda x: x.tile(2, 1), rows)
    case("pad_modes", lambda x: F.pad(x, (1, 2), mode="replicate"), rows)
    case("diagonal", lambda x: x.diagonal(0), rows)
    case("einsum", lambda x, y: torch.einsum("ij,ij->i", x, y), rows, torch.ones(len(rows), 4))
    case("tensordot", lambda x, y: torch.tensordot(x, y, 1), rows, [1.0, 0, -1, 2])
    case("lrn", lambda x: F.local_response_norm(x[:, :, None], 3, alpha=0.75, beta=0.5, k=1)[:, :, 0], few)
    case("scatter_rows", lambda x, k: torch.zeros(4, 4).index_add(0, k, x), rows, torch.arange(len(rows)) % 4)
    case("gather_nd", lambda x, k: x[k[:, 0], k[:, 1]], rows, torch.tensor([[0, 0], [3, 3], [11, 2]]))
    sorted_numbers = torch.tensor([-inf, -1.0, 0, 2, inf])
    places = lambda s, x: torch.searchsorted(s.detach(), x.detach()).int()
    case("searchsorted", places, sorted_numbers, [v for r in few for v in r])


def pairs(case, special, a, b):
    case("logaddexp", torch.logaddexp, a, b)
    case("lerp", lambda a, b: torch.lerp(a, b, 0.25), a, b)
    case("lerp.addcmul", lambda a, b: torch.addcmul(a, a, b, value=0.5), a, b)
    case("lerp.addcdiv", lambda a, b: torch.addcdiv(a, a, b, value=0.5), a, b)
    case("finite", lambda x: x.nan_to_num(2), special)
    case("finite.isnan", torch.isnan, special)
    case("finite.isinf", torch.isinf, special)
    case("finite.isfinite", torch.isfinite, special)


def images(case):
    x = torch.tensor([1, 2, nan, 4, inf, 5, 6, 7, -0.0, 0, -inf, 1]).reshape(1, 1, 3, 4)
    resize = lambda mode, **more: lambda x: F.interpolate(x, (5, 3), mode=mode, **more)
    for mode in "nearest", "bilinear", "bicubic", "area":
        case(f"interpolate.{mode}", resize(mode), x)
    case("interpolate.antialias", resize("bilinear", antialias=True), x)
    case("unfold", lambda x: F.unfold(x, (2, 2), padding=1), x)
    case("pool1d", lambda x: F.max_pool1d(x[0], 2), x)
    case("pool3d", lambda x: F.max_pool3d(x[None], (1, 2, 2)), x)
    case("pool_indices", lambda x: F.max_pool2d(x.detach(), 2, return_indices=True)[1].int(), x)
    case("adaptive_pool", lambda x: F.adaptive_avg_pool2d(x, (2, 3)), x)
    case("adaptive_pool.max", lambda x: F.adaptive_max_pool2d(x, (2, 3)), x)
    case("pixel_shuffle", lambda x: F.pixel_shuffle(x.reshape(1, 4, 3, 1), 2), x)
    w = torch.tensor([1.0, nan, 0, inf]).reshape(1, 1, 2, 2)
    case("conv2d_transpose", lambda x, w: F.conv_transpose2d(x, w), torch.ones(1, 1, 2, 2), w)
    case("conv1d", lambda x, w: F.conv1d(x, w), torch.tensor([[[1, nan, 2, inf, 3]]]), torch.tensor([[[1.0, 0]]]))
    case("conv3d", lambda x, w: F.conv3d(x[None], w), x, torch.tensor([1.0, 0, -1, 2]).reshape(1, 1, 1, 2, 2))


def layers(case):
    q = [[[1.0, 0], [0.5, 1], [nan, 1]]]
    mask = torch.tensor([[True, False], [True, True], [False, False]])
    case("masked_attention", attention, q, [[[1.0, 2], [inf, 1]]], [[[1.0, 2], [3, inf]]], mask)
    table = [[1.0, 0, 0, 1], [0.5, 1, 1, 0.5]]

    def turned(x, table):
        (a, b), (cos, sin) = x.chunk(2, -1), table.detach().chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    case("rotary_embedding", turned, [[[nan, 1, inf, 0], [1, -inf, 2, -0.0]]], table)
    singular = [[[1.0, 2], [2, 5]], [[nan, 1], [1, 1]], [[inf, 0], [0, 1]]]
    case("determinant", torch.linalg.det, singular[:2])
    triangular = lambda a, b: torch.linalg.solve_triangular(a, b, upper=False)
    case("solve_triangular", triangular, singular, [[[1.0], [2]]] * 3)


def recurrent(case):
    x = [[[nan, 1.0], [0.5, 1]], [[0.5, inf], [1, 1]], [[1.0, -2], [-inf, 0]]]
    gates = [[[nan, 1, 0.5], [1, 1, 1]], [[0.5, inf, 1], [1, 0, -1]], [[-inf, -2, 1], [0, 1, inf]]]

    def loop(x, cell):
        h, y = torch.zeros(3, 1), []
        for step in range(x.shape[1]):
            h = cell(x[:, step], h)
            y.append(h)
        return torch.stack(y, 1)

    def gru(x, h):
        (r, z, m), (p, q, s) = x[0].chunk(3, 1), (h @ x[1].t()).chunk(3, 1)
        m = (m + (r + p).sigmoid() * s).tanh()
        return m + (z + q).sigmoid() * (h - m)

    for name, f in dict(rnn=torch.tanh, relu=torch.relu).items():
        layer = lambda x, w, r: loop(x, lambda x, h: f(x @ w.t() + h @ r.t()))
        case(name if name == "rnn" else f"rnn.{name}", layer, x, [[0.5, -1]], [[1.0]])
    case("gru", lambda x, w: loop(x, lambda x, h: gru((x, w), h)), gates, [[0.5], [-1], [2]])


def sizes(case):
    """Empty batches, and extents of 1."""
    none = torch.zeros
    case("softmax.empty", lambda x: x.softmax(1), none(0, 4))
    case("logsumexp.empty", lambda x: x.logsumexp(1), none(0, 4))
    case("norm.empty", lambda x: torch.linalg.vector_norm(x, 2, 1), none(0, 4))
    case("sort.empty", lambda x: x.sort(1)[0], none(0, 4))
    case("cumsum.empty", lambda x: x.cumsum(1), none(0, 4))
    case("layer_norm.empty", lambda x, a, b: F.layer_norm(x, [4], a, b), none(0, 4), [1.0] * 4, [0.0] * 4)
    case("group_norm.empty", lambda x, a, b: F.group_norm(x, 2, a, b), none(0, 4), [1.0] * 4, [0.0] * 4)
    case("pool2d.empty", lambda x: F.max_pool2d(x, 2), none(0, 1, 4, 4))
    case("conv2d.empty", lambda x, w: F.conv2d(x, w), none(0, 1, 4, 4), torch.ones(2, 1, 3, 3))
    case("interpolate.empty", lambda x: F.interpolate(x, (5, 3), mode="bilinear"), none(0, 1, 4, 4))
    case("interpolate.one", lambda x: F.interpolate(x, (3, 1), mode="bicubic"), [[[[2.0]]], [[[nan]]]])
    case("gather.empty", lambda t, i: F.embedding(i, t), [[1.0, 2], [3, 4]], none(0, dtype=torch.int64))
    case("scatter_rows.empty", lambda x, k: none(4, 4).index_add(0, k, x), none(0, 4), none(0, dtype=torch.int64))
    case("layer_norm.one", lambda x, a, b: F.layer_norm(x, [1], a, b, 1e-5), [[1.0], [nan], [inf]], [2.0], [0.5])
    case("sort.one", lambda x: x.sort(1)[0], [[1.0], [nan]])
    case("argmax.one", lambda x: x.detach().argmax(1), [[1.0], [nan]])


def integers(case, limits):
    i = torch.tensor(limits, dtype=torch.int32)
    case("cumsum.int32", lambda x: x.cumsum(0, dtype=torch.int32), i)
    case("reduce_prod.int32", lambda x: x.prod(dtype=torch.int32), i)
    case("sort.int32", lambda x: x.sort(0)[0], i)
    case("clip.int32", lambda x: x.clamp(-3, 5), i)
    case("matmul.int32", lambda x: x.reshape(3, 3) @ x.reshape(3, 3), i)
    sums = lambda x, k: torch.zeros(2, dtype=torch.int32).index_add(0, k, x)
    case("scatter_rows.int32", sums, i, torch.arange(9) % 2)
