"""What instructions compute for the 32 lanes of a warp: registers, predicates, and integers.
Each function gets the warp, the instruction, and the mask of the lanes for which it is executed."""
import re
import struct

import numpy as np

from .operands import (LANES, LONG, LOW_HALF, UINT, ULONG, ZEROS, bits, constant_word, floats, pair, predicate, put,
                       put_low, put_pair, put_predicate, put_uniform, put_uniform_predicate, register,
                       results_and_sources, signed, uniform, uniform_pair, uniform_predicate, wide)
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


@operation("UMOV")
def umov(warp, i, mask):
    put_uniform(warp, i.operands[0], uniform(warp, i.operands[1]))


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


@operation("S2UR")
def s2ur(warp, i, mask):
    put_uniform(warp, i.operands[0], int(special(warp, i)))


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
    if not at or set(i.modifiers) - {"64"}:
        raise NotKnown(i)
    words = (bits(warp, at.group(1) or "RZ") + UINT(int(at.group(2) or "0", 16))) // UINT(4)
    words, first = np.where(mask, words, 0), register(i.operands[0])
    constants = warp.block.machine.jump_table if i.operands[1].startswith("c[0x2]") else warp.constants
    for k in range(2 if "64" in i.modifiers else 1):
        np.copyto(warp.registers[first + k], constants[words + k], where=mask)


@operation("ULDC")
def uldc(warp, i, mask):
    if set(i.modifiers) - {"64"}:
        raise NotKnown(i)
    word = constant_word(i.operands[1])
    for k in range(2 if "64" in i.modifiers else 1):
        put_uniform(warp, i.operands[0], int(warp.constants[word + k]), k)


@operation("R2UR")
def r2ur(warp, i, mask):
    put_uniform(warp, i.operands[0], int(bits(warp, i.operands[1])[np.argmax(mask)]))


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


@operation("UIADD3")
def uiadd3(warp, i, mask):
    result, carries, sources = results_and_sources(i.operands)
    total = 0
    for each in sources[:3]:
        negated = each[0] == "-" and not each[1].isdigit()
        total += (~uniform(warp, each[1:]) & 0xFFFFFFFF) + 1 if negated else uniform(warp, each)
    if "X" in i.modifiers:
        total += sum(uniform_predicate(warp, each) for each in sources[3:])
    for k, each in enumerate(carries):
        put_uniform_predicate(warp, each, total >> 32 > k)
    put_uniform(warp, result, total)


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


@operation("UIMAD")
def uimad(warp, i, mask):
    result, carries, sources = results_and_sources(i.operands)
    left, right, added = sources
    if carries:
        raise NotKnown(i)
    x, y = uniform(warp, left), uniform(warp, right)
    if "WIDE" not in i.modifiers:
        put_uniform(warp, result, x * y + uniform(warp, added))
        return
    if "U32" not in i.modifiers:
        x, y = to_signed(x), to_signed(y)
    total = x * y + uniform_pair(warp, added)
    put_uniform(warp, result, total)
    put_uniform(warp, result, total >> 32, 1)


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
        total = (bits(warp, sources[0]) << UINT(int(sources[2], 16))).astype(ULONG) + wide(warp, sources[1])
    for each in carries:
        put_predicate(warp, each, total >> ULONG(32) > 0, mask)
    put_low(warp, result, total, mask)


@operation("ULEA")
def ulea(warp, i, mask):
    result, carries, sources = results_and_sources(i.operands)
    if carries or "X" in i.modifiers or "SX32" in i.modifiers:
        raise NotKnown(i)
    x, y = uniform(warp, sources[0]), uniform(warp, sources[1])
    if "HI" in i.modifiers:
        put_uniform(warp, result, ((x | uniform(warp, sources[2]) << 32) >> (32 - int(sources[3], 16))) + y)
    else:
        put_uniform(warp, result, (x << int(sources[2], 16)) + y)


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


@operation("ULOP3")
def ulop3(warp, i, mask):
    operands = list(i.operands)
    predicates = [operands.pop(0)] if re.fullmatch(r"UP(\d|T)", operands[0]) else []
    value = int(looked_up(*(np.array(uniform(warp, each), UINT) for each in operands[1:4]), int(operands[4], 16)))
    for each in predicates:
        put_uniform_predicate(warp, each, value != 0 or uniform_predicate(warp, operands[5]))
    put_uniform(warp, operands[0], value)


@operation("UPLOP3")
def uplop3(warp, i, mask):
    result, second, *sources = i.operands[:5]
    values = [np.array(uniform_predicate(warp, each)) for each in sources]
    put_uniform_predicate(warp, second, looked_up(*values, int(i.operands[6], 16)))
    put_uniform_predicate(warp, result, looked_up(*values, int(i.operands[5], 16)))


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


@operation("USHF")
def ushf(warp, i, mask):
    low, shift, high = (uniform(warp, each) for each in i.operands[1:4])
    shift = shift & 31 if "W" in i.modifiers else min(shift, 63)
    if "L" in i.modifiers:
        value = (low | high << 32) << shift
        value = value >> 32 if "HI" in i.modifiers else value
    elif "HI" in i.modifiers:
        value = (to_signed(high) if "S32" in i.modifiers else high) >> shift
    else:
        value = (low | (to_signed(high) if "S64" in i.modifiers else high) << 32) >> shift
    put_uniform(warp, i.operands[0], value)


@operation("SEL")
def sel(warp, i, mask):
    result, left, right, which = i.operands
    put(warp, result, np.where(predicate(warp, which), bits(warp, left), bits(warp, right)), mask)


@operation("FSEL")
def fsel(warp, i, mask):
    result, left, right, which = i.operands
    put(warp, result, np.where(predicate(warp, which), floats(warp, left), floats(warp, right)), mask)


@operation("USEL")
def usel(warp, i, mask):
    result, left, right, which = i.operands
    put_uniform(warp, result, uniform(warp, left if uniform_predicate(warp, which) else right))


@operation("IABS")
def iabs(warp, i, mask):
    put(warp, i.operands[0], np.abs(signed(bits(warp, i.operands[1]))), mask)


@operation("VIMNMX", "VIADDMNMX")
def vimnmx(warp, i, mask):
    if set(i.modifiers) - {"U32"}:
        raise NotKnown(i)
    result, x, y, *rest = i.operands
    x = bits(warp, x)
    if i.opcode == "VIADDMNMX":
        x, y, *rest = x + bits(warp, y), *rest
    y, least = bits(warp, y), predicate(warp, rest[0])
    if "U32" not in i.modifiers:
        x, y = signed(x), signed(y)
    put(warp, result, np.where(least, np.minimum(x, y), np.maximum(x, y)), mask)


@operation("ISETP")
def isetp(warp, i, mask):
    result, opposite, left, right, with_ = i.operands[:5]
    x, y = bits(warp, left), bits(warp, right)
    if "U32" not in i.modifiers:
        x, y = signed(x), signed(y)
    kind = i.modifiers[0]
    value = COMPARE[kind](x, y)
    if "EX" in i.modifiers:  # the upper halves; the lower ones were compared before
        lower = predicate(warp, i.operands[5])
        if kind == "NE":
            value = value | lower
        else:
            strict = value if kind == "EQ" else COMPARE[{"GE": "GT", "LE": "LT"}.get(kind, kind)](x, y)
            value = np.where(x == y, lower, strict)
    other = predicate(warp, with_)
    results = combined(i, value, other), combined(i, ~value, other)
    put_predicate(warp, opposite, results[1], mask)
    put_predicate(warp, result, results[0], mask)


@operation("UISETP")
def uisetp(warp, i, mask):
    result, opposite, left, right, with_ = i.operands[:5]
    if "EX" in i.modifiers:
        raise NotKnown(i)
    x, y = uniform(warp, left), uniform(warp, right)
    if "U32" not in i.modifiers:
        x, y = to_signed(x), to_signed(y)
    value, other = bool(COMPARE[i.modifiers[0]](x, y)), uniform_predicate(warp, with_)
    put_uniform_predicate(warp, opposite, combined(i, not value, other))
    put_uniform_predicate(warp, result, combined(i, value, other))
