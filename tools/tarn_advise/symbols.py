"""What the addresses of call stacks are called: functions, files and lines, with those that were inlined; and which place of
the program a stack stands for, its site."""

import collections
import functools
import json
import os
import re
import shutil
import struct
import subprocess

# An address has one frame, or several where functions were inlined: the innermost first.
Frame = collections.namedtuple("Frame", "function file line module offset")
# What allocates there. kind: node, array, string, shared (of std::shared_ptr), class, other.
# type: of the container, or of what is constructed; None: nobody knows. place: the frame of the program.
Site = collections.namedtuple("Site", "kind type element place frames")

LLVM = ["llvm-symbolizer"] + [f"llvm-symbolizer-{n}" for n in range(25, 12, -1)]

# ---- files and addresses ------------------------------------------------------------------------------------------------


LOADED, NOTES = 1, 4  # kinds of segments
BUILD_ID = 3  # kind of note


def segments(path):
    """[(kind, offset in the file, bytes, address)] of an ELF file; nothing where it is none."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:4] != b"\x7fELF" or len(head) < 52:
                return []
            wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
            at, = struct.unpack_from(order + ("Q" if wide else "I"), head, 32 if wide else 28)
            size, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
            file.seek(at)
            table = file.read(size * count)
    except (OSError, ValueError, struct.error):
        return []
    found = []
    for number in range(len(table) // size if size else 0):
        if wide:
            kind, _, offset, address, _, length = struct.unpack_from(order + "IIQQQQ", table, number * size)
        else:
            kind, offset, address, _, length = struct.unpack_from(order + "IIIII", table, number * size)
        found.append((kind, offset, length, address))
    return found


def build_id(path):
    """Of an ELF file, in hexadecimal; "": it has none."""
    for kind, offset, length, _ in segments(path):
        if kind != NOTES or length > 1 << 16:
            continue
        with open(path, "rb") as file:
            order = "<" if file.read(6)[5] == 1 else ">"
            file.seek(offset)
            notes, at = file.read(length), 0
        while at + 12 <= len(notes):
            names, bytes_, what = struct.unpack_from(order + "III", notes, at)
            begin = at + 12 + -(-names // 4) * 4
            if what == BUILD_ID and notes[at + 12:at + 16] == b"GNU\0":
                return notes[begin:begin + bytes_].hex()
            at = begin + -(-bytes_ // 4) * 4
    return ""


def is_other(mapping):
    """Whether another file is now where the program's was, so that its names are wrong."""
    path, logged = mapping["path"], mapping.get("build_id")
    return bool(logged) and os.path.isfile(path) and build_id(path) != logged


def called(mappings, program):
    """{path: the path by which the program was started}, where that is a link: /usr/bin/redis-server."""
    found = shutil.which(program) if program else None
    paths = {one["path"] for one in mappings}
    real = os.path.realpath(found) if found else None
    return {real: found} if real in paths else {}


class Places:
    """Which file an address is of, and its address there."""

    def __init__(self, mappings, others=()):
        self.mappings = mappings
        self.segments = functools.lru_cache(None)(lambda path: [] if path in others else segments(path))

    def of(self, address):
        """(path, address in the file as it is linked, or the offset where that isn't known). ("", address): of no file."""
        for one in reversed(self.mappings):  # what was mapped later counts
            if one["begin"] <= address < one["end"]:
                offset = address - one["begin"] + one["offset"]
                for kind, start, length, linked in self.segments(one["path"]):
                    if kind == LOADED and start <= offset < start + length:
                        return one["path"], offset - start + linked
                return one["path"], offset
        return "", address


# ---- names --------------------------------------------------------------------------------------------------------------

def with_llvm(program, path, addresses):
    """{address: [(function, file, line), ...]}."""
    done = subprocess.run([program, f"--obj={path}", "--inlines", "--demangle", "--output-style=JSON"], text=True,
                          input="".join(f"{address:#x}\n" for address in addresses), capture_output=True, errors="replace",
                          env={**os.environ, "DEBUGINFOD_URLS": ""}, check=False)
    found = {}
    for address, line in zip(addresses, done.stdout.splitlines()):
        try:
            frames = json.loads(line).get("Symbol", [])
            found[address] = [(one["FunctionName"], one["FileName"], one["Line"]) for one in frames]
        except (ValueError, AttributeError, KeyError, TypeError):
            pass
    return found


def with_addr2line(program, path, addresses):
    done = subprocess.run([program, "-a", "-i", "-f", "-C", "-e", path], text=True, capture_output=True, errors="replace",
                          input="".join(f"{address:#x}\n" for address in addresses), check=False)
    found, lines = {}, None
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            lines = []
            found[int(line, 16)] = lines
        elif lines is not None:
            lines.append(line)
    pairs = {address: zip(lines[::2], lines[1::2]) for address, lines in found.items()}
    return {address: [frame_of_lines(*pair) for pair in its] for address, its in pairs.items()}


def frame_of_lines(function, place):
    file, _, line = place.partition(" ")[0].rpartition(":")
    return "" if function == "??" else function, "" if file == "??" else file, int(line) if line.isdigit() else 0


def names_of(mappings, addresses, way=None, others=(), links=None):
    """{address: [Frame, ...]}, of each at least one. `way`: llvm, addr2line or nothing, otherwise what is installed. `others`:
    paths at which there are other files now. `links`: {path: what it is called}."""
    places = Places(mappings, others)
    by_file = collections.defaultdict(dict)
    for address in addresses:
        path, linked = places.of(address)
        by_file[path][linked] = address
    llvm = next(filter(shutil.which, LLVM), None) if way in (None, "llvm") else None
    addr2line = shutil.which("addr2line") if way in (None, "addr2line") and not llvm else None
    found = {}
    for path, its in by_file.items():
        named = {}
        if os.path.isfile(path) and path not in others and (llvm or addr2line):
            named = with_llvm(llvm, path, list(its)) if llvm else with_addr2line(addr2line, path, list(its))
        for linked, address in its.items():
            frames = [frame for frame in named.get(linked, []) if any(frame[:2])]
            found[address] = [Frame(*frame, (links or {}).get(path, path), linked) for frame in frames or [("", "", 0)]]
    return found


# ---- C++ names ------------------------------------------------------------------------------------------------------------

def split(text, at):
    """The parts of a text between the letter `at`, where that is in no bracket."""
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        if letter in "<([{":
            depth += 1
        elif letter in ">)]}" and not (letter == ">" and text[i - 1:i] == "-"):
            depth -= 1
        elif letter == at and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    return parts + [text[begin:]]


@functools.lru_cache(None)
def qualified(function):
    """A demangled function without what it returns and takes: std::list<int>::push_back."""
    text = re.sub(r"\s*\[(clone|abi:)[^]]*\]|\s*\(\.[\w.]+\)$", "", function)
    operator = re.search(r"\boperator\s*(\(\)|<<=?|>>=?|<=>|->\*?|<=?|>=?|new\[\]|new|delete\[\]|delete)", text)
    if operator and operator.group(1).startswith(("new", "delete")):
        return "operator " + operator.group(1) if text.startswith("operator") or "::" not in text[:operator.start()] else (
            split(text[:operator.start()], " ")[-1] + "operator " + operator.group(1))
    if operator:
        text = text[:operator.start()] + "operator" + text[operator.end():].lstrip()
    parts = split(text, "(")
    words = [word for word in split(text[:_arguments_at(text)], " ") if word]
    return words[-1] if words and parts else text


def _arguments_at(text):
    """Where the last bracket at the outermost level begins."""
    depth, at = 0, len(text)
    for i, letter in enumerate(text):
        if letter in "<([{":
            if letter == "(" and depth == 0 and not text.startswith("(anonymous namespace)", i):
                at = i
            depth += 1
        elif letter in ">)]}" and text[i - 1:i] != "-":
            depth -= 1
    return at


def _end_of_arguments(text, at):
    depth = 0
    for i in range(max(at, 0), len(text)):
        depth += (text[i] == "<") - (text[i] == ">" and text[i - 1] != "-")
        if depth == 0:
            return i if at >= 0 else None
    return None


def arguments_of(name):
    """std::list<int, A>::push_back<B> -> (std::list, [int, A])."""
    at = name.find("<")
    end = _end_of_arguments(name, at)
    return (name, []) if end is None else (name[:at], [part.strip() for part in split(name[at + 1:end], ",")])


OWN_DEFAULTS = tuple(f"std::{name}<" for name in ("allocator", "less", "hash", "equal_to", "default_delete", "char_traits"))


def without_defaults(text):
    """Template arguments that nobody writes go."""
    at = text.find("<")
    end = _end_of_arguments(text, at)
    if at < 0 or end is None:
        return text
    first, *rest = (part.strip() for part in split(text[at + 1:end], ","))
    kept = ", ".join(without_defaults(part) for part in (first, *(one for one in rest if not one.startswith(OWN_DEFAULTS))))
    return f"{text[:at]}<{kept}>{without_defaults(text[end + 1:])}"


def plain(text):
    """A type as a programmer writes it."""
    text = re.sub(r"std::(__cxx11|__1|__ndk1)::", "std::", text).replace("(anonymous namespace)::", "")
    text = text.replace("> >", ">>").replace("> >", ">>")
    for letter, name in (("char", "string"), ("wchar_t", "wstring")):
        string = rf"std::basic_string<{letter}, std::char_traits<{letter}>, std::allocator<{letter}>\s?>"
        text = re.sub(string, f"std::{name}", text)
    return re.sub(r"^(.*\S) const$", r"const \1", without_defaults(text))


# ---- whose a frame is -----------------------------------------------------------------------------------------------------

OTHERS = re.compile(r"^(lib(c|stdc\+\+|c\+\+|c\+\+abi|m|pthread|dl|rt|gcc_s|jemalloc|mimalloc|tcmalloc\w*|snmalloc\w*|[atl]san|"
                    r"ubsan|unwind|glib-2\.0|tarn_\w+)[-.\d]*\.so.*|ld-(linux|musl).*|linux-vdso.*|\[vdso\])$")
ALLOCATES = re.compile(r"(^|[a-z0-9])_*(m|c|re|x|z|k|v)?(alloc(ate)?(ion)?|memdup|strn?dup)_?(0|n|raw|array|zeroe?d?|impl|"
                       r"internal|aligned|bytes|memory|uninit|usable)*_*$", re.IGNORECASE)


MANGLED = "_ZNSt", "_ZNKSt", "_ZSt"  # of std::, which a demangler may leave as it is


@functools.lru_cache(None)
def is_others(frame):
    """Whether a frame is of the standard library, or of an allocator."""
    if OTHERS.match(os.path.basename(frame.module)):
        return True
    name = qualified(frame.function)
    if name.startswith(("std::", "__gnu_cxx::", "operator new", "__cxa_", "__libc_", "_Znw", "_Zna", "tarn::", *MANGLED)):
        return True
    bare = re.sub(r"<.*>$", "", name.rpartition("::")[2] if "<" not in name else re.split(r"::(?![^<]*>)", name)[-1])
    return bool(ALLOCATES.search(bare))


def is_tree_of_pairs(arguments):
    key = arguments[0]
    return len(arguments) > 1 and arguments[1].startswith("std::") and "pair<" in arguments[1][:20] and (
        arguments_of(arguments[1])[1][:1] in ([f"{key} const"], [f"const {key}"]))


def tree(arguments, names):
    more = "multi" if any(re.search(r"std::(__1::)?multi(map|set)<|_equal|_multi", name) for name in names) else ""
    if arguments[0].startswith("std::__1::__value_type<"):
        key, value = arguments_of(arguments[0])[1][:2]
        return f"std::{more}map<{key}, {value}>", f"std::pair<const {key}, {value}>"
    compare = arguments[3] if len(arguments) > 4 and not arguments[3].startswith("std::less<") else ""
    compare = f", {compare}" if compare else ""
    if is_tree_of_pairs(arguments):
        key, value = arguments_of(arguments[1])[1][:2]
        key = arguments[0]
        return f"std::{more}map<{key}, {value}{compare}>", f"std::pair<const {key}, {value}>"
    return f"std::{more}set<{arguments[0]}{compare}>", arguments[0]


def table(arguments, names):
    more = "multi" if any(re.search(r"std::(__1::)?unordered_multi|_multi_node|_multi\b", name) for name in names) else ""
    if arguments[0].startswith("std::__1::__hash_value_type<"):
        key, value = arguments_of(arguments[0])[1][:2]
        return f"std::unordered_{more}map<{key}, {value}>", f"std::pair<const {key}, {value}>"
    own = ""
    if len(arguments) > 5:
        hasher, equal = arguments[5], arguments[4]
        own = "" if hasher.startswith("std::hash<") and equal.startswith("std::equal_to<") else (
            f", {hasher}" + ("" if equal.startswith("std::equal_to<") else f", {equal}"))
    if len(arguments) > 1 and is_tree_of_pairs(arguments):
        value = arguments_of(arguments[1])[1][1]
        return f"std::unordered_{more}map<{arguments[0]}, {value}{own}>", f"std::pair<const {arguments[0]}, {value}>"
    return f"std::unordered_{more}set<{arguments[0]}{own}>", arguments[0]


def simple(name):
    return lambda arguments, _: (f"std::{name}<{arguments[0]}>", arguments[0])


# Functions of a hash table or a deque that don't allocate nodes.
OF_ARRAYS = re.compile(r"_M_allocate_buckets|_M_rehash|__rehash|__do_rehash|_M_allocate_map|_M_reallocate_map|__split_buffer")

# (template's name without inline namespaces, kind, how to write the type)
CONTAINERS = {
    "std::_Rb_tree": ("node", tree), "std::__tree": ("node", tree),
    "std::_Hashtable": ("node", table), "std::__hash_table": ("node", table),
    "std::list": ("node", simple("list")), "std::_List_base": ("node", simple("list")),
    "std::__list_imp": ("node", simple("list")),
    "std::forward_list": ("node", simple("forward_list")), "std::_Fwd_list_base": ("node", simple("forward_list")),
    "std::__forward_list_base": ("node", simple("forward_list")),
    "std::deque": ("node", simple("deque")), "std::_Deque_base": ("node", simple("deque")),
    "std::__deque_base": ("node", simple("deque")),
    "std::vector": ("array", simple("vector")), "std::_Vector_base": ("array", simple("vector")),
    "std::__split_buffer": ("array", simple("vector")),
    "std::basic_string": ("string", lambda *_: ("std::string", "char")),
    "std::basic_stringbuf": ("string", lambda *_: ("std::string", "char")),
    "std::make_shared": ("shared", simple("shared_ptr")), "std::allocate_shared": ("shared", simple("shared_ptr")),
    "std::make_unique": ("class", lambda arguments, _: (arguments[0], arguments[0])),
}


def container_of(frames):
    """(kind, type, element) of the standard library's innermost template that allocates, or None."""
    names = [qualified(frame.function) for frame in frames]
    for name in names:
        template, arguments = arguments_of(re.sub(r"^std::(__cxx11|__1|__ndk1)::", "std::", name))
        if template not in CONTAINERS or not arguments:
            continue
        kind, write = CONTAINERS[template]
        kept, element = write(arguments, names)
        if "{" in kept + element:  # a lambda's type, which can't be written
            return None
        if any(OF_ARRAYS.search(name) for name in names):
            kind = "array"
        return kind, plain(kept), plain(element)
    return None


# ---- classes --------------------------------------------------------------------------------------------------------------

NEW = re.compile(r"(?<![\w:])(?:::\s*)?new\s+(?:\([^()]*\)\s*)?((?:\w+\s*::\s*)*[A-Za-z_]\w*(?:\s*<[^;(){}]*>)?)\s*"
                 r"([\[({;,)]|$)")
NO_CLASSES = {"auto", "char", "int", "long", "short", "unsigned", "signed", "float", "double", "bool", "wchar_t"}


@functools.lru_cache(None)
def lines_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except (OSError, ValueError):
        return []


def class_in_source(frame):
    """The class of the only `new` in the frame's line, as it is written there; not the parameter of a template."""
    lines = lines_of(frame.file)
    if not 0 < frame.line <= len(lines):
        return None
    found = {re.sub(r"\s+", "", one.group(1)) for one in NEW.finditer(lines[frame.line - 1]) if one.group(2) != "["}
    name = found.pop() if len(found) == 1 else None
    return None if name is None or name in NO_CLASSES or re.match(r"^([A-Z]\w?|_T\w*)$", name) else name


def class_constructed(place, frames):
    """The class whose constructor was inlined into `place`: the outermost, for it calls those of bases."""
    within = next((i for i, frame in enumerate(frames) if frame.function == place.function), 0)
    for frame in reversed(frames[:within]):
        name = qualified(frame.function)
        found = re.match(r"^(?:(.*)::)?(\w+)(<.*>)?::(\w+)$", name)
        if found and found.group(2) == found.group(4) and not name.startswith("std::"):
            return plain(name.rpartition("::")[0])
    return None


def class_of(place, behind):
    """The class of the object for which `place` calls operator new. `behind`: the frames at some addresses behind the call."""
    written = class_in_source(place)
    constructed = next(filter(None, (class_constructed(place, frames) for frames in behind)), None)
    bare = [name and name.partition("<")[0].rpartition("::")[2] for name in (written, constructed)]
    return constructed if constructed and (written is None or bare[0] == bare[1]) else written


def in_full(name, function, classes):
    """The one of `classes` that a function means by `name`; otherwise the name."""
    found = [one for one in classes if one.endswith("::" + name) and
             qualified(function).startswith(one.removesuffix(name))]
    return found[0] if len(found) == 1 else name


# ---- sites ----------------------------------------------------------------------------------------------------------------

ONE_OF_A_TYPE = "node", "shared", "class"  # kinds of which all places are one site: a change to the type changes all
BEHIND = (1, 9, 17, 33)  # bytes behind the call of operator new at which its constructor may have been inlined


class Sites:
    """The site of each stack: those with one place, or with the same container or class, are one."""

    def __init__(self, stacks, mappings, way=None, program=None):
        self.found = []   # Site
        self.callers = []  # of each: functions, where its place has no name
        self.groups = []  # of each stack, a number in self.found
        self.others = sorted({one["path"] for one in mappings if is_other(one)})
        how = way, self.others, called(mappings, program)
        names = names_of(mappings, {address - 1 for stack in stacks for address in stack}, *how)
        frames = [[frame for address in stack for frame in names[address - 1]] for stack in stacks]
        direct = {stack[at] for stack, its in zip(stacks, frames) for at in self.new_in(its, stack, names)}
        self.behind = names_of(mappings, {address + more - 1 for address in direct for more in BEHIND}, *how)
        numbers = {}
        for site, its in zip(self.named([self.site_of(stack, its, names) for stack, its in zip(stacks, frames)]), frames):
            own = [] if site.kind in ONE_OF_A_TYPE else [site.place] if site.place else its[-1:]
            key = (site.kind, site.type, *self.key_of(own))
            if key not in numbers:
                numbers[key] = len(self.found)
                self.found.append(site)
                self.callers.append(set())
            self.groups.append(numbers[key])
            self.callers[numbers[key]] |= {caller_of(site.frames)} - {None}

    @staticmethod
    def named(sites):
        """The sites, where a class has one name: that with its namespace, if one place gave it."""
        classes = {site.type for site in sites if site.kind == "class"}
        for site in sites:
            name = in_full(site.type, site.place.function, classes) if site.kind == "class" else site.type
            yield site if name == site.type else site._replace(type=name, element=name)

    @staticmethod
    def key_of(frames):
        """Two addresses of one line are one place."""
        return [frame[:3] if frame.file else frame for frame in frames]

    @staticmethod
    def own_at(frames):
        """Where the program's first frame is."""
        return next((i for i, frame in enumerate(frames) if not is_others(frame)), None)

    @staticmethod
    def index_in(stack, names, at):
        """Which address of the stack the frame `at` belongs to."""
        for i, address in enumerate(stack):
            at -= len(names[address - 1])
            if at < 0:
                return i
        return None

    def new_in(self, frames, stack, names):
        """The stack's index of the program's own frame, if that calls operator new itself."""
        at = self.own_at(frames)
        return [] if at is None or container_of(frames[:at]) else [self.index_in(stack, names, at)]

    def site_of(self, stack, frames, names):
        at = self.own_at(frames)
        if at is None:  # the library's own
            return Site("other", None, None, None, tuple(frames[-6:]))
        shown = tuple(frames[at:at + 6])
        found = container_of(frames[:at])
        if found:
            return Site(*found, frames[at], shown)
        address = stack[self.index_in(stack, names, at)]
        name = class_of(frames[at], [self.behind[address + more - 1] for more in BEHIND])
        return Site("class" if name else "other", name, name, frames[at], shown)


def function(frame):
    return qualified(frame.function).replace("(anonymous namespace)::", "")


def where(frame):
    """A frame in words: order.cc:12 (book::add), or main (prog+0x1234), or prog+0x1234."""
    name = function(frame)
    if frame.file:
        place = f"{os.path.basename(frame.file)}:{frame.line}"
        return f"{place} ({name})" if name else place
    place = f"{os.path.basename(frame.module) or '?'}+{frame.offset:#x}"
    return f"{name} ({place})" if name else place


def caller_of(frames):
    """The function of the program that calls a place without a name; None: the place has one, or nobody is known."""
    if not frames or frames[0].function or frames[0].file:
        return None
    return next((function(one) for one in frames[1:] if one.function and not is_others(one)), None)


def place(frames, callers=()):
    """The first of these in words, and who calls it: all that do, or how many."""
    called = {0: "", 1: f", called by {''.join(callers)}"}.get(len(callers), f", called by {len(callers)} functions")
    return where(frames[0]) + called


def short_place(frames, callers=()):
    """The same for a comment in code: without an address where there is a name."""
    one = frames[0]
    return function(one) if one.function and not one.file else place(frames, callers)
