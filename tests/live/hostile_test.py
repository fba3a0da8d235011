"""Clients that mean harm, or are broken: each is refused or waited out, and others are served."""
import os
import resource
import socket
import sys
import unittest

from server import Server


def request(body, extra=""):
    return (f"POST /v1/completions HTTP/1.1\r\nHost: x\r\n{extra}"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def answer_to(client):
    """All that comes until the server closes or resets the connection."""
    got = b""
    try:
        while part := client.recv(65536):
            got += part
    except ConnectionError:
        pass
    return got


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop()[0] == 0

    def tearDown(self):
        self.assertIsNone(self.server.process.poll(), "the server is gone")
        status, answer = self.server.complete(prompt="x", max_tokens=2, ignore_eos=True)
        self.assertEqual((status, answer["choices"][0]["text"]), (200, " 000 001"))

    def flood(self, head, piece, size):
        """Sends `head` and then `size` bytes; how far it came, and the answer."""
        sent = 0
        with self.server.connect() as client:
            client.sendall(head)
            try:
                while sent < size:
                    sent += client.send(piece)
            except ConnectionError:
                return sent, b""
            return sent, answer_to(client)

    def memory(self):
        with open(f"/proc/{self.server.process.pid}/status") as file:
            return int(next(line.split()[1] for line in file if line.startswith("VmRSS:"))) * 1024

    def test_a_line_of_a_gigabyte(self):
        before = self.memory()
        sent, answer = self.flood(b"GET /", b"a" * (1 << 20), 1 << 30)
        self.assertLess(sent, 1 << 30)
        self.assertTrue(answer == b"" or b" 431 " in answer, answer[:100])
        self.assertLess(self.memory() - before, 64 << 20)

    def test_a_body_of_a_gigabyte(self):
        before = self.memory()
        with self.server.connect() as client:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: "
                           b"1000000000\r\n\r\n")
            self.assertIn(b" 413 ", answer_to(client))
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        sent, answer = self.flood(head, b"100000\r\n" + b"a" * (1 << 20) + b"\r\n", 1 << 30)
        self.assertLess(sent, 1 << 30)
        self.assertTrue(answer == b"" or b" 413 " in answer, answer[:100])
        self.assertLess(self.memory() - before, 64 << 20)

    def test_a_header_too_large(self):
        with self.server.connect() as client:
            client.sendall(b"GET /health HTTP/1.1\r\n" + b"".join(
                b"X-%d: %s\r\n" % (i, b"y" * 100) for i in range(1000)) + b"\r\n")
            self.assertIn(b" 431 ", answer_to(client))

    def test_garbage(self):
        for garbage in [b"\x00" * 100 + b"\r\n\r\n", os.urandom(5000) + b"\r\n\r\n",
                        b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
                        b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/completions HTTP/1.1\r\n"
                        b"Content-Length: -5\r\n\r\n", b"POST / HTTP/1.1\r\nTransfer-Encoding: "
                        b"chunked\r\n\r\nzz\r\n"]:
            with self.server.connect() as client:
                client.sendall(garbage)
                client.shutdown(socket.SHUT_WR)
                answer = answer_to(client)
                self.assertTrue(answer == b"" or b" 400 " in answer or b" 431 " in answer,
                                (garbage[:40], answer[:100]))

    def test_deep_and_cut_json(self):
        for body in ["[" * 100000, '{"prompt":' + "[" * 50000, '{"prompt": "\\ud800"}',
                     '{"prompt": [' + "1," * 500000, '{"a":' * 30000]:
            with self.server.connect() as client:
                client.sendall(request(body, "Connection: close\r\n"))
                self.assertIn(b" 400 ", answer_to(client))

    def test_slow_senders_block_nobody(self):
        slow = [self.server.connect() for _ in range(200)]
        for client in slow:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        for _ in range(3):
            for client in slow:
                client.sendall(b"a")
            self.assertEqual(self.server.ask("GET", "/health")[0], 200)
        for client in slow:
            client.close()

    def test_half_closed_and_gone(self):
        body = '{"prompt": "x", "max_tokens": 100000, "ignore_eos": true, "stream": true}'
        for cut in range(0, len(request(body)), 7):
            with self.server.connect() as client:
                client.sendall(request(body)[:cut])
                client.shutdown(socket.SHUT_WR)
        for _ in range(50):
            with self.server.connect() as client:
                client.sendall(request(body))
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  b"\x01\x00\x00\x00\x00\x00\x00\x00")  # a reset
        with self.server.connect() as client:  # says it is through, and still reads
            client.sendall(request(body))
            client.shutdown(socket.SHUT_WR)
            answer_to(client)

    def test_a_reader_that_does_not_read(self):
        body = '{"prompt": "x", "max_tokens": 100000, "ignore_eos": true, "stream": true}'
        clients = [self.server.connect() for _ in range(20)]
        for client in clients:
            client.sendall(request(body))
        self.assertEqual(self.server.ask("GET", "/health")[0], 200)
        for client in clients:
            client.close()

    def test_more_connections_than_there_may_be(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 4300:
            self.skipTest("too few open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4300), hard))
        clients = [self.server.connect() for _ in range(4150)]
        refused = answer_to(clients[-1])
        self.assertIn(b" 503 ", refused)
        for client in clients:
            client.close()
        # Their places are free once the server has seen them go.
        for _ in range(100):
            try:
                if self.server.ask("GET", "/health")[0] == 200:
                    break
            except ConnectionError:
                continue


if __name__ == "__main__":
    sys.exit(unittest.main())
