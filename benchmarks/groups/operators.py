"""Single operators and layers of tenon/more.hpp, losses, and optimizers, each in three sizes, against PyTorch:
harness/table.py describes the rows."""
from harness.plan import GeometricMean, Group
from harness.table import OptimizerRow, Row

IMAGES = (1, 8, 32)


def unary(name, torch=None, types="n.64", cxx=None, **more):
    return Row(name, cxx or f"{name}(x)", torch or f"torch.{name}(x)", types, **more)


def images(name, cxx, torch, types="n.16.28.28", sizes=IMAGES, **more):
    return Row(name, cxx, torch, types, sizes, **more)


ELEMENTWISE = (
    unary("sin"),
    unary("cos"),
    unary("tan"),
    unary("asin", types="u:n.64"),
    unary("acos", types="u:n.64", tolerance=1e-3),
    unary("atan"),
    unary("sinh"),
    unary("cosh"),
    unary("asinh"),
    unary("acosh", types="p:n.64", tolerance=1e-2),
    unary("atanh", types="u:n.64", tolerance=1e-2),
    unary("erf"),
    unary("erfc"),
    unary("lgamma", types="p:n.64"),
    unary("digamma", types="p:n.64"),
    unary("exp2"),
    unary("expm1"),
    unary("log", types="p:n.64"),
    unary("log1p", types="u:n.64"),
    unary("log2", types="p:n.64"),
    unary("log10", types="p:n.64"),
    unary("sqrt", types="p:n.64"),
    unary("floor", types="c:n.64", train=False),
    unary("round", types="c:n.64", train=False),
    unary("trunc", types="c:n.64", train=False),
    unary("sign", types="c:n.64", train=False),
    unary("relu6", "F.relu6(x)"),
    unary("leaky_relu", "F.leaky_relu(x, 0.2)"),
    unary("elu", "F.elu(x)"),
    unary("celu", "F.celu(x)"),
    unary("selu", "F.selu(x)"),
    Row("prelu", "prelu(x, y)", "F.prelu(x, y)", "n.64.49 64", (1, 16, 256)),
    unary("hsigmoid", "F.hardsigmoid(x)"),
    unary("hswish", "F.hardswish(x)"),
    unary("hardtanh", "F.hardtanh(x)"),
    unary("hardshrink", "F.hardshrink(x)"),
    unary("softshrink", "F.softshrink(x)"),
    unary("softsign", "F.softsign(x)"),
    unary("mish", "F.mish(x)"),
    unary("logsigmoid", "F.logsigmoid(x)"),
    unary("fast_gelu", "x * torch.sigmoid(1.702 * x)"),
    Row("fmod", "fmod(x, y)", "torch.fmod(x, y)", "c:n.64 p:n.64", train=False),
    Row("floor_mod", "floor_mod(x, y)", "torch.remainder(x, y)", "c:n.64 p:n.64", train=False),
    Row("atan2", "atan2(x, y)", "torch.atan2(x, y)", "n.64 p:n.64"),
    Row("pow", "pow(x, y)", "torch.pow(x, y)", "p:n.64 n.64"),
    Row("pow/number", "pow(x, 2.5f)", "torch.pow(x, 2.5)", "p:n.64"),
    Row("hypot", "hypot(x, y)", "torch.hypot(x, y)", "n.64 p:n.64"),
    Row("xlogy", "xlogy(x, y)", "torch.xlogy(x, y)", "n.64 p:n.64"),
    Row("bitwise_xor", "bitwise_xor(x, y)", "torch.bitwise_xor(x, y)", "i1000:n.64 i1000:n.64", train=False),
    Row("outer", "outer(x, y)", "torch.outer(x, y)", "n 256", (16, 256, 2048)),
)

REDUCTIONS = (
    Row("reduce_var", "reduce_var<1>(x)", "torch.var(x, 1)", "n.256", (4, 256, 4096)),
    Row("reduce_std/columns", "reduce_std<0>(x)", "torch.std(x, 0)", "256.64", (1,)),
    Row("logsumexp", "logsumexp<1>(x)", "torch.logsumexp(x, 1)", "n.256", (4, 256, 4096)),
    Row("norm", "norm<1>(x)", "torch.linalg.vector_norm(x, 2, 1)", "n.256", (4, 256, 4096)),
    Row("l1_norm", "l1_norm<1>(x)", "torch.linalg.vector_norm(x, 1, 1)", "n.256", (4, 256, 4096)),
    Row("max_norm", "max_norm<1>(x)", "torch.linalg.vector_norm(x, float('inf'), 1)", "n.256", (4, 256, 4096),
        train=False),
    Row("reduce_all", "reduce_all<1>(x)", "torch.all(x, 1)", "b:n.256", (4, 256, 4096), train=False),
    Row("reduce_any", "reduce_any<1>(x)", "torch.any(x, 1)", "b:n.256", (4, 256, 4096), train=False),
    Row("l2_normalize", "l2_normalize<1>(x, 1e-12f)", "F.normalize(x, dim=1)", "n.256", (4, 256, 4096), graph=True),
    Row("cumsum", "cumsum<1>(x)", "torch.cumsum(x, 1)", "n.256", (4, 256, 4096)),
    Row("cumsum/columns", "cumsum<0>(x)", "torch.cumsum(x, 0)", "256.64", (1,)),
    Row("cumprod", "cumprod<1>(x)", "torch.cumprod(x, 1)", "u:n.16", (16, 256, 4096)),
    Row("sort", "std::get<0>(sort(x))", "torch.sort(x).values", "n.256", (4, 64, 1024)),
    Row("sort/columns", "std::get<0>(sort<0>(x))", "torch.sort(x, 0).values", "256.64", (1,)),
    Row("argsort", "argsort(x)", "torch.argsort(x)", "c:n.100", (1,), train=False),
    Row("topk", "std::get<0>(topk<5>(x))", "torch.topk(x, 5).values", "n.1000", (4, 32, 256)),
    Row("unique", "std::get<0>(unique<1000>(x))", "torch.unique(x, return_inverse=True)[0]", "i1000:16384", (1,),
        train=False),
)

MOVEMENT = (
    Row("gather_elements", "gather_elements<1>(x, y)", "torch.gather(x, 1, y)", "n.64 i64:n.32", (16, 1024, 8192)),
    Row("gather_elements/columns", "gather_elements<0>(x, y)", "torch.gather(x, 0, y)", "256.64 i256:128.64", (1,)),
    Row("scatter_elements", "tensor_scatter_elements<1>(x, y, z)", "torch.scatter(x, 1, y, z)",
        "c:n.64 i64:n.1 n.1", (16, 1024, 8192), train=False),
    Row("scatter_add_elements", "tensor_scatter_elements<1, ScatterReduction::add>(x, y, z)",
        "torch.scatter_add(x, 1, y, z)", "n.64 i64:n.32 n.32", (16, 1024, 8192)),
    Row("gather_nd", "gather_nd(x, y)", "x[y[:, 0]]", "512.64 i512:n.1", (16, 256, 4096)),
    Row("gather_nd/two", "gather_nd(x, y)", "x[y[:, 0], y[:, 1]]", "64.64.32 i64:n.2", (16, 256, 4096)),
    Row("scatter_nd", "scatter_nd<Shape<512, 64>>(x, y)", "torch.zeros(512, 64).index_add(0, x[:, 0], y)",
        "i512:n.1 n.64", (16, 256, 4096)),
    Row("scatter_add", "tensor_scatter_add(x, y, z)", "x.index_add(0, y[:, 0], z)", "512.64 i512:n.1 n.64",
        (16, 256, 4096)),
    Row("segment_sum", "unsorted_segment_sum<100>(x, y)", "torch.zeros(100, 64).index_add(0, y, x)", "n.64 i100:n",
        (16, 256, 4096)),
    Row("one_hot", "one_hot<100>(x)", "F.one_hot(x, 100).float()", "i100:n", (16, 256, 4096), train=False),
    images("tile", "tile<1, 2, 1, 2>(x)", "x.repeat(1, 2, 1, 2)"),
    images("repeat_interleave", "repeat_interleave<2, 2>(x)", "x.repeat_interleave(2, 2)"),
    images("roll", "roll<3, 3>(x)", "torch.roll(x, 3, 3)"),
    images("flip", "flip<3>(x)", "torch.flip(x, (3,))"),
    Row("flip/rows", "flip<1>(x)", "torch.flip(x, (1,))", "n.256", (4, 256, 4096)),
    Row("meshgrid", "meshgrid(x, y)", "tuple(t.contiguous() for t in torch.meshgrid(x, y, indexing='ij'))",
        "c:256 c:300", (1,), train=False),
    images("pad_reflect", "pad_reflect<Margin{}, Margin{}, Margin{2, 2}, Margin{2, 2}>(x)",
           "F.pad(x, (2, 2, 2, 2), mode='reflect')"),
    images("pad_replicate", "pad_replicate<Margin{}, Margin{}, Margin{2, 2}, Margin{2, 2}>(x)",
           "F.pad(x, (2, 2, 2, 2), mode='replicate')"),
    images("pad_circular", "pad_circular<Margin{}, Margin{}, Margin{2, 2}, Margin{2, 2}>(x)",
           "F.pad(x, (2, 2, 2, 2), mode='circular')"),
    images("unfold", "unfold<Pair{3}>(x)", "F.unfold(x, 3)"),
    Row("fold", "fold<Pair{28}, Pair{3}>(x)", "F.fold(x, 28, 3)", "n.144.676", IMAGES),
    images("pixel_shuffle", "pixel_shuffle<2>(x)", "F.pixel_shuffle(x, 2)"),
    images("pixel_unshuffle", "pixel_unshuffle<2>(x)", "F.pixel_unshuffle(x, 2)"),
    images("nearest", "interpolate<Pair{56}>(x)", "F.interpolate(x, size=(56, 56))"),
    images("bilinear", "interpolate<Pair{56}, Interpolation::linear>(x)",
           "F.interpolate(x, size=(56, 56), mode='bilinear')"),
    images("bicubic", "interpolate<Pair{56}, Interpolation::cubic>(x)",
           "F.interpolate(x, size=(56, 56), mode='bicubic')"),
    images("area", "interpolate<Pair{12}, Interpolation::area>(x)", "F.interpolate(x, size=(12, 12), mode='area')"),
    Row("linear", "interpolate<100, Interpolation::linear>(x)", "F.interpolate(x, size=100, mode='linear')",
        "n.16.64", (1, 16, 256)),
)

LAYERS = (
    Row("conv1d", "conv1d<Conv1dOptions{.pad_mode = PadMode::pad, .padding = 1}>(x, y)",
        "F.conv1d(x, y[:, :, 0], padding=1)", "n.32.128 64.32.1.3", (1, 8, 32)),
    Row("conv3d", "conv3d<Conv3dOptions{.pad_mode = PadMode::pad, .padding = 1}>(x, y)", "F.conv3d(x, y, padding=1)",
        "n.8.8.16.16 16.8.3.3.3", (1, 4, 16)),
    Row("conv3d/volumes", "conv3d<Conv3dOptions{.stride = 2, .pad_mode = PadMode::valid}>(x, y)",
        "F.conv3d(x, y, stride=2)", "n.3.16.32.32 32.3.3.3.3", (1, 4)),
    images("conv2d_transpose",
           "conv2d_transpose<Conv2dTransposeOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = 1}>(x, y)",
           "F.conv_transpose2d(x, y, stride=2, padding=1)", "n.32.14.14 32.16.4.4"),
    Row("conv1d_transpose",
        "conv1d_transpose<Conv1dTransposeOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = 1}>(x, y)",
        "F.conv_transpose1d(x, y[:, :, 0], stride=2, padding=1)", "n.32.64 32.16.1.4", (1, 8, 32)),
    Row("conv3d_transpose", "conv3d_transpose<Conv3dTransposeOptions{.stride = 2, .pad_mode = PadMode::valid}>(x, y)",
        "F.conv_transpose3d(x, y, stride=2)", "n.16.4.8.8 16.8.2.2.2", (1, 4, 16)),
    Row("max_pool1d", "max_pool1d<2>(x)", "F.max_pool1d(x, 2)", "n.32.128", (1, 8, 32)),
    Row("avg_pool1d", "avg_pool1d<2>(x)", "F.avg_pool1d(x, 2)", "n.32.128", (1, 8, 32)),
    images("adaptive_avg_pool2d", "adaptive_avg_pool2d<Pair(5, 7)>(x)", "F.adaptive_avg_pool2d(x, (5, 7))"),
    images("adaptive_avg_pool2d/one", "adaptive_avg_pool2d<Pair(1)>(x)", "F.adaptive_avg_pool2d(x, 1)"),
    images("adaptive_max_pool2d", "adaptive_max_pool2d<Pair(5, 7)>(x)", "F.adaptive_max_pool2d(x, (5, 7))"),
    images("group_norm", "group_norm<GroupNormConfig{.groups = 4}>(x, y, z)", "F.group_norm(x, 4, y, z)",
           "n.16.28.28 16 16", graph=True),
    images("group_norm/16", "group_norm<GroupNormConfig{.groups = 8}>(x, y, z)", "F.group_norm(x, 8, y, z)",
           "n.64.7.7 64 64", graph=True),
    Row("group_norm/features", "group_norm<GroupNormConfig{.groups = 32}>(x, y, z)", "F.group_norm(x, 32, y, z)",
        "n.512 512 512", (1, 16, 256), graph=True),
    images("instance_norm", "group_norm<GroupNormConfig{.groups = 16}>(x, y, z)",
           "F.instance_norm(x, None, None, y, z)", "n.16.28.28 16 16", graph=True),
    images("lrn", "lrn<LRNConfig{.depth_radius = 2, .bias = 1, .alpha = 2e-5f, .beta = 0.75f}>(x)",
           "F.local_response_norm(x, 5, 1e-4, 0.75, 1)", graph=True),
    images("ssim", "nn::SSIM<>{}(x, y)", "ssim(x, y)", "u:n.3.32.32 q:n.3.32.32", graph=True),
    Row("rnn_tanh", "std::get<0>(rnn_tanh(x, y, z))",
        "torch.rnn_tanh(x, torch.zeros(1, x.shape[0], 64), (y, z), False, 1, 0.0, True, False, True)[0]",
        "n.20.32 s:64.32 s:64.64", (1, 8, 32)),
    Row("masked_attention", "std::get<0>(masked_attention<AttentionConfig{.heads = 4}>(x, y, z, v))",
        "attention(x, y, z, 4, ~v)", "n.64.64 n.64.64 n.64.64 b:64.64", (1, 4, 16), graph=True),
    Row("masked_attention/added", "std::get<0>(masked_attention<AttentionConfig{.heads = 4}>(x, y, z, v))",
        "attention(x, y, z, 4, v)", "n.64.64 n.64.64 n.64.64 c:64.64", (1, 4, 16), graph=True),
    Row("reverse_sequence", "reverse_sequence(x, y)",
        "torch.gather(x, 1, torch.where(torch.arange(32) < y[:, None], y[:, None] - 1 - torch.arange(32), "
        "torch.arange(32))[:, :, None].expand(-1, -1, 64))", "n.32.64 i32:n", (1, 16, 256)),
)


# The unit matrix is added because a matrix of the numbers that all sides begin with is nearly singular.
LINEAR = (
    Row("det", "det(x + eye<8>(x))", "torch.linalg.det(x + torch.eye(8))", "s:n.8.8", (1, 64)),
    Row("slogdet", "std::get<1>(slogdet(x + eye<256>(x)))", "torch.linalg.slogdet(x + torch.eye(256)).logabsdet",
        "s:n.256.256", (1,), tolerance=1e-2),
    Row("inverse", "inverse(x + eye<64>(x))", "torch.linalg.inv(x + torch.eye(64))", "s:n.64.64", (1, 8),
        tolerance=1e-2),
    Row("solve", "solve(x + eye<256>(x), y)", "torch.linalg.solve(x + torch.eye(256), y)", "s:n.256.256 n.256.16",
        (1,), tolerance=1e-2),
    Row("cholesky", "cholesky(matmul<Transposed::second>(x, x) + eye<256>(x))",
        "torch.linalg.cholesky(x @ x.mT + torch.eye(256))", "s:n.256.64", (1,), tolerance=1e-2),
)


def loss(name, cxx, torch, types="n.64 c:n.64"):
    return Row(f"loss/{name}", f"nn::{cxx}{{}}(x, y)", torch, types, graph=True)


LOSSES = (
    loss("mse", "MSELoss<>", "F.mse_loss(x, y)"),
    loss("l1", "L1Loss<>", "F.l1_loss(x, y)"),
    loss("huber", "HuberLoss<>", "F.huber_loss(x, y)"),
    loss("smooth_l1", "SmoothL1Loss<>", "F.smooth_l1_loss(x, y)"),
    loss("bce", "BCELoss<>", "F.binary_cross_entropy(x, y)", "h:n.64 q:n.64"),
    loss("bce_with_logits", "BCEWithLogitsLoss<>", "F.binary_cross_entropy_with_logits(x, y)", "n.64 q:n.64"),
    loss("kl_div", "KLDivLoss<>", "F.kl_div(x, y, reduction='mean')", "n.64 q:n.64"),
    loss("soft_margin", "SoftMarginLoss<>", "F.soft_margin_loss(x, y)"),
    loss("cross_entropy", "CrossEntropyLoss<>", "F.cross_entropy(x, y)", "n.64 i64:n"),
    loss("nll", "NLLLoss<>", "F.nll_loss(x, y)", "n.64 i64:n"),
)


def optimizer(name, cxx, torch, **more):
    return OptimizerRow(f"optim/{name}", cxx, torch, **more)


# PyTorch's fused form where it has one for the CPU; where both sides place epsilon differently, it changes nothing
OPTIMIZERS = (
    optimizer("sgd", "nn::SGD{.learning_rate = 1e-3f}", "torch.optim.SGD([p], 1e-3, fused=True)"),
    optimizer("sgd_momentum", "nn::SGD{.learning_rate = 1e-3f, .momentum = 0.9f}",
              "torch.optim.SGD([p], 1e-3, 0.9, fused=True)"),
    optimizer("momentum", "nn::Momentum{.learning_rate = 1e-3f, .momentum = 0.9f}",
              "torch.optim.SGD([p], 1e-3, 0.9, fused=True)"),
    optimizer("nesterov", "nn::NesterovMomentum{.learning_rate = 1e-3f, .momentum = 0.9f}",
              "torch.optim.SGD([p], 1e-3, 0.9, nesterov=True, fused=True)"),
    optimizer("adam", "nn::Adam{.learning_rate = 1e-3f}", "torch.optim.Adam([p], 1e-3, fused=True)", tolerance=1e-3),
    optimizer("amsgrad", "nn::AdamWith<nn::AdamConfig{.use_amsgrad = true}>{.learning_rate = 1e-3f}",
              "torch.optim.Adam([p], 1e-3, amsgrad=True, fused=True)", tolerance=1e-3),
    optimizer("adamax", "nn::AdaMax{.learning_rate = 1e-3f}", "torch.optim.Adamax([p], 1e-3)", tolerance=1e-3),
    optimizer("rmsprop", "nn::CenteredRMSProp{.learning_rate = 1e-3f, .decay = 0.75f, .momentum = 0.5f}",
              "torch.optim.RMSprop([p], 1e-3, 0.75, momentum=0.5, centered=True)", tolerance=1e-2),
    optimizer("adagrad", "nn::Adagrad{.accum = 0.5f, .learning_rate = 1e-3f}",
              "torch.optim.Adagrad([p], 1e-3, initial_accumulator_value=0.5, fused=True)"),
    optimizer("adadelta", "nn::Adadelta{}", "torch.optim.Adadelta([p], 1.0)"),
    optimizer("asgd", "nn::ASGD{.learning_rate = 1e-3f}", "torch.optim.ASGD([p], 1e-3)"),
    optimizer("rprop", "nn::Rprop{.learning_rate = 1e-3f}", "torch.optim.Rprop([p], 1e-3)"),
    optimizer("adafactor", "nn::AdaFactorWith<false>{.learning_rate = 1e-3f}",
              "torch.optim.Adafactor([p], 1e-3, weight_decay=0.0)", tolerance=1e-2),
)


FAMILIES = {
    "element-wise operators": ELEMENTWISE,
    "reductions, running sums, orders": REDUCTIONS,
    "operators that move elements": MOVEMENT,
    "layers": LAYERS,
    "losses": LOSSES,
    "optimizers": OPTIMIZERS,
    "linear algebra": LINEAR,
}
ROWS = tuple(row for family in FAMILIES.values() for row in family)

GROUP = Group(
    "operators",
    tuple(work for row in ROWS for work in row.works()),
    tuple(
        GeometricMean("op/", what, tuple(work.name for row in rows for work in row.works()), "pytorch", 1.3,
                      least=0.8, ours="", middle="median")
        for what, rows in FAMILIES.items()
    ),
    rows=ROWS,
)
