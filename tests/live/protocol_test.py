"""What clients of the OpenAI protocol get from `foretoken serve`."""
import json
import subprocess
import sys
import time
import unittest

from server import Server

MODEL = '{model_name="llama-3.1-8b"}'
ENGINE = '{engine="0",model_name="llama-3.1-8b"}'


def events(text):
    return [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]


class Protocol(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--speed", "20")

    @classmethod
    def tearDownClass(cls):
        status, report = cls.server.stop()
        assert status == 0 and "tokens late" in report, report

    def wait_until(self, holds):
        for _ in range(200):
            if holds():
                return
            time.sleep(0.02)
        self.fail("it did not happen")

    def test_health_models_version(self):
        self.assertEqual(self.server.ask("GET", "/health"), (200, ""))
        self.assertIn("foretoken", self.server.ask("GET", "/version")[1])
        models = json.loads(self.server.ask("GET", "/v1/models")[1])
        self.assertEqual([model["id"] for model in models["data"]], ["llama-3.1-8b"])
        self.assertEqual(models["data"][0]["max_model_len"], 131072)

    def test_a_completion_counts_its_tokens(self):
        status, answer = self.server.complete(prompt=[1, 2, 3], max_tokens=5, ignore_eos=True)
        self.assertEqual(status, 200)
        self.assertEqual(answer["choices"][0]["text"], " 000 001 002 003 004")
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")
        self.assertEqual(answer["usage"],
                         {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8})

    def test_curl_reads_a_chat_as_it_comes(self):
        body = {"model": "llama-3.1-8b", "messages": [{"role": "user", "content": "Hello"}],
                "max_tokens": 4, "ignore_eos": True, "stream": True,
                "stream_options": {"include_usage": True}}
        told = subprocess.run(
            ["curl", "-sSN", f"http://127.0.0.1:{self.server.port}/v1/chat/completions",
             "-H", "Content-Type: application/json", "-d", json.dumps(body)],
            capture_output=True, check=True, text=True).stdout
        lines = events(told)
        self.assertEqual(lines[-1], "[DONE]")
        chunks = [json.loads(line) for line in lines[:-1]]
        self.assertEqual(chunks[0]["choices"][0]["delta"]["role"], "assistant")
        said = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks[:-1]]
        self.assertEqual("".join(said), " 000 001 002 003")
        self.assertEqual(chunks[-2]["choices"][0]["finish_reason"], "length")
        self.assertEqual(chunks[-1]["choices"], [])
        self.assertEqual(chunks[-1]["usage"]["completion_tokens"], 4)

    def test_a_stop_string_ends_it(self):
        answer = self.server.complete(prompt="x", max_tokens=50, ignore_eos=True, stop=[" 003"])[1]
        self.assertEqual(answer["choices"][0]["text"], " 000 001 002")
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        self.assertEqual(answer["usage"]["completion_tokens"], 4)

    def test_a_stop_string_does_not_end_it_before_min_tokens(self):
        answer = self.server.complete(prompt="x", max_tokens=3000, ignore_eos=True, stop=[" 003"],
                                      min_tokens=10)[1]
        self.assertEqual(answer["usage"]["completion_tokens"], 1004)

    def test_lengths_are_the_scenarios_where_nobody_asks(self):
        lengths = [self.server.complete(prompt="x")[1]["usage"]["completion_tokens"]
                   for _ in range(6)]
        self.assertGreater(len(set(lengths)), 3)
        self.assertEqual(self.server.complete(prompt="x", max_tokens=2)[1]["choices"][0]["text"],
                         " 000 001")
        answer = self.server.complete(prompt="x", min_tokens=3000, max_tokens=4000)[1]
        self.assertEqual(answer["usage"]["completion_tokens"], 3000)
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")

    def test_mistakes_are_told_as_openai_does(self):
        for body, status, said in [
                ({"prompt": "x", "max_tokens": 0}, 400, "max_tokens: must be an integer"),
                ({"prompt": "x", "max_tokens": 200000}, 400, "maximum context length is 131072"),
                ({"prompt": "x", "n": 129}, 400, "n: must be an integer from 1 to 128"),
                ({"prompt": "x", "best_of": 3}, 400, "best_of: answers here have no probabilities"),
                ({"prompt": "x", "model": "gpt"}, 404, "The model `gpt` does not exist")]:
            got, answer = self.server.complete(**body)
            self.assertEqual(got, status)
            self.assertIn(said, answer["error"]["message"])
            self.assertEqual(answer["error"]["code"], status)
        self.assertEqual(self.server.ask("GET", "/v1/completions")[0], 405)
        self.assertEqual(self.server.ask("POST", "/health", {})[0], 405)
        self.assertEqual(self.server.ask("GET", "/v1")[0], 404)

    def test_equal_beginnings_hit_the_prefix_cache(self):
        prompt = "once upon a time " * 200
        self.server.complete(prompt=prompt, max_tokens=1)
        before = self.server.metrics()["vllm:prefix_cache_hits_total" + ENGINE]
        self.server.complete(prompt=prompt + "there was", max_tokens=1)
        hits = self.server.metrics()["vllm:prefix_cache_hits_total" + ENGINE] - before
        self.assertEqual(hits, len(prompt) // 64 * 16)

    def test_several_choices_share_one_prompt(self):
        prompt = "three times upon a time " * 200
        name = "vllm:prefix_cache_%s_total" + ENGINE
        before = self.server.metrics()
        status, answer = self.server.complete(prompt=prompt, n=3, max_tokens=5, ignore_eos=True)
        self.assertEqual(status, 200)
        self.assertEqual([(choice["index"], choice["text"], choice["finish_reason"])
                          for choice in answer["choices"]],
                         [(i, " 000 001 002 003 004", "length") for i in range(3)])
        self.assertEqual(answer["usage"], {"prompt_tokens": 1200, "completion_tokens": 15,
                                           "total_tokens": 1215})
        after = self.server.metrics()
        # All but the last token's block: 1199 // 16 blocks, by the second and the third.
        self.assertEqual(after[name % "queries"] - before[name % "queries"], 3 * 1200)
        self.assertEqual(after[name % "hits"] - before[name % "hits"], 2 * (1199 // 16 * 16))

    def test_choices_have_lengths_of_their_own(self):
        answer = self.server.complete(prompt="x", n=8)[1]
        lengths = [len(choice["text"]) // 4 for choice in answer["choices"]]
        self.assertGreater(len(set(lengths)), 3)
        self.assertEqual(answer["usage"]["completion_tokens"], sum(lengths))

    def test_choices_are_streamed_by_index(self):
        status, told = self.server.ask("POST", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Hello"}], "n": 2, "min_tokens": 3,
            "stream": True, "stream_options": {"include_usage": True}})
        self.assertEqual(status, 200)
        lines = events(told)
        self.assertEqual(lines[-1], "[DONE]")
        chunks = [json.loads(line) for line in lines[:-1]]
        said, ends, roles = ["", ""], [], []
        for chunk in chunks[:-1]:
            (choice,) = chunk["choices"]
            said[choice["index"]] += choice["delta"]["content"]
            roles += [choice["index"]] if "role" in choice["delta"] else []
            ends += [choice["index"]] if choice["finish_reason"] else []
        self.assertEqual(roles, [0, 1])
        self.assertEqual(sorted(ends), [0, 1])
        self.assertTrue(all(text.startswith(" 000 001 002") for text in said), said)
        self.assertEqual(chunks[-1]["usage"]["completion_tokens"], sum(map(len, said)) // 4)

    def test_a_client_that_leaves_ends_its_request(self):
        aborted = 'vllm:request_success_total{finished_reason="abort",model_name="llama-3.1-8b"}'
        before = self.server.metrics()[aborted]
        body = json.dumps({"prompt": "x", "max_tokens": 100000, "ignore_eos": True, "stream": True,
                           "n": 2})
        with self.server.connect() as client:
            client.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: "
                           f"{len(body)}\r\n\r\n{body}".encode())
            self.assertIn(b"200 OK", client.recv(1000))
            self.wait_until(
                lambda: self.server.metrics()["vllm:num_requests_running" + ENGINE] == 2)
        self.wait_until(lambda: self.server.metrics()[aborted] == before + 2)
        self.assertEqual(self.server.metrics()["vllm:num_requests_running" + ENGINE], 0)
        self.assertEqual(self.server.metrics()["vllm:kv_cache_usage_perc" + ENGINE], 0)

    def test_requests_in_a_row_on_one_connection(self):
        with self.server.connect() as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 2 +
                           b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            got = b""
            while part := client.recv(4096):
                got += part
        self.assertEqual(got.count(b"HTTP/1.1 200 OK"), 3)

    def test_an_old_client_gets_no_chunks(self):
        body = b'{"prompt": "x", "max_tokens": 2, "ignore_eos": true, "stream": true}'
        with self.server.connect() as client:
            client.sendall(b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" %
                           (len(body), body))
            got = b""
            while part := client.recv(4096):
                got += part
        head, text = got.decode().split("\r\n\r\n", 1)
        self.assertNotIn("chunked", head)
        self.assertTrue(text.startswith("data: {") and text.endswith("data: [DONE]\n\n"), text)

    def test_metrics_add_up(self):
        before = self.server.metrics()
        self.server.complete(prompt=[1] * 30, max_tokens=7, ignore_eos=True)
        after = self.server.metrics()
        for name, more in [("prompt_tokens_total", 30), ("generation_tokens_total", 7),
                           ("time_to_first_token_seconds_count", 1),
                           ("inter_token_latency_seconds_count", 6),
                           ("request_prompt_tokens_sum", 30), ("e2e_request_latency_seconds_count", 1)]:
            self.assertEqual(after[f"vllm:{name}{MODEL}"] - before[f"vllm:{name}{MODEL}"], more, name)


class Overload(unittest.TestCase):
    def test_a_full_queue_is_429_and_the_rest_is_served(self):
        server = Server("--set", "front_end.outstanding_max=1", "--json")
        body = json.dumps({"prompt": "x", "max_tokens": 100000, "ignore_eos": True, "stream": True})
        with server.connect() as client:
            client.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: "
                           f"{len(body)}\r\n\r\n{body}".encode())
            client.recv(1000)
            status, answer = server.complete(prompt="x", max_tokens=1)
            self.assertEqual(status, 429)
            self.assertEqual(answer["error"]["type"], "RateLimitError")
        status, report = server.stop()
        self.assertEqual(status, 0)
        self.assertEqual(json.loads(report)["requests"]["rejected"], 1)


class Choices(unittest.TestCase):
    def test_they_go_to_one_replica(self):
        server = Server("--speed", "20", "--set", "cluster.name=h100-sxm-1x4", "--set",
                        "deployment.replicas=4", "--set", "deployment.router=round_robin")
        for _ in range(2):
            server.complete(prompt="word " * 64, n=3, max_tokens=2)
        asked = [value for key, value in server.metrics().items()
                 if key.startswith("vllm:prefix_cache_queries_total")]
        self.assertEqual(server.stop()[0], 0)
        self.assertEqual(asked, [240, 240, 0, 0])

    def test_one_that_is_refused_ends_the_call(self):
        server = Server("--json", "--set", "engine.queue_max=2", "--set", "engine.sequences_max=1")
        status, answer = server.complete(prompt="x", n=5, max_tokens=100000, ignore_eos=True)
        self.assertEqual((status, answer["error"]["type"]), (429, "RateLimitError"))
        status, answer = server.complete(prompt="x", n=2, max_tokens=3, ignore_eos=True)
        self.assertEqual((status, len(answer["choices"])), (200, 2))
        status, report = server.stop()
        requests = json.loads(report)["requests"]
        self.assertEqual(status, 0)
        self.assertEqual((requests["arrived"], requests["completed"]), (7, 2))
        self.assertGreater(requests["rejected"], 0)
        self.assertEqual(requests["completed"] + requests["rejected"] + requests["cancelled"], 7)


class SeveralModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--speed", "20", "--json", example="two_models")

    def test_each_request_goes_to_the_model_it_names(self):
        server = self.server
        models = json.loads(server.ask("GET", "/v1/models")[1])["data"]
        self.assertEqual([model["id"] for model in models], ["llama-3.1-8b", "llama-3.1-70b"])
        for model, count in (("llama-3.1-8b", 2), ("llama-3.1-70b", 1)):
            for _ in range(count):
                status, answer = server.complete(model=model, prompt="x", max_tokens=3,
                                                 ignore_eos=True)
                self.assertEqual((status, answer["model"]), (200, model))
        status, answer = server.complete(model="gpt", prompt="x")
        self.assertEqual((status, answer["error"]["code"]), (404, 404))
        self.assertEqual(answer["error"]["message"], "The model `gpt` does not exist; this "
                         "server's are `llama-3.1-8b`, `llama-3.1-70b`")
        status, answer = server.complete(prompt="x")
        self.assertEqual(status, 400)
        self.assertIn("model: is missing; name one of", answer["error"]["message"])
        metrics = server.metrics()
        tokens = 'vllm:generation_tokens_total{model_name="%s"}'
        self.assertEqual(metrics[tokens % "llama-3.1-8b"], 6)
        self.assertEqual(metrics[tokens % "llama-3.1-70b"], 3)
        page = server.ask("GET", "/metrics")[1]
        self.assertEqual(page.count("# TYPE vllm:generation_tokens_total"), 1)
        replicas = [key for key in metrics if key.startswith("vllm:num_requests_running")]
        self.assertEqual(len(replicas), 5)
        status, report = server.stop()
        self.assertEqual(status, 0)
        arrived = {name: group["arrived"]
                   for name, group in json.loads(report)["models"].items()}
        self.assertEqual(arrived, {"llama-3.1-8b": 2, "llama-3.1-70b": 1})


if __name__ == "__main__":
    sys.exit(unittest.main())
