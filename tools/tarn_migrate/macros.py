"""The macros and functions of the static memory pool (nvwa) and of xallocator."""

import re

from tarn_migrate import reasons
from tarn_migrate.reading import Place

OWN_POOL, FUNCTIONS, CONTAINERS = "memory_pool_macros.h", "xmalloc.h", "containers.h"
CONTAINER_HEADERS = ("xlist.h", "xmap.h", "xset.h", "xqueue.h", "xstring.h", "xsstream.h")
NAMES = {"xmalloc": "tarn::xmalloc", "xfree": "tarn::xfree", "xrealloc": "tarn::xrealloc", "xlist": "tarn::list",
         "xmap": "tarn::map", "xmultimap": "tarn::multimap", "xset": "tarn::set", "xmultiset": "tarn::multiset",
         "xqueue": "tarn::queue", "xstring": "tarn::string", "xwstring": "tarn::wstring",
         "xstringstream": "tarn::stringstream", "xostringstream": "tarn::ostringstream",
         "xwstringstream": "tarn::wstringstream", "xwostringstream": "tarn::wostringstream",
         "stl_allocator": "tarn::stl_allocator"}
GONE = ("xalloc_init", "xalloc_destroy")
WHY = {"xalloc_stats": reasons.STATS, "static_mem_pool": reasons.BY_SIZE, "fixed_mem_pool": reasons.FIXED}


def plan(program, changes):
    left, done = set(), set()  # headers of which something stays; headers of tarn that are needed, by file
    groups = {}
    places = program.all(Place)
    macros = [one for one in places if one.kind == "macro"]
    for one in macros:
        header, why = rewrite_macro(program, changes, one, macros, groups)
        if why:
            changes.leave(one.path, one.line, why)
            left.add(one.more)
        elif header:
            done.add((one.path, header))
    for one in places:
        # What a macro of the old libraries names in its own body isn't of the program.
        if one.kind == "hidden" and not inside(one, macros):
            changes.leave(one.path, one.line, reasons.MACRO)
            left.add(one.more)
        if one.kind == "name" and not inside(one, macros):
            rewrite_name(program, changes, one, left, done)
    includes(program, changes, left, done, groups)


def inside(place, macros):
    return any(one.path == place.path and one.start <= place.start < one.end for one in macros)


def rewrite_macro(program, changes, one, macros, groups):
    """Replaces it. Returns the header that it needs now, and why it is left."""
    static = re.fullmatch(r"DECLARE_STATIC_MEM_POOL(_GROUPED)?(__NOTHROW)?", one.name)
    if static:
        group = re.fullmatch(r"(-?)\s*(\d+)", one.args[1]) if static[1] else None
        if static[1] and group is None:
            return None, reasons.GROUP
        grouped = static[1] and not group[1]
        if grouped:
            groups.setdefault(one.path, set()).add(int(group[2]))
        name = "DECLARE_MEMORY_POOL" + ("_GROUPED" if grouped else "") + (static[2] or "")
        more = f", tarn_group_{int(group[2])}" if grouped else ""
        changes.replace(one.path, one.start, one.end, f"{name}({one.args[0]}{more})")
        return OWN_POOL, None
    if one.name.startswith("PREPARE_STATIC_MEM_POOL"):
        return gone(program, changes, one)
    if one.name.startswith("DECLARE_FIXED_MEM_POOL"):
        return None, reasons.FIXED
    if one.name == "XALLOCATOR":
        return own_class(program, changes, one, "DECLARE_MEMORY_POOL({0})")
    if one.name in ("DECLARE_ALLOCATOR", "IMPLEMENT_ALLOCATOR"):
        return allocator(program, changes, one, macros)
    return None, None


def own_class(program, changes, one, text):
    around = [(start, end, name, template) for start, end, name, template in program.classes.get(one.path, ())
              if start <= one.start < end]
    if not around:
        return None, reasons.MACRO
    _, _, name, template = min(around, key=lambda row: row[1] - row[0])
    if template:
        return None, reasons.CLASS_TEMPLATE
    if one.name == "XALLOCATOR" and name in program.bases:
        return None, reasons.DERIVED
    changes.replace(one.path, one.start, one.end, text.format(name))
    return OWN_POOL, None


def allocator(program, changes, one, macros):
    """DECLARE_ALLOCATOR and IMPLEMENT_ALLOCATOR(C, objects, memory) of a class go together."""
    if one.name == "IMPLEMENT_ALLOCATOR":
        why = allocator_stays(program, one)
        return (None, why) if why else gone(program, changes, one)
    around = [row for row in program.classes.get(one.path, ()) if row[0] <= one.start < row[1]]
    name = min(around, key=lambda row: row[1] - row[0])[2] if around else ""
    said = [other for other in macros if other.name == "IMPLEMENT_ALLOCATOR" and
            other.args[0].split("::")[-1] == name]
    if len(said) != 1:
        return None, reasons.NO_IMPLEMENT
    why = allocator_stays(program, said[0])
    if why:
        return None, why
    blocks = "" if said[0].args[1] == "0" else f", tarn::no_growth<{said[0].args[1]}>"
    return own_class(program, changes, one, f"DECLARE_MEMORY_POOL_WITH({{0}}{blocks}) private:")


def allocator_stays(program, one):
    if one.args[2] not in ("0", "NULL", "nullptr"):
        return reasons.OWN_MEMORY
    if not re.fullmatch(r"\d+", one.args[1]):
        return reasons.BLOCKS
    return None


def rewrite_name(program, changes, one, left, done):
    if one.name in NAMES:
        text = program.texts[one.path]
        before = re.search(rb"(?:::\s*)$", text[:one.start])
        changes.replace(one.path, before.start() if before else one.start, one.end, NAMES[one.name])
        header = {"xmalloc": FUNCTIONS, "xfree": FUNCTIONS, "xrealloc": FUNCTIONS,
                  "stl_allocator": "stl_allocator.h"}.get(one.name, CONTAINERS)
        done.add((one.path, header))
    elif one.name in GONE:
        gone(program, changes, one)
    elif one.name in WHY:
        changes.leave(one.path, one.line, WHY[one.name])
        left.add(one.more)


def gone(program, changes, one):
    """Removes a statement, and its line if nothing else stands there. Returns as rewrite_macro()."""
    text = program.texts[one.path]
    end = one.end
    said = re.match(rb"\s*\(\s*\)", text[end:])
    end += said.end() if said else 0
    said = re.match(rb"\s*;", text[end:])
    end += said.end() if said else 0
    changes.remove(one.path, one.start, end, text)
    return None, None


def includes(program, changes, left, done, groups):
    """tarn's headers in place of the old ones; beside them where something stays."""
    of = {"static_mem_pool.h": {OWN_POOL}, "fixed_mem_pool.h": set(), "xallocator.h": {OWN_POOL, FUNCTIONS},
          "Allocator.h": {OWN_POOL}, "stl_allocator.h": {"stl_allocator.h"},
          **{name: {CONTAINERS} for name in CONTAINER_HEADERS}}
    needed = {header for _, header in done}
    for path, text in program.texts.items():
        old = [one for one in program.all(Place) if one.kind == "include" and one.path == path and
               one.name.split("/")[-1] in of and not one.name.startswith("tarn/")]
        if not old or path.split("/")[-1] in of or not needed:
            continue
        here = {header for other, header in done if other == path}
        named = set().union(*(of[one.name.split("/")[-1]] & needed for one in old))
        wanted = here or named
        lines = [f'#include "tarn/allocator/{name}"' for name in sorted(wanted) if f"allocator/{name}".encode() not in text]
        lines += [f"struct tarn_group_{number};" for number in sorted(groups.get(path, ()))
                  if f"struct tarn_group_{number};".encode() not in text]
        for one in old:
            keep = one.name.split("/")[-1] in left
            new = "\n".join(lines)
            if keep and lines:
                changes.replace(path, one.end, one.end, "\n" + new)
            elif lines:
                changes.replace(path, one.start, one.end, new)
            elif not keep:
                gone(program, changes, one)
            lines = []
