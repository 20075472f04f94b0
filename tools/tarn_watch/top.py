"""tarn-top: a program's pools in a terminal, or as a table for scripts."""

import argparse
import sys

from tarn_output import one_line
from . import asking, table


def once(options):
    try:
        pools = asking.pools(options.socket, options.timeout)
    except asking.Unanswered as error:
        print(f"tarn-top: {one_line(str(error))}", file=sys.stderr)
        return 1
    print("\n".join(table.plain_lines(table.in_order(pools, options.sort, options.reverse))))
    return 0


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tarn-top", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="Shows the pools of a program that calls tarn::observe(PATH), while it runs.",
                                     epilog="keys:\n" + table.HELP)
    parser.add_argument("socket", metavar="PATH", help="where the program answers")
    parser.add_argument("--once", action="store_true", help="print one table, and end: for scripts")
    parser.add_argument("--sort", choices=list(table.ORDERS), default="in-use", help="default: in-use")
    parser.add_argument("--reverse", action="store_true", help="the other way round")
    parser.add_argument("--interval", type=asking.positive, default=1.0, metavar="SECONDS",
                        help="between two looks; default: 1")
    asking.add_timeout(parser)
    options = parser.parse_args(arguments)
    if options.once:
        return once(options)
    try:
        from . import screen  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        if (error.name or "").split(".")[0] != "rich":
            raise
        print("tarn-top: the screen needs Python's package rich: apt install python3-rich, or pip install rich. --once doesn't",
              file=sys.stderr)
        return 1
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        print("tarn-top: this is no terminal; --once prints a table", file=sys.stderr)
        return 2
    return screen.watch(options)
