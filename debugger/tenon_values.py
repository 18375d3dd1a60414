"""What Tenon's values look like in a debugger; the part that gdb and lldb share.

`describe(value)` gives the text of a value, or None if it is not one of Tenon's. It sees the program through a `Value`,
of which tenon_gdb.py and tenon_lldb.py each have a kind:

    type_name           as the debugger writes it, without const, reference, or alias
    bases               names of the direct base classes
    address             where the value is, None if it is in a register
    integer()           of an integer, an enumerator, or a pointer
    member(name)        a member of the class or of its bases
    members()           (name, value) of each data member of the class itself, in order
    elements()          an iterator over the elements of an array, None for what is no array
    target()            what a pointer points to
    read(address, size) bytes of memory

They raise Unreadable, or an exception of the debugger's own. A value may be uninitialised, moved from, or gone: every
pointer is checked before it is followed, and every number before it counts or multiplies. A description reads a few
hundred bytes of memory, however large a tensor is.

Names of private members are used here: a change of core/tensor.hpp, core/memory/storage.hpp, core/memory/arena.hpp,
graph/ir/parameter.hpp, train/model.hpp, or train/step/state.hpp may ask for one here. The tests debugger/gdb and
debugger/lldb find out.
"""

import itertools
import re
import struct

SHOWN = 8  # elements of a tensor, from the first one on
LINE = 110  # columns of a line that lists parameters
LINES = 4  # of them; the line with the name of the network comes on top
MOST_BYTES = 1 << 48  # no tensor has more (Storage::max_bytes)
MOST_PARTS = 10000  # of a network: cells, parameters, and other members


class Unreadable(Exception):
    """A value that is not what its type says: uninitialised, gone, or optimised away."""


# ---- types by name


def split(type_name):
    """("tenon::v01_4::Tensor", ["float", "tenon::v01_4::Shape<2, 3>"]) of "tenon::v01_4::Tensor<float, ...>"."""
    begin = type_name.find("<")
    if begin < 0 or not type_name.endswith(">"):
        return type_name, []
    arguments, depth, start = [], 0, begin + 1
    for i in range(begin + 1, len(type_name) - 1):
        letter = type_name[i]
        if letter in "<({[":
            depth += 1
        elif letter in ">)}]":
            depth -= 1
        elif letter == "," and depth == 0:
            arguments.append(type_name[start:i].strip())
            start = i + 1
    last = type_name[start:-1].strip()
    return type_name[:begin], arguments + [last] if last else arguments


def own_name(type_name):
    """The name of a type or template below Tenon's namespace, such as Tensor or nn::Cell; None of other types."""
    match = re.fullmatch(r"tenon::(?:v[0-9]\w*::)?([\w:]+)", split(type_name)[0])
    return match and match[1]


def short_name(type_name):
    """Conv2d, of "tenon::v01_4::nn::Conv2d<1, 6, 5>"; Momentum, of "tenon::v01_4::nn::MomentumWith<false>"."""
    return split(type_name)[0].split("::")[-1].removesuffix("With")


def extents_of(shape_name):
    """[-1, 3] of "tenon::Shape<-1, 3>", InnerShape<-1, 3>, and HalfShape<(tenon::Dtype)10, -1, 3>."""
    name, arguments = split(shape_name)
    if name.endswith("::HalfShape"):
        arguments = arguments[1:]
    return [int(extent) for extent in arguments]


class Dtype:
    """Name, size, the letter of the struct module, and digits that are enough to tell two floating numbers apart."""

    def __init__(self, name, size, letter, digits=0):
        self.name, self.size, self.letter, self.digits = name, size, letter, digits


# In the order of the enumeration tenon::Dtype.
DTYPES = [
    Dtype("bool", 1, "B"),
    Dtype("int8", 1, "b"),
    Dtype("int16", 2, "h"),
    Dtype("int32", 4, "i"),
    Dtype("int64", 8, "q"),
    Dtype("uint8", 1, "B"),
    Dtype("uint16", 2, "H"),
    Dtype("uint32", 4, "I"),
    Dtype("uint64", 8, "Q"),
    Dtype("float16", 2, "e", 5),
    Dtype("bfloat16", 2, "H", 4),
    Dtype("float32", 4, "f", 9),
    Dtype("float64", 8, "d", 17),
]
BY_NAME = {dtype.name: dtype for dtype in DTYPES}


def dtype_of(type_name):
    """The dtype of a C++ type, which compilers write in different ways: "short", "short int", "long unsigned int"."""
    own = own_name(type_name)
    if own in ("float16", "bfloat16"):
        return BY_NAME[own]
    if type_name in ("bool", "float", "double"):
        return BY_NAME[{"bool": "bool", "float": "float32", "double": "float64"}[type_name]]
    words = type_name.split()
    bits = 8 if "char" in words else 16 if "short" in words else 64 if "long" in words else 32
    return BY_NAME[("uint" if "unsigned" in words else "int") + str(bits)]


# ---- numbers as text


def shortest(number, dtype):
    """As few digits as tell a floating number from the next one of its dtype."""
    if number != number or number in (float("inf"), float("-inf")):
        return str(number)
    if number and number == int(number) and abs(number) < 1e7:
        return str(int(number))
    stored = as_stored(number, dtype)
    for digits in range(1, dtype.digits + 1):
        text = "%.*g" % (digits, number)
        if as_stored(float(text), dtype) == stored:
            break
    return text


def as_stored(number, dtype):
    """The bytes of a number in a floating dtype, rounded to nearest; None if it is too large."""
    try:
        if dtype.name != "bfloat16":
            return struct.pack("<" + dtype.letter, number)
        bits = struct.unpack("<I", struct.pack("<f", number))[0]
        return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    except OverflowError:
        return None


def element_text(data, dtype):
    number = struct.unpack("<" + dtype.letter, data)[0]
    if dtype.name == "bool":
        return {0: "false", 1: "true"}.get(number, "%d (no bool)" % number)
    if dtype.name == "bfloat16":
        number = struct.unpack("<f", struct.pack("<I", number << 16))[0]
    return shortest(number, dtype) if dtype.digits else str(number)


def shape_text(extents, n=None):
    """[2, 3]; with a batch of 4 in front [n=4, 3], of an unknown one [n, 3]."""
    words = []
    for extent in extents:
        letter = "n" if extent == -1 else "%dn" % -extent
        words.append(str(extent) if extent >= 0 else letter if n is None else "%s=%d" % (letter, -extent * n))
    return "[" + ", ".join(words) + "]"


def count_of(extents, n=1):
    product = 1
    for extent in extents:
        product *= extent if extent >= 0 else -extent * n
    return product


def values_text(value, dtype, count, place):
    """{1, 2, 3, ...}; `place` is the address of an element."""
    words = [element_text(value.read(place(i), dtype.size), dtype) for i in range(min(count, SHOWN))]
    return "{" + ", ".join(words + ["..."] * (count > SHOWN)) + "}"


def in_rows(data, dtype):
    return lambda i: data + i * dtype.size


# ---- memory


def number_at(value, letter):
    """Of an atomic or a smart pointer, whose members have other names in each library: what its bytes say."""
    if value.address is None:
        raise Unreadable("not in memory")
    return struct.unpack("<" + letter, value.read(value.address, struct.calcsize(letter)))[0]


class Block:
    """The block of a Storage (core/memory/storage.hpp), once it looks like one."""

    HEADER = 64

    def __init__(self, value, pointer):
        if pointer % 64:
            raise Unreadable("not the address of a block")
        block = value.target()
        references, size_class = number_at(block.member("references"), "i"), block.member("size_class").integer()
        if references < 1 or not 0 <= size_class < 4 * 44:
            raise Unreadable("not a block of elements")
        self.begin = pointer + Block.HEADER
        c = size_class
        self.bytes = (c + 1) * 64 if c < 4 else (4 + c % 4 + 1) << (c // 4 + 5)
        self.adopted = block.member("destroy").integer() != 0
        self.in_nchw16n = block.member("in_nchw16n").integer() != 0
        self.rows = number_at(block.member("rows"), "Q") if self.in_nchw16n else 0

    def check(self, data, size):
        """The elements lie inside, unless an object of another library keeps them."""
        if not self.adopted and not self.begin <= data <= data + size <= self.begin + self.bytes:
            raise Unreadable("elements outside of their block")


BLOCK_SAMPLES = 16  # core/nchw16n.hpp


def place_in_nchw16n(data, features):
    def place(i):
        sample, feature = divmod(i, features)
        at = (sample // BLOCK_SAMPLES * features + feature) * BLOCK_SAMPLES + sample % BLOCK_SAMPLES
        return data + 4 * at

    return place


# ---- tensors and parameters


def tensor(value):
    element, shape = split(value.type_name)[1][:2]
    dtype, extents = dtype_of(element), extents_of(shape)
    storage = value.member("storage_")
    pointer = storage.member("block_").integer()
    if not pointer:
        return "%s %s, no elements: it was never given any, or moved from" % (dtype.name, shape_text(extents))
    try:
        n = value.member("n_").integer()
        count = count_of(extents, n)
        if n < 0 or count * dtype.size > MOST_BYTES:
            raise Unreadable("batch size %d" % n)
        data, block = storage.member("data_").integer(), Block(storage.member("block_"), pointer)
        place, remark = in_rows(data, dtype), ""
        if block.in_nchw16n and len(extents) == 4:
            features = count_of(extents, 1)
            if block.rows:  # somebody has asked for them; they count from then on
                place = in_rows(block.rows + Block.HEADER, dtype)
            else:
                whole = -(-n // BLOCK_SAMPLES) * BLOCK_SAMPLES
                block.check(data, whole * features * dtype.size)
                place, remark = place_in_nchw16n(data, features), ", stored in blocks of 16 samples"
        else:
            block.check(data, count * dtype.size)
        return "%s %s %s%s" % (dtype.name, shape_text(extents, n), values_text(value, dtype, count, place), remark)
    except Exception as fault:
        return "%s %s, not a valid tensor: uninitialised or gone (%s)" % (dtype.name, shape_text(extents), fault)


class Parameter:
    """A parameter as a network's list and its own description need it."""

    def __init__(self, value):
        arguments = split(value.type_name)[1]
        self.value, self.dtype, self.extents = value, dtype_of(arguments[0]), extents_of(arguments[1])
        self.trainable = len(arguments) < 4 or arguments[3] in ("true", "1")
        self.setting = value.member("unbound_").type_name.endswith("::Unbound")  # debuggers leave out Init's type
        self.count = count_of(self.extents)

    def data(self):
        """Where its elements are, 0 before it is bound; they lie inside of an arena of such bytes."""
        data, arena = self.value.member("data").integer(), self.value.member("arena").integer()
        if not data and not arena:
            return 0
        whole = self.value.member("arena").target()
        begin, size = whole.member("data").integer(), whole.member("bytes").integer()
        good = data and arena and number_at(whole.member("references"), "i") > 0 and 0 < size <= MOST_BYTES
        if not good or not begin <= data <= data + self.count * self.dtype.size <= begin + size:
            raise Unreadable("elements outside of their arena")
        return data

    def text(self):
        """{1, 2, 3}, or what is there instead."""
        data = self.data()
        if data:
            return " " + values_text(self.value, self.dtype, self.count, in_rows(data, self.dtype))
        if self.setting:
            first = self.value.member("unbound_")
            return " " + values_text(first, self.dtype, 1, lambda i: first.address) + ", not bound yet"
        return ", not bound yet"


def parameter(value):
    p = Parameter(value)
    kind = "Setting" if p.setting else "Parameter"
    head = "%s %s %s" % (kind, p.dtype.name, shape_text(p.extents))
    try:
        remark = "" if p.setting else ", not trained" if not p.trainable else ""
        if p.trainable and not value.member("requires_grad_").integer():
            remark = ", frozen"
        return head + p.text() + remark
    except Exception as fault:
        return "%s, not a valid parameter: uninitialised or gone (%s)" % (head, fault)


def parameter_view(value):
    """A parameter under another shape, as a bias beside images."""
    inner = parameter(value.member("parameter"))
    return "%s, seen as %s" % (inner, shape_text(extents_of(split(value.type_name)[1][1])))


def any_tensor(value):
    try:
        dtype, rank = DTYPES[value.member("dtype").integer()], value.member("rank").integer()
        if not 0 <= rank <= 8:
            raise Unreadable("%d axes" % rank)
        extents = [extent.integer() for extent in itertools.islice(value.member("extent").elements(), rank)]
        if any(extent < 0 for extent in extents) or count_of(extents) * dtype.size > MOST_BYTES:
            raise Unreadable("extents %s" % extents)
        head, data = "%s %s" % (dtype.name, shape_text(extents)), value.member("data").integer()
        if not data:
            return head + ", no elements"
        return head + " " + values_text(value, dtype, count_of(extents), in_rows(data, dtype))
    except Exception as fault:
        return "not a valid view of a tensor: uninitialised (%s)" % fault


def half(value):
    """A number of type float16 or bfloat16."""
    dtype = dtype_of(value.type_name)
    bits = value.member("bits").integer()
    return element_text(struct.pack("<H", bits), dtype)


# ---- networks


def is_cell(value):
    return any(own_name(base) == "nn::Cell" for base in value.bases)


def parameters_of(value, path, left):
    """(name, Parameter) of everything below a cell, with the names that checkpoints use (graph/ir/structure.hpp).
    `left` is a list of one number, of parts that may still be visited."""
    left[0] -= 1
    if left[0] < 0:
        return
    own = own_name(value.type_name)
    if own == "Parameter":
        yield path, Parameter(value)
    elif (elements := value.elements()) is not None:
        for i, element in enumerate(elements):
            if not (own_name(element.type_name) == "Parameter" or is_cell(element) or element.elements()):
                break  # an array of numbers
            yield from parameters_of(element, join(path, str(i)), left)
    elif own == "nn::Frozen":  # adds no name
        yield from parameters_of(value.member("cell"), path, left)
    elif own == "nn::CellList":
        yield from parameters_of(value.member("block"), path, left)
    elif own == "nn::SequentialCell":
        chain, i = value.member("chain"), 0
        while split(chain.type_name)[1]:  # nn::detail::Chain<First, Rest...>
            yield from parameters_of(chain.member("first"), join(path, str(i)), left)
            chain, i = chain.member("rest"), i + 1
    elif own in ("nn::LSTM", "nn::GRU"):
        yield from recurrent(value.member("layers"), path, left)
    elif is_cell(value):
        for member, child in value.members():
            yield from parameters_of(child, join(path, member), left)


def recurrent(layers, path, left):
    """nn::detail::RecurrentLayers: weight_ih_l0, bias_hh_l1_reverse, ..."""
    layer = 0
    while "direction" in (members := dict(layers.members())):
        for reverse, weights in enumerate(members["direction"].elements()):
            for name, child in weights.members():
                full = "%s_l%d%s" % (name, layer, "_reverse" * reverse)
                yield from parameters_of(child, join(path, full), left)
        layers, layer = members["rest"], layer + 1


def join(path, name):
    return path + "." + name if path else name


def network_list(value):
    """[(name, Parameter)], and how they are counted: "10 parameters of 61706 numbers"."""
    left = [MOST_PARTS]
    everything = list(parameters_of(value, "", left))
    counted = [p for _, p in everything if not p.setting]
    if not counted:
        return everything, "no parameters"
    plural = "s" * (len(counted) != 1)
    text = "%d parameter%s of %d numbers" % (len(counted), plural, sum(p.count for p in counted))
    if left[0] < 0:
        text = "at least " + text
    try:
        bound = [bool(p.data()) for p in counted]
        text += "" if all(bound) else ", some not bound yet" if any(bound) else ", not bound yet"
    except Exception:
        text += ", not valid: uninitialised or gone"
    return everything, text


def listed(name, p):
    if not p.setting:
        return "%s %s%s" % (name, "" if p.dtype.name == "float32" else p.dtype.name + " ", shape_text(p.extents))
    try:
        return name + p.text().replace(" {", " = ").replace("}", "").replace(", not bound yet", "")
    except Exception:
        return name + " = ?"


def wrapped(words):
    """The words in lines of at most LINE columns, and only as many lines as are readable."""
    lines, line = [], ""
    for i, word in enumerate(words):
        if line and len(line) + 2 + len(word) > LINE:
            lines.append(line + ",")
            line = ""
            if len(lines) == LINES:
                lines[-1] += " and %d more" % (len(words) - i)
                break
        line += (", " if line else "  ") + word
    return "".join("\n" + line for line in lines + [line] * bool(line))


def network(value):
    everything, count = network_list(value)
    return "%s: %s%s" % (short_name(value.type_name), count, wrapped([listed(*each) for each in everything]))


# ---- Model

MODES = ["graph mode", "PyNative mode"]


def model(value):
    """Mode, classes, number of parameters, steps."""
    parts = split(value.type_name)[1]
    classes = ", ".join(short_name(part) for part in parts[1:3] if short_name(part) not in ("NoLoss", "NoOptimizer"))
    head = "Model of %s%s" % (short_name(parts[0]), " with " + classes if classes else "")
    try:
        runner = value.member("runner_")
        mode = runner.member("mode_").integer()
        if mode not in (0, 1):
            raise Unreadable("mode %d" % mode)
        state = runner.member("state_").member("data_").member("data_").integer()
        step = struct.unpack("<Q", value.read(state + 8, 8))[0]  # behind the seed
        count = network_list(value.member("net_").target())[1]
        return "%s: %s, step %d, %s" % (head, MODES[mode], step, count)
    except Exception as fault:
        return "%s, not valid: uninitialised or gone (%s)" % (head, fault)


# ---- what a debugger asks

DESCRIBED = {
    "Tensor": tensor,
    "Parameter": parameter,
    "ParameterView": parameter_view,
    "AnyTensor": any_tensor,
    "float16": half,
    "bfloat16": half,
    "Model": model,
}


def describer(type_name, bases):
    """The function that describes values of a type, None for types of others. `bases` is called if it matters."""
    own = own_name(type_name)
    if own in DESCRIBED:
        return DESCRIBED[own]
    return network if any(own_name(base) == "nn::Cell" for base in bases()) else None


def describe(value):
    found = describer(value.type_name, lambda: value.bases)
    return found and found(value)
