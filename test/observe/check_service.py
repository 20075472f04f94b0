"""examples/service.cc while it works, checked and trimmed through its socket."""

import os

import running
from tarn_watch import asking

POOLS = {"messages", "orders", "sessions", "texts/32"}


def started(service, path):
    program = running.Program(service, path)
    running.wait_until(lambda: f"no answer at {path}", lambda: os.path.exists(path) and answers(path))
    return program


def answers(path):
    try:
        return {pool["name"] for pool in asking.pools(path)} >= POOLS
    except asking.Unanswered:
        return False


def socket_case(service, folder):
    """Its checks are switched on while it works, and find nothing; memory goes back."""
    path = os.path.join(folder, "asked")
    with started(service, path) as program:
        if asking.ask(path, "check on orders") != b"done\n":
            return "orders can't be switched on"
        before = {pool["name"]: pool for pool in asking.pools(path)}["orders"]
        running.wait_until(lambda: "it stands still", lambda: {pool["name"]: pool for pool in asking.pools(path)}["orders"][
            "in_use"] != before["in_use"])
        try:
            asking.ask(path, "check on messages")
            return "messages, which have no such checks, can be switched on"
        except asking.Unanswered as error:
            if "no pool with switchable checks" not in str(error):
                return str(error)
        if asking.ask(path, "check off orders") != b"done\n" or not asking.ask(path, "trim").strip().isdigit():
            return "check off, trim"
        program.process.terminate()
        if program.process.wait(running.SECONDS) != 0:
            return f"it ended with {program.process.returncode}"
    return None


def cases(root, service, folder):
    return [running.case("the service, checked and trimmed through its socket", lambda: socket_case(service, folder))]
