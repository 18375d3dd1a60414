"""Memory: the device's, the blocks' shared memory, the instructions that access them, and races.

Addresses of shared memory in the code are those of a block; generic addresses of it, also of another block of the
cluster, are in a window of their own, with the number of the block in the cluster from bit 24 on."""
import re

import numpy as np

from .operands import LONG, UINT, ZEROS, bits, load, pair, predicate, register, size_of, uniform
from .operations import SHARED_WINDOW, operation
from .parse import NotKnown

RESERVED = 0x400  # bytes of shared memory before those of the kernel
MOST_STATIC = 48 << 10  # of variables, beside those that a launch asks for
OFFSET_BITS = 24
NOBODY, SEVERAL = -1, -2
STACK_TOP, STACK_BYTES = 0xFFFD00, 4096  # of a thread's local memory


class DeviceMemory:
    """Pieces of (address, bytes)."""

    def __init__(self, pieces):
        whole = [(at, data + b"\0" * (-len(data) % 4)) for at, data in pieces]
        self.pieces = [(at, np.frombuffer(data, np.uint8).copy()) for at, data in whole]

    def find(self, warp, instruction, addresses, mask):
        """The pieces in which the addresses of the lanes in `mask` are, each with the offsets there and its lanes."""
        left = mask.copy()
        for at, data in self.pieces:
            here = left & (addresses >= at) & (addresses < at + len(data))
            if here.any():
                yield data, np.where(here, addresses - at, 0), here
                left &= ~here
        if left.any():
            what = f"what is at 0x{int(addresses[left][0]):x}, which is no memory of the device, of"
            raise NotKnown(instruction, what)


class Race:
    def __init__(self, warp, instruction, writes, place, other):
        self.warp, self.instruction, self.writes = (warp.block.rank, warp.number), instruction, writes
        self.place, self.other = place, other


class Shared:
    """The shared memory of a block. With `finds_races` it keeps for each byte who wrote and read it last, and how many
    barriers this warp had come to by then. An access is ordered after another one if its warp has passed a barrier, of
    the block or of the cluster, to which the other warp came only after its own access."""

    def __init__(self, rank, size, finds_races):
        words = (size + RESERVED + MOST_STATIC) // 4
        self.rank = rank
        self.words = np.zeros(words, UINT)
        self.bytes = self.words.view(np.uint8)
        self.finds_races = finds_races
        if finds_races:
            self.access = {kind: [np.full(4 * words, NOBODY, LONG) for _ in range(4)] for kind in ("write", "read")}

    def not_ordered(self, kind, places, warp, own):
        """Which of the bytes another warp accessed, without a barrier since then."""
        who, rank, barriers, cluster_barriers = (each[places] for each in self.access[kind])
        others = (who != NOBODY) & (who != own)
        ordered = (warp.cluster_barriers_passed > cluster_barriers)
        ordered |= (rank == warp.block.rank) & (warp.barriers > barriers)
        return others & ~ordered

    def note(self, warp, instruction, offsets, size, mask, writes):
        """Notes an access of a warp, and reports a race."""
        if not self.finds_races or not mask.any():
            return
        places = np.unique(np.concatenate([offsets[mask] + k for k in range(size)]))
        own = warp.block.rank << 8 | warp.number
        bad = self.not_ordered("write", places, warp, own)
        other = self.access["write"][0]
        read_too = self.not_ordered("read", places, warp, own)
        if writes:
            other = np.where(bad.any(), other, self.access["read"][0])
            bad = bad | read_too
        if bad.any():
            place = int(places[bad][0])
            warp.block.machine.add_race(Race(warp, instruction, writes, place - RESERVED, int(other[place])))
        who, rank, barriers, cluster_barriers = self.access["write" if writes else "read"]
        if not writes:  # of several readers, the barriers of the one that is farthest
            read_before = places[read_too]
            latest = cluster_barriers[read_before]
        who[places], rank[places] = own, warp.block.rank
        barriers[places], cluster_barriers[places] = warp.barriers, warp.cluster_barriers_reached
        if not writes:
            who[read_before] = SEVERAL
            cluster_barriers[read_before] = np.maximum(latest, warp.cluster_barriers_reached)


def address(warp, text):
    """Of `[R4+UR6+0x10]`, of `desc[UR4][R2.64]`: a number of 64 bits per lane."""
    match = re.fullmatch(r"(?:desc\[UR\d+\])?\[(.*)\]", text)
    total, wide = np.zeros(32, LONG), False
    for part in re.findall(r"[+-]?[^+-]+", match.group(1)):
        part = part.lstrip("+")
        if part.endswith(".64"):
            total, wide = total + pair(warp, part[:-3]).view(LONG), True
        elif part.startswith("UR"):
            total = total + (pair(warp, part).view(LONG) if wide else uniform(warp, part))
        elif part.startswith("R"):
            total = total + bits(warp, part.split(".")[0]).astype(LONG)
        else:
            total = total + int(part, 0)
    return total


def shared_address(warp, text):
    return address(warp, text) & ((1 << OFFSET_BITS) - 1)


def store(warp, text, data, offsets, size, mask):
    if size < 4:
        number = np.uint8 if size == 1 else np.uint16
        data.view(number)[offsets[mask] // size] = bits(warp, text)[mask].astype(number)
        return
    words, first = data.view(UINT), register(text)
    for k in range(size // 4):
        words[offsets[mask] // 4 + k] = (ZEROS if first is None else warp.registers[first + k])[mask]


def most_in_a_bank(words):
    counts = {}
    for word in words:
        counts[word % 32] = counts.get(word % 32, 0) + 1
    return max(counts.values(), default=0)


def pairs_have_the_same(offsets, mask, distance):
    """Whether lanes T and T ^ distance, if both are active, access the same."""
    others = np.arange(32) ^ distance
    return (~mask | ~mask[others] | (offsets == offsets[others])).all()


def wavefronts(offsets, size, mask):
    """How many turns an access to shared memory takes: in one, each of the 32 banks gives one word. Lanes with 8 or 16
    bytes have a turn per 16 or 8 lanes; or per 32 or 16 lanes, if all lanes T and T ^ 1 access the same, or all lanes
    T and T ^ 2. An engineer of NVIDIA states this rule (its forum, "Unexpected shared memory bank conflict")."""
    if size <= 4:
        return max(1, most_in_a_bank({int(each) // 4 for each in offsets[mask]}))
    lanes = 128 // size

    def turns(group):
        return most_in_a_bank({int(offsets[k]) // 4 + j for k in group if mask[k] for j in range(size // 4)})

    if pairs_have_the_same(offsets, mask, 1) or pairs_have_the_same(offsets, mask, 2):
        lanes *= 2
    return max(1, sum(turns(range(first, first + lanes)) for first in range(0, 32, lanes)))


def sectors(addresses, size, mask):
    """The pieces of 32 bytes that are accessed."""
    first = {int(each) >> 5 for each in addresses[mask]}
    return first | {int(each) + size - 1 >> 5 for each in addresses[mask]}


@operation("LDS")
def lds(warp, i, mask):
    offsets, size, memory = np.where(mask, shared_address(warp, i.operands[1]), 0), size_of(i), warp.block.shared
    memory.note(warp, i, offsets, size, mask, False)
    warp.wavefronts = wavefronts(offsets, size, mask)
    load(warp, i, i.operands[0], memory.bytes, offsets, size, mask)


@operation("STS")
def sts(warp, i, mask):
    offsets, size, memory = shared_address(warp, i.operands[0]), size_of(i), warp.block.shared
    memory.note(warp, i, offsets, size, mask, True)
    warp.wavefronts = wavefronts(offsets, size, mask)
    store(warp, i.operands[1], memory.bytes, offsets, size, mask)


def local_address(warp, text):
    """Bytes below the begin of a thread's stack, each of which has a row of its own."""
    offsets = address(warp, text) - (STACK_TOP - STACK_BYTES)
    return offsets + np.arange(32, dtype=LONG) * STACK_BYTES


@operation("LDL")
def ldl(warp, i, mask):
    load(warp, i, i.operands[0], warp.stack, np.where(mask, local_address(warp, i.operands[1]), 0), size_of(i), mask)


@operation("STL")
def stl(warp, i, mask):
    store(warp, i.operands[1], warp.stack, local_address(warp, i.operands[0]), size_of(i), mask)


@operation("LDG", "LD")
def ldg(warp, i, mask):
    if not mask.any():
        return
    addresses, size = address(warp, i.operands[1]), size_of(i)
    for data, offsets, lanes in warp.block.machine.memory.find(warp, i, addresses, mask):
        load(warp, i, i.operands[0], data, offsets, size, lanes)
    warp.sectors = sectors(addresses, size, mask)


def block_of(warp, addresses, mask):
    """The block of the warp's cluster whose shared memory is at generic addresses, or None."""
    machine = warp.block.machine
    blocks = machine.blocks if machine.cluster > 1 else [warp.block]
    rank = int(addresses[mask][0]) - SHARED_WINDOW >> OFFSET_BITS
    return blocks[rank] if 0 <= rank < len(blocks) else None


@operation("STG", "ST")
def stg(warp, i, mask):
    if not mask.any():
        return
    addresses, size = address(warp, i.operands[0]), size_of(i)
    block = block_of(warp, addresses, mask)
    if block:
        offsets = addresses & ((1 << OFFSET_BITS) - 1)
        block.shared.note(warp, i, offsets, size, mask, True)
        warp.wavefronts = wavefronts(offsets, size, mask)
        store(warp, i.operands[1], block.shared.bytes, offsets, size, mask)
        return
    for data, offsets, lanes in warp.block.machine.memory.find(warp, i, addresses, mask):
        store(warp, i.operands[1], data, offsets, size, lanes)
    warp.sectors = sectors(addresses, size, mask)


@operation("LDGSTS")
def ldgsts(warp, i, mask):
    """Copies from the device's memory to shared memory, and zeros where a predicate is false. The words come only when
    the warp waits for them, so that a result shows if it does not."""
    offsets, addresses, size = shared_address(warp, i.operands[0]), address(warp, i.operands[1]), size_of(i)
    copied = mask & predicate(warp, i.operands[2]) if len(i.operands) > 2 else mask
    warp.block.shared.note(warp, i, offsets, size, mask, True)
    values = np.zeros((size // 4, 32), UINT)
    if copied.any():
        for data, from_, lanes in warp.block.machine.memory.find(warp, i, addresses, copied):
            for k in range(size // 4):
                values[k][lanes] = data.view(UINT)[from_[lanes] // 4 + k]
        warp.sectors = sectors(addresses, size, copied)
    warp.copies[-1].append((i, offsets, mask, values))


@operation("LDGDEPBAR")
def ldgdepbar(warp, i, mask):
    """Ends a group of copies."""
    warp.copies.append([])


@operation("DEPBAR")
def depbar(warp, i, mask):
    """Waits for all groups of copies but the last ones."""
    if i.operands[0] != "SB0":
        raise NotKnown(i)
    arrived = max(0, len(warp.copies) - 1 - int(i.operands[1], 16))
    for copy, offsets, lanes, values in [each for group in warp.copies[:arrived] for each in group]:
        warp.block.shared.note(warp, copy, offsets, 4 * len(values), lanes, True)  # others may read it after a barrier
        for k, words in enumerate(values):
            warp.block.shared.words[offsets[lanes] // 4 + k] = words[lanes]
    del warp.copies[:arrived]
