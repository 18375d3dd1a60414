"""Matrix products and convolutions: the rows of tests/support/accuracy_products.hpp."""
import torch
import torch.nn.functional as F

from accuracy.data import columns_of, error, images_of, rows_of

SECOND = 50


def partner(data):
    return "random" if data == "alternating" else data


def of_sizes(f):
    """The same sums of the sizes of all products: f is linear in both operands."""
    return lambda exact, a, b: f(a.abs(), b.abs())


def measured(f, a, b):
    return error(f, of_sizes(f), a, b)


def matmul_of_columns(length, data):
    return measured(lambda a, b: a.T @ b, columns_of(data, 0, 8, length),
                    columns_of(partner(data), SECOND, 16, length))


def matmul_of_a_row(length, data):
    return measured(F.linear, rows_of(data, 0, 1, length), rows_of(partner(data), SECOND, 40, length))


def pointwise_conv2d(length, data):
    return measured(F.conv2d, columns_of(data, 0, 16, length).reshape(1, length, 4, 4),
                    rows_of(partner(data), SECOND, 24, length).reshape(24, length, 1, 1))


def conv2d_of_channels(length, data):
    return measured(F.conv2d, rows_of(data, 0, 1, length).reshape(1, length // 9, 3, 3),
                    rows_of(partner(data), SECOND, 24, length).reshape(24, length // 9, 3, 3))


def conv2d_weight(channels, side, kernel):
    def of(length, data):
        n = length // side**2
        return measured(
            lambda x, dy: torch.nn.grad.conv2d_weight(x, (channels, channels, kernel, kernel), dy, padding=kernel // 2),
            images_of(data, 0, n, side, side, channels), images_of(partner(data), SECOND, n, side, side, channels))
    return of


def rows():
    def of(name, lengths, f):
        for length in lengths:
            yield name, length, lambda data: f(length, data)

    yield from of("matmul of columns", (1000, 100000, 1000000), matmul_of_columns)
    yield from of("matmul of a row", (4096,), matmul_of_a_row)
    yield from of("conv2d 1x1, channels", (2048,), pointwise_conv2d)
    yield from of("conv2d 3x3, channels", (4608,), conv2d_of_channels)
    yield from of("conv2d 1x1, gradient of weight", (50176,), conv2d_weight(16, 56, 1))
    yield from of("conv2d 3x3, gradient of weight", (50176,), conv2d_weight(2, 224, 3))
    yield from of("conv2d 3x3, gradient of weight", (1003520,), conv2d_weight(2, 112, 3))
