"""tarn-prometheus: a program's pools for Prometheus, over HTTP."""

import argparse
import http.server
import socket
import sys

from . import asking

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PORT = 9477


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers /metrics from the program's socket, whose path the server has."""

    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds for a client that connects and says nothing

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
            return self.answer(502, "text/plain; charset=utf-8", f"{error}\n".encode())
        self.server.note("")
        return self.answer(200, OPEN_METRICS if wants_open else PLAIN, text)

    def answer(self, status, kind, body):
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
        if ":" in where[0]:
            self.address_family = socket.AF_INET6
        super().__init__(where, Handler)

    def note(self, trouble):
        """Says on stderr, once, that the program doesn't answer, or does so again."""
        if trouble != self.noted:
            print(f"tarn-prometheus: {trouble or self.program + ': answers again'}", file=sys.stderr, flush=True)
        self.noted = trouble

    def handle_error(self, request, client_address):
        """A client that goes away is no event."""


def address(text):
    """(host, port) of "host:port", "[::1]:port", ":port" or "port"."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
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
    except OSError as error:
        print(f"tarn-prometheus: {options.listen[0]}:{options.listen[1]}: {error.strerror}", file=sys.stderr)
        return 1
    host, port = server.server_address[:2]
    print(f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0
