#!/usr/bin/env python3
"""chat_stub.py FILE: an OpenAI-compatible endpoint that answers from a script, for tests. Writes its port to
FILE. The first request is refused with 429, the second with 500; then come a source with a comment added, a
reply without code, one whose launches are no JSON, a body that is no JSON, and from there on the first again."""
import http.server
import json
import os
import re
import sys

requests = 0


class Stub(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        global requests
        requests += 1
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions" or self.headers["Authorization"] != "Bearer secret":
            return self.answer(401, "{}")
        if requests <= 2:
            return self.answer(429 if requests == 1 else 500, '{"error": "busy"}')
        source = re.search(r"```cuda\n(.*)```", asked["messages"][1]["content"], re.S).group(1)
        replies = {3: f"Here it is.\n```cuda\n// rewritten\n{source}```\n", 4: "I would rather not.",
                   5: f"```cuda\n{source}```\n```json\n[{{]\n```\n", 6: None}
        text = replies.get(requests, replies[3])
        if text is None:
            return self.answer(200, "<html>")
        self.answer(200, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}],
                                     "usage": {"prompt_tokens": 1000, "completion_tokens": 200}}))

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(text.encode())


server = http.server.HTTPServer(("127.0.0.1", 0), Stub)
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".part", sys.argv[1])
server.serve_forever()
