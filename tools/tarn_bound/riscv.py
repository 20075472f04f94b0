"""RISC-V with 32 bits and compressed instructions. No cycles: they are each maker's own.

What an instruction reads and writes is taken from its text: the first operand is written, but by stores and branches.
"""

import re

import capstone

from tarn_bound.instruction import FLAGS, UNKNOWN, Edge, Instruction

WORD = 4
REGISTER = re.compile(r"\b(?:zero|ra|sp|gp|tp|[ast]\d+)\b")
LOST = {"ra", FLAGS} | {f"t{i}" for i in range(7)} | {f"a{i}" for i in range(8)}
BRANCHES = {"beq", "bne", "blt", "bge", "bltu", "bgeu", "beqz", "bnez", "bltz", "bgez", "blez", "bgtz"}
LOADS = {"lb", "lh", "lw", "lbu", "lhu", "lwsp", "flw", "fld", "flwsp", "fldsp"}
STORES = {"sb", "sh", "sw", "swsp", "fsw", "fsd", "fswsp", "fsdsp"}


class Decoder:
    name = "RISC-V 32"
    arguments = {f"a{i}" for i in range(8)}
    results = {"a0"}
    lost = LOST
    has_cycles = False
    entry_stack = 0

    def __init__(self, _cpu):
        self.md = capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCVC)

    def decode(self, data, at, _is_conditional=False):
        raw = next(self.md.disasm(data, at, 1), None)
        if raw is None:
            return None
        one = Instruction(raw.address, raw.size, f"{raw.mnemonic} {raw.op_str}".strip())
        m = raw.mnemonic.removeprefix("c.")
        words = [word.strip() for word in raw.op_str.split(",")] if raw.op_str else []
        registers = REGISTER.findall(raw.op_str)
        self._count(m, words, one)
        self._go(m, words, one)
        keeps_first = m in STORES or m in BRANCHES or m in ("j", "jr", "ret") or not registers or registers[0] == "zero"
        reads_first = keeps_first or raw.mnemonic.startswith("c.") and m not in ("mv", "li", "lui", "lw", "lwsp", "addi4spn")
        one.uses = frozenset(registers if reads_first else registers[1:])
        if not keeps_first:
            one.sets = ((registers[0], self._what(m, words)),)
        return one

    @staticmethod
    def _what(m, words):
        if m == "mv" or m == "addi" and len(words) == 3 and words[2] == "0":
            return ("copy", words[1]) if words[1] != "zero" else 0
        if m == "li" or m == "addi" and len(words) == 3 and words[1] == "zero":
            return int(words[-1], 0)
        return UNKNOWN

    @staticmethod
    def _count(m, words, one):
        if m in LOADS or m.startswith("lr."):
            one.reads = 1
        elif m in STORES or m.startswith("sc."):
            one.writes = 1
        elif m.startswith("amo"):
            one.reads = one.writes = 1
        elif m in ("addi", "addi16sp", "add") and words[0] == "sp" and (m != "addi" or len(words) == 2 or words[1] == "sp"):
            one.stack = -int(words[-1], 0) if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", words[-1]) else None
        elif m == "andi" and words[0] == "sp":
            one.stack = -int(words[-1], 0) - WORD
        elif words[:1] == ["sp"] and m not in BRANCHES and words[1:2] != ["s0"]:
            one.stack = None  # only the frame pointer restores it
        elif m in ("ecall", "ebreak"):
            one.fault = f"a system call, {one.text}"

    @staticmethod
    def _go(m, words, one):
        if m == "ret" or m == "jr" and words == ["ra"] or m == "jalr" and words[:1] == ["zero"] and "ra" in words[-1]:
            one.returns = True
        elif m == "jr" or m == "jalr" and words[0] == "zero":
            one.fault = f"an indirect jump, {one.text}"
        elif m == "jalr":
            one.goes_on().fault = f"an indirect call, {one.text}"
        elif m == "j" or m == "jal" and words[0] == "zero":
            one.edges = [Edge(one.at + int(words[-1], 0))]
        elif m == "jal":
            one.goes_on().call = one.at + int(words[-1], 0)
        elif m in ("unimp", "ebreak"):
            one.stops = True
        elif m in BRANCHES:
            is_equal = m[:3] in ("beq", "bne") and (m.endswith("z") or words[1] == "zero")
            tested = words[0] if is_equal else ""
            one.edges = [Edge(one.at + int(words[-1], 0), 0, tested, m.startswith("beq")),
                         Edge(one.after, 0, tested, not m.startswith("beq"))]
        else:
            one.goes_on()
