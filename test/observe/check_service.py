"""examples/service.cc while it works: in tarn-top's terminal, scraped by Prometheus, checked and trimmed through its socket."""

import os
import re

import check_exporter
import check_top
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


def used(screen, name):
    found = re.search(rf"^{re.escape(name)}\s+(\d+)~?\s", screen, re.MULTILINE)
    return int(found[1]) if found else None


def top_case(root, service, folder):
    path = os.path.join(folder, "service")
    own = os.path.join(folder, "of_service")
    os.mkdir(own)
    with started(service, path), check_top.Terminal(own, check_top.command(root, path, "--interval", "0.2")) as terminal:
        screen = terminal.comes(lambda screen: all(used(screen, name) is not None for name in POOLS))
        before = used(screen, "orders")
        terminal.comes(lambda screen: used(screen, "orders") not in (None, before))  # it works on
    return None


def scraped_case(root, service, folder):
    path = os.path.join(folder, "of_prometheus")
    tool, target = check_exporter.exporter(root, path)
    with tool, started(service, path), check_exporter.prometheus(target, folder) as api:
        found = lambda: check_exporter.asked(api, "tarn_pool_blocks_in_use")
        first = running.wait_until(lambda: f"{found()}", lambda: (lambda all: all if POOLS <= set(all) else None)(found()))
        running.wait_until(lambda: f"{found()}", lambda: found().get("orders") not in (None, first["orders"]))
    return None


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
    return [running.case("the service in tarn-top", lambda: top_case(root, service, folder)),
            running.case("the service, scraped by Prometheus", lambda: scraped_case(root, service, folder)),
            running.case("the service, checked and trimmed through its socket", lambda: socket_case(service, folder))]
