"""The figures of calibration/datasets/README.md are those of its files and commands.

    dataset_page.py rows             each table has as many rows as the page says
    dataset_page.py diagnosis SAID   the table under Diagnosis is what `foretoken diagnose` printed
"""
import gzip
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATASETS = ROOT / "calibration" / "datasets"
PAGE = (DATASETS / "README.md").read_text(encoding="utf-8")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def rows_of(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with opened as file:
        return sum(1 for line in file if not line.startswith("#")) - 1  # the header


def check_rows():
    folder, looked_at, wrong = None, 0, []
    for line in PAGE.splitlines():
        heading = re.match(r"## (\w+)/", line)
        folder = DATASETS / heading.group(1) if heading else folder
        if folder is None or not line.startswith("| `"):
            continue
        files, rows = cells(line)[:2]
        # Repeated rows stand in brackets; what counts something else than rows says what.
        counts = re.sub(r"\([^)]*\)", "", rows).strip()
        if not re.fullmatch(r"[\d,]+(, [\d,]+)*( each)?", counts):
            continue
        numbers = [int(number.replace(",", "")) for number in counts.removesuffix(" each").split(", ")]
        names = re.findall(r"`([^`]+)`", files)
        stem, dot, ending = names[0].partition(".")
        for i, name in enumerate(names):
            path = folder / (name.replace("…", stem) + (dot + ending if "…" in name else ""))
            said, found = numbers[min(i, len(numbers) - 1)], rows_of(path)
            looked_at += 1
            if said != found:
                wrong.append(f"{path.relative_to(ROOT)} has {found:,} rows, the page says {said:,}")
    if looked_at < 20:
        wrong.append(f"only {looked_at} tables were found")
    return wrong


def check_diagnosis(said):
    # GPU, points, share, p80: "a100-sxm  all  5,580  82  1.5 %  0.008  0.021  0.033".
    pattern = r"^ +(\S+) +all +([\d,]+) +[\d,]+ +([\d.]+ %) +[\d.]+ +([\d.]+) "
    printed = {gpu.split("-")[0].upper(): rest for gpu, *rest in re.findall(pattern, said, re.M)}
    shown = {}
    for line in PAGE[PAGE.index("## Diagnosis"):].splitlines():
        row = cells(line)
        if len(row) == 4 and re.fullmatch(r"[\d,]+", row[1]):
            shown[row[0].upper()] = [row[1], re.sub(r" \(.*", "", row[2]), row[3]]
    return [f"{gpu}: the page says {shown.get(gpu)}, diagnose {printed.get(gpu)}"
            for gpu in sorted(printed | shown) if printed.get(gpu) != shown.get(gpu)]


mistakes = (check_rows() if sys.argv[1] == "rows"
            else check_diagnosis(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")))
for mistake in mistakes:
    print(mistake, file=sys.stderr)
sys.exit(bool(mistakes))
