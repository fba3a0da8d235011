"""A `foretoken serve` process and small ways to talk to it, for the tests beside this file."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess

PROGRAM = os.environ["FORETOKEN_PROGRAM"]
SOURCE = pathlib.Path(os.environ["FORETOKEN_SOURCE"])


class Server:
    """Serves an example on a free port; stop() gives its report."""

    def __init__(self, *arguments, example="quickstart"):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", SOURCE / f"examples/{example}.toml", "--port", "0", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = self.process.stderr.readline()
        ready = re.match(r"Serving (.*) on http://127\.0\.0\.1:(\d+)/v1 ", first)
        if not ready:
            raise AssertionError(first + self.process.stderr.read())
        self.port = int(ready[2])

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, out

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def complete(self, **body):
        status, text = self.ask("POST", "/v1/completions", body)
        return status, json.loads(text)

    def metrics(self):
        """Lines without labels' values in a row: {name{labels}: value}."""
        page = self.ask("GET", "/metrics")[1]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                for line in page.splitlines() if not line.startswith("#")}
