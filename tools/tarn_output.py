"""What tarn's tools share: text that a terminal may be given, and how a program ends that can't write, or reads what is no
input."""

import os
import sys

LONGEST = 300  # letters of one line that says what is wrong


def shown(text):
    """A text without what would move the cursor."""
    return "".join(c if c.isprintable() else "?" for c in text)


def one_line(text):
    """The first line of a text from elsewhere."""
    line = shown(text.strip().partition("\n")[0])
    return line if len(line) <= LONGEST else line[:LONGEST] + "..."


def failed(name, what, status=2):
    """Says in a line what is wrong. Returns the status."""
    try:
        print(f"{name}: {one_line(what)}", file=sys.stderr, flush=True)
    except OSError:
        pass
    return status


def run(name, work):
    """Ends the process with what work() returns, and with one line where it can't go on: the reader of a pipe is gone, a disk
    is full, or what it read takes more memory than there is."""
    for number, stream in ((1, "stdout"), (2, "stderr")):
        open_if_closed(number)
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(number, "w", closefd=False))
        getattr(sys, stream).reconfigure(errors="replace")
    try:
        status = result_of(work)
        sys.stdout.flush()
    except BrokenPipeError:
        status = 1  # nobody reads, so there is nothing to say
    except KeyboardInterrupt:
        status = 130
    except OSError as error:
        status = failed(name, f"can't write: {error.strerror or error}")
    except (MemoryError, RecursionError):
        status = failed(name, "the input needs more memory than there is")
    drop_output()
    sys.exit(status)


def open_if_closed(number):
    """A caller may have closed what is written to, which is no reason to do nothing."""
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        if null != number:
            os.dup2(null, number, inheritable=False)
            os.close(null)


def result_of(work):
    try:
        return work()
    except SystemExit as end:  # of argparse: its output may not be written yet
        return end.code


def drop_output():
    """What is still in the buffers can't be written: Python would try again at the end, and say so in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
