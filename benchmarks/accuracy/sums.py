"""Sums, means, statistics, norms, losses, gradients of biases: the rows of tests/support/accuracy_sums.hpp."""
import torch
import torch.nn.functional as F

from accuracy.data import columns_of, error, images_of, itself, one, rows_of, sequence

EPSILON = 1e-5
SEQUENCES, OTHER = 4, 100


def by_sequence(f, scale):
    def measured(length, data):
        return max(error(f, scale, sequence(data, s, length)) for s in range(SEQUENCES))
    return measured


def by_columns(f, scale, second=False):
    def measured(length, data):
        x = [columns_of(data, 0, SEQUENCES, length)]
        if second:
            x.append(columns_of("random", OTHER, SEQUENCES, length))
        return error(f, scale, *x)
    return measured


def by_rows(f, scale):
    def measured(length, data):
        return error(f, scale, rows_of(data, 0, SEQUENCES, length))
    return measured


def by_images(f, scale, second=False):
    sides = {10: 1, 1000: 10, 1000000: 100, 3211264: 224}

    def measured(length, data):
        side = sides[length]
        x = [images_of(data, 0, length // side**2, side, side)]
        if second:
            x.append(images_of("random", OTHER, length // side**2, side, side))
        return error(f, scale, *x)
    return measured


def mse_loss(length, data):
    return max(error(F.mse_loss, itself, sequence(data, s, length), sequence("random", OTHER + s, length))
               for s in range(SEQUENCES))


def gradient(f, parameter):
    """The gradient of f(parameter) for the parameter."""
    parameter = parameter.clone().requires_grad_()
    f(parameter).backward()
    return parameter.grad


def bias_gradient(dy):
    shape = (1, -1) if dy.dim() == 2 else (1, -1, 1, 1)
    return gradient(lambda bias: (torch.zeros_like(dy) + bias.reshape(shape)).mul(dy).sum(), dy.new_ones(dy.shape[1]))


def gather_gradient(dy):
    index = torch.ones(dy.shape[0], dtype=torch.long)
    return gradient(lambda table: F.embedding(index, table).mul(dy).sum(), dy.new_ones(3, dy.shape[1]))[1]


def channel_axes(x):
    return [0] if x.dim() == 2 else [0, 2, 3]


def sum_of_sizes(exact, x):
    return x.abs().sum(channel_axes(x))


def mean_of_sizes(exact, x):
    return x.abs().mean(channel_axes(x))


def normalized(x):
    variance, mean = torch.var_mean(x, channel_axes(x), correction=0, keepdim=True)
    return (x - mean) / (variance + EPSILON).sqrt()


def statistics(x):
    """Mean and variance as batch_norm leaves them in what it moves."""
    mean, variance = x.new_zeros(x.shape[1]), x.new_zeros(x.shape[1])
    F.batch_norm(x, mean, variance, None, None, True, 1.0, EPSILON)
    count = x.numel() // x.shape[1]
    return mean, variance * ((count - 1) / count)


def gamma_gradient(x, dy):
    beta = x.new_zeros(x.shape[1])
    return gradient(lambda gamma: (F.batch_norm(x, None, None, gamma, beta, True, 0.1, EPSILON) * dy).sum(),
                    x.new_ones(x.shape[1]))


def gamma_scale(exact, x, dy):
    return (normalized(x) * dy).abs().sum(channel_axes(x)) + EPSILON * (x.numel() // x.shape[1])


def layer_norm(x):
    return F.layer_norm(x, x.shape[-1:], None, None, EPSILON)


def layer_norm_gradient(x, dy):
    width = x.shape[-1]
    return gradient(lambda gamma: (F.layer_norm(x, (width,), gamma, x.new_zeros(width), EPSILON) * dy).sum(),
                    x.new_ones(width))


def layer_norm_scale(exact, x, dy):
    return (layer_norm(x) * dy).abs().sum(0) + 1e-30


def cross_entropy(x):
    return F.cross_entropy(x, x.argmax(-1), reduction="none")


def average_pool(length, data):
    height, width = {10: (2, 5), 1000: (20, 50), 1000000: (1000, 1000)}[length]
    return error(lambda x: F.avg_pool2d(x, (height, width)).flatten(), lambda exact, x: x.abs().mean([0, 2, 3]),
                 images_of(data, 0, 1, height, width))


def rows():
    def of(name, lengths, measured):
        for length in lengths:
            yield name, length, lambda data: measured(length, data)

    three, long = (10, 1000, 1000000), (1000, 1000000)
    yield from of("sum", three, by_sequence(torch.sum, lambda exact, x: x.abs().sum()))
    yield from of("mean over rows", three, by_columns(lambda x: x.mean(0), mean_of_sizes))
    yield from of("MSELoss", three, mse_loss)
    yield from of("cross entropy", three, by_rows(cross_entropy, itself))
    yield from of("softmax", three, by_rows(lambda x: x.softmax(-1), lambda exact, x: exact.amax(-1, keepdim=True)))
    yield from of("bias gradient", three, by_columns(bias_gradient, sum_of_sizes))
    yield from of("bias gradient of images", three, by_images(bias_gradient, sum_of_sizes))
    yield from of("gather gradient", long, by_columns(gather_gradient, sum_of_sizes))
    mean, variance = (lambda x: statistics(x)[0]), (lambda x: statistics(x)[1])
    yield from of("BatchNorm1d mean", long, by_columns(mean, mean_of_sizes))
    yield from of("BatchNorm1d variance", long, by_columns(variance, lambda exact, x: exact + EPSILON))
    yield from of("BatchNorm1d gamma gradient", (1000000,), by_columns(gamma_gradient, gamma_scale, second=True))
    images = (1000, 3211264)
    yield from of("BatchNorm2d mean", images, by_images(mean, mean_of_sizes))
    yield from of("BatchNorm2d variance", images, by_images(variance, lambda exact, x: exact + EPSILON))
    yield from of("BatchNorm2d gamma gradient", (3211264,), by_images(gamma_gradient, gamma_scale, second=True))
    yield from of("LayerNorm", three, by_rows(layer_norm, one))
    yield from of("LayerNorm gamma gradient", long, by_columns(layer_norm_gradient, layer_norm_scale, second=True))
    yield from of("average pool", three, average_pool)
