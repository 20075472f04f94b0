"""What a running program tells at its socket, and the tools that read it. Called by test/observe/run."""

import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "build", "observe", "python"), os.path.join(ROOT, "tools"),
                os.path.join(ROOT, "test", "support"), HERE]
import check_exporter
import check_formats
import check_service
import check_top
import compilers
import running

LEAST_CASES = 18


def main():
    os.chdir(ROOT)
    builder = compilers.Builder(compilers.include_root())
    program = builder.job("watched", ["g++", "-std=c++20", "-O1", *compilers.WARNINGS, "-I.", "tarn/test/observe/watched.cc",
                                      "-pthread"])
    service = builder.job("service", ["g++", "-std=c++20", "-O1", *compilers.WARNINGS, "-I.", "tarn/examples/service.cc",
                                      "-pthread"]).result()
    program = program.result()
    with tempfile.TemporaryDirectory(prefix="tarn-observe-") as folder:
        path = os.path.join(folder, "socket")
        with running.watched(program, path, "strange") as watched:
            for name, blocks in check_formats.IN_USE.items():
                if name in ("orders", "messages"):
                    watched.tell(f"take {name} {blocks}")
            cases = [*check_formats.cases(ROOT, path), *check_exporter.cases(ROOT, program, path, folder),
                     *check_top.cases(ROOT, program, path, folder),
                     *check_service.cases(ROOT, service, folder)]
            status = compilers.report(cases)
    return status if len(cases) >= LEAST_CASES else 1


sys.exit(main())
