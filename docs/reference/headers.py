"""The public names of tarn's headers, as clang's AST has them, with their signatures and comments.

Public is what a user may name: what lies in namespace tarn or one of its namespaces other than detail, public members of its
classes, and macros; not what HIDDEN lists, with the reason. A comment is a name's own: the /// lines above it, or what follows
it on its line; a declaration that follows another without an empty line between shares its comment. A class that is named as
its header has the comment at the top of the header, too.
"""

import collections
import os
import re
import sys
import tempfile

MISSING = "libclang for Python is missing: install Debian's package python3-clang-19"

try:
    import clang.cindex as cindex
except ImportError:  # where Debian's python3-clang-19 lies, if this is another Python
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import clang.cindex as cindex
    except ImportError:
        sys.exit(MISSING)

Kind = cindex.CursorKind
RESOURCES = "/usr/lib/llvm-19/lib/clang/19/include"  # stddef.h and the like; libclang brings none
FOLDERS = ("allocator/", "policies/")
ROOT = ("version.h",)  # headers beside the folders
FLAGS = ["-std=c++20", "-D__OPTIMIZE__"]

# Where a public name's header is an internal one: whose page has it.
PAGE_OF = {
    "policies/detail/protocol.h": "span",
    "policies/platform/atomic_word.h": "locking",
    "policies/axis.h": "axis",
    "policies/platform/pages.h": "store",
    "policies/checking/misuse.h": "checking",
    "policies/store/page_store.h": "store",
    "allocator/detail/classes/large_blocks.h": "size_class_pool",
    "allocator/detail/arena/arena_body.h": "arena",
}
# Classes of tarn::detail whose public members are those of a public class, which derives from them.
BASES = {
    "pool_members": ("tarn::basic_pool", "pool"),
    "pool_body": ("tarn::basic_pool", "pool"),
    "arena_body": ("tarn::basic_arena", "arena"),
    "size_class_body": ("tarn::size_class_pool", "size_class_pool"),
}

CLASSES = (Kind.CLASS_DECL, Kind.STRUCT_DECL, Kind.CLASS_TEMPLATE, Kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION, Kind.UNION_DECL)
FUNCTIONS = (Kind.FUNCTION_DECL, Kind.FUNCTION_TEMPLATE, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.DESTRUCTOR,
             Kind.CONVERSION_FUNCTION)
ALIASES = (Kind.TYPE_ALIAS_DECL, Kind.TYPE_ALIAS_TEMPLATE_DECL, Kind.TYPEDEF_DECL)
WORDS = {Kind.CONCEPT_DECL: "concept", Kind.ENUM_DECL: "enumeration", Kind.ENUM_CONSTANT_DECL: "enumerator",
         Kind.FIELD_DECL: "member", Kind.VAR_DECL: "constant", Kind.UNEXPOSED_DECL: "constant",
         Kind.MACRO_DEFINITION: "macro"}

# One declaration. `parent`: the class it is a member of, or ""; `end`: its last line; `throws`: False for one that is noexcept;
# `shared`: the comment that the next declaration has, too, if it has none.
Name = collections.namedtuple("Name", "page name parent kind signature comment file line end result throws shared")


def kind_word(cursor):
    if cursor.kind in CLASSES:
        return "class"
    if cursor.kind in FUNCTIONS:
        return "function"
    if cursor.kind in ALIASES:
        return "type"
    return WORDS.get(cursor.kind, "")


def plain_name(cursor):
    """A constructor's and a destructor's name without template arguments."""
    name = cursor.spelling
    return name if name.startswith("operator") else re.sub(r"<.*", "", name)


def page_of(path):
    """The page that describes what a header declares."""
    if path in PAGE_OF:
        return PAGE_OF[path]
    if path in ROOT:
        return path.removesuffix(".h")
    parts = path.removesuffix(".h").split("/")
    if "detail" in parts or "platform" in parts:
        return ""
    if parts[0] == "allocator" and len(parts) == 2 or parts[0] == "policies" and len(parts) in (2, 3):
        return parts[1]
    return ""


def public_headers(tree):
    """What is parsed: all products; an axis's header includes its policies, but for those that need more."""
    found = list(ROOT)
    for folder in ("allocator", "policies", *sorted(f"policies/{name}" for name in os.listdir(os.path.join(tree, "policies")))):
        where = os.path.join(tree, folder)
        if os.path.isdir(where) and os.path.basename(folder) not in ("detail", "platform", "_virtual_includes"):
            found += [f"{folder}/{name}" for name in sorted(os.listdir(where)) if name.endswith(".h")]
    return found


# ---- text ---------------------------------------------------------------------------------------------------------------


def after_template(text):
    """Where the template parameter lists at the start of a declaration end."""
    at = 0
    while found := re.compile(r"\s*template\s*<").match(text, at):
        at, depth = found.end(), 1
        while depth and at < len(text):
            if text[at] == "<":
                depth += 1
            elif text[at] == ">" and text[at - 1] != "-":
                depth -= 1
            at += 1
    return at


def head_end(text, cuts_colon):
    """Where what a reader needs of a declaration ends: in front of its body, its bases, its initialisers or its semicolon."""
    depth, at = 0, after_template(text)
    while at < len(text):
        sign = text[at]
        if sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif sign == "{" and not depth:
            if not re.search(r"((=|&&|\|\||\brequires)\s*requires\s*(\([^{}]*\))?|\brequires)\s*$", text[:at]):
                return at
            at = closing(text, at)
        elif sign == ";" and not depth:
            return at
        elif sign == ":" and not depth and cuts_colon and ":" not in text[at - 1:at] + text[at + 1:at + 2]:
            return at
        at += 1
    return at


def closing(text, at):
    """The index of the brace that closes the one at `at`."""
    depth = 0
    for index in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if not depth:
            return index
    return len(text)


def tidy(text):
    """A signature without comments and macros of the library's own, on one line where it fits."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"\bTARN_DELETED\((?:\"[^\"]*\"\s*)+\)", "delete", text)
    text = re.sub(r"\bTARN_(STEP|COLD|NOINLINE|RETURNS_NONNULL|NO_UNIQUE_ADDRESS|(ONE|FOUND)_IN_PROCESS)\b\s*", "", text)
    text = re.sub(r"\[\[maybe_unused\]\]\s*", "", text)
    text = re.sub(r"\[\[nodiscard\(\"[^\"]*\"\)\]\]", "[[nodiscard]]", text)
    text = re.sub(r"\(([\w:]+)\)\(", r"\1(", text)  # parentheses that keep macros of others away
    text = re.sub(r"\s+", " ", text).strip()
    end = after_template(text)
    return f"{text[:end]}\n{text[end:].strip()}" if end else text


class Source:
    """A header's text, and the comments in it."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.bytes = self.text.encode()
        self.lines = self.text.splitlines()

    def slice(self, start, end):
        return self.bytes[start:end].decode()

    def top(self):
        """The comment in front of the include guard."""
        lines = []
        for line in self.lines:
            if not line.startswith("//"):
                break
            lines.append(line[2:].removeprefix(" "))
        return "\n".join(lines)

    def above(self, line):
        """The /// lines that end above a line, counted from 1. Between them may stand what the preprocessor reads."""
        at = line - 2
        while at >= 0 and re.match(r"\s*(template\b|requires\b|#(?!define))", self.lines[at]):
            at -= 1
        found = []
        while at >= 0 and re.match(r"\s*///", self.lines[at]):
            found.insert(0, re.sub(r"^\s*/// ?", "", self.lines[at]))
            at -= 1
        return "\n\n".join(part for part in (self.decides(at), "\n".join(found)) if part)

    def decides(self, at):
        """The four lines of a policy, if they end at a line, counted from 0; a file of one policy has them at its top."""
        first = at
        while first >= 0 and re.match("//( |$)", self.lines[first]):
            first -= 1
        lines = [line[2:].removeprefix(" ") for line in self.lines[first + 1:at + 1]]
        return "\n".join(lines) if first >= 0 and lines and lines[0].startswith("decides") else ""

    def beside(self, line):
        """The comment behind a declaration that ends on this line, and its next lines."""
        found = re.search(r"[;,{})]\s*//+<?\s*(.*)$", self.lines[line - 1])
        if not found:
            return ""
        text = [found[1]]
        column = self.lines[line - 1].rfind("//")
        for later in self.lines[line:]:
            if later.strip().startswith("// ") and later.find("//") == column:
                text.append(later.strip()[3:])
            else:
                break
        return "\n".join(text)


# ---- what is left out -----------------------------------------------------------------------------------------------------

# Namespaces, classes, members and macros that aren't the user's, each with the reason.
HIDDEN = {
    "tarn::detail": "internals",
    "tarn::platform": "what a platform header provides; docs/platforms.md describes it",
    "tarn::grouped_locking::owner": "for checking policies",
    "tarn::sampled_trace::arguments_hold": "for tracing_statistics",
    "tarn::sampled_trace::complaint": "the same",
    "tarn::sampled_trace::state": "the same",
    "tarn::trace_ring::arguments_hold": "the same",
    "tarn::trace_ring::complaint": "the same",
    "tarn::tracy_trace::arguments_hold": "the same",
    "tarn::tracy_trace::complaint": "the same",
    "tarn::perfetto_trace::arguments_hold": "the same",
    "tarn::perfetto_trace::complaint": "the same",
    "tarn::size_class_pool::end": "for owners of pools of classes",
    "tarn::size_class_pool::hit_tabled": "for pool_resource, which knows that the class is in the table",
    "tarn::size_class_pool::deallocate_tabled": "the same",
    "tarn::size_class_pool::classes": "for xallocator and stl_allocator, which choose a class when they are compiled",
    "tarn::size_class_pool::is_for_one_thread": "the same",
    "tarn::size_class_pool::tabled_alignment": "the same",
    "tarn::size_class_pool::tabled_bytes": "the same",
    "tarn::size_class_pool::try_allocate_large": "the same",
    "tarn::size_class_pool::deallocate_large": "the same",
}
# Macros of the library itself, and why nobody else needs them. One that ends in _ is internal, too. All others are public.
INTERNAL_MACROS = {
    "words that compilers spell differently": """TARN_AT_UNLOAD TARN_CALLER_FILE TARN_CALLER_LINE TARN_COLD TARN_DELETED
        TARN_FIRST_AT_LOAD TARN_FUNCTION_NAME TARN_NEAR_TLS TARN_NOINLINE TARN_NO_UNIQUE_ADDRESS TARN_ONE_IN_LIBRARY
        TARN_ONE_IN_PROCESS TARN_RETURNS_NONNULL TARN_STEP TARN_UNFORESEEN TARN_UNREACHABLE""",
    "computed from the compiler's flags; setting them has no effect": """TARN_ASAN TARN_EXCEPTIONS TARN_FOR_SIZE TARN_MSAN
        TARN_TSAN""",
    "what a platform header says; docs/platforms.md describes them": """TARN_HAS_FORK TARN_HAS_LOCAL_SOCKETS
        TARN_KNOWS_SINGLE_THREAD TARN_THREAD_LOCAL""",
    "notes for tools/tarn-bound; docs/bounds.md describes them": """TARN_AT_MOST TARN_CHOICE TARN_CHOSEN TARN_NOT_IF TARN_ROUND
        TARN_ROUNDS""",
    "what one header tells another": """TARN_FOUND_IN_PROCESS TARN_HAS_NAMED_MEMORY TARN_HAS_NOTES TARN_IS_FOUND
        TARN_MEMORY_RESOURCE_IS_INCLUDED TARN_MUTEX_IS_INCLUDED TARN_STANDARD_THREADS TARN_SYMBOL""",
    "the body of the DECLARE_MEMORY_POOL macros": "TARN_MEMORY_POOL_OPERATORS TARN_NEW_IS_new",
    "texts of one rule's message": "TARN_P1 TARN_P2 TARN_P3 TARN_P4 TARN_P5 TARN_P6 TARN_P7 TARN_P8 TARN_P9 TARN_P10",
    "of <sys/sdt.h>, and as it was behind its header": "STAP_SDT_ARG_CONSTRAINT",
    "parts of TARN_VERSION": "TARN_VERSION_MAJOR TARN_VERSION_MINOR TARN_VERSION_PATCH",
}
HIDDEN_MACROS = {name for names in INTERNAL_MACROS.values() for name in names.split()}
# Overloads that are there only for the compiler's message.
FOR_ERRORS = re.compile(r"requires\(!Traits::size_is_given_at_run_time\)")
# Members by which a pool asks a policy, whatever the axis. The axis headers list them, and what each axis requires besides.
PROTOCOL = {"axis", "traits", "arguments_hold", "complaint", "cell", "per_chunk", "state", "source", "reporter"}


def protocol_of(text):
    """The members that an axis's header lists above its concept."""
    found = set()
    for names in re.findall(r"^///   (\S.*?)(?:  |$)", text, re.MULTILINE):
        found.update(re.findall(r"(\w+)(?=[(<,\s]|$)", re.sub(r"\([^)]*\)|<[^>]*>", "", names)))
    return found


# ---- the walk -------------------------------------------------------------------------------------------------------------


class Headers:
    """What the headers of a tree declare for users: `names`, in the order of the files."""

    def __init__(self, tree):
        self.tree = os.path.abspath(tree)
        self.sources, self.names, self.unplaced, self.seen = {}, [], [], {}
        self.protocol, self.hidden = {}, set()
        with tempfile.TemporaryDirectory() as root:
            os.symlink(self.tree, os.path.join(root, "tarn"))
            self.prefix = os.path.join(root, "tarn") + "/"
            unit = self.parse(root)
            for cursor in unit.cursor.get_children():
                if cursor.kind == Kind.NAMESPACE and cursor.spelling == "tarn":
                    self.namespace(cursor, "tarn")
                elif cursor.kind == Kind.MACRO_DEFINITION and self.path(cursor):
                    self.macro(cursor)
        self.names.sort(key=lambda one: (one.page, "/detail/" in one.file, -one.file.count("members"), one.file,
                                         one.line))

    def parse(self, root):
        text = "".join(f'#include "tarn/{header}"\n' for header in public_headers(self.tree))
        flags = [*FLAGS, "-I" + root, "-isystem", RESOURCES]
        options = cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        try:
            index = cindex.Index.create()
        except cindex.LibclangError:  # Python's half is there, and the library isn't
            sys.exit(MISSING)
        unit = index.parse("reference.cc", flags, [("reference.cc", text)], options)
        wrong = [str(one) for one in unit.diagnostics if one.severity >= cindex.Diagnostic.Error]
        if wrong:
            raise SystemExit("the headers can't be parsed: " + "\n".join(wrong[:5]))
        return unit

    def path(self, cursor):
        """The header that declares it, relative to the tree; "" if that isn't one of tarn's."""
        file = cursor.location.file
        path = file.name.removeprefix(self.prefix) if file and file.name.startswith(self.prefix) else ""
        return path if path.startswith(FOLDERS) or path in ROOT else ""

    def source(self, path):
        if path not in self.sources:
            self.sources[path] = Source(os.path.join(self.tree, path))
        return self.sources[path]

    def is_hidden(self, name):
        if name in HIDDEN:
            self.hidden.add(name)
        return name in HIDDEN

    def namespace(self, cursor, name):
        before = None
        for child in cursor.get_children():
            if not self.path(child):
                continue
            if child.kind == Kind.NAMESPACE:
                inner = name if child.spelling.startswith("xmalloc_") else f"{name}::{child.spelling}"  # inline: versions
                hidden = self.is_hidden(inner)
                if inner == "tarn::detail":
                    self.bases(child)
                elif not hidden:
                    self.namespace(child, inner)
            elif kind_word(child) and child.spelling and not self.is_hidden(f"{name}::{child.spelling}"):
                if child.kind in CLASSES and not child.is_definition() or self.is_replacement(child):
                    continue
                if child.kind not in CLASSES and child.canonical != child:
                    continue  # declared before
                before = self.declare(child, name, "", page_of(self.path(child)), before)

    @staticmethod
    def is_replacement(child):
        """Whether it is a specialisation for after a complaint, which nobody uses. One class has another: for a source."""
        return "SPECIALIZATION" in child.kind.name and child.spelling != "stl_allocator"

    def bases(self, cursor):
        """The public members of classes in tarn::detail that a public class has from them."""
        for child in cursor.get_children():
            if child.kind in CLASSES and child.spelling in BASES and child.is_definition():
                if self.path(child):
                    parent, page = BASES[child.spelling]
                    self.members(child, parent, page, hidden={child.spelling})

    def members(self, cursor, parent, page, hidden=frozenset()):
        before = None
        children = []
        for child in cursor.get_children():
            if child.kind == Kind.FRIEND_DECL:  # an operator, which is a friend so that it is found for this class alone
                children += [one for one in child.get_children()
                             if one.kind in FUNCTIONS and one.spelling.startswith("operator")]
            elif child.access_specifier == cindex.AccessSpecifier.PUBLIC:
                children.append(child)
        policy = parent != "tarn::basic_pool" and any(one.spelling == "axis" and one.kind in ALIASES for one in children)
        for child in children:
            if not kind_word(child) or not child.spelling:
                continue
            name = plain_name(child)
            if FOR_ERRORS.search(self.source(self.path(child)).lines[child.extent.end.line - 1]):
                continue
            if name.lstrip("~") in hidden or self.is_hidden(f"{parent}::{name}") or policy and self.is_protocol(child, name):
                continue
            if child.kind in CLASSES and not child.is_definition():
                continue
            before = self.declare(child, parent, parent, page, before)

    def is_protocol(self, child, name):
        """Whether a public member of a policy is for the pool, not for its user."""
        if child.kind in (Kind.CONSTRUCTOR, Kind.FIELD_DECL):
            return False
        if child.kind not in FUNCTIONS or name in PROTOCOL:
            return True
        axis = re.sub(r"^(policies/\w+)/.*", r"\1.h", self.path(child))
        if axis not in self.protocol:
            header = os.path.join(self.tree, axis)
            self.protocol[axis] = protocol_of(Source(header).text) if os.path.exists(header) else set()
        return name in self.protocol[axis]

    def declare(self, cursor, scope, parent, page, before):
        path, source = self.path(cursor), self.source(self.path(cursor))
        name = plain_name(cursor)
        if not parent and cursor.semantic_parent.kind in CLASSES:  # a member that is defined outside of its class
            scope = parent = f"{scope}::{cursor.semantic_parent.spelling}"
        kind = kind_word(cursor)
        begin = cursor.extent.start.offset
        text = source.slice(begin, self.extent_end(cursor, source))
        is_class, is_constructor = kind == "class", name == parent.rsplit("::", 1)[-1]
        if "parameter-" in name:  # a conversion to a template
            name = re.search(r"operator \w+", text)[0]
        full = f"{scope}::{name}"
        text = text[:head_end(text, is_class or is_constructor)] if kind in ("class", "function", "enumeration") else text
        signature = tidy(text.rstrip("; \n"))
        line_begin = source.bytes.rfind(b"\n", 0, begin) + 1
        if "[[nodiscard" in source.slice(line_begin, begin):  # an extent begins behind it
            signature = "[[nodiscard]] " + signature
        comment, shared = self.comment_of(cursor, source, before)
        if kind == "function" and not source.above(self.start(cursor, source)) and re.search(r"= delete$|^~", signature):
            comment = shared = ""
        top = source.top() if not parent and os.path.basename(path) == name + ".h" else ""
        if top and (not comment or comment.startswith("\\") or top.startswith("decides")):
            comment = f"{top}\n\n{comment}".rstrip()
        one = Name(page, full, parent, kind, signature, comment, path, cursor.location.line, cursor.extent.end.line,
                   self.result(cursor), self.may_throw(cursor, text), shared)
        if not page:
            self.unplaced.append(f"{full}: {path} is on no page")
        self.names.append(one)
        if is_class:
            self.members(cursor, full, page)
        elif kind == "enumeration":
            for child in cursor.get_children():
                if child.kind == Kind.ENUM_CONSTANT_DECL:
                    self.declare(child, full, full, page, None)
        return one

    @staticmethod
    def extent_end(cursor, source):
        """Without a body, an extent ends in front of the semicolon, and what is deleted by a macro at its name."""
        end = source.bytes.find(b"\n", cursor.extent.end.offset)
        return end if cursor.kind in FUNCTIONS else cursor.extent.end.offset

    @staticmethod
    def result(cursor):
        if cursor.kind not in FUNCTIONS or cursor.kind in (Kind.CONSTRUCTOR, Kind.DESTRUCTOR):
            return ""
        return cursor.result_type.spelling

    @staticmethod
    def may_throw(cursor, text):
        return cursor.kind in FUNCTIONS and not re.search(r"\bnoexcept\b(?!\s*\()|= *(delete|TARN_DELETED)", text) and \
            cursor.kind != Kind.DESTRUCTOR

    def macro(self, cursor):
        name, path = cursor.spelling, self.path(cursor)
        if name in HIDDEN_MACROS or name.endswith("_"):
            return
        source = self.source(path)
        text = source.lines[cursor.location.line - 1]
        head = re.match(r"#define (\w+(?:\([^)]*\))?)", text)
        arguments, listed = self.listed(source.top(), name)
        comment = "\n\n".join(part for part in (listed, source.above(cursor.location.line)) if part)
        signature = name + arguments if arguments else head[1]
        self.names.append(Name(page_of(path), name, "", "macro", signature, comment, path, cursor.location.line,
                               cursor.extent.end.line, "", False, ""))

    @staticmethod
    def listed(top, name):
        """(arguments, text) of a name in the table at a header's top: `name(...)   text`; the text may begin below."""
        found = re.search(rf"^   *{re.escape(name)}(\([^)]*\));?(\n? {{3,}}\S.*)((?:\n {{20,}}\S.*)*)", top, re.MULTILINE)
        return (found[1], re.sub(r"\s+", " ", found[2] + found[3]).strip()) if found else ("", "")

    def comment_of(self, cursor, source, before):
        """Its own comment, or the one it shares with the declaration right above; and what the next one shares with it."""
        first, last = self.start(cursor, source), cursor.extent.end.line
        own = source.above(first)
        many = kind_word(cursor) == "function" or cursor.extent.start.line != last and kind_word(cursor) != "constant"
        beside = "" if many else source.beside(last)
        if own or beside:
            return "\n".join(part for part in (own, beside) if part), own
        shared = self.shared(first, before, source)
        return shared, shared

    @staticmethod
    def shared(first, before, source):
        """The comment of the declaration above, if only what the preprocessor reads lies between."""
        if not before or before.end >= first:
            return ""
        return before.shared if all(line.startswith("#") for line in source.lines[before.end:first - 1]) else ""

    @staticmethod
    def start(cursor, source):
        """The first line of a declaration, with the attributes in front of it."""
        line = cursor.extent.start.line
        while line > 1 and re.match(r"\s*(template\b|requires\b|\[\[)", source.lines[line - 2]) and \
                not source.lines[line - 2].rstrip().endswith((";", "}")):
            line -= 1
        return line

    def macros(self):
        """The names of macros that headers ask for, and of those that they define, on whatever system."""
        asked, defined = set(), set()
        texts = [self.source(path).text for path in ROOT]
        for folder in FOLDERS:
            for where, _, files in os.walk(os.path.join(self.tree, folder)):
                texts += [Source(os.path.join(where, name)).text for name in files if name.endswith(".h")]
        for text in texts:
            for condition in re.findall(r"^ *# *(?:if|ifdef|ifndef|elif)\b(.*)", text, re.MULTILINE):
                asked.update(re.findall(r"\bTARN_\w+", condition))
            defined.update(re.findall(r"^ *# *define (\w+)", text, re.MULTILINE))
        return asked, defined

    def settings(self):
        """The macros that headers ask for and none defines: what a program may set."""
        asked, defined = self.macros()
        return sorted(asked - defined)

    def left_out_in_vain(self):
        """What the lists above leave out, and no header has."""
        return sorted((set(HIDDEN) - self.hidden) | (HIDDEN_MACROS - self.macros()[1]))
