"""gdb's commands for tarn's pools; a process or a core dump, with debug information (-g), optimised or not.

    (gdb) source tools/gdb/tarn.py
    (gdb) info pools
    (gdb) pool block ADDRESS
    (gdb) pool map FILE

docs/how-to/debugger.md says what they tell.
"""

import os
import sys

import gdb

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "debugger"))

import tarn_pools

STRUCTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


class Value:
    """A gdb.Value, as tarn_pools.py uses it."""

    def __init__(self, value):
        self.value = value
        self.type = value.type.strip_typedefs()

    def member(self, name):
        if self.type.code not in STRUCTS:
            return None
        try:
            return Value(self.value[name])
        except gdb.error:
            return None

    def need(self, name):
        found = self.member(name)
        if found is None:
            raise tarn_pools.Unknown(f"{self.type} has no {name}: another version of tarn, or no debug information")
        return found

    def number(self):
        return read(lambda: int(self.value))

    def pointed(self, kind=None):
        """What a pointer points to; `kind`: a class derived from its type, which that is."""
        pointer = self.value.cast(gdb.lookup_type(kind).pointer()) if kind else self.value
        return Value(read(pointer.dereference))

    def pointed_type(self):
        return str(self.type.target())

    def element(self, i):
        return Value(read(lambda: self.value[i]))

    def elements(self):
        first, last = self.type.range()
        return [Value(self.value[i]) for i in range(first, last + 1)]

    def type_name(self):
        return str(self.type.unqualified())

    def address(self):
        return int(self.value.address)

    def size(self):
        return self.type.sizeof


def read(what):
    try:
        return what()
    except gdb.MemoryError as error:
        raise tarn_pools.Corrupted(str(error)) from error


class Debugger:
    """What tarn_pools.py asks of gdb."""

    def variables(self, name):
        found = []
        for file in gdb.objfiles():
            symbol = file.lookup_global_symbol(name) or file.lookup_static_symbol(name)
            if symbol is not None:
                found.append(Value(symbol.value()))
        return found

    def object(self, function, variable, address):
        block = gdb.block_for_pc(function)
        while block is not None and not block.is_global:
            for symbol in block:
                if symbol.name == variable:
                    kind = symbol.type.strip_typedefs().target().unqualified()
                    return Value(gdb.Value(address).cast(kind.pointer()).dereference())
            block = block.superblock
        raise tarn_pools.Unknown("no debug information for the pool's type: compile with -g")

    def memory(self, address, size):
        return read(lambda: gdb.selected_inferior().read_memory(address, size).tobytes())

    def words(self, address, n):
        size = gdb.lookup_type("long").pointer().sizeof
        order = "<" if "little" in gdb.execute("show endian", to_string=True) else ">"
        return tarn_pools.words_of(self.memory(address, n * size), size, order) if n else []


def show(lines):
    try:
        for line in lines(Debugger()):
            print(line)
    except (tarn_pools.Unknown, tarn_pools.Corrupted) as error:
        raise gdb.GdbError(f"tarn: {error}") from error


class InfoPools(gdb.Command):
    """Lists tarn's pools that have a name: what is in use, capacity, chunks, bytes held, requests refused.
Nothing in the program is called."""

    def __init__(self):
        super().__init__("info pools", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        show(tarn_pools.table)


class PoolPrefix(gdb.Command):
    """Commands for tarn's pools."""

    def __init__(self):
        super().__init__("pool", gdb.COMMAND_DATA, prefix=True)


class PoolBlock(gdb.Command):
    """Says what tarn knows of an address: pool block ADDRESS
The pool, the block's number, whether it is in use, free or was never handed out, and where it was allocated, if a checking
policy knows that. ADDRESS is any expression."""

    def __init__(self):
        super().__init__("pool block", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        if not argument.strip():
            raise gdb.GdbError("pool block ADDRESS: which address?")
        try:
            address = int(gdb.parse_and_eval(argument).cast(gdb.lookup_type("unsigned long")))
        except gdb.error as error:
            raise gdb.GdbError(f"pool block {argument}: {error}") from error
        show(lambda debugger: tarn_pools.describe(debugger, address))


class PoolMap(gdb.Command):
    """Adds a map of the pools to a file, for tarn-map: pool map FILE [NAME]...
For each block its state. Without a name, of all pools."""

    def __init__(self):
        super().__init__("pool map", gdb.COMMAND_DATA, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        show(lambda debugger: tarn_pools.write_map(debugger, gdb.string_to_argv(argument)))


class PoolPrinter:
    """A pool in one line."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            address = int(self.value.address or 0)
            for pool in tarn_pools.pools(Debugger()):
                if pool.address == address:
                    return (f'pool "{pool.name}" <{pool.block_size} bytes>, {pool.in_use()} of {pool.capacity} blocks in use, '
                            f"{pool.chunks} chunks")
        except (tarn_pools.Unknown, tarn_pools.Corrupted) as error:
            return f"pool ({error})"
        return "pool without a name"


def printer(value):
    kind = value.type.strip_typedefs().unqualified()
    if kind.code == gdb.TYPE_CODE_STRUCT and str(kind).startswith(("tarn::basic_pool<", "tarn::static_pool<")):
        return PoolPrinter(value)
    return None


gdb.pretty_printers.append(printer)
InfoPools()
PoolPrefix()
PoolBlock()
PoolMap()
