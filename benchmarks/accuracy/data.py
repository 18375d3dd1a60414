"""The data of tests/support/accuracy.hpp, and the measure of an error."""
import numpy
import torch


def uniform(sequence, i):
    with numpy.errstate(over="ignore"):
        x = (i.astype(numpy.uint64) + numpy.uint64(sequence * 1000003 + 1)) * numpy.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> numpy.uint64(29))) * numpy.uint64(0xBF58476D1CE4E5B9)
        return ((x ^ (x >> numpy.uint64(32))) >> numpy.uint64(40)).astype(numpy.float64) / (1 << 24)


def sequence(data, number, length):
    """The elements 0 .. length - 1 of a sequence, as float32."""
    i = numpy.arange(length)
    if data == "constant":
        values = numpy.full(length, 0.1 * (number % 8 + 1))
    elif data == "random":
        values = 2 * uniform(number, i) - 1
    elif data == "alternating":
        values = numpy.where(i % 2, -1, 1) * (1 + uniform(number, i))
    else:
        values = 1000 + uniform(number, i)
    return torch.from_numpy(values.astype(numpy.float32))


def rows_of(data, first, count, length):
    """[count, length]"""
    return torch.stack([sequence(data, first + r, length) for r in range(count)])


def columns_of(data, first, count, length):
    """[length, count]"""
    return rows_of(data, first, count, length).T.contiguous()


def images_of(data, first, n, height, width, channels=2):
    """[n, channels, height, width]"""
    x = rows_of(data, first, channels, n * height * width)
    return x.reshape(channels, n, height, width).transpose(0, 1).contiguous()


def error(f, scale, *x):
    """The largest error of f in float32, as a part of scale(f in float64, x in float64)."""
    x64 = [t.double() for t in x]
    exact = f(*x64)
    return ((f(*x).double() - exact).abs() / scale(exact, *x64)).max().item()


def itself(exact, *_):
    return exact


def one(exact, *_):
    return torch.ones_like(exact)
