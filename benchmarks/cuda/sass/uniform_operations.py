"""What instructions compute once for all lanes of a warp: uniform registers and predicates."""
import re

import numpy as np

from .operands import (NARROW, UINT, bits, constant_byte, narrow_number, predicate, put_uniform, put_uniform_predicate,
                       results_and_sources, uniform, uniform_pair, uniform_predicate)
from .operations import COMPARE, combined, looked_up, of_both_halves, operation, special, to_signed
from .parse import NotKnown


@operation("UMOV")
def umov(warp, i, mask):
    put_uniform(warp, i.operands[0], uniform(warp, i.operands[1]))


@operation("S2UR")
def s2ur(warp, i, mask):
    put_uniform(warp, i.operands[0], int(special(warp, i)))


@operation("ULDC")
def uldc(warp, i, mask):
    if set(i.modifiers) - {"64", *NARROW}:
        raise NotKnown(i)
    by_register = re.fullmatch(r"c\[0x0\]\[(UR\d+)\+(0x[0-9a-f]+)\]", i.operands[1])
    if by_register:
        at = uniform(warp, by_register.group(1)) + int(by_register.group(2), 16)
    else:
        at = constant_byte(i.operands[1])
    if narrow := narrow_number(i):
        put_uniform(warp, i.operands[0], int(warp.constants.view(narrow)[at // narrow().itemsize]))
        return
    for k in range(2 if "64" in i.modifiers else 1):
        put_uniform(warp, i.operands[0], int(warp.constants[at // 4 + k]), k)


@operation("R2UR")
def r2ur(warp, i, mask):
    put_uniform(warp, i.operands[0], int(bits(warp, i.operands[1])[np.argmax(mask)]))


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


@operation("ULEA")
def ulea(warp, i, mask):
    result, carries, sources = results_and_sources(i.operands)
    x, y = uniform(warp, sources[0]), uniform(warp, sources[1])
    shift_at = 3 if "HI" in i.modifiers and "SX32" not in i.modifiers else 2
    shift = int(sources[shift_at], 16)
    if "SX32" in i.modifiers:
        total = ((to_signed(x) << shift >> 32) & 0xFFFFFFFF) + y
    elif "HI" in i.modifiers:
        total = ((x | uniform(warp, sources[2]) << 32) >> (32 - shift) & 0xFFFFFFFF) + y
    else:
        total = (x << shift & 0xFFFFFFFF) + y
    if "X" in i.modifiers:
        total += uniform_predicate(warp, sources[shift_at + 1])
    for each in carries:
        put_uniform_predicate(warp, each, total >> 32 > 0)
    put_uniform(warp, result, total)


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


@operation("USEL")
def usel(warp, i, mask):
    result, left, right, which = i.operands
    put_uniform(warp, result, uniform(warp, left if uniform_predicate(warp, which) else right))


@operation("UISETP")
def uisetp(warp, i, mask):
    result, opposite, left, right, with_ = i.operands[:5]
    x, y = uniform(warp, left), uniform(warp, right)
    if "U32" not in i.modifiers:
        x, y = to_signed(x), to_signed(y)
    if "EX" in i.modifiers:
        value = bool(of_both_halves(i.modifiers[0], x, y, uniform_predicate(warp, i.operands[5])))
    else:
        value = bool(COMPARE[i.modifiers[0]](x, y))
    other = uniform_predicate(warp, with_)
    put_uniform_predicate(warp, opposite, combined(i, not value, other))
    put_uniform_predicate(warp, result, combined(i, value, other))


@operation("VOTEU")
def voteu(warp, i, mask):
    """Whether any, or all, of the lanes that run have a predicate."""
    if len(i.operands) != 2 or i.modifiers[0] not in ("ANY", "ALL"):
        raise NotKnown(i)
    votes = predicate(warp, i.operands[1])[mask]
    put_uniform_predicate(warp, i.operands[0], votes.any() if i.modifiers[0] == "ANY" else votes.all())
