"""Tenon's values in lldb: `p x` shows dtype, shape, and the first elements of a tensor, the parameters of a network.

One line in ~/.lldbinit, for all programs:
    command script import <this file>
`frame variable --raw x` shows the members as they are. What is shown is decided in tenon_values.py.
"""

import os
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import tenon_values  # noqa: E402  (found by the line above)


def plain(t):
    if t.IsReferenceType():
        t = t.GetDereferencedType()
    return t.GetCanonicalType().GetUnqualifiedType()


def bases_of(t):
    return [plain(t.GetDirectBaseClassAtIndex(i).GetType()).GetName() for i in range(t.GetNumberOfDirectBaseClasses())]


def checked(value):
    if not value.IsValid() or value.GetError().Fail():
        raise tenon_values.Unreadable(value.GetError().GetCString() or "optimised away")
    return value


class Value:
    """An lldb.SBValue, as tenon_values.py asks for it."""

    def __init__(self, value):
        value = checked(value).GetNonSyntheticValue()
        if value.GetType().IsReferenceType():
            value = checked(value.Dereference())
        self.value, self.type = value, plain(value.GetType())

    @property
    def type_name(self):
        return self.type.GetName()

    @property
    def bases(self):
        return bases_of(self.type)

    @property
    def address(self):
        address = self.value.GetLoadAddress()
        return None if address == lldb.LLDB_INVALID_ADDRESS else address

    def integer(self):
        error = lldb.SBError()
        pointer = self.type.IsPointerType()
        number = self.value.GetValueAsUnsigned(error) if pointer else self.value.GetValueAsSigned(error)
        if error.Fail():
            raise tenon_values.Unreadable(error.GetCString())
        return number

    def member(self, name):
        return Value(self.value.GetChildMemberWithName(name))

    def members(self):
        own = [self.type.GetFieldAtIndex(i).GetName() for i in range(self.type.GetNumberOfFields())]
        return [(name, self.member(name)) for name in own]

    def elements(self):
        if not self.type.IsArrayType():
            return None
        return (Value(self.value.GetChildAtIndex(i)) for i in range(self.value.GetNumChildren()))

    def target(self):
        return Value(self.value.Dereference())

    def read(self, address, size):
        error = lldb.SBError()
        data = self.value.GetProcess().ReadMemory(address, size, error)
        if error.Fail():
            raise tenon_values.Unreadable(error.GetCString())
        return data


def is_ours(t, _):
    t = plain(t)
    return tenon_values.describer(t.GetName() or "", lambda: bases_of(t)) is not None


def summary(value, _):
    try:
        return tenon_values.describe(Value(value))
    except Exception as fault:
        return "not readable (%s)" % fault


def __lldb_init_module(debugger, _):
    debugger.HandleCommand(
        "type summary add --skip-pointers --category tenon --python-function tenon_lldb.summary "
        "--recognizer-function tenon_lldb.is_ours"
    )
    debugger.HandleCommand("type category enable tenon")
