#!/usr/bin/env python3
"""TARN_CHECK, as a user sets it: which pools are checked, and what is said of a name that no pool has, and of guard bytes for
which a pool has no room."""

import os
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "../../support")]

import compilers

PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/checking/switchable_checking.h"
namespace game {
struct particle {
  long place = 0;
  DECLARE_MEMORY_POOL_WITH(particle, tarn::mutex_locking<>, tarn::switchable_checking)
};
}
int main() {
  tarn::set_misuse_handler([](const tarn::misuse& what) noexcept { std::printf("%s\\n", what.pool_name); });
  tarn::pool<tarn::static_size<64>, tarn::named<"orders">, tarn::switchable_checking> orders;
  tarn::pool<tarn::static_size<64>, tarn::named<"messages">, tarn::switchable_checking_with<tarn::guard_bytes>> messages;
  int none = 0;
  if (orders.allocate() == nullptr || messages.allocate() == nullptr) return 1;
  delete new game::particle;
  char* const block = static_cast<char*>(messages.allocate());
  ++block[64];  // behind its end
  messages.deallocate(block);
  if (std::getenv("WRONG") != nullptr) orders.deallocate(&none);
}
"""
NO_POOL = 'tarn: TARN_CHECK names "{}", but there was no pool of that name with switchable_checking'
NO_ROOM = ('tarn: TARN_CHECK asks for guard bytes in pool "{}", whose blocks have no room for them; write '
           "switchable_checking_with<guard_bytes>. Its other checks are on")
# (the variable, does something wrong with orders, who reports, what is said on stderr)
RUNS = [
    (None, False, [], []),
    ("", False, [], []),
    ("orders", True, ["orders"], []),
    ("orders,messages:guard", True, ["messages", "orders"], []),
    ("messages", False, [], []),
    ("*:guard", False, ["messages"], [NO_ROOM.format("orders"), NO_ROOM.format("game::particle")]),
    ("ord*,game::particle", True, ["orders"], []),
    ("ordres", False, [], [NO_POOL.format("ordres")]),
    ("order", False, [], [NO_POOL.format("order")]),
    ("orders,mesages:guard,x*", True, ["orders"], [NO_POOL.format("mesages"), NO_POOL.format("x*")]),
    ("messages:gaurd", False, [], [NO_POOL.format("messages:gaurd")]),
]


def main():
    root = compilers.include_root()
    with open(os.path.join(root, "switches.cc"), "w", encoding="utf-8") as source:
        source.write(PROGRAM)
    subprocess.run([compilers.present()[0], "-std=c++20", "-O1", "-I.", *compilers.WARNINGS, "switches.cc", "-o", "switches",
                    "-pthread"], cwd=root, check=True)
    cases = []
    for value, is_wrong, reports, said in RUNS:
        environment = {name: text for name, text in os.environ.items() if name not in ("TARN_CHECK", "WRONG")}
        if value is not None:
            environment["TARN_CHECK"] = value
        if is_wrong:
            environment["WRONG"] = "1"
        done = subprocess.run(["./switches"], cwd=root, env=environment, capture_output=True, text=True, timeout=60,
                              check=False)
        got, wanted = (done.returncode, done.stdout.split(), done.stderr.splitlines()), (0, reports, said)
        fault = None if got == wanted else f"wanted {wanted}\ngot    {got}"
        cases.append((f"TARN_CHECK={value}", lambda fault=fault: fault))
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
