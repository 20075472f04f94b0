"""x86-64. No cycles: nobody can give a bound for them."""


import capstone
from capstone import x86_const as X

from tarn_bound.instruction import FLAGS, NOT_ZERO, UNKNOWN, Edge, Instruction

NAME = "x86-64"
WORD = 8
ARGUMENTS = {part for whole in ("di", "si", "dx", "cx") for part in ("r" + whole, "e" + whole)} | {"r8", "r8d", "r9", "r9d"}
RESULTS = {"rax", "eax", "al"}

_WHOLE = {}  # {part: (64 bits, 32 bits, 16 bits, 8 bits)}
for _one in "abcd":
    _parts = (f"r{_one}x", f"e{_one}x", f"{_one}x", f"{_one}l")
    _WHOLE.update(dict.fromkeys(_parts + (f"{_one}h",), _parts))
for _one in ("si", "di", "bp", "sp"):
    _WHOLE.update(dict.fromkeys(("r" + _one, "e" + _one, _one, _one + "l"), ("r" + _one, "e" + _one, _one, _one + "l")))
for _one in range(8, 16):
    _parts = (f"r{_one}", f"r{_one}d", f"r{_one}w", f"r{_one}b")
    _WHOLE.update(dict.fromkeys(_parts, _parts))
LOST = set(_WHOLE) - {part for whole in ("rbx", "rbp", "rsp", "r12", "r13", "r14", "r15") for part in _WHOLE[whole]} | {FLAGS}

# What certainly leaves the flags as they are.
KEEPS_FLAGS = ("mov", "lea", "push", "pop", "j", "call", "ret", "nop", "set", "cmov", "endbr", "prefetch", "leave", "bnd")
_STOPS = {"ud2", "hlt", "int3"}
_EQUAL = {"je": True, "jne": False}


def _parts(register):
    return _WHOLE.get(register, (register,))


def _assign(register, what):
    """[(part, what)] of a write: of 32 bits, it clears the rest."""
    parts = _parts(register)
    if len(parts) == 1:
        return [(register, UNKNOWN)]
    width = parts.index(register) if register in parts else 3
    narrow = what if isinstance(what, int) and 0 <= what < 128 else UNKNOWN
    if width <= 1:
        whole = what
        return [(parts[0], whole), (parts[1], what if width else narrow), (parts[2], narrow), (parts[3], narrow)]
    return [(part, what if part == register else UNKNOWN) for part in parts]


class Decoder:
    name, arguments, results, lost, has_cycles = NAME, ARGUMENTS, RESULTS, LOST, False
    entry_stack = WORD  # bytes that the call itself takes: the address to return to

    def __init__(self, _cpu):
        self.md = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self.md.detail = True

    def decode(self, data, at, _state=None):
        """An instruction; None if there is none."""
        raw = next(self.md.disasm(data, at, 1), None)
        if raw is None:
            return None
        one = Instruction(raw.address, raw.size, f"{raw.mnemonic} {raw.op_str}".strip())
        m = raw.mnemonic
        name = raw.reg_name
        used, written = raw.regs_access()
        one.uses = frozenset(part for register in used for part in _parts(name(register)))
        self._count(raw, m, one)
        one.sets = tuple(self._sets(raw, m, [name(register) for register in written]))
        if m in _STOPS:
            one.stops = True
        elif m.startswith("ret") or m.endswith(" ret"):
            one.returns = True
        elif m == "call":
            one.goes_on()
            if raw.operands[0].type == X.X86_OP_IMM:
                one.call = raw.operands[0].imm
            else:
                one.fault = f"an indirect call, {one.text}"
        elif capstone.CS_GRP_JUMP in raw.groups:
            self._jump(raw, m, one)
        else:
            one.goes_on()
        return one

    @staticmethod
    def _jump(raw, m, one):
        if raw.operands[0].type != X.X86_OP_IMM:
            one.fault = f"an indirect jump, {one.text}"
        elif m.endswith("jmp"):
            one.edges = [Edge(raw.operands[0].imm)]
        elif m in _EQUAL:
            one.edges = [Edge(raw.operands[0].imm, 0, FLAGS, _EQUAL[m]), Edge(one.after, 0, FLAGS, not _EQUAL[m])]
        else:
            one.edges = [Edge(raw.operands[0].imm), Edge(one.after)]

    @staticmethod
    def _count(raw, m, one):
        if m not in ("lea", "nop", "endbr64") and not m.startswith("prefetch"):
            one.reads = sum(o.type == X.X86_OP_MEM and bool(o.access & capstone.CS_AC_READ) for o in raw.operands)
            one.writes = sum(o.type == X.X86_OP_MEM and bool(o.access & capstone.CS_AC_WRITE) for o in raw.operands)
        if m in ("push", "pushfq"):
            one.writes, one.stack = one.writes + 1, WORD
        elif m in ("pop", "popfq"):
            one.reads, one.stack = one.reads + 1, -WORD
        elif m == "call":
            one.writes += 1
        elif m.startswith("ret"):
            one.reads += 1
        elif m == "leave":
            one.reads, one.stack = one.reads + 1, 0
        elif m in ("sub", "add") and raw.reg_name(raw.operands[0].reg) == "rsp":
            by = raw.operands[1]
            one.stack = None if by.type != X.X86_OP_IMM else by.imm if m == "sub" else -by.imm
        elif X.X86_REG_RSP in raw.regs_access()[1] and m != "call" and not m.endswith("ret"):
            one.stack = Decoder._moved_stack(raw, m)
        # What is below the stack pointer belongs to a function that calls no other: 128 bytes.
        for o in raw.operands:
            if o.type == X.X86_OP_MEM and raw.reg_name(o.mem.base) == "rsp" and o.mem.disp < 0:
                one.below = max(one.below, -o.mem.disp)
            elif o.type == X.X86_OP_MEM and raw.reg_name(o.mem.base) == "rbp" and o.mem.disp < 0:
                one.frame = max(one.frame, -o.mem.disp)
        if m.startswith("rep"):
            one.fault = f"a loop in an instruction, {one.text}"
        elif m in ("syscall", "int", "sysenter"):
            one.fault = f"a system call, {one.text}"

    @staticmethod
    def _moved_stack(raw, m):
        """Bytes by which the stack grows. The frame pointer restores it, or r10, where a function aligns its frame. None: it
        isn't known."""
        if not raw.operands:
            return None
        source = raw.operands[-1]
        if m == "and" and source.type == X.X86_OP_IMM and source.imm < 0:
            return -source.imm - WORD
        if m == "lea" and not source.mem.index:
            return {"rsp": -source.mem.disp, "rbp": 0, "r10": 0}.get(raw.reg_name(source.mem.base))
        return 0 if m == "mov" and source.type == X.X86_OP_REG and raw.reg_name(source.reg) == "rbp" else None

    @staticmethod
    def _sets(raw, m, written):
        """What is known behind it of what it writes."""
        operands = raw.operands
        is_register = [o.type == X.X86_OP_REG for o in operands]
        names = [raw.reg_name(o.reg) if o.type == X.X86_OP_REG else "" for o in operands]
        values = [o.imm if o.type == X.X86_OP_IMM else None for o in operands]
        if m in ("cmp", "test") and is_register[0] and (is_register[1] or values[1] is not None):
            if m == "cmp":
                return [(FLAGS, ("compare", names[0], names[1] if is_register[1] else values[1]) if values[1] != 0
                         else ("copy", names[0]))]
            return [(FLAGS, ("copy", names[0]) if names[0] == names[1] else UNKNOWN)]
        what = UNKNOWN
        if m in ("mov", "movabs") and is_register[1]:
            what = ("copy", names[1])
        elif m in ("mov", "movabs") and values[1] is not None:
            what = values[1]
        elif m == "movzx" and is_register[1]:
            what = ("copy", names[1])
        elif m in ("xor", "sub") and is_register[0] and names[0] == names[1]:
            what = 0
        elif m == "lea" and raw.operands[1].mem.base == X.X86_REG_RIP:
            what = NOT_ZERO
        sets = []
        for name in written:
            if name in ("rflags", "eflags"):
                result = m in ("sub", "add", "and", "or", "xor", "dec", "inc", "neg") and is_register[0]
                sets.append((FLAGS, what if what == 0 else ("copy", names[0]) if result else UNKNOWN))
            else:
                sets += _assign(name, what if is_register and is_register[0] and name == names[0] else UNKNOWN)
        if not m.startswith(KEEPS_FLAGS) and not any(name == FLAGS for name, _ in sets):
            sets.append((FLAGS, UNKNOWN))
        # A copy of a register reads it before: flags that copy the result come last.
        return sorted(sets, key=lambda one: one[0] == FLAGS)


