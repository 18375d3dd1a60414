"""Operands of instructions as texts, such as `R4`, `-c[0x0][0x210]`, or `!P0`: their values in the 32 lanes of a warp,
and where results go."""
import functools
import re

import numpy as np

UINT, ULONG, FLOAT, DOUBLE, INT, LONG = np.uint32, np.uint64, np.float32, np.float64, np.int32, np.int64
LANES = np.arange(32, dtype=UINT)
LOW_HALF = ULONG(0xFFFFFFFF)
ZEROS = np.zeros(32, UINT)
ZEROS.flags.writeable = False
NARROW = {"U8": np.uint8, "S8": np.int8, "U16": np.uint16, "S16": np.int16}  # numbers of fewer bits than a register
SPECIAL_NUMBERS = {"INF": 0x7F800000, "+INF": 0x7F800000, "-INF": 0xFF800000, "QNAN": 0x7FFFFFFF,
                   "+QNAN": 0x7FFFFFFF, "-QNAN": 0xFFFFFFFF}
RESULT_PREDICATE = re.compile(r"!?U?P(\d|T)")


class BadOperand(Exception):
    pass


@functools.lru_cache(None)
def register(text):
    """The number of a register, or None for RZ, which is always 0."""
    match = re.match(r"R(\d+|Z)", text)
    if not match:
        raise BadOperand(text)
    return None if match.group(1) == "Z" else int(match.group(1))


@functools.lru_cache(None)
def uniform_register(text):
    match = re.match(r"UR(\d+|Z)", text)
    if not match:
        raise BadOperand(text)
    return None if match.group(1) == "Z" else int(match.group(1))


@functools.lru_cache(None)
def constant_byte(text):
    """Where `c[0x0][0x210]` is among the kernel's constants."""
    match = re.fullmatch(r"c\[0x0\]\[(0x[0-9a-f]+|RZ)\]", text)
    if not match:
        raise BadOperand(text)
    return 0 if match.group(1) == "RZ" else int(match.group(1), 16)


def constant_word(text):
    return constant_byte(text) // 4


@functools.lru_cache(None)
def signs(text):
    """(negated, inverted, absolute, the rest)"""
    negated = text[0] == "-" and not re.match(r"-(\d|INF|QNAN)", text)
    text = text[negated:]
    inverted = text[0] == "~"
    text = text[inverted:]
    return negated, inverted, text[0] == "|", text.strip("|")


def plain_reader(text, is_float):
    """A function that gives the 32 bits per lane of an operand without signs."""
    if re.fullmatch(r"R(\d+|Z)", text):
        number = register(text)
        return (lambda warp: ZEROS) if number is None else (lambda warp: warp.registers[number])
    if part := re.fullmatch(r"(R\d+)\.(B[0-3]|H[01](?:_H[01])?)", text):  # begins with a byte, or a half of it
        number, shift = register(part.group(1)), UINT(int(part.group(2)[1]) * (8 if part.group(2)[0] == "B" else 16))
        return lambda warp: warp.registers[number] >> shift
    if text.startswith("UR"):
        number = uniform_register(text)
        if number is None:
            return lambda warp: ZEROS
        return lambda warp: np.full(32, warp.uniform_registers[number], UINT)
    if text.startswith("c["):
        word = constant_word(text)
        return lambda warp: np.full(32, warp.constants[word], UINT)
    if text in SPECIAL_NUMBERS:
        value = UINT(SPECIAL_NUMBERS[text])
    elif is_float and "0x" not in text:
        value = FLOAT(float(text)).view(UINT)
    else:
        value = UINT(int(text, 0) & 0xFFFFFFFF)
    all_lanes = np.full(32, value, UINT)
    return lambda warp: all_lanes


@functools.lru_cache(None)
def bits_reader(text):
    negated, inverted, absolute, rest = signs(text)
    if absolute:
        raise BadOperand(text)
    read = plain_reader(rest, False)
    if inverted:
        return lambda warp: ~read(warp)
    return (lambda warp: UINT(0) - read(warp)) if negated else read


@functools.lru_cache(None)
def float_reader(text):
    negated, _, absolute, rest = signs(text)
    read = plain_reader(rest, True)
    if absolute:
        sign = FLOAT(-1 if negated else 1)
        return lambda warp: np.copysign(read(warp).view(FLOAT), sign)
    return (lambda warp: -read(warp).view(FLOAT)) if negated else (lambda warp: read(warp).view(FLOAT))


def bits(warp, text):
    return bits_reader(text)(warp)


def wide(warp, text):
    """The same as 64 bits, zeros in the upper half."""
    return bits_reader(text)(warp).astype(ULONG)


def floats(warp, text):
    return float_reader(text)(warp)


def signed(values):
    return values.view(INT)


def pair(warp, text):
    """64 bits per lane: a register and the next one."""
    if text[0] == "-":
        return ULONG(0) - pair(warp, text[1:])
    if text.startswith("UR"):
        return np.full(32, uniform_pair(warp, text), ULONG)
    if text.startswith("c["):
        word = constant_word(text)
        return np.full(32, int(warp.constants[word]) | int(warp.constants[word + 1]) << 32, ULONG)
    number = register(text)
    if number is None:
        return np.zeros(32, ULONG)
    return warp.registers[number].astype(ULONG) | warp.registers[number + 1].astype(ULONG) << ULONG(32)


def doubles(warp, text):
    negated, _, absolute, rest = signs(text)
    if re.match(r"-?\d", rest):
        return np.full(32, float(rest), DOUBLE)
    values = pair(warp, rest).view(DOUBLE)
    values = np.abs(values) if absolute else values
    return -values if negated else values


def uniform(warp, text):
    """The value that all lanes share, a Python integer."""
    negated, inverted, _, rest = signs(text)
    if rest.startswith("UR"):
        number = uniform_register(rest)
        value = 0 if number is None else int(warp.uniform_registers[number])
    elif rest.startswith("c["):
        value = int(warp.constants[constant_word(rest)])
    else:
        value = int(rest, 0)
    if inverted:
        value = ~value
    return (-value if negated else value) & 0xFFFFFFFF


def uniform_pair(warp, text):
    number = uniform_register(text)
    if number is None:
        return 0
    return int(warp.uniform_registers[number]) | int(warp.uniform_registers[number + 1]) << 32


def predicate_number(text):
    return 7 if text.endswith("T") else int(text[-1])


def predicate(warp, text):
    negated = text[0] == "!"
    name = text[negated:]
    if name[0] == "U":
        value = np.full(32, warp.uniform_predicates[predicate_number(name)])
    else:
        value = warp.predicates[predicate_number(name)]
    return ~value if negated else value


def uniform_predicate(warp, text):
    negated = text[0] == "!"
    return warp.uniform_predicates[predicate_number(text)] != negated


def results_and_sources(operands):
    """Of `R1, P0, R2, R3`: the result, the predicates that follow it, and the sources."""
    count = 1
    while RESULT_PREDICATE.fullmatch(operands[count]):
        count += 1
    return operands[0], operands[1:count], operands[count:]


def put(warp, text, values, mask):
    number = register(text)
    if number is not None:
        np.copyto(warp.registers[number], values.view(UINT), where=mask)


def put_low(warp, text, values, mask):
    """Puts the lower 32 bits of 64."""
    put(warp, text, (values & LOW_HALF).astype(UINT), mask)


def put_pair(warp, text, values, mask):
    number = register(text)
    if number is None:
        return
    np.copyto(warp.registers[number], (values & LOW_HALF).astype(UINT), where=mask)
    np.copyto(warp.registers[number + 1], (values >> ULONG(32)).astype(UINT), where=mask)


def put_predicate(warp, text, values, mask):
    number = predicate_number(text)
    if number < 7:
        np.copyto(warp.predicates[number], values, where=mask)


def put_uniform(warp, text, value, offset=0):
    number = uniform_register(text)
    if number is not None:
        warp.uniform_registers[number + offset] = value & 0xFFFFFFFF


def put_uniform_predicate(warp, text, value):
    number = predicate_number(text)
    if number < 7:
        warp.uniform_predicates[number] = bool(value)


def narrow_number(i):
    """The type of numbers of fewer bits that an instruction loads or converts, or None."""
    return next((NARROW[each] for each in i.modifiers if each in NARROW), None)


def size_of(i):
    """Bytes of an access of a lane."""
    if narrow := narrow_number(i):
        return narrow().itemsize
    return 16 if "128" in i.modifiers else 8 if "64" in i.modifiers else 4


def load(warp, i, text, data, offsets, size, mask):
    """Puts what is at the offsets of some bytes into registers."""
    if size < 4:
        put(warp, text, data.view(narrow_number(i))[offsets // size].astype(INT), mask)
        return
    words, first = data.view(UINT), register(text)
    if first is not None:
        for k in range(size // 4):
            np.copyto(warp.registers[first + k], words[offsets // 4 + k], where=mask)
