"""What instructions compute for the 32 lanes of a warp: bytes, predicates as bits, and what lanes tell each other."""
import numpy as np

from .operands import (LANES, LONG, UINT, ULONG, bits, predicate, put, put_low, put_predicate, put_uniform, uniform)
from .operations import operation
from .parse import NotKnown


@operation("P2R")
def p2r(warp, i, mask):
    if i.modifiers:
        raise NotKnown(i)
    value = sum((warp.predicates[k].astype(UINT) << UINT(k) for k in range(7)), np.zeros(32, UINT))
    put(warp, i.operands[0], value & bits(warp, i.operands[3]), mask)


@operation("R2P")
def r2p(warp, i, mask):
    name, _, byte = i.operands[1].partition(".B")
    value, which = bits(warp, name) >> UINT(8 * int(byte or 0)), int(i.operands[2], 16)
    for k in range(7):
        if which >> k & 1:
            np.copyto(warp.predicates[k], value >> UINT(k) & UINT(1) > 0, where=mask)


def permuted(i, a, selection, b):
    """Four bytes of the eight of two registers."""
    if len(i.modifiers) > 0:
        raise NotKnown(i)
    both, result = a.astype(ULONG) | b.astype(ULONG) << ULONG(32), ULONG(0)
    for k in range(4):
        chosen = selection.astype(ULONG) >> ULONG(4 * k)
        byte = both >> ((chosen & ULONG(7)) * ULONG(8)) & ULONG(255)
        byte = np.where(chosen & ULONG(8), (byte >> ULONG(7)) * ULONG(255), byte)  # its sign
        result = result | byte << ULONG(8 * k)
    return result


@operation("PRMT")
def prmt(warp, i, mask):
    put_low(warp, i.operands[0], permuted(i, *(bits(warp, each) for each in i.operands[1:4])), mask)


@operation("UPRMT")
def uprmt(warp, i, mask):
    put_uniform(warp, i.operands[0], int(permuted(i, *(np.array(uniform(warp, each), UINT)
                                                       for each in i.operands[1:4]))))


@operation("POPC")
def popc(warp, i, mask):
    put(warp, i.operands[0], np.array([int(each).bit_count() for each in bits(warp, i.operands[1])], UINT), mask)


@operation("VOTE")
def vote(warp, i, mask):
    result, all_or_any, source = i.operands
    true = predicate(warp, source) & mask
    value = sum(1 << k for k in range(32) if true[k])
    put(warp, result, np.full(32, value, UINT), mask)
    if i.modifiers[:1] in (["ANY"], ["ALL"]):
        reached = true.any() if i.modifiers[0] == "ANY" else (true == mask).all()
        put_predicate(warp, all_or_any, np.full(32, reached), mask)
    else:
        raise NotKnown(i)


@operation("SHFL")
def shfl(warp, i, mask):
    exists, result, source, by, limits = i.operands
    values, lane = bits(warp, source), LANES.astype(LONG)
    by, limits = bits(warp, by).astype(LONG), bits(warp, limits).astype(LONG)
    segment, last = limits >> 8 & 31, limits & 31
    first, limit = lane & segment, (lane & segment) | (last & ~segment)
    kind = i.modifiers[0]
    other = {"IDX": first | (by & ~segment), "BFLY": lane ^ by, "DOWN": lane + by, "UP": lane - by}[kind]
    inside = other >= limit if kind == "UP" else other <= limit
    put_predicate(warp, exists, inside, mask)
    put(warp, result, np.where(inside, values[np.clip(other, 0, 31)], values), mask)
