#!/usr/bin/env python3
"""Writes a header with variants of tarn's own: variants.py WHICH OUTPUT HEADERS... TESTS...

Each variant is the text of the headers in a namespace of its own, tarn::detail::variants::<name>, with a few places replaced.
The tables are in mistakes.py. How often each place is there is part of them, so that a header that was changed is noticed
here; so is a variant that no test names. `as_it_is` changes nothing but what every variant of the table has changed.
"""

import re
import sys

from mistakes import TABLES


def body_of(path):
    """The text between the headers' namespace and its end, and the lines that include others."""
    text = open(path, encoding="utf-8").read()
    inner = re.search(r"^namespace (tarn(?:::detail)?) \{\n(.*)^\}  // namespace \1$", text, re.MULTILINE | re.DOTALL)
    if inner is None:
        sys.exit(f"variants.py: no namespace tarn or tarn::detail in {path}")
    return re.findall(r"^#include .*$", text, re.MULTILINE), inner.group(2)


def own_calls(text):
    """The text, whose calls of its own functions are those of the variant."""
    own = re.findall(r"^(?!//)\S[^=;{]*?\b(\w+)\([^;{]*\{", text, re.MULTILINE)
    return re.sub(rf"\bdetail::((?:{'|'.join(sorted(set(own)))})\()", r"\1", text) if own else text


def replaced(text, name, places):
    for count, old, new in places:
        found = text.count(old)
        if found != count and (count is not None or found == 0):
            sys.exit(f"variants.py: {name}: this stands {found} times in tarn's headers, not {count}:\n{old}")
        text = text.replace(old, new)
    return text


def main():
    which, output, *files = sys.argv[1:]
    headers = [file for file in files if file.endswith(".h")]
    users = "".join(open(file, encoding="utf-8").read() for file in files if not file.endswith(".h"))
    table = TABLES[which]
    for name in table["variants"]:
        if f"variants::{name}::types" not in users:
            sys.exit(f"variants.py: {which}: no test names the variant {name}")
    includes = set()
    text = ""
    for header in headers:
        its_includes, body = body_of(header)
        includes.update(its_includes)
        text += body
    text = replaced(own_calls(text), which, table["common"])
    guard = f"TARN_TEST_SCHEDULE_{which.upper()}_VARIANTS_H_"
    lines = ["// Written by variants.py.", f"#ifndef {guard}", f"#define {guard}", *sorted(includes),
             '#include "tarn/test/schedule/process.h"', '#include "tarn/test/schedule/scheduled.h"',
             "namespace tarn::detail::variants {"]
    for name, places in {"as_it_is": [], **table["variants"]}.items():
        lines += [f"namespace {name} {{", replaced(text, name, places), f"struct types {{\n{table['types']}\n}};",
                  f"}}  // namespace {name}"]
    lines += ["}  // namespace tarn::detail::variants", f"#endif  // {guard}", ""]
    with open(output, "w", encoding="utf-8") as out:
        out.write("\n".join(lines))


if __name__ == "__main__":
    main()
