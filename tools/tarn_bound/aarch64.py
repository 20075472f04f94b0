"""AArch64. No cycles: nobody can give a bound for them."""

import re

import capstone
from capstone import arm64_const as A

from tarn_bound.instruction import FLAGS, NOT_ZERO, UNKNOWN, Edge, Instruction

_PAIRS = {f"{letter}{i}": (f"x{i}", f"w{i}") for letter in "xw" for i in range(31)}
_PAIRS.update(fp=("x29", "w29"), lr=("x30", "w30"))
LOST = {part for i in [*range(19), 30] for part in (f"x{i}", f"w{i}")} | {FLAGS}
ORDERED = ("swp", "cas", "ldadd", "ldset", "ldclr", "ldeor")  # one read and one write each


class Decoder:
    name = "AArch64"
    arguments = {f"{letter}{i}" for letter in "xw" for i in range(8)}
    results = {"x0", "w0"}
    lost = LOST
    has_cycles = False
    entry_stack = 0

    def __init__(self, _cpu):
        self.md = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
        self.md.detail = True

    def decode(self, data, at, _is_conditional=False):
        raw = next(self.md.disasm(data, at, 1), None)
        if raw is None:
            return None
        one = Instruction(raw.address, raw.size, f"{raw.mnemonic} {raw.op_str}".strip())
        m = raw.mnemonic
        used, written = raw.regs_access()
        names = [raw.reg_name(register) for register in used]
        one.uses = frozenset(part for name in names for part in _PAIRS.get(name, (name,)))
        one.sets = self._sets(raw, m, [raw.reg_name(register) for register in written])
        self._count(raw, m, one)
        self._go(raw, m, one)
        return one

    @staticmethod
    def _go(raw, m, one):
        o = raw.operands
        if m in ("ret", "retaa", "retab"):
            one.returns = True
        elif m in ("udf", "brk", "hlt"):
            one.stops = True
        elif m == "bl":
            one.goes_on().call = o[0].imm
        elif m.startswith("blr"):
            one.goes_on().fault = f"an indirect call, {one.text}"
        elif m.startswith("br"):
            one.fault = f"an indirect jump, {one.text}"
        elif m in ("cbz", "cbnz"):
            register = raw.reg_name(o[0].reg)
            one.edges = [Edge(o[1].imm, 0, register, m == "cbz"), Edge(one.after, 0, register, m != "cbz")]
        elif m in ("tbz", "tbnz"):
            one.edges = [Edge(o[2].imm), Edge(one.after)]
        elif m == "b":
            one.edges = [Edge(o[0].imm)]
        elif m.startswith("b."):
            equal = m in ("b.eq", "b.ne")
            one.edges = [Edge(o[0].imm, 0, FLAGS if equal else "", m == "b.eq"),
                         Edge(one.after, 0, FLAGS if equal else "", m != "b.eq")]
        else:
            one.goes_on()

    @staticmethod
    def _count(raw, m, one):
        if not any(o.type == A.ARM64_OP_MEM for o in raw.operands) or m.startswith("prf"):
            if m in ("add", "sub") and raw.op_str.startswith("sp, sp"):
                by = raw.operands[2]
                size = by.imm << by.shift.value if by.type == A.ARM64_OP_IMM else None
                one.stack = None if size is None else size if m == "sub" else -size
            elif raw.op_str.startswith("sp,") and m not in ("cmp", "cmn") and not re.match(r"sp, (x29|fp)\b", raw.op_str):
                one.stack = None  # only the frame pointer restores it
            elif m in ("svc", "hvc"):
                one.fault = f"a system call, {one.text}"
            return
        registers = 2 if re.match(r"(ld|st)\w*p$", m) else 1
        if m.startswith(ORDERED):
            one.reads = one.writes = 1
        elif m.startswith("ld"):
            one.reads = registers
        elif m.startswith("st"):
            one.writes = registers
        if found := re.search(r"\[sp(?:, #(-?\w+)\]!|\], #(-?\w+))", raw.op_str):
            one.stack = -int(found.group(1) or found.group(2), 0)

    @staticmethod
    def _sets(raw, m, written):
        o = raw.operands
        first = raw.reg_name(o[0].reg) if o and o[0].type == A.ARM64_OP_REG else ""
        what = UNKNOWN
        if m == "mov" and len(o) == 2:
            if o[1].type == A.ARM64_OP_IMM:
                what = o[1].imm
            elif o[1].type == A.ARM64_OP_REG:
                source = raw.reg_name(o[1].reg)
                what = 0 if source in ("xzr", "wzr") else ("copy", source)
        elif m in ("cmp", "tst") and len(o) == 2 and o[1].shift.type == 0 and o[1].ext == 0 and first:
            if m == "tst":
                return ((FLAGS, ("copy", first) if first == raw.reg_name(o[1].reg) else UNKNOWN),)
            other = o[1].imm if o[1].type == A.ARM64_OP_IMM else raw.reg_name(o[1].reg)
            return ((FLAGS, ("copy", first) if other == 0 else ("compare", first, other)),)
        elif m == "adr":
            what = NOT_ZERO
        sets = []
        for name in written:
            if name in _PAIRS:
                x, w = _PAIRS[name]
                its = what if name == first else UNKNOWN
                small = its if isinstance(its, int) and 0 <= its < 2 ** 31 else UNKNOWN
                sets += [(x, its), (w, its if name == w else small)]
            elif name == "nzcv":
                sets.append((FLAGS, ("copy", first) if m in ("adds", "subs", "ands", "bics") else UNKNOWN))
        if (raw.update_flags or m.startswith(("fcm", "fccm", "ccm", "msr"))) and not any(name == FLAGS for name, _ in sets):
            sets.append((FLAGS, UNKNOWN))
        return tuple(sorted(sets, key=lambda pair: pair[0] == FLAGS))


