"""ARM's Thumb, as Cortex-M0+, M4 and M33 have it."""

import re

import capstone
from capstone import arm_const as A

from tarn_bound import cycles
from tarn_bound.instruction import FLAGS, NOT_ZERO, UNKNOWN, Edge, Instruction

WORD = 4
CONDITION = r"(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)"
_LOST = {"r0", "r1", "r2", "r3", "r12", "ip", "lr", FLAGS}


class Decoder:
    name = "ARM Thumb"
    arguments, results, lost = {"r0", "r1", "r2", "r3"}, {"r0"}, _LOST
    entry_stack = 0

    def __init__(self, cpu):
        self.table = cycles.TABLES.get(cpu)
        self.has_cycles = self.table is not None
        self.md = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
        self.md.detail = True

    @staticmethod
    def follows(one):
        """How many instructions an `it` makes conditional."""
        found = re.match(r"it([te]*)\b", one.text)
        return len(found.group(1)) + 1 if found else 0

    def decode(self, data, at, is_conditional=False):
        raw = next(self.md.disasm(data, at, 1), None)
        if raw is None:
            return None
        one = Instruction(raw.address, raw.size, f"{raw.mnemonic} {raw.op_str}".strip())
        m = raw.mnemonic.split(".")[0]
        used, written = raw.regs_access()
        one.uses = frozenset(raw.reg_name(register) for register in used)
        listed = [raw.reg_name(o.reg) for o in raw.operands if o.type == A.ARM_OP_REG] if "{" in raw.op_str else []
        if listed and m not in ("push", "pop"):
            listed = listed[1:]  # the first is the address
        into_pc = "pc" in listed and m[:3] in ("pop", "ldm") or m.startswith("ldr") and raw.op_str.startswith("pc,")
        self._count(raw, m, one, len(listed))
        taken = 0
        if self.table:
            one.cycles, taken = self.table(m, raw, len(listed), into_pc)
        one.sets = self._sets(raw, m, [raw.reg_name(register) for register in written], is_conditional)
        self._go(raw, m, one, into_pc, taken)
        if is_conditional and not one.goes_on_already():
            one.edges = one.edges + [Edge(one.after)]
        return one

    @staticmethod
    def _go(raw, m, one, into_pc, taken):
        bare = re.sub(CONDITION + "$", "", m) if raw.cc not in (A.ARM_CC_AL, A.ARM_CC_INVALID) else m
        pops = bare[:3] in ("pop", "ldm") or "[sp], #4" in raw.op_str
        if into_pc and pops or bare == "bx" and "lr" in raw.op_str:
            one.returns = True
        elif bare == "mov" and raw.op_str == "pc, lr":
            one.returns = True
        elif into_pc or bare == "bx" or bare in ("mov", "add", "sub") and raw.op_str.startswith("pc,"):
            one.fault = f"an indirect jump, {one.text}"
        elif bare in ("tbb", "tbh"):
            one.fault = f"a jump by a table, {one.text}"
        elif bare == "blx":
            one.goes_on().fault = f"an indirect call, {one.text}"
        elif bare == "bl":
            one.goes_on().call = raw.operands[0].imm
        elif bare in ("cbz", "cbnz"):
            register, is_zero = raw.reg_name(raw.operands[0].reg), bare == "cbz"
            one.edges = [Edge(raw.operands[1].imm, taken, register, is_zero), Edge(one.after, 0, register, not is_zero)]
        elif bare == "b":
            one.edges = [Edge(raw.operands[0].imm, taken)]
            if m in ("beq", "bne"):
                one.edges = [Edge(raw.operands[0].imm, taken, FLAGS, m == "beq"), Edge(one.after, 0, FLAGS, m != "beq")]
            elif m != "b":
                one.edges.append(Edge(one.after))
        elif bare == "udf":
            one.stops = True
        else:
            one.goes_on()
        if one.cycles is not None and (one.returns or one.call is not None or "indirect" in one.fault):
            one.cycles += taken

    @staticmethod
    def _count(raw, m, one, registers):
        if m == "push" or m.startswith("stm"):
            one.writes = registers
        elif m == "pop" or m.startswith("ldm"):
            one.reads = registers
        elif m.startswith("ldrd"):
            one.reads = 2
        elif m.startswith("strd"):
            one.writes = 2
        elif m.startswith(("ldr", "tbb", "tbh", "lda")):
            one.reads = 1
        elif m.startswith("st"):
            one.writes = 1
        elif m.startswith(("vldm", "vpop", "vldr", "vpush", "vstm", "vstr")):
            one.fault = f"a floating-point load or store, {one.text}"
        if m == "push":
            one.stack = WORD * registers
        elif m == "pop":
            one.stack = -WORD * registers
        elif m in ("sub", "subw", "add", "addw") and raw.op_str.startswith("sp"):
            by = raw.operands[-1]
            one.stack = None if by.type != A.ARM_OP_IMM else by.imm if m.startswith("sub") else -by.imm
        elif m == "mov" and raw.op_str.startswith("sp,") and raw.reg_name(raw.operands[1].reg) not in ("r7", "r11", "fp"):
            one.stack = None  # only a frame pointer restores it
        elif found := re.match(r"(?:str|ldr)\S* .*\[sp(?:, #(-?\w+)\]!|\], #(\w+))", one.text):
            one.stack = -int(found.group(1) or found.group(2), 0)
        if m in ("svc", "bkpt"):
            one.fault = f"a system call, {one.text}"

    @staticmethod
    def _sets(raw, m, written, is_conditional):
        if raw.update_flags or m in ("vmrs", "msr") or m.startswith(("cmp", "cmn", "tst", "teq")):
            written = written + [FLAGS]
        written = [name for name in written if name not in ("cpsr", "apsr")]
        if is_conditional:
            return tuple((name, UNKNOWN) for name in written)
        o = raw.operands
        what = {}
        if m in ("mov", "movs", "movw") and len(o) == 2:
            if o[1].type == A.ARM_OP_IMM:
                what = {0: o[1].imm}
            elif o[1].type == A.ARM_OP_REG and o[1].shift.type == 0:
                what = {0: ("copy", raw.reg_name(o[1].reg))}
        elif m == "cmp" and o[0].type == A.ARM_OP_REG and o[1].type in (A.ARM_OP_IMM, A.ARM_OP_REG) and o[1].shift.type == 0:
            first = raw.reg_name(o[0].reg)
            other = o[1].imm if o[1].type == A.ARM_OP_IMM else raw.reg_name(o[1].reg)
            return ((FLAGS, ("copy", first) if other == 0 else ("compare", first, other)),)
        elif m in ("subs", "adds") and len(o) == 3 and o[2].type == A.ARM_OP_IMM and o[2].imm == 0:
            what = {0: ("copy", raw.reg_name(o[1].reg))}
        elif m == "adr":
            what = {0: NOT_ZERO}
        first = raw.reg_name(o[0].reg) if o and o[0].type == A.ARM_OP_REG else ""
        sets = [(name, what.get(0, UNKNOWN) if name == first else UNKNOWN) for name in written if name != FLAGS]
        if FLAGS in written:
            of_result = first in written and not m.startswith(("cmp", "cmn", "tst", "teq"))
            sets.append((FLAGS, ("copy", first) if of_result else UNKNOWN))
        return tuple(sets)
