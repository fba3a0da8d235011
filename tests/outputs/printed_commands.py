"""Every command that an example's comments or the README print runs as it is printed.

    printed_commands.py FORETOKEN

`foretoken ...` is run where the sources are; a line of options alone (`--set ...`) is a change of
the example that was named last before it, in an example's comments of that example. What takes its
time (plan, sweep) is checked with --dry-run. Commands with a placeholder (FILE, DIR, ...) or without
arguments name a way to call, not a call: of them the options must exist.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

foretoken = sys.argv[1]
root = Path(__file__).resolve().parents[2]

# Wants arguments of the reader's own.
PLACEHOLDER = re.compile(r"\b[A-Z][A-Z_]{2,}\b(?!=)|…|\$|\bmy_run\b")
CALLS_OF_ONE_WORD = {"list", "man"}
ENDLESS = {"serve"}  # answers until it is stopped; tests/live runs it


def comments_of(example: Path) -> str:
    lines = example.read_text().splitlines()
    return " ".join(line.lstrip("# ").rstrip() for line in lines if line.startswith("#"))


def printed(text: str):
    """Code spans and indented lines, in the order of the text."""
    text = re.sub(r"\\\n\s*", " ", text)
    text = re.sub(r"^```.*?^```", lambda block: re.sub(r"^(?=\S)", "    ", block[0].replace("```", ""),
                                                     flags=re.MULTILINE),
                  text, flags=re.MULTILINE | re.DOTALL)
    for match in re.finditer(r"`([^`]+)`|^ {4,}(?:build/release/)?(foretoken .*)$", text, re.MULTILINE):
        yield " ".join((match[1] or match[2]).split())


def calls_of(text: str, example: str):
    """(words, is_whole) of every command in `text`."""
    for span in printed(text):
        if re.fullmatch(r"examples/\S+\.toml", span) and "/" not in span[len("examples/"):]:
            example = span
        if span.startswith("--") and example and "=" in span:
            call = "sweep" if span.startswith("--vary") else "simulate"
            span = f"foretoken {call} {example} {span}"
        if not span.startswith("foretoken "):
            continue
        words = shlex.split(span, comments=True)[1:]
        for word in words:
            if re.fullmatch(r"examples/\w+\.toml", word):
                example = word
        is_whole = not PLACEHOLDER.search(span) and (len(words) > 2 or words[0] in CALLS_OF_ONE_WORD
                                                     or words[1:] == ["list"])
        if len(words) == 2 and (root / words[1]).exists():
            is_whole = True
        yield words, is_whole


def command_of(words, is_whole, folder: Path):
    if not is_whole or words[0] in ENDLESS:
        return [foretoken, *words, "--help"]
    extra = []
    if words[0] in ("plan", "sweep"):
        extra = ["--dry-run"]
    if words[0] == "compare":
        extra = ["--out", str(folder / "compare")]
    return [foretoken, *words, *extra]


pages = [(path, comments_of(path), str(path.relative_to(root)))
         for path in sorted((root / "examples").glob("*.toml"))]
pages += [(path, comments_of(path), "") for path in sorted((root / "examples").glob("*/*.toml"))
          if path.parent.name != "errors"]
pages += [(path, path.read_text(), "examples/quickstart.toml")
          for path in (root / "README.md", root / "sim/serving/README.md",
                       root / "sim/planner/README.md")]

failures, runs, wholes = 0, {}, 0
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for entry in root.iterdir():  # outputs by default stand where the user does
        if not entry.name.startswith(".") and entry.name != "build":
            (folder / entry.name).symlink_to(entry)
    for page, text, example in pages:
        for words, is_whole in calls_of(text, example):
            key = (tuple(words), is_whole)
            if key in runs:
                continue
            command = command_of(words, is_whole, folder)
            runs[key] = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                                       stdin=subprocess.DEVNULL, check=False)
            wholes += is_whole
            if runs[key].returncode not in (0, 1):
                failures += 1
                print(f"{page.relative_to(root)}: {shlex.join(['foretoken', *command[1:]])}\n"
                      f"  status {runs[key].returncode}: {runs[key].stderr}", file=sys.stderr)
print(f"{wholes} commands ran, of {len(runs) - wholes} the options exist")
if wholes < 30:
    sys.exit(f"only {wholes} commands were found")
sys.exit(1 if failures else 0)
