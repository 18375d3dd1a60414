"""What instructions compute for the 32 lanes of a warp: doubles."""
from fractions import Fraction

import numpy as np

from .float_operations import compare
from .operands import ULONG, doubles, put_pair
from .operations import operation


@operation("DADD")
def dadd(warp, i, mask):
    put_pair(warp, i.operands[0], (doubles(warp, i.operands[1]) + doubles(warp, i.operands[2])).view(ULONG), mask)


@operation("DMUL")
def dmul(warp, i, mask):
    put_pair(warp, i.operands[0], (doubles(warp, i.operands[1]) * doubles(warp, i.operands[2])).view(ULONG), mask)


def fused(x, y, z):
    """x * y + z with one rounding: as fractions, which Python rounds once."""
    if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)):
        return x * y + z
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if exact == 0:
        return x * y + z  # its sign
    try:
        return float(exact)
    except OverflowError:
        return np.copysign(np.inf, x * y)


@operation("DFMA")
def dfma(warp, i, mask):
    x, y, z = (doubles(warp, each) for each in i.operands[1:4])
    put_pair(warp, i.operands[0], np.array([fused(*each) for each in zip(x, y, z)]).view(ULONG), mask)


@operation("DSETP")
def dsetp(warp, i, mask):
    compare(warp, i, doubles(warp, i.operands[2]), doubles(warp, i.operands[3]), mask)
