"""The numbers that all sides compute from, as NumPy arrays (run/serve.hpp has the same formula)."""
import json
import struct

import numpy as np


def numbers(count, first=0):
    index = np.arange(first, first + count, dtype=np.uint64)
    return ((((index * 2654435761) % 2**32) // 65536).astype(np.float32) / np.float32(65536))


def batch_of(network, batch):
    """Pixels and labels."""
    size = int(np.prod(network.sample))
    return numbers(batch * size).reshape(batch, *network.sample), (np.arange(batch) % network.classes).astype(np.int32)


def texts_of(network, batch):
    """Letters, and the letters to predict."""
    shape = (batch, network.length)
    return [
        (numbers(batch * network.length, first) * network.vocabulary).astype(np.int32).reshape(shape)
        for first in (0, 12345)
    ]


def safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = (
                np.frombuffer(data[8 + size + begin : 8 + size + end], np.float32).reshape(entry["shape"]).copy()
            )
    return tensors


def some_of(values):
    """At most a thousand and some elements, from all over the array."""
    flat = np.asarray(values).reshape(-1)
    return flat[::flat.size // 1024 + 1]
