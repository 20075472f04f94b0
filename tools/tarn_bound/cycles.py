"""Cycles of an instruction on Cortex-M, by ARM's tables: memory without wait states, nothing else on the bus.

M4: ARM 100166 (TRM), 3.3.1. M0+: ARM DDI 0484C (TRM), 3-1, with the slow multiplier. Where a table gives a range, the most. A
table is a function (mnemonic, instruction, registers in its list, whether it loads the program counter) ->
(cycles, more if it jumps); (None, 0): not in the table.
"""

import re

CONDITION = r"(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)$"
PLAIN = set("""adc add addw adr and asr bic clz cmn cmp cpy eor it lsl lsr mov movt movw mul mvn neg nop orn orr pkhbt pkhtb
    rbit rev rev16 revsh ror rrx rsb sbc sbfx bfc bfi sub subw sxtb sxth teq tst ubfx uxtb uxth umull smull umlal smlal
    sel usat ssat uadd8 hint yield sev""".split())


def _bare(m, raw):
    """A mnemonic without its condition, and without the s of one that sets flags."""
    if raw.cc not in (0, 15):
        m = re.sub(CONDITION, "", m)
    if m.startswith("it"):
        return "it"
    return m[:-1] if m.endswith("s") and m[:-1] in PLAIN else m


def _memory(m, registers):
    """(cycles) of loads and stores, which M0+ and M4 have in common; None: it is none."""
    if m in ("push", "pop") or m.startswith(("ldm", "stm")):
        return 1 + registers
    if m.startswith(("ldrd", "strd")):
        return 3
    if m.startswith(("ldr", "str")):
        return 2
    return None


def m4(m, raw, registers, into_pc):
    refill = 3  # of the pipeline: 1 to 3
    m = _bare(m, raw)
    if (memory := _memory(m, registers)) is not None:
        return memory, refill if into_pc else 0
    if m in ("udiv", "sdiv"):
        return 12, 0
    if m in ("mla", "mls", "mrs", "msr", "clrex") or m.startswith("cps"):
        return 2, 0
    if m in ("dmb", "dsb", "isb"):
        return 4, 0
    if m in ("tbb", "tbh"):
        return 2, refill
    if m == "pld":
        return 2, 0  # as a load
    if m in ("b", "bl", "bx", "blx", "cbz", "cbnz"):
        return 1, refill
    return (1 if m in PLAIN else None), 0


def m0plus(m, raw, registers, into_pc):
    m = _bare(m, raw)
    if (memory := _memory(m, registers)) is not None:
        return memory, 2 if into_pc else 0
    if m == "mul":
        return 32, 0
    if m in ("mrs", "msr", "dmb", "dsb", "isb"):
        return 3, 0
    if m in ("bl", "blx", "bx"):
        return (1, 2) if m == "bl" else (1, 1)
    if m == "b":
        return 1, 1
    return (1 if m in PLAIN or m.startswith("cps") else None), 0


TABLES = {"cortex-m4": m4, "cortex-m0plus": m0plus}
