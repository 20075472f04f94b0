"""tools/tarn-prometheus, by itself and scraped by Debian's prometheus."""

import contextlib
import http.client
import json
import os
import re
import signal
import sys
import tempfile
import urllib.parse
import urllib.request

import prometheus_client.openmetrics.parser

import running
from tarn_watch import asking

CONFIGURATION = """\
global: {{scrape_interval: 250ms, scrape_timeout: 250ms}}
scrape_configs:
  - job_name: tarn
    static_configs: [{{targets: ["{target}"]}}]
"""


def exporter(root, path, *words):
    """(program, host:port) of a tarn-prometheus that listens."""
    program = running.Program(sys.executable, os.path.join(root, "tools/tarn-prometheus"), "--socket", path, "--listen",
                              "127.0.0.1:0", *words, env=running.python_here(root))
    return program, re.search(r"http://([\d.:]+)/metrics", program.wait_for("http://"))[1]


def get(target, path="/metrics", method="GET", **headers):
    """(status, type, body)."""
    connection = http.client.HTTPConnection(target, timeout=running.SECONDS)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read().decode()
    finally:
        connection.close()


def http_case(root, path):
    program, target = exporter(root, path)
    with program:
        status, kind, text = get(target)
        if status != 200 or kind != "text/plain; version=0.0.4; charset=utf-8":
            return f"{status} {kind}"
        if text != asking.ask(path, "prometheus").decode():
            return text
        status, kind, text = get(target, Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
        if status != 200 or kind != "application/openmetrics-text; version=1.0.0; charset=utf-8":
            return f"{status} {kind}"
        list(prometheus_client.openmetrics.parser.text_string_to_metric_families(text))
        if get(target, method="HEAD")[2] != "" or get(target, "/nothing")[0] != 404 or get(target, "/")[0] != 200:
            return "HEAD, / or another path"
        if get(target, method="POST")[0] != 501:
            return "POST"
    return None


def down_case(root, program, folder):
    """No program, one that hangs, one that is there again: the tool goes on."""
    path = os.path.join(folder, "down")
    tool, target = exporter(root, path, "--timeout", "0.2")
    with tool:
        if get(target)[0] != 502 or "no such socket" not in get(target)[2]:
            return f"{get(target)}"
        tool.wait_for("no such socket")
        def comes_back():  # a busy machine may take longer than the tool waits
            running.wait_until(lambda: f"{get(target)}", lambda: get(target)[0] == 200)

        with running.watched(program, path) as first:
            comes_back()
            tool.wait_for("answers again")
            first.process.send_signal(signal.SIGSTOP)
            running.wait_until(lambda: f"{get(target)}", lambda: "no answer within 0.2 seconds" in get(target)[2])
            if get(target)[0] != 502:
                return f"{get(target)}"
            first.process.send_signal(signal.SIGCONT)
            comes_back()
        if get(target)[0] != 502 or "nobody answers" not in get(target)[2]:
            return f"{get(target)}"
        with running.watched(program, path):  # it replaces what the killed one left
            comes_back()
    return None


def words_case(root):
    """What is wrong in its words is said, with a status other than 0."""
    for words, said in ((["--listen", "x"], "--socket"), (["--socket", "a", "--listen", "x"], "'x' is no HOST:PORT"),
                        (["--socket", "a", "--timeout", "0"], "above 0"),
                        (["--socket", "a", "--listen", "192.0.2.1:1"], "192")):
        with running.Program(sys.executable, os.path.join(root, "tools/tarn-prometheus"), *words) as program:
            program.wait_for(said)
            if program.process.wait(running.SECONDS) == 0:
                return f"{words}: status 0"
    with running.Program(sys.executable, os.path.join(root, "tools/tarn-prometheus"), "--help") as program:
        program.wait_for("502")
        return None if program.process.wait(running.SECONDS) == 0 else "--help fails"


def asked(target, query):
    """{pool or job: value} of what Prometheus has at this moment."""
    url = f"http://{target}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    try:
        with urllib.request.urlopen(url, timeout=running.SECONDS) as answer:
            found = json.load(answer)["data"]["result"]
    except OSError:
        return {}  # it isn't there yet
    return {one["metric"].get("pool", one["metric"].get("job")): float(one["value"][1]) for one in found}


@contextlib.contextmanager
def prometheus(target, folder):
    """A Prometheus that scrapes the target: host:port of its interface."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        with open(os.path.join(own, "prometheus.yml"), "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(target=target))
        with running.Program("prometheus", "--config.file=" + file.name, "--storage.tsdb.path=" + own, "--log.level=info",
                             "--web.listen-address=127.0.0.1:0") as server:
            port = re.search(r"address=127\.0\.0\.1:(\d+)", server.wait_for('msg="Listening on"'))[1]
            yield f"127.0.0.1:{port}"


def scraped_case(root, program, folder):
    path = os.path.join(folder, "scraped")
    tool, target = exporter(root, path)
    with tool:
        with prometheus(target, folder) as api:
            def comes(query, key, value):
                running.wait_until(lambda: f"{query} {key} {value}: {asked(api, query)}",
                                   lambda: asked(api, query).get(key) == value)

            comes("up", "tarn", 0)
            with running.watched(program, path, "strange") as first:
                first.tell("take orders 7")
                comes("tarn_pool_blocks_in_use", "orders", 7)
                comes("up", "tarn", 1)
                comes("tarn_pool_refused_total", "limited", 1)
                first.tell("take orders 5")
                first.tell("take messages 3")
                comes("tarn_pool_blocks_in_use", "orders", 12)
                comes("tarn_pool_blocks_in_use", "messages", 3)
                if 'a "quoted\\ name"\n\u20ac\ufffd' not in asked(api, "tarn_pool_blocks_capacity"):
                    return f"no strange name: {asked(api, 'tarn_pool_blocks_capacity')}"
            comes("up", "tarn", 0)
            with running.watched(program, path):
                comes("up", "tarn", 1)
                comes("tarn_pool_blocks_in_use", "orders", 0)
    return None


def cases(root, program, path, folder):
    return [running.case("tarn-prometheus answers at /metrics, in the format that is asked for", lambda: http_case(root, path)),
            running.case("tarn-prometheus goes on while a program is gone or hangs", lambda: down_case(root, program, folder)),
            running.case("tarn-prometheus says what is wrong with its words", lambda: words_case(root)),
            running.case("Debian's prometheus scrapes a program that changes, goes and comes back",
                         lambda: scraped_case(root, program, folder))]
