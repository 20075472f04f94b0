"""Reads a program by libclang and records what is of the old libraries, as plain data.

Every place comes from the syntax tree: what a name refers to, of which type a pool is, which function is called. Text is looked
at only from there on: where a template's arguments or a call's parentheses end.
"""

import ctypes
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field

from tarn_migrate import reasons

LIBCLANG = "18.1.1"
BOOST = {"pool", "object_pool", "singleton_pool", "pool_allocator", "fast_pool_allocator"}
POOLS = {"pool", "object_pool", "singleton_pool"}


class Refused(Exception):
    """A sentence about why nothing can be done."""


@dataclass
class Type:
    """A template's name with its arguments, as it stands in the text."""

    path: str
    line: int
    start: int
    end: int
    template: str
    key: str  # its canonical type, '' if it can't be told
    args: list
    decl: tuple = None  # the variable or member whose type it is, and nothing else
    why: str = ""  # it can't be rewritten


@dataclass
class Construction:
    """A constructor's call: the range of its arguments, and these (text, kind). `outer`: with the brackets, and what is between
    them and the declared name is nothing."""

    path: str
    line: int
    key: str
    start: int
    end: int
    args: list
    decl: tuple = None
    form: str = "other"  # declaration, member
    outer: tuple = None


@dataclass
class Call:
    """A call of a pool's member: where its name stands."""

    path: str
    line: int
    start: int
    end: int
    template: str
    key: str
    name: str
    arguments: int
    decl: tuple = None
    discarded: tuple = None  # the call's range, where its value isn't used


@dataclass
class Place:
    """Any other place: an include, a macro, a name."""

    kind: str
    path: str
    line: int
    start: int
    end: int
    name: str
    args: list = field(default_factory=list)
    more: str = ""


@dataclass
class Program:
    texts: dict = field(default_factory=dict)  # bytes by path
    found: dict = field(default_factory=dict)  # what was recorded, by where it is
    escapes: set = field(default_factory=set)  # declarations of pools that are used other than by calls of members
    names_boost: bool = False
    classes: dict = field(default_factory=dict)  # path: [(start, end, name, whether a template)]
    bases: set = field(default_factory=set)  # names of classes that others derive from
    macros: list = field(default_factory=list)

    def add(self, one):
        self.found.setdefault((type(one).__name__, one.path, one.start, getattr(one, "kind", "")), one)

    def all(self, which):
        return [one for one in self.found.values() if isinstance(one, which)]


def flags_of(words, directory, source):
    """Of a compiler's command only what matters to its meaning; paths made absolute."""
    taken, i = [], 0
    while i < len(words):
        word = words[i]
        if word in ("-o", "-MF", "-MT", "-MQ"):
            i += 1
        elif word in ("-I", "-isystem", "-iquote", "-include", "-D", "-U"):
            path = words[i + 1] if word in ("-D", "-U") else os.path.join(directory, words[i + 1])
            taken += [word, path]
            i += 1
        elif word.startswith("-I"):
            taken.append("-I" + os.path.join(directory, word[2:]))
        elif word.startswith(("-D", "-U", "-std", "-f", "-pthread")):
            taken.append(word)
        i += 1
    return [flag for flag in taken if flag != source]


def load():
    try:
        import clang.cindex
    except ImportError:
        raise Refused(f"libclang isn't here: pip install libclang=={LIBCLANG}") from None
    return clang.cindex


def in_file(location):
    """(line, offset) of where a place was written: for an argument of a macro, between the macro's parentheses."""
    line, at = ctypes.c_uint(), ctypes.c_uint()
    load().conf.lib.clang_getFileLocation(location, None, ctypes.byref(line), None, ctypes.byref(at))
    return line.value, at.value


def offset(location):
    return in_file(location)[1]


def line_of(cursor):
    return in_file(cursor.location)[0]


def builtin_headers():
    """PyPI's libclang has no headers of its own: a compiler's."""
    for name in ("clang++-18", "clang++-17", "clang++-19", "clang++"):
        if shutil.which(name):
            return ["-resource-dir", said_by(name, "-print-resource-dir")]
    if shutil.which("g++"):
        return ["-isystem", said_by("g++", "-print-file-name=include")]
    return []


def said_by(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def read(units, root):
    cindex = load()
    program, index = Program(), cindex.Index.create()
    more = builtin_headers()
    for source, flags in units:
        if not os.path.isfile(source):
            raise Refused(f"{source}: there is no such file")
        standard = [] if any(flag.startswith("-std") for flag in flags) else ["-std=c++20"]
        try:
            unit = index.parse(source, [*standard, *flags, *more],
                               options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        except cindex.TranslationUnitLoadError:
            raise Refused(f"{source}: libclang can't read it") from None
        wrong = [one for one in unit.diagnostics if one.severity >= cindex.Diagnostic.Error]
        if wrong:
            at = wrong[0].location
            where = f"{at.file.name}:{at.line}" if at.file else source
            raise Refused(f"{source} doesn't compile with {shlex.join(flags) or 'no flags'}: {where}: {wrong[0].spelling}")
        Reader(cindex, program, root).unit(unit)
    return program


class Reader:
    def __init__(self, cindex, program, root):
        self.kind = cindex.CursorKind
        self.program = program
        self.root = root
        self.real = {}

    def path_of(self, cursor):
        """The file of a place, if it is one that may be changed."""
        file = cursor.location.file
        if file is None:
            return None
        if file.name not in self.real:
            path = os.path.realpath(file.name)
            ours = os.path.commonpath([path, self.root]) == self.root
            self.real[file.name] = path if ours else None
            if ours and path not in self.program.texts:
                with open(path, "rb") as opened:
                    self.program.texts[path] = opened.read()
        return self.real[file.name]

    def unit(self, unit):
        for cursor in unit.cursor.get_children():
            path = self.path_of(cursor)
            if path is None:
                continue
            if cursor.kind.is_preprocessing():
                self.preprocessed(cursor, path)
            else:
                self.walk(cursor, [unit.cursor])

    # ---- before parsing

    def preprocessed(self, cursor, path):
        start, line = offset(cursor.extent.start), line_of(cursor)
        if cursor.kind == self.kind.INCLUSION_DIRECTIVE:
            self.program.add(Place("include", path, line, start, offset(cursor.extent.end), cursor.spelling))
        elif cursor.kind == self.kind.MACRO_INSTANTIATION and cursor.referenced is not None:
            file = cursor.referenced.location.file
            if file is None or self.path_of(cursor.referenced) and os.path.basename(file.name) not in OLD_HEADERS:
                return
            if not self.stands(path, start, cursor.spelling):
                self.program.add(Place("hidden", path, line, start, start, cursor.spelling, more=os.path.basename(file.name)))
                return
            end = start + len(cursor.spelling)
            args = []
            if self.text(path)[end:end + 1] == b"(":
                close = matching(self.text(path), end)
                args = split(self.text(path)[end + 1:close - 1])
                end = close
            self.program.add(Place("macro", path, line, start, end, cursor.spelling, args, os.path.basename(file.name)))

    def text(self, path):
        return self.program.texts[path]

    def stands(self, path, offset, name):
        return self.text(path)[offset:offset + len(name)] == name.encode()

    # ---- the tree

    def walk(self, cursor, parents):
        path = self.path_of(cursor)
        if path is not None:
            self.visit(cursor, parents, path)
        below = parents + [cursor]
        for child in cursor.get_children():
            self.walk(child, below)

    def visit(self, cursor, parents, path):
        kind = self.kind
        if cursor.kind == kind.TEMPLATE_REF:
            self.template(cursor, parents, path)
        elif cursor.kind == kind.CALL_EXPR:
            self.construction(cursor, parents, path)
        elif cursor.kind in (kind.MEMBER_REF_EXPR, kind.DECL_REF_EXPR):
            self.member(cursor, parents, path)
            self.reference(cursor, parents, path)
        elif cursor.kind == kind.MEMBER_REF:
            self.reference(cursor, parents, path)
        elif cursor.kind in (kind.NAMESPACE_ALIAS, kind.USING_DIRECTIVE):
            self.program.names_boost |= any(child.spelling == "boost" for child in cursor.get_children())
        elif cursor.kind == kind.USING_DECLARATION:
            self.using(cursor, path)
        elif cursor.kind in (kind.CLASS_DECL, kind.STRUCT_DECL, kind.CLASS_TEMPLATE) and cursor.is_definition():
            self.program.classes.setdefault(path, []).append(
                (offset(cursor.extent.start), offset(cursor.extent.end), cursor.spelling, cursor.kind == kind.CLASS_TEMPLATE))
        elif cursor.kind == kind.CXX_BASE_SPECIFIER:
            self.program.bases.add(re.sub(r"^(class|struct) ", "", cursor.spelling).split("<")[0].split("::")[-1])
        elif cursor.kind == kind.TYPE_REF:
            self.named(cursor, path)

    def template(self, cursor, parents, path):
        target = cursor.referenced
        if target is None or cursor.spelling not in BOOST or not in_boost(target):
            self.named(cursor, path)
            return
        start, line, name = offset(cursor.location), line_of(cursor), cursor.spelling
        if not self.stands(path, start, name):
            key = self.key_of(name, parents[-1]) if name in POOLS else reasons.MACRO
            self.program.add(Type(path, line, start, start, name, key, [], why=reasons.MACRO))
            return
        text = self.text(path)
        end, args = start + len(name), []
        after = skip(text, end)
        if text[after:after + 1] == b"<":
            end = matching(text, after)
            args = split(text[after + 1:end - 1])
        before = re.search(rb"(?:(?:::\s*)?(?:\w+\s*::\s*)+|::\s*)$", text[:start])
        start = before.start() if before else start
        owner = parents[-1]
        key, decl, why = self.key_of(name, owner) if name in POOLS else ", ".join(args), None, ""
        if owner.kind in (self.kind.CXX_BASE_SPECIFIER, self.kind.CONSTRUCTOR):
            key, why = key or reasons.BASE, reasons.BASE
        elif "pool_allocator_tag" in key:
            why = reasons.ALLOCATOR_TAG
        elif name in POOLS and "type-parameter" in key:
            why = reasons.DEPENDENT
        elif owner.kind in (self.kind.VAR_DECL, self.kind.FIELD_DECL) and plain(owner.type) == key:
            decl = identity(owner)
        if name == "object_pool" and decl and self.is_incomplete(owner):
            why = reasons.INCOMPLETE
        self.program.add(Type(path, line, start, end, name, key, args, decl, why))

    def is_incomplete(self, pool):
        """Whether the type of a pool's objects is defined below the pool, or nowhere: Boost's can be a member even so."""
        objects = pool.type.get_canonical().get_template_argument_type(0).get_declaration()
        if objects.kind == self.kind.NO_DECL_FOUND:
            return False
        there = objects.get_definition()
        if there is None:
            return True
        return self.path_of(there) == self.path_of(pool) and offset(there.location) > offset(pool.location)

    def key_of(self, name, owner):
        """The canonical type that a template's name stands for, where its owner's type says it."""
        types = [owner.type.get_canonical().spelling]
        if owner.kind in (self.kind.TYPEDEF_DECL, self.kind.TYPE_ALIAS_DECL):
            types = [owner.underlying_typedef_type.get_canonical().spelling]
        if owner.kind == self.kind.DECL_REF_EXPR and owner.referenced is not None:
            types.append(owner.referenced.type.get_canonical().spelling)
            types.append(owner.referenced.semantic_parent.type.get_canonical().spelling)
        keys = {key for spelling in types for key in named_in(spelling, name)}
        return keys.pop() if len(keys) == 1 else ""

    def construction(self, cursor, parents, path):
        target = cursor.referenced
        if target is None:
            return
        args = list(cursor.get_arguments())
        decl, form, key = None, "other", ""
        if target.kind == self.kind.CONSTRUCTOR and in_boost(target) and target.semantic_parent.spelling in POOLS:
            key = plain(cursor.type)
            owner = parents[-1]
            if owner.kind in (self.kind.VAR_DECL, self.kind.FIELD_DECL):
                decl, form = identity(owner), "declaration"
            elif owner.kind == self.kind.CONSTRUCTOR:
                decl, form = self.initialised(cursor, owner), "member"
        elif target.spelling in ("make_unique", "make_shared") and args:
            keys = {key for name in POOLS for key in named_in(cursor.type.get_canonical().spelling, name)}
            holds = re.search(r"_ptr<boost::(object_)?pool<", cursor.type.get_canonical().spelling)
            key = keys.pop() if len(keys) == 1 and holds else ""
        if not key:
            return
        text = self.text(path)
        said = [(offset(arg.extent.start), offset(arg.extent.end)) for arg in args if offset(arg.extent.start)]
        if not said:
            start = end = offset(cursor.extent.end)
        else:
            start, end = said[0][0], said[-1][1]
        kinds = [(text[a:b].decode(errors="replace"), self.constant(arg)) for arg, (a, b) in zip(args, said)]
        outer = brackets(text, start, end) if said else None
        if form == "declaration" and outer:
            declared = offset(parents[-1].location) + len(parents[-1].spelling)
            if text[declared:outer[0]].strip():
                form = "other"
        self.program.add(Construction(path, line_of(cursor), key, start, end, kinds, decl, form, outer))

    def initialised(self, call, constructor):
        """The member that a constructor's initialiser gives its arguments."""
        last = None
        for child in constructor.get_children():
            if child.kind == self.kind.MEMBER_REF:
                last = child
            elif child == call:
                return identity(last.referenced) if last is not None else None
        return None

    def inner(self, cursor):
        """An expression without implicit steps and parentheses around it."""
        while cursor is not None and cursor.kind in (self.kind.UNEXPOSED_EXPR, self.kind.PAREN_EXPR):
            below = list(cursor.get_children())
            if len(below) != 1:
                break
            cursor = below[0]
        return cursor

    def constant(self, cursor):
        """'sizeof', 'number', 'constant', or '' for what is known at run time only."""
        kind, cursor = self.kind, self.inner(cursor)
        if cursor.kind == kind.INTEGER_LITERAL:
            return "number"
        references = (kind.DECL_REF_EXPR, kind.MEMBER_REF_EXPR, kind.CALL_EXPR)
        refers = [one for one in cursor.walk_preorder() if one.kind in references]
        if cursor.kind == kind.CXX_UNARY_EXPR and not refers:
            return "sizeof"
        known = all(one.kind == kind.DECL_REF_EXPR and one.referenced is not None and
                    (one.referenced.kind == kind.ENUM_CONSTANT_DECL or self.is_constant(one.referenced)) for one in refers)
        return "constant" if known else ""

    def is_constant(self, decl):
        if decl.kind != self.kind.VAR_DECL or not decl.type.is_const_qualified():
            return False
        return decl.semantic_parent.kind != self.kind.FUNCTION_DECL and \
            any(one.kind == self.kind.INTEGER_LITERAL for one in decl.walk_preorder()) and \
            not any(one.kind == self.kind.CALL_EXPR for one in decl.walk_preorder())

    def member(self, cursor, parents, path):
        target = cursor.referenced
        if target is None or target.kind not in (self.kind.CXX_METHOD, self.kind.FUNCTION_TEMPLATE):
            if target is not None and target.kind == self.kind.FUNCTION_DECL:
                self.named(cursor, path)
            return
        owner = target.semantic_parent
        if not in_boost(owner) or owner.spelling not in POOLS:
            return
        name = target.spelling
        call = nearest(parents, self.kind)
        start = offset(cursor.location)
        end = start + (len(name) if self.stands(path, start, name) else 0)
        arguments, discarded = -1, None
        if call is not None and call.kind == self.kind.CALL_EXPR:
            arguments = len([one for one in call.get_arguments() if one is not None and offset(one.extent.start)])
            discarded = self.discarded(call, parents)
        base = self.inner(next(iter(cursor.get_children()), None))
        decl, key = None, ""
        if cursor.kind == self.kind.MEMBER_REF_EXPR and base is not None:
            key = plain(base.type)
            if base.kind in (self.kind.DECL_REF_EXPR, self.kind.MEMBER_REF_EXPR) and base.referenced is not None:
                decl = identity(base.referenced)
            if "boost" not in key:  # operator->
                key = [*named_in(base.type.get_canonical().spelling, owner.spelling), plain(owner.type)][0]
        elif cursor.kind == self.kind.DECL_REF_EXPR:
            key = plain(owner.type)
            key = key if key else self.key_of(owner.spelling, cursor)
        self.program.add(Call(path, line_of(cursor), start, end, owner.spelling, key, name, arguments, decl,
                              discarded))

    def discarded(self, call, parents):
        above = [one for one in parents if one.kind not in (self.kind.UNEXPOSED_EXPR, self.kind.PAREN_EXPR)]
        at = max((i for i, one in enumerate(above) if one == call), default=None)
        if at is None or at == 0 or above[at - 1].kind != self.kind.COMPOUND_STMT:
            return None
        return offset(call.extent.start), offset(call.extent.end)

    def reference(self, cursor, parents, path):
        """Notes a pool that is used in another way than by calling its members."""
        target = cursor.referenced
        if target is None or target.kind not in (self.kind.VAR_DECL, self.kind.FIELD_DECL):
            return
        if not plain(target.type).startswith("boost::pool<"):
            return
        user = nearest(parents, self.kind)
        by_member = user is not None and user.kind == self.kind.MEMBER_REF_EXPR and user.referenced is not None and \
            in_boost(user.referenced)
        if not by_member and cursor.kind != self.kind.MEMBER_REF:
            self.program.escapes.add(identity(target))

    def using(self, cursor, path):
        text = self.text(path)
        start = offset(cursor.extent.start)
        end = text.find(b";", start) + 1
        said = re.fullmatch(rb"using\s+(?:::)?boost::(\w+)\s*;", text[start:end])
        if said and said[1].decode() in BOOST:
            self.program.add(Place("using", path, line_of(cursor), start, end, said[1].decode()))

    def named(self, cursor, path):
        """Names of the old macros' libraries: functions, alias templates, classes."""
        target = cursor.referenced
        file = target.location.file if target is not None else None
        if file is None or os.path.basename(file.name) not in OLD_HEADERS or self.path_of(cursor) is None:
            return
        if os.path.basename(cursor.location.file.name) in OLD_HEADERS or target.semantic_parent.spelling == "tarn":
            return
        name = target.spelling
        start = offset(cursor.location)
        if not self.stands(path, start, name):
            if name in ("xmalloc", "xfree", "xrealloc", "xalloc_stats"):
                self.program.add(Place("hidden", path, line_of(cursor), start, start, name, more=os.path.basename(file.name)))
        else:
            self.program.add(Place("name", path, line_of(cursor), start, start + len(name), name,
                                   more=os.path.basename(file.name)))


OLD_HEADERS = {"static_mem_pool.h", "fixed_mem_pool.h", "xallocator.h", "Allocator.h", "stl_allocator.h", "xlist.h", "xmap.h",
               "xset.h", "xqueue.h", "xstring.h", "xsstream.h"}


def in_boost(cursor):
    while cursor is not None and cursor.semantic_parent is not None:
        if cursor.spelling == "boost" and cursor.semantic_parent.kind.is_translation_unit():
            return True
        cursor = cursor.semantic_parent
    return False


def plain(kind):
    """A type's canonical name without const, as a key; '' for a pointer or a reference."""
    spelling = kind.get_canonical().spelling
    return "" if spelling.endswith(("&", "*")) else re.sub(r"^const ", "", spelling)


def identity(cursor):
    cursor = cursor.canonical
    return (os.path.realpath(cursor.location.file.name), offset(cursor.location)) if cursor.location.file else None


def nearest(parents, kind):
    """The innermost parent that isn't an implicit step or parentheses."""
    for one in reversed(parents):
        if one.kind not in (kind.UNEXPOSED_EXPR, kind.PAREN_EXPR):
            return one
    return None


def named_in(spelling, template):
    """The types `boost::template<...>` in the spelling of a type."""
    found, text = [], spelling.encode()
    for match in re.finditer(rf"(?<![\w:])(boost::)?{template}<", spelling):
        one = text[match.start():matching(text, match.end() - 1)].decode()
        if match[1] or "type-parameter" in one:  # what depends on parameters is spelled without its namespace
            found.append(one if match[1] else "boost::" + one)
    return found


def brackets(text, start, end):
    """The range of arguments with the brackets around them; None if there are none, as in a macro."""
    while start > 0 and text[start - 1:start].isspace():
        start -= 1
    end = skip(text, end)
    return (start - 1, end + 1) if text[start - 1:start] + text[end:end + 1] in (b"()", b"{}") else None


def skip(text, at):
    while text[at:at + 1].isspace():
        at += 1
    return at


def matching(text, at):
    """The offset behind the bracket that closes the one at `at`."""
    pairs, open_ones, i = {b"(": b")", b"<": b">", b"[": b"]", b"{": b"}"}, [], at
    while i < len(text):
        one = text[i:i + 1]
        if one in (b'"', b"'") and not text[i - 1:i].isalnum():
            i = text.find(one, i + 1)
        elif one in pairs and (one != b"<" or not open_ones or open_ones[-1] == b">" or i == at):
            open_ones.append(pairs[one])
        elif open_ones and one == open_ones[-1] and text[i - 1:i + 1] != b"->":
            open_ones.pop()
            if not open_ones:
                return i + 1
        i += 1
    raise Refused("brackets don't match")


def split(text):
    """Arguments between commas that stand in no brackets."""
    found, depth, start = [], 0, 0
    for i in range(len(text)):
        one = text[i:i + 1]
        depth += one in (b"(", b"<", b"[", b"{")
        depth -= one in (b")", b">", b"]", b"}")
        if one == b"," and depth == 0:
            found.append(text[start:i].decode(errors="replace").strip())
            start = i + 1
    last = text[start:].decode(errors="replace").strip()
    return found + [last] if last or found else []
