"""What is known of registers at a place of a path: which hold zero, which don't, which hold the same. A path that takes a
pointer for null in one test and not in the next doesn't exist, and isn't counted.

A state is a sorted tuple of (register, value). A value is a number; or ("same", group, isn't zero). Nothing is known of a
register that isn't there. Less is always true as well, so a state may lose entries at any time.
"""

from tarn_bound.instruction import NOT_ZERO, UNKNOWN

NOTHING = ()


def _tidy(registers):
    """The state of {register: value}: groups numbered in order, those of one register that say nothing left out."""
    sizes = {}
    for value in registers.values():
        if not isinstance(value, int):
            sizes[value[1]] = sizes.get(value[1], 0) + 1
    numbers, state = {}, []
    for register in sorted(registers):
        value = registers[register]
        if not isinstance(value, int):
            if sizes[value[1]] == 1 and not value[2]:
                continue
            value = ("same", numbers.setdefault(value[1], len(numbers)), value[2])
        state.append((register, value))
    return tuple(state)


def after(state, sets):
    """The state behind an instruction."""
    if not sets:
        return state
    registers = dict(state)
    if all(what is UNKNOWN and name not in registers for name, what in sets):
        return state
    fresh = 1000
    for name, what in sets:
        if what is UNKNOWN:
            registers.pop(name, None)
        elif isinstance(what, int):
            registers[name] = what
        elif what is NOT_ZERO:
            fresh += 1
            registers[name] = ("same", fresh, True)
        elif what[0] == "copy":
            if what[1] not in registers:
                fresh += 1
                registers[what[1]] = ("same", fresh, False)
            registers[name] = registers[what[1]]
        else:
            difference = _difference(registers.get(what[1]), what[2] if isinstance(what[2], int) else registers.get(what[2]))
            registers.pop(name, None)
            if difference is not None:
                registers[name] = difference
    return _tidy(registers)


def _difference(a, b):
    """Zero where two values are the same; 1 where they are known to differ. A negative number may be written in two ways."""
    if a is None or b is None:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return (0 if a == b else 1) if min(a, b) >= 0 and max(a, b) < 2 ** 31 else None
    return 0 if a == b else None


def tested(state, register, is_zero):
    """The state on a way that is taken only if the register holds zero, or only if not. None: it is never taken."""
    registers = dict(state)
    value = registers.get(register)
    if isinstance(value, int):
        return state if (value == 0) == is_zero else None
    if value is not None and value[2] and is_zero:
        return None
    group = value[1] if value is not None else 1000
    registers[register] = ("same", group, False)
    for name, one in list(registers.items()):
        if not isinstance(one, int) and one[1] == group:
            registers[name] = 0 if is_zero else ("same", group, True)
    return _tidy(registers)


def only(state, names):
    """What it says of these registers, each by itself."""
    kept = []
    for name, value in state:
        if name in names:
            if isinstance(value, int):
                kept.append((name, value))
            elif value[2]:
                kept.append((name, ("same", len(kept), True)))
    return _tidy(dict(kept))


def without(state, names):
    return _tidy({name: value for name, value in state if name not in names})


def both(one, other):
    """What two states agree on."""
    a, b = dict(one), dict(other)
    kept = {}
    for name in a.keys() & b.keys():
        if a[name] == b[name] and isinstance(a[name], int):
            kept[name] = a[name]
        elif all(value != 0 and (isinstance(value, int) or value[2]) for value in (a[name], b[name])):
            kept[name] = ("same", len(kept) + 2000, True)
    return _tidy(kept)
