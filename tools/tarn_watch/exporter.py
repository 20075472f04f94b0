"""tarn-prometheus: a program's pools for Prometheus, over HTTP."""

import argparse
import http.server
import io
import socket
import sys
import threading
import time

from tarn_output import one_line
from . import asking

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PORT = 9477
MOST_CLIENTS = 32  # connections at once


class Until(io.RawIOBase):
    """Reads a connection up to a time, however its bytes come."""

    def __init__(self, connection):
        super().__init__()
        self.connection, self.end = connection, 0.0

    def readable(self):
        return True

    def readinto(self, buffer):
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers /metrics from the program's socket, whose path the server has."""

    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds for a request, from the last one's answer; and for reading an answer

    def setup(self):
        super().setup()
        self.until = Until(self.connection)
        self.rfile = io.BufferedReader(self.until)

    def handle_one_request(self):
        self.until.end = time.monotonic() + self.timeout
        super().handle_one_request()

    def do_GET(self):  # pylint: disable=invalid-name
        path = self.path.split("?")[0]
        if path == "/metrics":
            return self.metrics()
        if path == "/":
            return self.answer(200, "text/plain; charset=utf-8", b"The pools' metrics are at /metrics.\n")
        return self.answer(404, "text/plain; charset=utf-8", b"There is /metrics, and nothing else.\n")

    do_HEAD = do_GET

    def metrics(self):
        wants_open = "application/openmetrics-text" in self.headers.get("Accept", "")
        try:
            text = asking.ask(self.server.program, "openmetrics" if wants_open else "prometheus",
                               self.server.seconds)
        except asking.Unanswered as error:
            self.server.note(str(error))
            return self.answer(502, "text/plain; charset=utf-8", f"{one_line(str(error))}\n".encode(errors="replace"))
        self.server.note("")
        return self.answer(200, OPEN_METRICS if wants_open else PLAIN, text)

    def answer(self, status, kind, body):
        self.connection.settimeout(self.timeout)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        """Nothing for each request: note() tells what changes."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, where, program, seconds):
        self.program = program
        self.seconds = seconds
        self.noted = ""
        self.places = threading.BoundedSemaphore(MOST_CLIENTS)
        if ":" in where[0]:
            self.address_family = socket.AF_INET6
        super().__init__(where, Handler)

    def process_request(self, request, client_address):
        if not self.places.acquire(blocking=False):
            return self.shutdown_request(request)
        return super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def note(self, trouble):
        """Says on stderr, once, that the program doesn't answer, or does so again."""
        if trouble != self.noted:
            try:
                print(f"tarn-prometheus: {one_line(trouble or self.program + ': answers again')}", file=sys.stderr, flush=True)
            except OSError:
                pass  # nobody reads that; the next scrape is answered all the same
        self.noted = trouble

    def handle_error(self, request, client_address):
        """A client that goes away is no event."""


def address(text):
    """(host, port) of "host:port", "[::1]:port", ":port" or "port"."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tarn-prometheus", description="Serves the pools of a program that calls "
                                     "tarn::observe(PATH) to Prometheus, at http://HOST:PORT/metrics. While the program "
                                     "doesn't answer, a request is answered by 502, which Prometheus notes as up 0.")
    parser.add_argument("--socket", required=True, metavar="PATH", help="where the program answers")
    parser.add_argument("--listen", type=address, default=("127.0.0.1", PORT), metavar="HOST:PORT",
                        help=f"default: 127.0.0.1:{PORT}, this machine only; port 0: any that is free")
    asking.add_timeout(parser)
    options = parser.parse_args(arguments)
    try:
        server = Server(options.listen, options.socket, options.timeout)
    except (OSError, UnicodeError) as error:
        what = one_line(f"{options.listen[0]}:{options.listen[1]}: {getattr(error, 'strerror', None) or error}")
        print(f"tarn-prometheus: {what}", file=sys.stderr)
        return 1
    host, port = server.server_address[:2]
    print(f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0
