"""Commands of the program that answer in JSON, for notebooks: the same program, the same answer."""
import contextlib as _contextlib
import json as _json
import os as _os
import pathlib as _pathlib
import re as _re
import shutil as _shutil
import subprocess as _subprocess
import tempfile as _tempfile
import warnings as _warnings

from . import _foretoken
from ._foretoken import ConfigError, RunError


def step(scenario=None, *, prefill="", decode="", set=(), folder=".", **options):
    """Prices one engine iteration: the dict that `foretoken step --json` prints.

    prefill, decode: the batch, as "1x2048,1x512@4096" and "64x1024". Of a scenario (a dict or a path)
    that step's model, cluster and engine are taken, with `set` on top; without one they are options
    of the command, as in step(model="llama-3.1-8b", gpu="h200-sxm", tp=1, decode="64x1024").
    """
    options = {"prefill": prefill or None, "decode": decode or None, **options}
    if scenario is None:
        return _answer("step", [], set, options)
    with _scenario_file(scenario, folder) as path:
        return _answer("step", ["--scenario", path], set, options, _named(scenario, path))


def explain(scenario, *, set=(), folder=".", **options):
    """Explains why a request is slow: the dict that `foretoken explain --json` prints.

    Options of the command by their names: explain(path, percentile="tpot:99", split_only=True).
    """
    with _scenario_file(scenario, folder) as path:
        return _answer("explain", [path], set, options, _named(scenario, path))


def sweep(scenario, vary, *, set=(), folder=".", store=None, **options):
    """Simulates every combination of `vary`, {"workload.rate": ["4 /s", "8 /s"]}: the dict that
    `foretoken sweep --json` prints.

    store: a file of finished runs, from which the same sweep resumes; without one none is kept.
    """
    for key, values in vary.items():
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise ConfigError(f"{key}: must be a list of the values to try, as [1, 2, 4]")
    varied = [f"{key}={','.join(map(str, values))}" for key, values in vary.items()]
    with _scenario_file(scenario, folder) as path, _tempfile.TemporaryDirectory() as scratch:
        store = store or _pathlib.Path(scratch) / "runs.sqlite"
        options = {"vary": varied, "store": store, **options}
        return _answer("sweep", [path], set, options, _named(scenario, path))


def plan(scenario, *, set=(), folder=".", out=None, **options):
    """Finds the cheapest deployment that meets the SLO: the dict that `foretoken plan --json` prints.

    out: a folder for plan.csv, plan.json and the finished runs, from which the same plan resumes;
    without one none is kept. Options of the command by their names: plan(path, gpus=["h100-sxm",
    "l40s"], tp=[1, 2], max_load=True).
    """
    with _scenario_file(scenario, folder) as path, _tempfile.TemporaryDirectory() as scratch:
        return _answer("plan", [path], set, {"out": out or scratch, **options},
                       _named(scenario, path))


@_contextlib.contextmanager
def _scenario_file(scenario, folder):
    """The path of a scenario; a dict's lies in `folder`, where its relative paths start."""
    if not isinstance(scenario, dict):
        if not isinstance(scenario, (str, _os.PathLike)):
            raise ConfigError("scenario: must be a dict or the path of a TOML file")
        yield _os.fspath(scenario)
        return
    text = _foretoken.scenario_text(scenario)
    with _tempfile.NamedTemporaryFile("w", prefix=".scenario-", suffix=".toml", dir=folder) as file:
        file.write(text)
        file.flush()
        yield file.name


def _named(scenario, path):
    """How messages call a dict's file, which nobody has seen: "scenario", without its lines."""
    return _re.compile(_re.escape(path) + r"(:\d+)*") if isinstance(scenario, dict) else None


def _answer(name, arguments, set, options, hidden=None):
    """The command's JSON. `hidden`: what its messages call "scenario" instead."""
    words = [str(_program()), name, *map(str, arguments)]
    for key, value in {"set": list(set), **options}.items():
        option = "--" + key.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)) and key in ("set", "vary"):
            words += [word for each in value for word in (option, str(each))]
        elif isinstance(value, (list, tuple)):
            words += [option, ",".join(map(str, value))]
        else:
            words += [option, str(value)]
    run = _subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    told = run.stderr if hidden is None else hidden.sub("scenario", run.stderr)
    said = [line.removeprefix("foretoken: ") for line in told.splitlines() if line]
    if run.returncode == 130:
        raise KeyboardInterrupt
    if run.returncode == 2:
        raise ConfigError("\n".join(said))
    if run.returncode not in (0, 1) or not run.stdout:
        raise RunError("\n".join(said) or f"the program ended with status {run.returncode}")
    for line in told.splitlines():
        if line.startswith("foretoken: "):
            _warnings.warn(line.removeprefix("foretoken: "), stacklevel=3)
    return _json.loads(run.stdout if hidden is None else hidden.sub("scenario", run.stdout))


def _program():
    """The program of this module's build or installation."""
    here = _pathlib.Path(__file__).resolve().parent
    for folder in here.parents:
        for path in (folder / "bin" / "foretoken", folder / "foretoken"):
            if path.is_file() and _os.access(path, _os.X_OK):
                return path
    found = _shutil.which("foretoken")
    if found:
        return found
    raise RunError("the program 'foretoken' was not found beside this module nor in PATH; install it")
