"""lldb's commands for tarn's pools; a process or a core dump, with debug information (-g), optimised or not.

    (lldb) command script import tools/lldb/tarn.py
    (lldb) tarn pools
    (lldb) tarn block ADDRESS
    (lldb) tarn map FILE

docs/how-to/debugger.md says what they tell.
"""

import os
import shlex
import sys

import lldb

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "debugger"))

import tarn_pools


class Value:
    """An SBValue, as tarn_pools.py uses it."""

    def __init__(self, value):
        self.value = value.GetNonSyntheticValue()
        self.type = value.GetType().GetCanonicalType()

    def member(self, name):
        if self.type.IsPointerType():
            return None
        found = self.value.GetChildMemberWithName(name)
        return Value(found) if found.IsValid() else None

    def need(self, name):
        found = self.member(name)
        if found is None:
            raise tarn_pools.Unknown(f"{self.type.GetName()} has no {name}: another version of tarn, or no debug information")
        return found

    def number(self):
        error = lldb.SBError()
        number = self.value.GetValueAsUnsigned(error)
        if error.Success():
            return number
        target = self.value.GetTarget()
        order = "big" if target.GetByteOrder() == lldb.eByteOrderBig else "little"
        return int.from_bytes(memory(target, self.address(), self.size()), order)

    def _at(self, address, kind):
        target = self.value.GetTarget()
        return Value(target.CreateValueFromAddress("value", lldb.SBAddress(address, target), kind))

    def pointed(self, kind=None):
        """What a pointer points to; `kind`: a class derived from its type, which that is."""
        return self._at(self.number(), self.value.GetTarget().FindFirstType(kind) if kind else self.type.GetPointeeType())

    def pointed_type(self):
        return self.type.GetPointeeType().GetName()

    def element(self, i):
        if self.type.IsPointerType():
            kind = self.type.GetPointeeType()
            return self._at(self.number() + i * kind.GetByteSize(), kind)
        return Value(self.value.GetChildAtIndex(i))

    def elements(self):
        kind = self.type.GetArrayElementType()
        return [self.element(i) for i in range(self.type.GetByteSize() // kind.GetByteSize())]

    def type_name(self):
        return self.type.GetUnqualifiedType().GetName()

    def address(self):
        return self.value.GetLoadAddress()

    def size(self):
        return self.type.GetByteSize()


def memory(target, address, size):
    error = lldb.SBError()
    data = target.GetProcess().ReadMemory(address, size, error)
    if error.Success():
        return data
    where = target.ResolveLoadAddress(address)  # a core dump hasn't what can be read from the program's file
    failed = lldb.SBError()
    data = where.GetSection().GetSectionData(where.GetOffset(), size).ReadRawData(failed, 0, size)
    if failed.Fail() or not data:
        raise tarn_pools.Corrupted(str(error))
    return data


class Debugger:
    """What tarn_pools.py asks of lldb."""

    def __init__(self, target):
        self.target = target

    def variables(self, name):
        found = self.target.FindGlobalVariables(name, 1000)
        return [Value(found.GetValueAtIndex(i)) for i in range(found.GetSize())]

    def object(self, function, variable, address):
        where = self.target.ResolveLoadAddress(function)
        context = self.target.ResolveSymbolContextForAddress(where, lldb.eSymbolContextFunction | lldb.eSymbolContextBlock)
        block = context.GetFunction().GetBlock()
        variables = block.GetVariables(self.target, True, True, True)
        for i in range(variables.GetSize()):
            one = variables.GetValueAtIndex(i)
            if one.GetName() == variable:
                kind = one.GetType().GetDereferencedType().GetUnqualifiedType()
                return Value(self.target.CreateValueFromAddress("pool", lldb.SBAddress(address, self.target), kind))
        raise tarn_pools.Unknown("no debug information for the pool's type: compile with -g")

    def memory(self, address, size):
        return memory(self.target, address, size)

    def words(self, address, n):
        size = self.target.GetAddressByteSize()
        order = ">" if self.target.GetByteOrder() == lldb.eByteOrderBig else "<"
        return tarn_pools.words_of(memory(self.target, address, n * size), size, order) if n else []


def show(debugger, lines, result):
    target = debugger.GetSelectedTarget()
    try:
        result.AppendMessage("\n".join(lines(Debugger(target))))
    except (tarn_pools.Unknown, tarn_pools.Corrupted) as error:
        result.SetError(f"tarn: {error}")


def pools(debugger, command, result, internal):
    """Lists tarn's pools that have a name: what is in use, capacity, chunks, bytes held, requests refused."""
    show(debugger, tarn_pools.table, result)


def block(debugger, command, result, internal):
    """Says what tarn knows of an address: tarn block ADDRESS, which is any expression."""
    if not command.strip():
        result.SetError("tarn block ADDRESS: which address?")
        return
    try:
        address = int(command, 0)
    except ValueError:
        value = debugger.GetSelectedTarget().EvaluateExpression(command)
        if value.GetError().Fail():
            result.SetError(str(value.GetError()))
            return
        address = value.GetValueAsUnsigned()
    show(debugger, lambda its: tarn_pools.describe(its, address), result)


def map_pools(debugger, command, result, internal):
    """Adds a map of the pools to a file, for tarn-map: tarn map FILE [NAME]..."""
    show(debugger, lambda its: tarn_pools.write_map(its, shlex.split(command)), result)


def __lldb_init_module(debugger, internal):
    debugger.HandleCommand('command container add -h "Commands for tarn\'s pools." tarn')
    for name, function in (("pools", "pools"), ("block", "block"), ("map", "map_pools")):
        debugger.HandleCommand(f"command script add -o -f {__name__}.{function} tarn {name}")
