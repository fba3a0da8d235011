"""Foretoken predicts how a large language model will serve: TTFT, TPOT, throughput, cost.

Scenarios are dicts with the keys of the TOML files, or paths of such files; answers have the keys
of report.json. Every simulation runs in a child process, so that a notebook may run many.
"""
import csv as _csv
import io as _io

from . import _foretoken
from ._commands import explain, plan, step, sweep
from ._foretoken import ConfigError, PredictionError, RunError, __version__, compare, predict

__all__ = [
    "ConfigError", "PredictionError", "Report", "RunError", "__version__", "compare", "explain",
    "plan", "predict", "simulate", "step", "sweep"
]


class Report(dict):
    """The report of a run: a dict with the keys of report.json, and the requests as a table."""

    def __init__(self, report, requests_csv):
        super().__init__(report)
        self._requests_csv = requests_csv

    @property
    def requests(self):
        """A row a request, by id, with the columns of requests.csv.

        A pandas.DataFrame where pandas is installed, else a list of dicts. What never happened is
        missing (NaN or None).
        """
        try:
            import pandas
        except ImportError:
            return [{name: _cell(text) for name, text in row.items()}
                    for row in _csv.DictReader(_io.StringIO(self._requests_csv))]
        return pandas.read_csv(_io.StringIO(self._requests_csv))


def _cell(text):
    """A number, a text, or None."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None


def simulate(scenario, *, set=(), folder=".", requests=False):
    """Runs one scenario (a dict or a path) in a child process and returns its Report.

    set: changes as ["table.key=value"]; folder: where relative paths of a dict start;
    requests: adds the text of requests.csv as 'requests_csv'.
    """
    report = _foretoken.simulate(scenario, set=list(set), folder=folder, requests=True)
    requests_csv = report.pop("requests_csv")
    if requests:
        report["requests_csv"] = requests_csv
    return Report(report, requests_csv)
