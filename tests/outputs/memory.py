"""What a run may hold in memory: memory.py FORETOKEN. 2,000 failures of replicas, of GPUs of a
pipeline, and of whole nodes, each with requests that are sent again at once, stay below 512 MiB (44
are seen, 190 with 512 replicas)."""
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


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, layout in LAYOUTS.items():
            path = pathlib.Path(folder, f"{name}.toml")
            path.write_text(scenario(*layout))
            run = subprocess.run([sys.argv[1], "simulate", path, "--json"], capture_output=True)
            if run.returncode not in (0, 1):
                sys.exit(f"{name}: exit status {run.returncode}: {run.stderr.decode()}")
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            if not b"failures" in run.stdout:
                sys.exit(f"{name}: the report tells of no failures")
            print(f"{name}: at most {peak:.0f} MiB so far")
            if peak > LIMIT_MIB:
                sys.exit(f"{name}: {FAILURES} failures take {peak:.0f} MiB, more than {LIMIT_MIB}")


main()
