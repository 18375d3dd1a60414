"""What instructions compute for the 32 lanes of a warp: registers, predicates, and integers.
Each function gets the warp, the instruction, and the mask of the lanes for which it is executed."""
import re
import struct

import numpy as np

from .operands import (LANES, LONG, LOW_HALF, NARROW, UINT, ULONG, ZEROS, bits, floats, load, pair, predicate, put,
                       put_low, put_pair, put_predicate, results_and_sources, signed, size_of, wide)
from .parse import NotKnown

OPERATIONS = {}
SHARED_WINDOW = 0xFF0000 << 32  # of generic addresses of shared memory; a choice of this tool, far from a program's
COMPARE = {"GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal, "LT": np.less, "EQ": np.equal,
           "NE": np.not_equal}


def operation(*opcodes):
    def add(function):
        for opcode in opcodes:
            OPERATIONS[opcode] = function
        return function

    return add


def combined(instruction, left, right):
    """A comparison has an operator that combines its result with a predicate."""
    for name, function in (("AND", np.logical_and), ("OR", np.logical_or), ("XOR", np.logical_xor)):
        if name in instruction.modifiers:
            return function(left, right)
    raise NotKnown(instruction)


def to_signed(value):
    return value - (value >> 31 << 32)


@operation("NOP", "ACQBULK", "ERRBAR", "CGAERRBAR", "CCTL", "PREEXIT", "MEMBAR")
def only_order(warp, i, mask):
    """Of these, memory sees nothing here: each access but a copy is done at once. Some take time."""


@operation("MOV")
def mov(warp, i, mask):
    put(warp, i.operands[0], bits(warp, i.operands[1]), mask)


def special(warp, i):
    block = warp.block
    values = {"SR_TID.X": warp.number * 32 + LANES, "SR_TID.Y": 0, "SR_TID.Z": 0, "SR_LANEID": LANES,
              "SR_CTAID.X": block.index, "SR_CTAID.Y": 0, "SR_CTAID.Z": 0, "SR_CgaCtaId": block.rank,
              "SR_CLUSTERID.X": block.index // block.machine.cluster, "SR_SWINHI": SHARED_WINDOW >> 32}
    if i.operands[1] not in values:
        raise NotKnown(i)
    return values[i.operands[1]]


@operation("S2R")
def s2r(warp, i, mask):
    put(warp, i.operands[0], np.broadcast_to(np.asarray(special(warp, i), UINT), (32,)), mask)


@operation("CS2R")
def cs2r(warp, i, mask):
    if i.operands[1] != "SRZ":
        raise NotKnown(i)
    put(warp, i.operands[0], ZEROS, mask)
    if "32" not in i.modifiers:
        put_pair(warp, i.operands[0], np.zeros(32, ULONG), mask)


@operation("LDC")
def ldc(warp, i, mask):
    """`c[0x0][R4+0x210]` is another word in each lane; c[0x2] are tables of addresses."""
    at = re.fullmatch(r"c\[0x[02]\]\[(R[0-9Z]+)?\+?(0x[0-9a-f]+)?\]", i.operands[1])
    if not at or set(i.modifiers) - {"64", *NARROW}:
        raise NotKnown(i)
    first = bits(warp, at.group(1) or "RZ") + UINT(int(at.group(2) or "0", 16))
    constants = warp.block.machine.jump_table if i.operands[1].startswith("c[0x2]") else warp.constants
    load(warp, i, i.operands[0], constants.view(np.uint8), np.where(mask, first, 0), size_of(i), mask)


@operation("VIADD")
def viadd(warp, i, mask):
    put(warp, i.operands[0], bits(warp, i.operands[1]) + bits(warp, i.operands[2]), mask)


def complement(warp, text):
    """As 64 bits, such that a sum of these has the hardware's carry: -x is ~x + 1."""
    if text[0] == "-" and not text[1].isdigit():
        return (~bits(warp, text[1:])).astype(ULONG) + ULONG(1)
    return wide(warp, text)


@operation("IADD3")
def iadd3(warp, i, mask):
    result, carries, sources = results_and_sources(i.operands)
    total = sum((complement(warp, each) for each in sources[:3]), np.zeros(32, ULONG))
    if "X" in i.modifiers:
        for each in sources[3:]:
            total = total + predicate(warp, each).astype(ULONG)
    for k, each in enumerate(carries):
        put_predicate(warp, each, total >> ULONG(32) > k, mask)
    put_low(warp, result, total, mask)


def product(warp, i, left, right):
    """64 bits."""
    if "U32" in i.modifiers:
        return wide(warp, left) * wide(warp, right)
    return (signed(bits(warp, left)).astype(LONG) * signed(bits(warp, right)).astype(LONG)).view(ULONG)


@operation("IMAD")
def imad(warp, i, mask):
    result, carries, sources = results_and_sources(i.operands)
    left, right, added = sources[:3]
    if "WIDE" in i.modifiers or "HI" in i.modifiers:
        addend = pair(warp, added)
        total = product(warp, i, left, right) + addend
        carry = total < addend
        if "X" in i.modifiers:
            total = total + predicate(warp, sources[3]).astype(ULONG)
            carry = carry | (total < 1) & predicate(warp, sources[3])
    else:
        total = (wide(warp, left) * wide(warp, right) & LOW_HALF) + complement(warp, added)
        if "X" in i.modifiers:
            total = total + predicate(warp, sources[3]).astype(ULONG)
        carry = total >> ULONG(32) > 0
    for each in carries:
        put_predicate(warp, each, carry, mask)
    if "WIDE" in i.modifiers:
        put_pair(warp, result, total, mask)
    else:
        put_low(warp, result, total >> ULONG(32) if "HI" in i.modifiers else total, mask)


@operation("HFMA2")
def hfma2(warp, i, mask):
    """The compiler writes constants in this way: two numbers of 16 bits, added to -0 * 0."""
    if i.operands[1:3] != ["-RZ", "RZ"]:
        raise NotKnown(i)
    value = struct.unpack("<I", struct.pack("<ee", float(i.operands[4]), float(i.operands[3])))[0]
    put(warp, i.operands[0], np.full(32, value, UINT), mask)


@operation("LEA")
def lea(warp, i, mask):
    """Adds a number, shifted to the left; HI: what the shift moves into the upper half."""
    result, carries, sources = results_and_sources(i.operands)
    if "HI" in i.modifiers:
        if "SX32" in i.modifiers:
            shift, carry_at = int(sources[2], 16), 3
            high = ((signed(bits(warp, sources[0])).astype(LONG) << shift) >> 32).view(ULONG)
        else:
            shift, carry_at = ULONG(int(sources[3], 16)), 4
            high = (wide(warp, sources[0]) | wide(warp, sources[2]) << ULONG(32)) << shift >> ULONG(32)
        total = (high & LOW_HALF) + wide(warp, sources[1])
        if "X" in i.modifiers:
            total = total + predicate(warp, sources[carry_at]).astype(ULONG)
    else:
        if "X" in i.modifiers:
            raise NotKnown(i)
        negated, shift = sources[0][0] == "-", UINT(int(sources[2], 16))
        shifted = bits(warp, sources[0].lstrip("-")) << shift
        total = (~shifted).astype(ULONG) + ULONG(1) if negated else shifted.astype(ULONG)
        total = total + complement(warp, sources[1])
    for each in carries:
        put_predicate(warp, each, total >> ULONG(32) > 0, mask)
    put_low(warp, result, total, mask)


def looked_up(a, b, c, table):
    """The logical function whose truth table the 8 bits of `table` are."""
    result = np.zeros_like(a)
    for k in range(8):
        if table >> k & 1:
            result |= (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
    return result


@operation("LOP3")
def lop3(warp, i, mask):
    operands = list(i.operands)
    predicates = [operands.pop(0)] if re.fullmatch(r"P(\d|T)", operands[0]) else []
    value = looked_up(*(bits(warp, each) for each in operands[1:4]), int(operands[4], 16))
    for each in predicates:
        put_predicate(warp, each, (value != 0) | predicate(warp, operands[5]), mask)
    put(warp, operands[0], value, mask)


@operation("PLOP3")
def plop3(warp, i, mask):
    result, second, *sources = i.operands[:5]
    values = [predicate(warp, each) for each in sources]
    put_predicate(warp, second, looked_up(*values, int(i.operands[6], 16)), mask)
    put_predicate(warp, result, looked_up(*values, int(i.operands[5], 16)), mask)


@operation("SHF")
def shf(warp, i, mask):
    """Shifts a pair of registers, and gives its lower half; HI: its upper half."""
    high = bits(warp, i.operands[3])
    shift = wide(warp, i.operands[2])
    shift = shift & ULONG(31) if "W" in i.modifiers else np.minimum(shift, ULONG(63))
    both = wide(warp, i.operands[1]) | high.astype(ULONG) << ULONG(32)
    if "L" in i.modifiers:
        value = (both << shift >> ULONG(32)) if "HI" in i.modifiers else (both << shift)
    elif "HI" not in i.modifiers:
        value = (both.view(LONG) >> shift.astype(LONG)).view(ULONG) if "S64" in i.modifiers else both >> shift
    elif "S32" in i.modifiers:
        value = (signed(high).astype(LONG) >> shift.astype(LONG)).view(ULONG)
    elif "U32" in i.modifiers:
        value = high.astype(ULONG) >> shift
    else:
        raise NotKnown(i)
    put_low(warp, i.operands[0], value, mask)


@operation("SEL")
def sel(warp, i, mask):
    result, left, right, which = i.operands
    put(warp, result, np.where(predicate(warp, which), bits(warp, left), bits(warp, right)), mask)


@operation("FSEL")
def fsel(warp, i, mask):
    result, left, right, which = i.operands
    put(warp, result, np.where(predicate(warp, which), floats(warp, left), floats(warp, right)), mask)


@operation("IABS")
def iabs(warp, i, mask):
    put(warp, i.operands[0], np.abs(signed(bits(warp, i.operands[1]))), mask)


@operation("VIMNMX", "VIADDMNMX")
def vimnmx(warp, i, mask):
    if set(i.modifiers) - {"U32", "RELU"}:
        raise NotKnown(i)
    result, x, y, *rest = i.operands
    x = bits(warp, x)
    if i.opcode == "VIADDMNMX":
        x, y, *rest = x + bits(warp, y), *rest
    y, least = bits(warp, y), predicate(warp, rest[0])
    if "U32" not in i.modifiers:
        x, y = signed(x), signed(y)
    value = np.where(least, np.minimum(x, y), np.maximum(x, y))
    put(warp, result, np.maximum(value, 0) if "RELU" in i.modifiers else value, mask)


def of_both_halves(kind, x, y, lower):
    """Compares numbers of 64 bits: x and y are the upper halves, `lower` is the result for the lower ones."""
    if kind == "NE":
        return np.not_equal(x, y) | lower
    strict = {"GE": "GT", "LE": "LT"}.get(kind, kind)
    return np.where(np.equal(x, y), lower, COMPARE[strict](x, y))


@operation("ISETP")
def isetp(warp, i, mask):
    result, opposite, left, right, with_ = i.operands[:5]
    x, y = bits(warp, left), bits(warp, right)
    if "U32" not in i.modifiers:
        x, y = signed(x), signed(y)
    kind = i.modifiers[0]
    if "EX" in i.modifiers:
        value = of_both_halves(kind, x, y, predicate(warp, i.operands[5]))
    else:
        value = COMPARE[kind](x, y)
    other = predicate(warp, with_)
    results = combined(i, value, other), combined(i, ~value, other)
    put_predicate(warp, opposite, results[1], mask)
    put_predicate(warp, result, results[0], mask)
