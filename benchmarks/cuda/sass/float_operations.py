"""What instructions compute for the 32 lanes of a warp: floats, and conversions. Additions, products, and
fused multiply-adds round once, as the hardware does. MUFU gives the correctly rounded value, the hardware one that may
differ in the last digit: code whose result depends on it, such as an approximate exponential, is not exact here.
Divisions are exact, since they correct it."""
import numpy as np

from .operands import (DOUBLE, FLOAT, LONG, UINT, ULONG, bits, doubles, floats, narrow_number, pair, predicate, put,
                       put_pair, put_predicate, signed, wide)
from .operations import COMPARE, combined, operation
from .parse import NotKnown

LEAST_NORMAL = FLOAT(2.0**-126)


def flushed(values):
    """Denormal numbers become zeros of their sign."""
    tiny = np.abs(values) < LEAST_NORMAL
    return np.where(tiny, np.copysign(FLOAT(0), values), values) if tiny.any() else values


def sources(warp, i, count):
    values = [floats(warp, each) for each in i.operands[1:1 + count]]
    return [flushed(each) for each in values] if "FTZ" in i.modifiers else values


def put_float(warp, i, values, mask):
    put(warp, i.operands[0], flushed(values) if "FTZ" in i.modifiers else values, mask)


def fused(x, y, z):
    """x * y + z with one rounding. The product of two floats is exact in double precision; its sum with z is rounded to
    odd there, which keeps for the second rounding whether anything was left."""
    product, addend = x.astype(DOUBLE) * y.astype(DOUBLE), z.astype(DOUBLE)
    total = product + addend
    of_addend = total - product
    left = (product - (total - of_addend)) + (addend - of_addend)  # exactly what the sum lost
    inexact = (left != 0) & np.isfinite(total)
    if inexact.any():
        even = total.view(ULONG) & ULONG(1) == 0
        neighbour = np.nextafter(total, np.where(left > 0, np.inf, -np.inf))
        total = np.where(inexact & even, neighbour, total)
    return total.astype(FLOAT)


@operation("FADD")
def fadd(warp, i, mask):
    x, y = sources(warp, i, 2)
    put_float(warp, i, x + y, mask)


@operation("FMUL")
def fmul(warp, i, mask):
    x, y = sources(warp, i, 2)
    put_float(warp, i, x * y, mask)


@operation("FFMA")
def ffma(warp, i, mask):
    if {"RP", "RM", "RZ", "SAT"} & set(i.modifiers):
        raise NotKnown(i)
    put_float(warp, i, fused(*sources(warp, i, 3)), mask)


@operation("FMNMX")
def fmnmx(warp, i, mask):
    x, y = sources(warp, i, 2)
    least, most = (np.minimum, np.maximum) if "NAN" in i.modifiers else (np.fmin, np.fmax)
    put(warp, i.operands[0], np.where(predicate(warp, i.operands[3]), least(x, y), most(x, y)), mask)


def compare(warp, i, x, y, mask):
    """A comparison that ends with U is also true for numbers that cannot be compared."""
    kind, neither = i.modifiers[0], np.isnan(x) | np.isnan(y)
    if kind == "NAN":
        value = neither
    elif kind == "NUM":
        value = ~neither
    elif kind.endswith("U"):
        value = COMPARE[kind[:-1]](x, y) | neither
    else:
        value = COMPARE[kind](x, y) & ~neither
    other = predicate(warp, i.operands[4])
    results = combined(i, value, other), combined(i, ~value, other)
    put_predicate(warp, i.operands[1], results[1], mask)
    put_predicate(warp, i.operands[0], results[0], mask)


@operation("FSETP")
def fsetp(warp, i, mask):
    x, y = (floats(warp, each) for each in i.operands[2:4])
    if "FTZ" in i.modifiers:
        x, y = flushed(x), flushed(y)
    compare(warp, i, x, y, mask)


@operation("MUFU")
def mufu(warp, i, mask):
    functions = {"RCP": lambda x: 1 / x, "RSQ": lambda x: 1 / np.sqrt(x), "SQRT": np.sqrt, "EX2": np.exp2,
                 "LG2": np.log2}
    if i.modifiers[0] in ("RCP64H", "RSQ64H"):  # of the upper half of a double, and of the result
        x = (wide(warp, i.operands[1]) << ULONG(32)).view(DOUBLE)
        high = (functions[i.modifiers[0][:3]](x).view(ULONG) >> ULONG(32)).astype(UINT)
        put(warp, i.operands[0], high, mask)
        return
    if i.modifiers[0] not in functions:
        raise NotKnown(i)
    put(warp, i.operands[0], functions[i.modifiers[0]](floats(warp, i.operands[1]).astype(DOUBLE)).astype(FLOAT), mask)


@operation("FCHK")
def fchk(warp, i, mask):
    """Whether a division needs its slow path, since the fast one could leave the range of floats on its way. The exact
    rule is not published; this one leaves a margin."""
    x, y = (floats(warp, each) for each in i.operands[1:3])
    x_exponent, y_exponent = np.frexp(x)[1], np.frexp(y)[1]
    fast = np.isfinite(x) & np.isfinite(y) & (y != 0) & (np.abs(y_exponent) < 120)
    fast &= (x == 0) | ((np.abs(x_exponent - y_exponent) < 120) & (x_exponent > -100))
    put_predicate(warp, i.operands[0], ~fast, mask)


@operation("I2F", "I2FP")
def i2f(warp, i, mask):
    source = i.operands[1]
    if narrow := narrow_number(i):
        exact = bits(warp, source).astype(narrow).astype(LONG)
    elif "S64" in i.modifiers:
        exact = pair(warp, source).view(LONG)
    elif "U64" in i.modifiers:
        exact = pair(warp, source)
    else:
        exact = bits(warp, source) if "U32" in i.modifiers else signed(bits(warp, source))
    if "F64" in i.modifiers:
        put_pair(warp, i.operands[0], exact.astype(DOUBLE).view(ULONG), mask)
        return
    result = exact.astype(FLOAT)
    if "RP" in i.modifiers:  # up
        lower = np.array([int(a) < int(b) for a, b in zip(result, exact)])
        result = np.where(lower, np.nextafter(result, FLOAT(np.inf)), result)
    elif {"RM", "RZ"} & set(i.modifiers):
        raise NotKnown(i)
    put(warp, i.operands[0], result, mask)


@operation("F2I")
def f2i(warp, i, mask):
    if "TRUNC" not in i.modifiers:
        raise NotKnown(i)
    value = doubles(warp, i.operands[1]) if "F64" in i.modifiers else floats(warp, i.operands[1]).astype(DOUBLE)
    whole = np.nan_to_num(np.trunc(value))
    if "S64" in i.modifiers:
        limited = np.clip(whole, -(2.0**63), 2.0**63 - 1024)
        put_pair(warp, i.operands[0], limited.astype(LONG).view(ULONG), mask)
    elif "U64" in i.modifiers:
        put_pair(warp, i.operands[0], whole.astype(ULONG), mask)
    elif "U32" in i.modifiers:
        put(warp, i.operands[0], np.clip(whole, 0, 2.0**32 - 1).astype(ULONG).astype(UINT), mask)
    else:
        put(warp, i.operands[0], np.clip(whole, -(2.0**31), 2.0**31 - 1).astype(LONG).astype(UINT), mask)


@operation("F2F")
def f2f(warp, i, mask):
    if i.modifiers == ["F64", "F32"]:
        put_pair(warp, i.operands[0], floats(warp, i.operands[1]).astype(DOUBLE).view(ULONG), mask)
    elif i.modifiers == ["F32", "F64"]:
        put(warp, i.operands[0], doubles(warp, i.operands[1]).astype(FLOAT), mask)
    else:
        raise NotKnown(i)
