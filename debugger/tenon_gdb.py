"""Tenon's values in gdb: `p x` shows dtype, shape, and the first elements of a tensor, the parameters of a network.

Programs that link tenon::debugger name this file, and gdb loads it with them if it may:
    add-auto-load-safe-path <the folder of this file>
For all programs, one line in ~/.gdbinit:
    source <this file>
`p/r x` shows the members as they are. What is shown is decided in tenon_values.py.
"""

import os
import sys

import gdb
import gdb.printing

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import tenon_values  # noqa: E402  (found by the line above)

CLASSES = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


def plain(t):
    return t.strip_typedefs().unqualified()


def name_of(t):
    t = plain(t)
    return t.tag or str(t)


def bases_of(t):
    return [name_of(field.type) for field in t.fields() if field.is_base_class]


class Value:
    """A gdb.Value, as tenon_values.py asks for it."""

    def __init__(self, value):
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        self.value, self.type = value, plain(value.type)

    @property
    def type_name(self):
        return name_of(self.type)

    @property
    def bases(self):
        return bases_of(self.type) if self.type.code in CLASSES else []

    @property
    def address(self):
        return None if self.value.address is None else int(self.value.address)

    def integer(self):
        return int(self.value)

    def member(self, name):
        return Value(self.value[name])

    def members(self):
        own = [f for f in self.type.fields() if not f.is_base_class and hasattr(f, "bitpos")]  # static ones have none
        return [(field.name, Value(self.value[field])) for field in own]

    def elements(self):
        if self.type.code != gdb.TYPE_CODE_ARRAY:
            return None
        first, last = self.type.range()
        return (Value(self.value[i]) for i in range(first, last + 1))

    def target(self):
        return Value(self.value.dereference())

    def read(self, address, size):
        return gdb.selected_inferior().read_memory(address, size).tobytes()


class Printer:
    def __init__(self, value, describe):
        self.value, self.describe = value, describe

    def to_string(self):
        try:
            return self.describe(Value(self.value))
        except Exception as fault:
            return "not readable (%s)" % fault


class Printers:
    """Chooses the printer of a value. gdb asks for every value that it prints, so the answer is kept per type."""

    name = "tenon"
    enabled = True
    subprinters = None

    def __init__(self):
        self.known = {}

    def __call__(self, value):
        t = plain(value.type)
        if t.code not in CLASSES:
            return None
        name = name_of(t)
        if name not in self.known:
            self.known[name] = tenon_values.describer(name, lambda: bases_of(t))
        return Printer(value, self.known[name]) if self.known[name] else None


# Loaded by a program it is for this program, else for all.
gdb.printing.register_pretty_printer(gdb.current_objfile(), Printers(), replace=True)
