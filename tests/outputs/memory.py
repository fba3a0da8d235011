"""What a run may hold in memory: memory.py FORETOKEN. 2,000 failures of replicas, of GPUs of a
pipeline, and of whole nodes, each with requests that are sent again at once, stay below 512 MiB (44
are seen, 190 with 512 replicas); so do 1,900 steps of eight attention ranks, each with other
schedules of CTAs (20 by themselves; 1,300 with lists of CTAs that came and went)."""
import pathlib
import resource
import subprocess
import sys
import tempfile

LIMIT_MIB = 512
FAILURES = 2000
SECONDS = 20.0

LAYOUTS = {
    "replicas": ("h100-sxm-8x4", 1, 1, 32, lambda i: f"replica = {i % 32}"),
    "pipelines": ("h100-sxm-8x4", 2, 4, 4, lambda i: f"gpu = {i % 32}"),
    "nodes": ("h100-sxm-8x4", 8, 2, 2, lambda i: f"node = {i % 4}"),
}


def scenario(cluster, tensor, pipeline, replicas, target):
    text = f"""
[model]
name = "llama-3.1-8b"
[cluster]
name = "{cluster}"
[deployment]
tensor_parallel = {tensor}
pipeline_parallel = {pipeline}
replicas = {replicas}
[front_end]
attempts_max = 1000
retry_delay = "0.001 s"
[startup]
time = "0.1 s"
[workload]
arrivals = "poisson"
rate = "40 /s"
duration = "{SECONDS} s"
prompt_tokens = 500
output_tokens = 100
"""
    for i in range(FAILURES):
        at = SECONDS * (i + 1) / (FAILURES + 1)
        text += f'[[failures]]\nat = "{at:.4f} s"\n{target(i)}\nrecovers_after = "0.2 s"\n'
    return text


RANKS = """
[model]
name = "deepseek-r1"
kv_dtype = "fp8"
[cluster]
name = "b200-sxm-8"
[deployment]
data_parallel_attention = 8
expert_parallel = 8
[engine]
preset = "tensorrt-llm"
speculative = { method = "mtp", drafts = 1, acceptance = 0.7 }
[workload]
arrivals = "closed_loop"
users = 64
requests = 192
prompt_tokens = { distribution = "uniform", min = 6553, max = 8192 }
output_tokens = { distribution = "uniform", min = 819, max = 1024 }
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        scenarios = {name: scenario(*layout) for name, layout in LAYOUTS.items()}
        for name, text in (scenarios | {"ranks": RANKS}).items():
            path = pathlib.Path(folder, f"{name}.toml")
            path.write_text(text)
            run = subprocess.run([sys.argv[1], "simulate", path, "--json"], capture_output=True)
            if run.returncode not in (0, 1):
                sys.exit(f"{name}: exit status {run.returncode}: {run.stderr.decode()}")
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            if name in LAYOUTS and b"failures" not in run.stdout:
                sys.exit(f"{name}: the report tells of no failures")
            print(f"{name}: at most {peak:.0f} MiB so far")
            if peak > LIMIT_MIB:
                sys.exit(f"{name}: {peak:.0f} MiB, more than {LIMIT_MIB}")


main()
