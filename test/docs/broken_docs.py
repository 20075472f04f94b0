"""Shows that each check of check_docs.py fires: a small right tree, and one broken copy of it for each way to be wrong."""

import compilers

import check_docs

RIGHT = {
    "README.md": "# A\n\nSee [docs](docs/README.md#two-words) and ![picture](docs/p.png).\n\n"
                 "```cpp run\nint main() {}\n```\n",
    "docs/README.md": "# Reading\n\n## Two words\n\n[choosing](choosing.md), [misuse](misuse.md), [rules](rules.md)" +
                      "".join(f", [{axis}](axes/{axis}.md)" for axis in check_docs.AXES) + ", [tasks](tasks/README.md).\n\n"
                      "## Products\n\n| header | page |\n|---|---|\n| `presets.h` | [choosing](choosing.md) |\n"
                      "| `containers.h`, names | [names](products/names.md) |\n"
                      "| `memory_pool_macros.h` | [names](products/names.md) |\n",
    "docs/tasks/README.md": "# Tasks\n\n[one](one.md)\n",
    "docs/tasks/one.md": "# One\n\nSee the [choice](../choosing.md).\n",
    "docs/products/names.md": "# Names\n\n| name |\n|---|\n| `row`, `line` |\n| `DECLARE_IT(Class)` |\n",
    "docs/choosing.md": "# Choosing\n\n"
                        "```cpp\nint f();\n```\n```cpp fragment\n#include <cstddef>\nstd::size_t n = 1;\n```\n"
                        "```cpp file shown.h\n#ifndef S\n#define S\ninline int g() { return 1; }\n#endif\n```\n"
                        "```cpp\n#include \"tarn/shown.h\"\nint h();\nint h() { return g(); }\n```\n"
                        "```cpp rejected\n// error: words of ours\nstatic_assert(false, \"words of ours\");\n```\n",
    "docs/misuse.md": "# Misuse\n\nSee `test/all/every_test.cc`.\n\n| policy |\n|---|\n| `a_checking<N>` |\n\n## Bad input\n\n"
                      "| input | outcome |\n|---|---|\n| none | `null` |\n| two | fails |\n| three | fails |\n",
    "test/misuse/README.md": "# Tests\n\n## Bad input\n\n| input | tests |\n|---|---|\n"
                             "| none | `none_is_null` |\n| two | `each_one`, `every_test` |\n"
                             "| three | `refused/three_*`, `many`, `all/check_all` |\n",
    "test/all/every_test.cc": "BOOST_AUTO_TEST_CASE(none_is_null) {}\n"
                              "BOOST_AUTO_TEST_CASE_TEMPLATE(\n    each_one, T, all) {}\n"
                              "const case_for_each some(\"many\", f);\n",
    "test/all/check_all.py": "",
    "test/refused/of_all_kinds.cc": "// case three_of_them: no\nint f();\n",
    "policies/detail/y.h": "namespace tarn {\nclass y {\n  // Order: relaxed.\n  atomic_word<int> at_ = 0;  // x\n"
                           "  struct inner {\n    // Order: store release.\n    Atomic<const A*> rest_[8] = {};\n  };\n"
                           "  void f(atomic_word<int>& g) { at_.store(1, memory_order_relaxed); }\n"
                           "  void h() { its.rest_[3].store(nullptr, memory_order_release); }\n};\n}\n",
    "docs/rules.md": "# Rules\n\n### R1: one\n\n`tarn: [R1] what,\n…`\n",
    "test/allocator/presets_test.cc": "presets::local<int> pool;\n",
    "allocator/presets.h": "template <class T>\nusing local = T;\n",
    "allocator/containers.h": "using row = int;\ntemplate <class T>\nusing line = T;\n",
    "allocator/memory_pool_macros.h": "#define TARN_INSIDE(Class) Class\n#define DECLARE_IT(Class) TARN_INSIDE(Class)\n",
    "policies/detail/x.h": 'static_assert(X, "tarn: [R1] what, "\n  "why");\n',
    **{f"policies/{axis}/a_{axis}.h": "// decides    x\n// costs      x\n// conflicts  x\n// use when   x\n#ifndef X\n"
                                      f"struct a_{axis} {{\n  using axis = tarn::axis::{axis};\n" for axis in check_docs.AXES},
    **{f"docs/axes/{axis}.md": f"# Axis\n\n## Policies\n\n| policy |\n|---|\n| `a_{axis}<N>` |\n" for axis in check_docs.AXES},
}

FLOOR = {"code blocks": 6, "code blocks that run": 1, "tests of bad input": 6}

# What is broken, in which file, by replacing what with what, and what the check must say. None removes the file.
BROKEN = [
    ("a block that doesn't compile", "docs/choosing.md", "int f();", "int f()", "error"),
    ("a warning", "docs/choosing.md", "int f();", "inline int f(int a) { { int a = 1; return a; } }", "shadow"),
    ("a fragment that doesn't compile", "docs/choosing.md", "n = 1", "n = m", "m"),
    ("a program that fails", "README.md", "int main() {}", "int main() { return 3; }", "exit status 3"),
    ("a shown file that doesn't compile", "docs/choosing.md", "return 1;", "return y;", "y"),
    ("code that should be rejected and compiles", "docs/choosing.md", "static_assert(false", "static_assert(true", "must not"),
    ("code that is rejected in other words", "docs/choosing.md", '"words of ours"', '"others"', "no error says"),
    ("too few blocks", "docs/choosing.md", "```cpp\nint f();\n```", "", "the floor is 6"),
    ("C++ that isn't marked cpp", "docs/choosing.md", "```cpp\nint f();", "```c++\nint f();", "marked cpp"),
    ("a program of a migration on another page", "docs/choosing.md", "```cpp\nint f();", "```cpp before\nint f();", "nobody"),
    ("a block that doesn't end", "README.md", "int main() {}\n```", "int main() {}", "doesn't end"),
    ("a link to no file", "README.md", "docs/README.md#", "docs/READ.md#", "doesn't exist"),
    ("a link to no heading", "README.md", "#two-words", "#three-words", "no heading"),
    ("a link by http:", "README.md", "docs/README.md#two-words", "http://example.org", "neither"),
    ("a page that docs/README.md leaves out", "docs/README.md", "[rules](rules.md)", "rules", "no link leads to it"),
    ("a page that the index of its folder leaves out", "docs/tasks/README.md", "[one](one.md)", "one", "no link leads to it"),
    ("a policy without a row", "docs/axes/store.md", "| `a_store<N>` |", "", "no row for it"),
    ("a row without a policy", "policies/reuse/a_reuse.h", None, None, "no such policy: a_reuse"),
    ("a policy in another axis's folder", "policies/reuse/a_reuse.h", "axis::reuse", "axis::size", "says axis size"),
    ("a policy without its four lines", "policies/locking/a_locking.h", "// costs      x\n", "", "are missing"),
    ("a rule that the page leaves out", "docs/rules.md", "`tarn: [R1] what,\n…`", "", "rules.md doesn't"),
    ("a rule that the page says in other words", "docs/rules.md", "what,\n…", "what else,\n…", "no header does"),
    ("a rule that no header has", "policies/detail/x.h", None, None, "no header does"),
    ("a rule below another number", "docs/rules.md", "### R1:", "### R2:", "stands below"),
    ("a preset without a test", "test/allocator/presets_test.cc", "presets::local<", "pool<", "doesn't use it"),
    ("a product without a row", "docs/README.md", "| `presets.h` |", "| presets |", "no row for it below '## Products'"),
    ("a row without a product", "docs/README.md", "| `containers.h`, names |", "| `boxes.h` |", "boxes.h doesn't exist"),
    ("a macro on no page", "allocator/memory_pool_macros.h", "DECLARE_IT", "PREPARE_IT", "docs/products/: PREPARE_IT"),
    ("a container on no page", "docs/products/names.md", "`line`", "line", "docs/products/: line"),
    ("a test of bad input that was renamed", "test/all/every_test.cc", "none_is_null", "null", "no such test: none_is_null"),
    ("a test of many pools that was renamed", "test/all/every_test.cc", "many", "few", "no such test: many"),
    ("a file of tests that is gone", "test/all/every_test.cc", None, None, "it doesn't exist"),
    ("a rejected case that was renamed", "test/refused/of_all_kinds.cc", "case three_of_them",
     "case two_of_them", "no such test: refused/three_*"),
    ("too few tests of bad input", "test/misuse/README.md", "`each_one`, ", "", "the floor is 6"),
    ("bad input without a test", "docs/misuse.md", "| two | fails |", "| two | fails |\n| four | fails |", "no test of it"),
    ("an atomic without its order", "policies/detail/y.h", "// Order: relaxed.", "// How much.", "begins with 'Order:'"),
    ("an atomic behind code", "policies/detail/y.h", "rest_[8] = {};", "rest_[8] = {};\nint j;\nAtomic<int> other_ = 0;",
     "begins with 'Order:'"),
    ("an order that the comment doesn't say", "policies/detail/y.h", "memory_order_relaxed", "memory_order_acq_rel",
     "doesn't say acquire, release"),
    ("an order of an element that the comment doesn't say", "policies/detail/y.h", "store release", "relaxed",
     "doesn't say release"),
    ("a checking policy that the page of misuse leaves out", "docs/misuse.md", "| `a_checking<N>` |", "| `hardened` |",
     "no table has a_checking"),
]


def faults(tree, wanted):
    """What all checks say of a tree. Code is compiled only where it isn't the right tree's."""
    if tree is not RIGHT and check_docs.blocks_of(tree) == check_docs.blocks_of(RIGHT):
        wanted = []
    present = set(tree) | {"docs/p.png"}
    found = (run() for _, run in check_docs.all_checks(tree, present, [], wanted, FLOOR))
    return [wrong for wrong in found if wrong]


def cases():
    wanted = compilers.present(["g++", "clang++-19"])[:1]

    def right():
        said = faults(RIGHT, wanted)
        return "the right tree is refused:\n" + "\n".join(said) if said else None

    def broken(path, old, new, words):
        tree = dict(RIGHT)
        if old is None:
            del tree[path]
        elif tree[path].count(old) != 1:
            return f"'{old}' doesn't stand in {path} exactly once"
        else:
            tree[path] = tree[path].replace(old, new)
        said = faults(tree, wanted)
        if not said:
            return "no check fires"
        return None if any(words in one for one in said) else f"no check says '{words}':\n" + "\n".join(said)

    def one(name, path, old, new, words):
        return f"mistake: {name}", lambda: broken(path, old, new, words)

    return [("self-test: a right tree", right)] + [one(*row) for row in BROKEN]
