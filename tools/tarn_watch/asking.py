"""Asks a program that called tarn::observe(): one line, and the answer up to the connection's end."""

import argparse
import json
import socket

SECONDS = 5.0  # A program that serves answers at once; this is for one that has stopped.
VERSION = 1  # of the JSON


class Unanswered(Exception):
    """There is no answer; the text says why, and names the path."""


def ask(path, request, seconds=SECONDS):
    """The answer, as bytes. Throws Unanswered."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(seconds)
            connection.connect(path)
            connection.sendall(request.encode() + b"\n")
            parts = list(iter(lambda: connection.recv(1 << 16), b""))
    except TimeoutError:
        raise Unanswered(f"{path}: no answer within {seconds:g} seconds") from None
    except FileNotFoundError:
        raise Unanswered(f"{path}: no such socket; does the program call tarn::observe?") from None
    except ConnectionRefusedError:
        raise Unanswered(f"{path}: nobody answers; the program has ended") from None
    except OSError as error:
        raise Unanswered(f"{path}: {error.strerror or error}") from None
    answer = b"".join(parts)
    if answer.startswith(b"error: ") or not answer:
        raise Unanswered(f"{path}: {answer.decode(errors='replace').strip() or 'an empty answer'}")
    return answer


def pools(path, seconds=SECONDS):
    """The pools, as a list of dictionaries with the members of tarn::pool_record. Throws Unanswered."""
    try:
        said = json.loads(ask(path, "json", seconds))
    except ValueError as error:
        raise Unanswered(f"{path}: the answer is no JSON: {error}") from None
    if said.get("version") != VERSION:
        raise Unanswered(f"{path}: its JSON has version {said.get('version')}; this tool reads version {VERSION}")
    return said["pools"]


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
