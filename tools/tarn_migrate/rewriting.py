"""Decides what becomes of each place: a replacement, or a reason why it is left.

What belongs together is rewritten together or not at all: all that is of one type of pool, since values of it go from one place
to another. Only a boost::pool whose members alone are used stands for itself, so that it can have a size of its own.
"""

import re

from tarn_migrate import macros, reasons
from tarn_migrate.edits import Changes
from tarn_migrate.reading import Call, Construction, Place, Type

ALLOCATORS = ("pool_allocator", "fast_pool_allocator")
HEADERS = {"boost/pool/pool.hpp": "pool.h", "boost/pool/object_pool.hpp": "object_pool.h",
           "boost/pool/singleton_pool.hpp": "static_pool.h", "boost/pool/pool_alloc.hpp": "stl_allocator.h",
           "boost/pool/poolfwd.hpp": "fwd.h"}
HEADER_OF = {"pool": "pool.h", "object_pool": "object_pool.h", "singleton_pool": "static_pool.h",
             "pool_allocator": "stl_allocator.h", "fast_pool_allocator": "stl_allocator.h"}
USER_ALLOCATORS = ("default_user_allocator_new_delete", "default_user_allocator_malloc_free")
NULL_MUTEX = "null_mutex"

# {template: {member: (what it becomes, how many arguments)}}
MEMBERS = {
    "pool": {"malloc": ("try_allocate", 0), "free": ("deallocate", 1), "ordered_malloc": ("try_allocate", 0),
             "ordered_free": ("deallocate", 1), "is_from": ("owns", 1), "purge_memory": ("release", 0),
             "release_memory": ("trim", 0), "get_requested_size": ("block_size", 0)},
    "object_pool": {"construct": ("try_construct", None), "destroy": ("destroy", 1), "is_from": ("blocks().owns", 1)},
}
MEMBERS["singleton_pool"] = {name: ("instance()." + to, n) for name, (to, n) in MEMBERS["pool"].items()
                             if name != "get_requested_size"}
WHY = {"get_next_size": reasons.CHUNK_SIZES, "set_next_size": reasons.CHUNK_SIZES, "get_max_size": reasons.CHUNK_SIZES,
       "set_max_size": reasons.CHUNK_SIZES}


class Unit:
    """What is rewritten together."""

    def __init__(self, template, key):
        self.template, self.key = template, key
        self.types, self.constructions, self.calls, self.blocked = [], [], [], []

    def block(self, place, why):
        self.blocked.append((place.path, place.line, why))


def plan(program):
    changes = Changes()
    units = gather(program)
    for unit in units:
        judge(unit, program)
    unresolved = {one.template for unit in units for one in unit.types if unit.key == ""}
    for unit in units:
        if unit.template in unresolved and unit.key != "" and unit.template not in ALLOCATORS:
            unit.block(unit.types[0] if unit.types else unit.calls[0], reasons.UNRESOLVED)
        if unit.blocked:
            leave(unit, changes)
        else:
            rewrite(unit, changes)
    stays = {unit.template for unit in units if unit.blocked}
    goes = {unit.template for unit in units if not unit.blocked}
    for place in program.all(Place):
        if place.kind == "using" and place.name not in stays:
            changes.remove(place.path, place.start, place.end, program.texts[place.path])
    boost_includes(program, changes, goes, stays)
    macros.plan(program, changes)
    return changes


def gather(program):
    """The units. A boost::pool that is a variable or member, and that only its members' calls use, is one for itself."""
    alone = {one.decl for one in program.all(Type)
             if one.template == "pool" and one.decl and not one.why and one.decl not in program.escapes}
    units = {}

    def unit_of(template, key, decl):
        own = decl if decl in alone else None
        return units.setdefault((template, key, own), Unit(template, key))

    for one in program.all(Type):
        unit_of(one.template, one.key, one.decl).types.append(one)
    for one in program.all(Construction):
        unit_of(re.match(r"boost::(\w+)", one.key)[1], one.key, one.decl).constructions.append(one)
    for one in program.all(Call):
        unit_of(one.template, one.key, one.decl).calls.append(one)
    return list(units.values())


# ---- whether it can be done


def judge(unit, program):
    for one in unit.types:
        if one.why:
            unit.block(one, one.why)
        elif unit.key == "":
            unit.block(one, reasons.UNKNOWN)
        else:
            judge_arguments(unit, one)
    if unit.template in ALLOCATORS:
        return
    for one in unit.calls:
        judge_call(unit, one)
    if unit.template == "pool":
        judge_pool(unit)
    elif unit.template == "object_pool":
        judge_objects(unit)


def judge_arguments(unit, one):
    first = {"pool": 0, "object_pool": 1, "singleton_pool": 2}.get(unit.template, 1)
    for text in one.args[first:first + 1]:
        if text.split("::")[-1] not in USER_ALLOCATORS:
            unit.block(one, reasons.USER_ALLOCATOR)
    for text in one.args[first + 1:first + 2]:
        if text.split("::")[-1] != NULL_MUTEX:
            unit.block(one, reasons.OWN_MUTEX)
    if unit.template in ALLOCATORS and len(one.args) > 3:
        unit.block(one, reasons.CHUNK_SIZES)


def judge_call(unit, one):
    known = MEMBERS[unit.template].get(one.name)
    if one.start == one.end:
        unit.block(one, reasons.MACRO)
    elif one.arguments == -1:
        unit.block(one, reasons.NO_CALL)
    elif known is None or known[1] is not None and one.arguments != known[1]:
        unit.block(one, WHY.get(one.name, reasons.NO_OBJECT if unit.template == "object_pool" else reasons.CONTIGUOUS))
    elif one.name == "purge_memory" and one.discarded is None:
        unit.block(one, reasons.NO_VALUE)
    elif unit.template != "singleton_pool" and unit.key == "":
        unit.block(one, reasons.UNKNOWN)


def judge_objects(unit):
    """All pools of the type must begin with the same constants, since tarn has them in the type."""
    given = {tuple(text for text, _ in one.args) for one in unit.constructions}
    some = [one for one in unit.constructions if one.args]
    at_run_time = [one for one in some if any(kind == "" for _, kind in one.args)]
    if at_run_time:
        unit.block(at_run_time[0], reasons.FIRST_AT_RUN_TIME)
    elif len(given) > 1:
        unit.block(some[0], reasons.DIFFERENT_FIRST)


def judge_pool(unit):
    own = bool(unit.types) and all(one.decl for one in unit.types) and len(unit.types) == 1
    for one in unit.constructions:
        if not one.args:
            unit.block(one, reasons.MACRO)
        elif not own and len(one.args) > 1:
            unit.block(one, reasons.SHARED_GROWTH)
        elif any(kind == "" for _, kind in one.args[1:]):
            unit.block(one, reasons.CHUNK_SIZES)
    if own and len(unit.constructions) > 1 and len({tuple(one.args) for one in unit.constructions}) > 1:
        if any(len(one.args) > 1 for one in unit.constructions):
            unit.block(unit.constructions[0], reasons.DIFFERENT_GROWTH)


# ---- doing it


def leave(unit, changes):
    for place in unit.blocked:
        changes.leave(*place)
    why = unit.blocked[0][2]
    lines = {place[:2] for place in unit.blocked}
    for one in unit.types:
        if (one.path, one.line) not in lines:
            changes.leave(one.path, one.line, reasons.STAYS + why)


def growth(args):
    """The growth policy of (next, max), with the comma before it; '' for none."""
    numbers = [text for text, _ in args]
    if len(numbers) > 1 and numbers[1].strip("uUlL") != "0":
        return f", tarn::geometric_growth<{numbers[0]}, {numbers[1]}>"
    return f", tarn::geometric_growth<{numbers[0]}>" if numbers else ""


def size(text, kind):
    inside = re.fullmatch(r"sizeof\s*\((.*)\)", text, re.DOTALL)
    if kind == "sizeof" and inside:
        return f"tarn::size_of<{inside[1].strip()}>"
    return f"tarn::static_size<{text}>"


def rewrite(unit, changes):
    for one in unit.types:
        changes.replace(one.path, one.start, one.end, new_type(unit, one))
    for one in unit.constructions:
        construct(unit, one, changes)
    for one in unit.calls:
        new = MEMBERS[unit.template][one.name][0]
        changes.replace(one.path, one.start, one.end, new)
        if one.discarded and new.endswith(("try_construct", "try_allocate")):
            changes.replace(one.path, one.discarded[0], one.discarded[0], "static_cast<void>(")
            changes.replace(one.path, one.discarded[1], one.discarded[1], ")")


def is_static(unit):
    """Whether a pool's size is a constant that can stand in its type: not one that only a constructor elsewhere knows."""
    return len(unit.types) == 1 and unit.types[0].decl is not None and bool(unit.constructions) and \
        len({tuple(one.args) for one in unit.constructions}) == 1 and all(
            one.args[0][1] == "number" or one.args[0][1] and one.form == "declaration" for one in unit.constructions)


def new_type(unit, one):
    if unit.template in ALLOCATORS:
        return f"tarn::stl_allocator<{one.args[0]}{', tarn::no_locking' if len(one.args) > 2 else ''}>"
    if unit.template == "object_pool":
        args = next((made.args for made in unit.constructions if made.args), [])
        return f"tarn::object_pool<{one.args[0]}{growth(args)}>"
    if unit.template == "singleton_pool":
        # By number, as Boost has it: sizeof(T) and the same number written out are one pool.
        locking = "" if len(one.args) > 3 else ", tarn::shared_locking"
        more = growth([(text, "") for text in one.args[4:]])
        return f"tarn::static_pool<{one.args[0]}, tarn::static_size<{one.args[1]}>{locking}{more}>"
    args = unit.constructions[0].args if unit.constructions else []
    more = growth(args[1:])
    return f"tarn::pool<{size(*args[0]) if is_static(unit) else 'tarn::dynamic_size'}{more}>"


def construct(unit, one, changes):
    """The arguments of a constructor: none are left, or a size that is known at run time."""
    if not one.args:
        return
    if unit.template == "pool" and not is_static(unit):
        changes.replace(one.path, one.start, one.end, f"tarn::dynamic_size{{{one.args[0][0]}}}")
    elif one.form == "declaration":
        changes.replace(one.path, *one.outer, "")
    else:
        changes.replace(one.path, one.start, one.end, "")


def boost_includes(program, changes, goes, stays):
    """The headers of what was rewritten in place of Boost's; beside them where something stays."""
    needed_by = {"pool.h": {"pool"}, "object_pool.h": {"object_pool"}, "static_pool.h": {"singleton_pool"},
                 "stl_allocator.h": set(ALLOCATORS), "fwd.h": set(HEADER_OF)}
    for path in program.texts:
        includes = [one for one in program.all(Place) if one.kind == "include" and one.path == path]
        old = [one for one in includes if one.name in HEADERS]
        if not old or not goes:
            continue
        text = program.texts[path]
        here = {HEADER_OF[one.template] for one in program.all(Type) if one.path == path and one.template in goes}
        named = {HEADERS[one.name] for one in old if needed_by[HEADERS[one.name]] & goes}
        wanted = sorted((here | named) or set())
        wanted = [name for name in wanted if f"tarn/allocator/{name}".encode() not in text]
        keep = bool(stays) or program.names_boost
        for i, one in enumerate(old):
            lines = [f'#include "tarn/allocator/{name}"' for name in wanted] if i == 0 else []
            if keep:
                if lines:
                    changes.replace(path, one.start, one.start, "\n".join(lines) + "\n")
            elif lines:
                changes.replace(path, one.start, one.end, "\n".join(lines))
            else:
                changes.remove(path, one.start, one.end, text)
