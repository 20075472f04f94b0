"""The programs of docs/migration, and tools/tarn-migrate. Called by test/migration/run."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "build", "migration", "python"), HERE]
import check_pages
import check_tool
import compilers

os.chdir(ROOT)
if sys.argv[1:] == ["--all"]:
    os.environ["TARN_NIGHTLY"] = "1"
elif sys.argv[1:]:
    sys.exit("usage: test/migration/run [--all]")
sys.exit(compilers.report(check_pages.all_cases() + check_tool.cases(check_tool.after_root())))
