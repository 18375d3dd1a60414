"""Reads what benchmarks/cuda/sass/dump.cpp writes."""
import struct

from .memory import DeviceMemory


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

    def memory_before(self):
        return DeviceMemory(self.before)

    def memory_after(self):
        return DeviceMemory(self.after)
