"""The Python module against the program's own answers, and its mistakes."""
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import foretoken

SOURCE = pathlib.Path(os.environ["FORETOKEN_SOURCE"])
QUICKSTART = SOURCE / "examples" / "quickstart.toml"
FEW = ["workload.requests=30"]


def small_scenario():
    return {
        "model": {"name": "llama-3.1-8b"},
        "cluster": {"name": "h200-sxm-1"},
        "workload": {
            "arrivals": "poisson",
            "rate": "4 /s",
            "requests": 20,
            "prompt_tokens": 500,
            "output_tokens": 20,
        },
    }


class Simulate(unittest.TestCase):
    def test_a_file_gives_the_programs_report(self):
        program = pathlib.Path(foretoken.__file__).parents[2] / "foretoken"
        told = subprocess.run(
            [program, "simulate", "examples/quickstart.toml", "--set", FEW[0], "--json"],
            cwd=SOURCE, capture_output=True, check=True, text=True).stdout
        os.chdir(SOURCE)
        report = foretoken.simulate("examples/quickstart.toml", set=FEW)
        self.assertEqual(report, json.loads(told))

    def test_a_dict_twice_gives_the_same(self):
        first = foretoken.simulate(small_scenario())
        self.assertEqual(first["requests"]["completed"], 20)
        self.assertEqual(first, foretoken.simulate(small_scenario()))

    def test_requests_are_a_table(self):
        report = foretoken.simulate(QUICKSTART, set=FEW, requests=True)
        rows = list(csv.DictReader(io.StringIO(report["requests_csv"])))
        self.assertEqual(len(rows), 30)
        self.assertTrue(all(float(row["ttft_ms"]) > 0 for row in rows))

    def test_requests_are_rows_with_numbers(self):
        table = foretoken.simulate(QUICKSTART, set=FEW).requests
        try:
            import pandas
        except ImportError:
            self.assertEqual(len(table), 30)
            self.assertTrue(all(row["ttft_ms"] > 0 for row in table))
            self.assertEqual(table[7]["status"], "completed")
            self.assertIsNone(table[7]["reason"])
            return
        self.assertIsInstance(table, pandas.DataFrame)
        self.assertEqual(len(table), 30)
        self.assertGreater(table["ttft_ms"].min(), 0)

    def test_everything_public_has_words_and_types(self):
        types = pathlib.Path(foretoken.__file__).with_suffix(".pyi").read_text()
        for name in set(foretoken.__all__) - {"__version__"}:
            self.assertIn(name, types)
            self.assertTrue(getattr(foretoken, name).__doc__ or "Error" in name, name)
        self.assertEqual(foretoken.ConfigError.__module__, "foretoken")

    def test_a_scenario_must_be_a_dict_or_a_path(self):
        for ask in (foretoken.simulate, foretoken.explain, foretoken.step, foretoken.plan):
            with self.assertRaisesRegex(foretoken.ConfigError, "must be a dict or the path"):
                ask(5)

    def test_threads_may_simulate_at_once(self):
        reports = [None] * 3

        def run(i):
            reports[i] = foretoken.simulate(small_scenario())

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(reports))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertIsNotNone(reports[0])
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(reports[0], reports[2])

    def test_ctrl_c_is_a_keyboard_interrupt_and_handlers_come_back(self):
        before = signal.getsignal(signal.SIGINT)
        scenario = small_scenario()
        scenario["workload"]["requests"] = 2_000_000
        killer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        killer.start()
        with self.assertRaises(KeyboardInterrupt):
            foretoken.simulate(scenario)
        killer.join()
        self.assertEqual(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)

    def test_all_mistakes_come_together_with_their_keys(self):
        scenario = small_scenario()
        scenario["model"]["nam"] = "x"
        scenario["workload"]["rate"] = 4
        with self.assertRaises(foretoken.ConfigError) as caught:
            foretoken.simulate(scenario)
        self.assertIn("scenario.model.nam: unknown key 'nam' in [model]; did you mean 'name'?",
                      str(caught.exception))
        self.assertIn("scenario.workload.rate", str(caught.exception))

    def test_what_does_not_fit_is_a_config_error(self):
        scenario = small_scenario()
        scenario["model"]["name"] = "llama-3.1-405b"
        with self.assertRaisesRegex(foretoken.ConfigError, "GiB"):
            foretoken.simulate(scenario)

    def test_what_has_no_counterpart_is_named(self):
        scenario = small_scenario()
        scenario["workload"]["requests"] = object()
        with self.assertRaisesRegex(foretoken.ConfigError, r"scenario\.workload\.requests: is of type "
                                                           r"object"):
            foretoken.simulate(scenario)
        scenario["workload"]["requests"] = 1 << 70
        with self.assertRaisesRegex(foretoken.ConfigError, "beyond 64 bits"):
            foretoken.simulate(scenario)


class Commands(unittest.TestCase):
    """step, explain, sweep and plan: what the commands print."""

    def told(self, *words):
        program = pathlib.Path(foretoken.__file__).parents[2] / "foretoken"
        run = subprocess.run([program, *words, "--json"], cwd=SOURCE, capture_output=True, check=True,
                             text=True)
        return json.loads(run.stdout)

    def setUp(self):
        os.chdir(SOURCE)

    def test_step_gives_the_programs_answer(self):
        self.assertEqual(
            foretoken.step("examples/quickstart.toml", decode="64x1024", prefill="1x512"),
            self.told("step", "--scenario", "examples/quickstart.toml", "--decode", "64x1024",
                      "--prefill", "1x512"))
        of_options = foretoken.step(model="llama-3.1-8b", cluster="h100-sxm-8", tp=4, decode="8x100")
        self.assertEqual(of_options, self.told("step", "--model", "llama-3.1-8b", "--cluster",
                                               "h100-sxm-8", "--tp", "4", "--decode", "8x100"))
        more = foretoken.step(model="llama-3.1-8b", cluster="h100-sxm-8", tp=4, decode="16x100")
        self.assertGreater(more["total_us"], of_options["total_us"])

    def test_explain_gives_the_programs_answer(self):
        answer = foretoken.explain("examples/quickstart.toml", set=FEW, percentile="tpot:90",
                                   split_only=True)
        self.assertEqual(answer, self.told("explain", "examples/quickstart.toml", "--set", FEW[0],
                                           "--percentile", "tpot:90", "--split-only"))

    def test_sweep_runs_every_combination_of_a_dict(self):
        answer = foretoken.sweep(small_scenario(), {"workload.rate": ["4 /s", "8 /s"],
                                                    "engine.sequences_max": [8, 16]})
        self.assertTrue(answer["complete"])
        self.assertEqual(len(answer["points"]), 4)
        with self.assertRaisesRegex(foretoken.ConfigError, "must be a list"):
            foretoken.sweep(small_scenario(), {"workload.rate": "4 /s"})

    def test_plan_finds_the_cheapest_for_a_dict(self):
        scenario = {**small_scenario(), "slo": {"ttft": "1 s"}}
        answer = foretoken.plan(scenario, gpus=["h100-sxm", "l40s"], tp=[1], quick=True)
        best = answer["candidates"][answer["cheapest"]]
        costs = [each["dollars_per_hour"]["value"] for each in answer["candidates"]
                 if "dollars_per_hour" in each]
        self.assertEqual(best["dollars_per_hour"]["value"], min(costs))

    def test_mistakes_name_the_scenario_and_leave_nothing_behind(self):
        scenario = small_scenario()
        scenario["model"]["nam"] = "x"
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(foretoken.ConfigError) as caught:
                foretoken.step(scenario, decode="1x10", folder=folder)
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(str(caught.exception),
                         "scenario: unknown key 'nam' in [model]; did you mean 'name'?")
        with self.assertRaisesRegex(foretoken.ConfigError, "did you mean --decode"):
            foretoken.step(model="llama-3.1-8b", gpu="h100-sxm", decod="1x10")

    def test_ctrl_c_is_a_keyboard_interrupt(self):
        scenario = small_scenario()
        scenario["workload"]["requests"] = 2_000_000
        killer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
        killer.start()
        with self.assertRaises(KeyboardInterrupt):
            foretoken.explain(scenario)
        killer.join()


class Numpy:
    """Stands for a NumPy scalar or array, which need not be installed."""
    dtype = "int64"

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value


class Count:
    def __index__(self):
        return 64


class Predict(unittest.TestCase):
    gemm = {"kernel": "gemm", "m": 64, "n": 4096, "k": 4096}

    def test_one_and_many(self):
        one = foretoken.predict(self.gemm, gpu="h200-sxm")
        self.assertGreater(one["time_us"], 0)
        self.assertEqual(one["m"], 64)
        self.assertEqual(foretoken.predict([self.gemm, self.gemm], gpu="h200-sxm"), [one, one])
        self.assertIn("explain", foretoken.predict(self.gemm, gpu="h200-sxm", explain=True))

    def test_integers_of_other_kinds(self):
        plain = foretoken.predict(self.gemm, gpu="h200-sxm")
        for m in (Numpy(64), Count()):
            self.assertEqual(foretoken.predict({**self.gemm, "m": m}, gpu="h200-sxm"), plain)
        attention = {"kernel": "attention", "query_heads": 32, "kv_heads": 8, "head_dim": 128}
        self.assertEqual(
            foretoken.predict({**attention, "query_tokens": Numpy([1, 1]),
                               "context_tokens": Numpy([500, 900])}, gpu="h200-sxm"),
            foretoken.predict({**attention, "query_tokens": [1, 1], "context_tokens": [500, 900]},
                              gpu="h200-sxm"))
        try:
            import numpy
        except ImportError:
            return
        self.assertEqual(foretoken.predict({**self.gemm, "m": numpy.int64(64)}, gpu="h200-sxm"),
                         plain)
        with self.assertRaisesRegex(foretoken.ConfigError, "m: "):
            foretoken.predict({**self.gemm, "m": numpy.float32(6.5)}, gpu="h200-sxm")

    def test_neither_a_kernel_nor_a_list(self):
        for mistake in (5, None, "gemm"):
            with self.assertRaisesRegex(foretoken.ConfigError, "must be a kernel, as .* list"):
                foretoken.predict(mistake, gpu="h200-sxm")

    def test_cold_unless_told(self):
        cold = foretoken.predict(self.gemm, gpu="h200-sxm")
        warm = foretoken.predict({**self.gemm, "cold": False}, gpu="h200-sxm")
        self.assertTrue(cold["cold"])
        self.assertFalse(warm["cold"])
        own = {**self.gemm, "framework": "pytorch"}  # measured both ways
        self.assertLess(foretoken.predict({**own, "cold": False}, gpu="h200-sxm")["time_us"],
                        foretoken.predict(own, gpu="h200-sxm")["time_us"])
        self.assertEqual(foretoken.predict({**self.gemm, "cold": True}, gpu="h200-sxm"),
                         {**self.gemm, **cold})

    def test_mistakes(self):
        with self.assertRaisesRegex(foretoken.ConfigError, "did you mean 'gemm'"):
            foretoken.predict({"kernel": "gem"}, gpu="h200-sxm")
        with self.assertRaisesRegex(foretoken.ConfigError, "unknown GPU 'h201'"):
            foretoken.predict(self.gemm, gpu="h201")
        with self.assertRaisesRegex(foretoken.ConfigError, "may be a100-pcie or a100-sxm"):
            foretoken.predict(self.gemm, gpu="a100")
        self.assertEqual(foretoken.predict(self.gemm, gpu="h200"),
                         foretoken.predict(self.gemm, gpu="h200-sxm"))
        with self.assertRaises(foretoken.ConfigError):
            foretoken.predict(self.gemm)


class Compare(unittest.TestCase):
    def test_rows_are_in_order_and_the_best_is_named(self):
        result = foretoken.compare(QUICKSTART, {"deployment.tensor_parallel": [2, 1]},
                                   set=FEW + ["cluster.name=h200-sxm-8"], jobs=2)
        self.assertTrue(result["complete"])
        self.assertEqual([row["layout"]["deployment.tensor_parallel"] for row in result["rows"]],
                         ["2", "1"])
        goals = {best["goal"]: best["row"] for best in result["best"]}
        self.assertEqual(goals["lowest TPOT p99"], 0)
        self.assertEqual(goals["lowest cost per token"], 1)


    def test_values_are_spelled_as_in_toml(self):
        result = foretoken.compare(QUICKSTART, {"engine.prefix_caching": [True, False]}, set=FEW)
        self.assertEqual([row["status"] for row in result["rows"]], ["ran", "ran"])
        self.assertEqual([row["layout"]["engine.prefix_caching"] for row in result["rows"]],
                         ["true", "false"])

    def test_integers_of_other_libraries_are_integers(self):
        class Integer:  # as numpy.int64 is none of Python's, and says what it is
            def __init__(self, value):
                self.value = value

            def __index__(self):
                return self.value

        few = foretoken.compare(QUICKSTART, {"engine.sequences_max": [Integer(64)]}, set=FEW)
        self.assertEqual(few["rows"][0]["layout"]["engine.sequences_max"], "64")
        both = foretoken.compare(QUICKSTART, {"deployment.replicas": (Integer(i) for i in (1, 2))},
                                 set=FEW + ["cluster.name=h200-sxm-8"])
        self.assertEqual([row["status"] for row in both["rows"]], ["ran", "ran"])
        scenario = small_scenario()
        scenario["workload"]["requests"] = Integer(20)
        self.assertEqual(foretoken.simulate(scenario)["requests"]["completed"], 20)

    def test_slips_are_mistakes_and_no_rows(self):
        for vary, said in [({"deployment.tensor_paralel": [1, 2]}, "did you mean 'tensor_parallel'"),
                           ({"engine.scheduler": ["sglan"]}, "did you mean 'sglang'"),
                           ({"deployment.tensor_parallel": "12"}, "must be a list"),
                           ({"deployment.tensor_parallel": 2}, "must be a list"),
                           ({"workload.rate": [{"a": 1}]}, "write it as a string")]:
            with self.assertRaisesRegex(foretoken.ConfigError, said):
                foretoken.compare(QUICKSTART, vary, set=FEW)


if __name__ == "__main__":
    sys.exit(unittest.main())
