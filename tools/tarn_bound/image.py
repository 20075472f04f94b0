"""An ELF file: its code, its functions' names, the marks in it, and the lines that code comes from."""

import collections
import functools
import re
import struct
import subprocess

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from tarn_bound.instruction import NoInput

ALLOCATED, EXECUTABLE = 2, 4
AT_MOST, NOT_IF, ROUNDS, ROUND, CHOICE, CHOSEN = range(6)  # kinds of marks, which policies/platform/config.h writes


class Image:
    def __init__(self, path):
        self.path = path
        try:
            with open(path, "rb") as file:
                self._read(ELFFile(file))
        except OSError as error:
            raise NoInput(f"{path}: {error.strerror}") from None
        except (ELFError, struct.error, UnicodeDecodeError, ValueError) as error:
            raise NoInput(f"{path}: not an ELF file that can be read ({error})") from None
        self._lines = {}

    def _read(self, elf):
        self.machine = elf.get_machine_arch()
        self.bits = elf.elfclass
        self.is_thumb = self.machine == "ARM"
        if elf["e_type"] == "ET_REL":
            raise NoInput(f"{self.path}: an object file; give the linked program")
        self.code = [(s["sh_addr"], s.data()) for s in elf.iter_sections()
                     if s["sh_flags"] & ALLOCATED and s["sh_flags"] & EXECUTABLE and s["sh_type"] != "SHT_NOBITS"]
        self.symbols = {}  # {name: address}
        self.names = {}  # {address: name}
        self.arm = set()  # addresses of functions that aren't Thumb
        for table in elf.iter_sections():
            if isinstance(table, SymbolTableSection):
                for one in table.iter_symbols():
                    if one["st_info"]["type"] in ("STT_FUNC", "STT_LOOS") and one["st_shndx"] != "SHN_UNDEF":
                        self.symbols[one.name] = self.address(one["st_value"])
                        if self.is_thumb and not one["st_value"] & 1:
                            self.arm.add(one["st_value"])
                        self.names.setdefault(self.address(one["st_value"]), one.name)
        self.outside = self._stubs(elf)  # {address of a stub: the function that it calls, of a shared library}
        self.marks = {}  # {address: {(line, bound)}}
        self.unreached = collections.defaultdict(set)  # {address: assumptions under which it isn't reached}
        self.choices = collections.defaultdict(set)  # {address: names of choices that begin}
        self.chosen = collections.defaultdict(set)  # {address: names of choices of which this is one}
        self.grants = collections.defaultdict(dict)  # {address: {name: rounds that its loops have from here on, all together}}
        self.shares = collections.defaultdict(dict)  # {address: {name: how many of them a pass takes}}
        if section := elf.get_section_by_name(".debug_tarn_marks"):
            self._read_marks(section.data())

    def address(self, value):
        return value & ~1 if self.is_thumb else value

    def _read_marks(self, data):
        """Records: address and kind; then the bound and the line, or a number, where the kind has one, and a name. The address
        is 0 where the linker has dropped the code."""
        word = struct.Struct("<I" if self.bits == 32 else "<Q")
        at = 0

        def number():
            nonlocal at
            at += word.size
            return word.unpack_from(data, at - word.size)[0]

        def name():
            nonlocal at
            start, at = at, data.index(b"\0", at) + 1
            return data[start:at - 1].decode()

        while at < len(data):
            address, kind = self.address(number()), number()
            if kind == AT_MOST:
                self.marks.setdefault(address, set()).add((number(), number()))
            elif kind in (NOT_IF, CHOICE, CHOSEN):
                {NOT_IF: self.unreached, CHOICE: self.choices, CHOSEN: self.chosen}[kind][address].add(name())
            elif kind in (ROUNDS, ROUND):
                of = self.grants if kind == ROUNDS else self.shares
                count = number()
                of[address][name()] = count
            else:
                raise NoInput(f"{self.path}: .debug_tarn_marks has a record of a kind that isn't known, {kind}")
        for of in (self.marks, self.unreached, self.grants, self.shares, self.choices, self.chosen):
            of.pop(0, None)

    def _stubs(self, elf):
        places = {}
        for section in elf.iter_sections():
            if isinstance(section, RelocationSection):
                table = elf.get_section(section["sh_link"])
                for one in section.iter_relocations():
                    if one["r_info_sym"] and isinstance(table, SymbolTableSection):
                        places[one["r_offset"]] = table.get_symbol(one["r_info_sym"]).name
        found = {}
        for name in (".plt", ".plt.sec", ".plt.got"):
            section = elf.get_section_by_name(name)
            if section is not None and self.machine == "x64":
                # Of 16 bytes each, with `jmp *distance(%rip)` in it; .plt.got's are of 8.
                data, start = section.data(), section["sh_addr"]
                for jump in re.finditer(rb"\xff\x25(....)", data, re.DOTALL):
                    place = start + jump.end() + struct.unpack("<i", jump.group(1))[0]
                    step = 8 if name == ".plt.got" and len(data) % 16 else 16
                    if place in places:
                        found[start + jump.start() // step * step] = places[place]
        section = elf.get_section_by_name(".plt")
        if section is not None and self.machine == "AArch64":
            slots = elf.get_section_by_name(".rela.plt")
            for i, one in enumerate(slots.iter_relocations() if slots is not None else []):
                found[section["sh_addr"] + 32 + 16 * i] = places.get(one["r_offset"], "?")
        return found

    def bytes_at(self, at, n=16):
        for start, data in self.code:
            if start <= at < start + len(data):
                return data[at - start:at - start + n]
        return b""

    def name_of(self, at):
        return self.names.get(at) or self.outside.get(at) or hex(at)

    def lines(self, addresses):
        """{address: [FILE:LINE of the code, of the function that it is inlined in, ...]}"""
        wanted = [at for at in addresses if at not in self._lines]
        if wanted:
            said = _said(["addr2line", "-a", "-i", "-e", self.path], "\n".join(map(hex, wanted)))
            at = None
            for line in said.splitlines():
                if line.startswith("0x"):
                    at = int(line, 16)
                    self._lines[at] = []
                elif not line.startswith("?") and not line.endswith(":?"):
                    self._lines[at].append(re.sub(r" \(discriminator.*", "", line))
        return {at: self._lines.get(at, []) for at in addresses}

    def place(self, at):
        """FILE:LINE of an address, or the address."""
        lines = self.lines([at])[at]
        return short_path(lines[0]) if lines else hex(at)


def short_path(place):
    """The last three names of a path."""
    return "/".join(place.split("/")[-3:])


@functools.lru_cache(None)
def demangled(name):
    return (_said(["c++filt", "--", name], "").strip() or name) if name.startswith("_Z") else name


def names_of(name):
    """A function's names: the symbol, without what a compiler adds to parts of it; in C++ with arguments, and without, with all
    namespaces down to none."""
    full = demangled(name)
    found = {name, name.partition(".")[0], full}
    parts = _without_arguments(full).split("::") if full != name else []
    return found | {"::".join(parts[at:]) for at in range(len(parts))}


def _without_arguments(text):
    before = None
    while before != text:
        before, text = text, re.sub(r"(?<!operator)<[^<>]*>", "", text)
    text = text.replace("(anonymous namespace)", "anonymous")
    return re.sub(r"(?<!operator)\(.*", "", text).split(" ")[-1] or text


def short_name(name):
    """A function's name without arguments and template arguments."""
    return "::".join(_without_arguments(demangled(name)).split("::")[-2:])


def _said(command, given):
    try:
        return subprocess.run(command, input=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              errors="replace", check=False).stdout
    except OSError:
        return ""
