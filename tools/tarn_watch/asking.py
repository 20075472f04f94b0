"""Asks a program that called tarn::observe(): one line, and the answer up to the connection's end."""

import argparse
import json
import socket
import time

from tarn_output import one_line

SECONDS = 5.0  # A program that serves answers at once; this is for one that has stopped.
VERSION = 1  # of the JSON
MOST_BYTES = 64 << 20  # of an answer, 80,000 pools for Prometheus: what answers may be another program.
MOST_JSON = 16 << 20  # 70,000 pools. Read, it takes up to 25 times as much memory.
NUMBERS = ("in_use", "capacity", "peak", "waiting", "chunks", "bytes_held", "growths", "refused", "block_size")


class Unanswered(Exception):
    """There is no answer; the text says why, and names the path."""


def ask(path, request, seconds=SECONDS, most=MOST_BYTES):
    """The answer, as bytes, within so many seconds in all. Throws Unanswered."""
    try:
        answer = received(path, request, time.monotonic() + seconds, most)
    except TimeoutError:
        raise Unanswered(f"{path}: no answer within {seconds:g} seconds") from None
    except FileNotFoundError:
        raise Unanswered(f"{path}: no such socket; does the program call tarn::observe?") from None
    except ConnectionRefusedError:
        raise Unanswered(f"{path}: nobody answers; the program has ended") from None
    except BlockingIOError:  # its queue is full
        raise Unanswered(f"{path}: too many others wait for an answer") from None
    except (OSError, ValueError) as error:  # ValueError: of a path with a zero in it
        raise Unanswered(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if answer.startswith(b"error: ") or not answer:
        raise Unanswered(f"{path}: {one_line(answer.decode(errors='replace')) or 'an empty answer'}")
    return answer


def received(path, request, end, most):
    def left():
        rest = end - time.monotonic()
        if rest <= 0:
            raise TimeoutError
        return rest

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(left())
        connection.connect(path)
        connection.settimeout(left())
        connection.sendall(request.encode() + b"\n")
        answer = bytearray()
        while True:
            connection.settimeout(left())
            part = connection.recv(1 << 16)
            if not part:
                return bytes(answer)
            answer += part
            if len(answer) > most:
                raise Unanswered(f"{path}: the answer is longer than {most >> 20} MiB")


def pools(path, seconds=SECONDS):
    """The pools, as a list of dictionaries with the members of tarn::pool_record. Throws Unanswered."""
    answer = ask(path, "json", seconds, MOST_JSON)
    try:
        said = json.loads(answer, parse_constant=no_constant)
        if not isinstance(said, dict):
            raise ValueError("it is no object")
        if said.get("version") != VERSION:
            raise Unanswered(f"{path}: its JSON has version {one_line(str(said.get('version')))}; this tool reads version "
                             f"{VERSION}")
        return checked(said.get("pools"))
    except (ValueError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Unanswered(f"{path}: the answer is no list of pools: {one_line(what)}") from None


def no_constant(name):
    raise ValueError(f"{name} is no number of JSON")


def checked(found):
    """The pools, if each has what the tools read. Throws ValueError."""
    if not isinstance(found, list):
        raise ValueError("'pools' is no list")
    for at, pool in enumerate(found, 1):
        if not isinstance(pool, dict):
            raise ValueError(f"pool {at} is no object")
        for name in NUMBERS:
            number = pool.get(name)
            if type(number) is not int or not 0 <= number < 1 << 64:  # a bool is an int, too
                raise ValueError(f"'{name}' of pool {at} is no number of 64 bits")
        if not isinstance(pool.get("name"), str) or not isinstance(pool.get("address"), str):
            raise ValueError(f"pool {at} has no name, or no address")
        if not isinstance(pool.get("is_exact"), bool):
            raise ValueError(f"'is_exact' of pool {at} is neither true nor false")
    return found


def positive(text):
    """A number of seconds, for argparse."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds above 0")
    return number


def add_timeout(parser):
    parser.add_argument("--timeout", type=positive, default=SECONDS, metavar="SECONDS",
                        help=f"how long the program may take for an answer; default: {SECONDS:g}")
