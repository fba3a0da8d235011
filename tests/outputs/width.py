"""On 80 columns no line of a table, a list or a help text is wider, and no name in them is cut.

    width.py FORETOKEN [PROGRAM...]

Of other programs, their help.

Also: NO_COLOR and TERM=dumb on a terminal, where colours and lines that are written over would show,
and titles that hold escape sequences, which must not reach it.
"""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

foretoken, *others = sys.argv[1:]
root = Path(__file__).resolve().parents[2]
plain = {key: value for key, value in os.environ.items()
         if key not in ("COLUMNS", "NO_COLOR", "TERM", "LINES")}
failures = []


def fail(message):
    failures.append(message)


def run(arguments, columns=80, folder=root, program=foretoken):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True,
                          env={**plain, "COLUMNS": str(columns)}, stdin=subprocess.DEVNULL,
                          check=False)
    if done.returncode not in (0, 1):
        fail(f"{Path(program).name} {' '.join(arguments)}: status {done.returncode}: {done.stderr}")
    return done.stdout


def on_terminal(arguments, columns=80, **environment):
    """What a terminal is sent, standard output and standard error alike."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([foretoken, *arguments], cwd=root, stdin=theirs, stdout=theirs,
                               stderr=theirs, env={**plain, "COLUMNS": str(columns),
                                                   "TERM": "xterm", **environment})
    os.close(theirs)
    sent = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        sent += part
    process.wait()
    os.close(ours)
    return sent.decode(errors="replace")


few = ["--set", "workload.requests=30"]
quickstart = "examples/quickstart.toml"
work = Path(tempfile.mkdtemp())
commands = [
    ["list"], ["gpu", "list"], ["model", "list"], ["cluster", "list"], ["engine", "list"],
    ["gpu", "show", "h200-sxm"], ["model", "show", "deepseek-v3"], ["engine", "show", "vllm-v1"],
    ["cluster", "show", "h100-sxm-8x4"], ["cluster", "show", "examples/clusters/torus.toml"],
    ["cluster", "show", "examples/clusters/h100_and_h200.toml"],
    ["cluster", "show", "examples/clusters/cube_mesh.toml"],
    ["cluster", "show", "examples/clusters/pcie_switches.toml"],
    ["gpu", "check", "examples/gpus/imaginary-x1.toml"],
    ["cluster", "check", "examples/clusters/torus.toml"],
    ["simulate", quickstart, *few], ["simulate", "examples/disaggregated.toml", *few],
    ["simulate", "examples/priorities.toml", *few],
    ["simulate", "examples/speculative_eagle.toml", *few],
    ["simulate", "examples/node_failure.toml"],
    ["compare", quickstart, *few, "--tp", "1", "--out", str(work / "compare")],
    ["compare", "examples/engines.toml", *few, "--preset", "vllm-v1,sglang,tensorrt-llm",
     "--out", str(work / "engines")],
    ["sweep", quickstart, *few, "--vary", "workload.rate=4 /s,8 /s", "--vary", "run.seed=1,2",
     "--store", str(work / "s.sqlite")],
    ["sweep", quickstart, *few, "--vary", "workload.rate=4 /s,8 /s", "--dry-run"],
    ["explain", quickstart, *few, "--split-only"],
    ["plan", "examples/plan.toml", "--dry-run"],
    ["step", "--model", "llama-3.1-70b", "--cluster", "h100-sxm-8", "--tp", "4", "--prefill",
     "1x2048", "--decode", "32x2000"],
    ["step", "--model", "deepseek-v3", "--cluster", "h200-sxm-8", "--tp", "8", "--decode", "4x900"],
    ["validate", "examples/served"],
    ["calibrate-host", "examples/served"],
    ["diagnose", "calibration/datasets/h200/rms_norm.csv"],
]
commands += [(root / "examples" / f"{name}.cmd").read_text().split()
             for name in ("select", "select_b200", "dispatch", "dispatch_b200", "step_moe")
             if '"' not in (root / "examples" / f"{name}.cmd").read_text()]


def subcommands_of(path, program=foretoken):
    text = run([*path, "--help"], columns=160, program=program)
    listed = text.split("Subcommands:\n")[1].split("\n\n")[0] if "Subcommands:\n" in text else ""
    names = re.findall(r"^  ([\w-]+) ", listed, re.MULTILINE)
    return [[*path, "--help"]] + [help_ for name in names for help_ in subcommands_of([*path, name], program)]


commands += subcommands_of([])
for program in (foretoken, *others):
    for arguments in commands if program == foretoken else subcommands_of([], program):
        for line in run(arguments, program=program).splitlines():
            if len(line) > 80:
                fail(f"{Path(program).name} {' '.join(arguments)}: {len(line)} columns: {line}")

# Names stand whole, at any width that is asked for.
for kind, key in (("gpu", None), ("model", "models"), ("cluster", None)):
    listed = json.loads(run([kind, "list", "--json"]))
    for columns in (60, 80, 200):
        text = run([kind, "list"], columns)
        for entry in listed if key is None else listed[key]:
            if not re.search(rf"(^|\s){re.escape(entry['name'])}(\s|$)", text):
                fail(f"foretoken {kind} list on {columns} columns cuts {entry['name']}")
everything = json.loads(run(["list", "--json"]))
text = run(["list"])
for family in ("predictors", "schedulers", "engine_presets", "routers", "arrivals", "trace_formats"):
    for entry in everything[family]:
        words = " ".join(text.split())
        if " ".join(entry["summary"].split()) not in words:
            fail(f"foretoken list cuts {entry['name']}: {entry['summary']}")
if not any(len(line) > 90 for line in run(["simulate", "--help"], 120).splitlines()):
    fail("help does not follow COLUMNS")

# A terminal: colours, unless told otherwise; a progress line that is written over, never wider. It is
# drawn ten times a second: the run doubles until one is seen, however fast the program is.
seen = on_terminal(["gpu", "list"])
if "\x1b[" not in seen:
    fail("no colours on a terminal")
for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
    if "\x1b" in on_terminal(["gpu", "list"], **environment):
        fail(f"escapes with {environment}")
if "\x1b[" not in on_terminal(["gpu", "list"], NO_COLOR=""):
    fail("an empty NO_COLOR takes the colours")


def run_of(requests):
    return ["simulate", quickstart, "--set", f"workload.requests={requests}", "--set",
            "workload.rate=8 /s"]


def lines_drawn(requests, columns):
    sent = on_terminal(run_of(requests), columns)
    return [part.split("\r")[0] for part in sent.split("\r\x1b[K")[1:]]


requests = 12000
while (not any("requests" in part for part in lines_drawn(requests, 80))
       and requests < 1000000):
    requests *= 2
requests *= 2
for columns in (50, 80):
    drawn = lines_drawn(requests, columns)
    if not any("requests" in part for part in drawn):
        fail(f"no progress line was seen in a run of {requests} requests")
    for part in drawn:
        line = part.split("\n")[0]
        if "simulated" in line and len(line) >= columns:
            fail(f"a progress line of {len(line)} on {columns} columns: {line}")
if "\x1b" in on_terminal(run_of(requests), TERM="dumb"):
    fail("progress on a dumb terminal")

# Titles of a user's files.
shutil.copytree(root / "examples" / "gpus", work / "gpus")
gpu = work / "gpus" / "imaginary-x1.toml"
gpu.write_text(re.sub(r'^title = .*$', r'title = "X\\u001b]0;owned\\u0007 \\u009b31m"', gpu.read_text(),
                      flags=re.MULTILINE))
if "owned" not in gpu.read_text():
    fail("the imaginary GPU has no title to change")
for arguments in (["gpu", "show", str(gpu)], ["gpu", "show", str(gpu), "--json"],
                  ["simulate", quickstart, *few, "--set", f"cluster.name={gpu}"],
                  ["simulate", quickstart, *few, "--set", f"cluster.name={gpu}", "--json"],
                  ["simulate", quickstart, "--set", "engine.a\x1b]0;owned\x07=1"]):
    seen = on_terminal(arguments, NO_COLOR="1")
    for escape in ("\x1b", "\x07", "\u009b"):
        if escape in seen:
            fail(f"{escape!r} of a title reaches the terminal: foretoken {' '.join(arguments)!r}")

shutil.rmtree(work)
print("\n".join(failures), file=sys.stderr)
sys.exit(1 if failures else 0)
