"""Reads what benchmarks/cuda/sass/dump.cpp writes."""
import struct

from .memory import DeviceMemory
from .parse import Failed


class Launch:
    """A launch of a kernel, with the memory of the device before and after it."""

    def __init__(self, path):
        with open(path, "rb") as self.file:
            self.blocks, self.threads, self.shared_bytes, self.cluster = (self.number() for _ in range(4))
            self.body = self.bytes().decode()
            self.arguments = [self.bytes() for _ in range(self.number())]
            self.before, self.after = self.memory(), self.memory()

    def number(self):
        return struct.unpack("<q", self.file.read(8))[0]

    def bytes(self):
        return self.file.read(self.number())

    def memory(self):
        return [(self.number(), self.bytes()) for _ in range(self.number())]

    def groups(self, resident=1, first=0, last=None):
        """The numbers of the blocks first .. last - 1 that run at the same time: those of a cluster, or `resident`
        blocks of a multiprocessor."""
        last = self.blocks if last is None else min(last, self.blocks)
        together = self.cluster if self.cluster > 1 else resident
        if self.cluster > 1 and (resident > 1 or first % self.cluster or last % self.cluster):
            raise Failed(f"The blocks run in clusters of {self.cluster}, each block on a multiprocessor.")
        if not 0 <= first < last:
            raise Failed(f"There are no such blocks: the launch has {self.blocks}.")
        return [range(begin, min(begin + together, last)) for begin in range(first, last, together)]

    def memory_before(self):
        return DeviceMemory(self.before)

    def memory_after(self):
        return DeviceMemory(self.after)
