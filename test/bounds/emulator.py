"""Calls functions of a program in an emulator (unicorn), and counts what they cost as tarn-bound counts.

It also compares what is claimed of the program with what happens: how often loops are passed each time they are entered, places
that aren't to be reached, and rounds that loops share.
"""

import struct

import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import arm64_const as A64
from unicorn import arm_const as ARM
from unicorn import riscv_const as RV
from unicorn import x86_const as X86

STOP, HEAP, STACK = 0x70000000, 0x60000000, 0x50000000
STACK_BYTES = 0x100000
PAINTED = 2048  # bytes of stack under a call whose use is looked for
PAINT = b"\xa5" * PAINTED

# (registers of arguments, of the result, of the stack, of the address to return to)
REGISTERS = {
    "x64": ([X86.UC_X86_REG_RDI, X86.UC_X86_REG_RSI, X86.UC_X86_REG_RDX], X86.UC_X86_REG_RAX, X86.UC_X86_REG_RSP, None),
    "ARM": ([ARM.UC_ARM_REG_R0, ARM.UC_ARM_REG_R1, ARM.UC_ARM_REG_R2], ARM.UC_ARM_REG_R0, ARM.UC_ARM_REG_SP, ARM.UC_ARM_REG_LR),
    "AArch64": ([A64.UC_ARM64_REG_X0, A64.UC_ARM64_REG_X1, A64.UC_ARM64_REG_X2], A64.UC_ARM64_REG_X0, A64.UC_ARM64_REG_SP,
                A64.UC_ARM64_REG_X30),
    "RISC-V": ([RV.UC_RISCV_REG_A0, RV.UC_RISCV_REG_A1, RV.UC_RISCV_REG_A2],
               RV.UC_RISCV_REG_A0, RV.UC_RISCV_REG_SP, RV.UC_RISCV_REG_RA),
}
PC = {"x64": X86.UC_X86_REG_RIP, "ARM": ARM.UC_ARM_REG_PC, "AArch64": A64.UC_ARM64_REG_PC, "RISC-V": RV.UC_RISCV_REG_PC}


def new_emulator(machine, cpu):
    if machine == "x64":
        return unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
    if machine == "AArch64":
        return unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    if machine == "RISC-V":
        return unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
    emulator = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    emulator.ctl_set_cpu_model(ARM.UC_CPU_ARM_CORTEX_M0 if cpu == "cortex-m0plus" else ARM.UC_CPU_ARM_CORTEX_M4)
    return emulator


class Machine:
    def __init__(self, image, decoder, cpu, assumed):
        self.image, self.decoder, self.assumed = image, decoder, assumed
        self.arguments, self.result, self.stack, self.link = REGISTERS[image.machine]
        self.uc = new_emulator(image.machine, cpu)
        self.wrong = {}  # what was claimed and isn't so: {sentence: None}
        self.rounds, self.choices = {}, {}
        self.decoded, self.block, self.count = {}, None, None
        self.expect(())
        self.heap = HEAP
        with open(image.path, "rb") as file:
            elf = ELFFile(file)
            self._load(elf)
            self._prepare()
            self.uc.hook_add(unicorn.UC_HOOK_BLOCK, self._block)
            self._run_constructors(elf)

    # ---- the program's memory

    def _load(self, elf):
        top = 0
        for segment in elf.iter_segments():
            if segment["p_type"] == "PT_LOAD" and segment["p_memsz"]:
                low, high = segment["p_vaddr"] & ~0xFFF, (segment["p_vaddr"] + segment["p_memsz"] + 0xFFF) & ~0xFFF
                low = max(low, top)
                if high > low:
                    self.uc.mem_map(low, high - low)
                top = max(top, high)
                self.uc.mem_write(segment["p_vaddr"], segment.data())
        if self.image.bits == 32:
            self.uc.mem_map(top, 0x100000)  # for sbrk()
        for at, size in ((STOP, 0x1000), (HEAP, 0x400000), (STACK, STACK_BYTES)):
            self.uc.mem_map(at, size)
        self.objects = {one.name: one["st_value"] for one in elf.get_section_by_name(".symtab").iter_symbols() if one.name}
        self.thread = [segment for segment in elf.iter_segments() if segment["p_type"] == "PT_TLS"]

    def _prepare(self):
        """Thread-local variables: below the thread's base on x86-64, above it on AArch64."""
        base = STACK + STACK_BYTES - 0x8000
        if self.image.machine == "x64":
            for segment in self.thread:
                size = (segment["p_memsz"] + segment["p_align"] - 1) & -segment["p_align"]
                self.uc.mem_write(base - size, segment.data())
            self.uc.mem_write(base, struct.pack("<Q", base))
            self.uc.reg_write(X86.UC_X86_REG_FS_BASE, base)
        elif self.image.machine == "AArch64":
            self.uc.reg_write(A64.UC_ARM64_REG_TPIDR_EL0, base)
            for segment in self.thread:
                self.uc.mem_write(base + 16, segment.data())
        elif self.image.machine == "RISC-V":
            self.uc.reg_write(RV.UC_RISCV_REG_GP, self.objects["__global_pointer$"])
            self.uc.reg_write(RV.UC_RISCV_REG_TP, self.objects["tls_begin"])

    def _run_constructors(self, elf):
        section, size = elf.get_section_by_name(".init_array"), self.image.bits // 8
        if section is not None:
            start, end = section["sh_addr"], section["sh_addr"] + section["sh_size"]
        else:  # a linker script has placed it elsewhere
            start, end = self.objects.get("__init_array_start", 0), self.objects.get("__init_array_end", 0)
        for at in range(start, end, size):
            function = int.from_bytes(self.uc.mem_read(at, size), "little")
            if function and self.image.name_of(self.image.address(function)) != "frame_dummy":
                self.call(function)

    def expect(self, loops):
        """What tarn-bound assumes of the loops in calls from here on."""
        self.loops, self.passes = loops, [0] * len(loops)
        self.blocks = self.decoded.setdefault(id(loops), {})

    # ---- running

    def call(self, function, *arguments, counted=False, below=0):
        """The function's result. What it cost is in self.cost, its stack in self.depth, if it is counted."""
        uc, top = self.uc, STACK + STACK_BYTES // 2 - below
        self.count = [0, 0, 0, 0] if counted else None
        self.rounds, self.choices, self.block = {}, {}, None
        if counted:
            uc.mem_write(top - PAINTED, PAINT)
        if self.image.machine == "x64":
            uc.mem_write(top - 8, struct.pack("<Q", STOP))
            uc.reg_write(self.stack, top - 8)
        else:
            uc.reg_write(self.stack, top)
            uc.reg_write(self.link, STOP | self.image.is_thumb)
        for register, value in zip(self.arguments, arguments):
            uc.reg_write(register, value)
        uc.emu_start(function | self.image.is_thumb, STOP, count=0 if counted else 20_000_000)
        if counted:
            self._end_block()
            under = bytes(uc.mem_read(top - PAINTED, PAINTED))
            self.depth = PAINTED - (len(under) - len(under.lstrip(b"\xa5")))
        self.cost, self.count = self.count, None
        return uc.reg_read(self.result)

    def _block(self, _uc, at, size, _data):
        if at in self.image.outside:
            return self._outside(at)
        if self.count is not None:
            self._end_block(at)
            self.block = at, size
        return None

    def _end_block(self, to=None):
        """Counts the block that was begun last. The emulator stops in a block at the first access to a page, and begins another
        there: only what was before it counts."""
        if self.block is None:
            return
        start, size = self.block
        instructions, reads, writes, cycles, events, ways_on = self._decoded(start, size)
        if to is not None and start <= to < start + size and to not in ways_on:
            instructions, reads, writes, cycles, events, ways_on = self._decoded(start, to - start)
        count = self.count
        count[0] += instructions
        count[1] += reads
        count[2] += writes
        count[3] += cycles + ways_on.get(to, 0)
        for event, what, number in events:
            event(what, number)
        self.block = None

    def _decoded(self, at, size):
        """What a block costs, what it does to what is claimed, and where its end leads: {target: more cycles}."""
        key = at, size
        if key in self.blocks:
            return self.blocks[key]
        cost, events, end, conditional = [0, 0, 0, 0], [], at + size, 0
        one = None
        while at < end:
            one = self.decoder.decode(self.image.bytes_at(at), at, conditional > 0)
            conditional = max(conditional - 1, 0)
            if hasattr(self.decoder, "follows"):
                conditional = self.decoder.follows(one) or conditional
            for i, number in enumerate((1, one.reads, one.writes, one.cycles or 0)):
                cost[i] += number
            events += self._events(at)
            at = one.after
        self.blocks[key] = *cost, events, {edge.to: edge.more_cycles for edge in one.edges} if one else {}
        return self.blocks[key]

    def _events(self, at):
        found = []
        for i, loop in enumerate(self.loops):
            if at == loop.header:
                found.append((self._passed, i, loop))
            elif at in loop.around:
                found.append((self._left, i, 0))
        for name in self.image.unreached.get(at, ()):
            if name in self.assumed:
                found.append((self._reached, name, at))
        for name in self.image.choices.get(at, ()):
            found.append((self._begun, name, 0))
        for name in self.image.chosen.get(at, ()):
            found.append((self._chosen, name, 0))
        for name, number in self.image.grants.get(at, {}).items():
            found.append((self._granted, name, number))
        return found

    # ---- what is claimed

    def _passed(self, i, loop):
        self.passes[i] += 1
        if loop.share and self.passes[i] > 1:
            name, number = loop.share
            self.rounds[name] = self.rounds.get(name, 0) - number
            if self.rounds[name] < 0:
                self.wrong[f"more rounds of {name} than were granted"] = None
        elif loop.bound is not None and self.passes[i] > loop.bound:
            self.wrong[f"a loop at {self.image.place(loop.header)} was passed more than {loop.bound} times"] = None

    def _left(self, i, _):
        self.passes[i] = 0

    def _reached(self, name, at):
        self.wrong[f"{self.image.place(at)} was reached, though {name} is assumed"] = None

    def _begun(self, name, _):
        self.choices[name] = 0

    def _chosen(self, name, _):
        self.choices[name] = self.choices.get(name, 0) + 1
        if self.choices[name] > 1:
            self.wrong[f"of the places marked {name}, more than one was passed"] = None

    def _granted(self, name, number):
        self.rounds[name] = self.rounds.get(name, 0) + number

    # ---- functions of shared libraries

    def _outside(self, at):
        """Does what the library would do, and returns. It costs nothing: nor does it in tarn-bound's facts."""
        uc, name = self.uc, self.image.outside[at]
        first, second, third = (uc.reg_read(register) for register in self.arguments)
        result = 0
        if name.startswith("_Zn") or name in ("malloc", "aligned_alloc"):
            self.heap = (self.heap + 63) & ~63
            result, self.heap = self.heap, self.heap + first
        elif name in ("memcpy", "memmove"):
            uc.mem_write(first, bytes(uc.mem_read(second, third)))
            result = first
        elif name == "memset":
            uc.mem_write(first, bytes([second & 255]) * third)
            result = first
        elif name not in ("__cxa_atexit", "pthread_atfork", "__register_atfork", "getauxval", "dl_iterate_phdr"):
            self.wrong[f"a call of {name}, which the emulator doesn't have"] = None
        uc.reg_write(self.result, result)
        if self.image.machine == "x64":
            stack = uc.reg_read(self.stack)
            uc.reg_write(PC["x64"], struct.unpack("<Q", bytes(uc.mem_read(stack, 8)))[0])
            uc.reg_write(self.stack, stack + 8)
        else:
            uc.reg_write(PC[self.image.machine], uc.reg_read(self.link))
