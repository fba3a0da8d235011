from os import PathLike
from typing import Any, Iterable, Mapping, Sequence, overload

Scenario = dict[str, Any] | str | PathLike[str]

__version__: str

class ConfigError(ValueError): ...
class PredictionError(ValueError): ...
class RunError(RuntimeError): ...

class Report(dict[str, Any]):
    @property
    def requests(self) -> Any: ...  # pandas.DataFrame, or list[dict[str, Any]] without pandas

def simulate(
    scenario: Scenario,
    *,
    set: Iterable[str] = (),
    folder: str | PathLike[str] = ".",
    requests: bool = False,
) -> Report: ...
@overload
def predict(
    kernels: Mapping[str, Any],
    *,
    gpu: str = "",
    cluster: str = "",
    predictor: str = "synperf",
    communication: str = "model",
    explain: bool = False,
) -> dict[str, Any]: ...
@overload
def predict(
    kernels: Sequence[Mapping[str, Any]],
    *,
    gpu: str = "",
    cluster: str = "",
    predictor: str = "synperf",
    communication: str = "model",
    explain: bool = False,
) -> list[dict[str, Any]]: ...
def compare(
    scenario: Scenario,
    vary: Mapping[str, Iterable[Any]],
    *,
    set: Iterable[str] = (),
    folder: str | PathLike[str] = ".",
    jobs: int = 0,
) -> dict[str, Any]: ...
def step(
    scenario: Scenario | None = None,
    *,
    prefill: str = "",
    decode: str = "",
    set: Iterable[str] = (),
    folder: str | PathLike[str] = ".",
    **options: Any,
) -> dict[str, Any]: ...
def explain(
    scenario: Scenario,
    *,
    set: Iterable[str] = (),
    folder: str | PathLike[str] = ".",
    **options: Any,
) -> dict[str, Any]: ...
def sweep(
    scenario: Scenario,
    vary: Mapping[str, Iterable[Any]],
    *,
    set: Iterable[str] = (),
    folder: str | PathLike[str] = ".",
    store: str | PathLike[str] | None = None,
    **options: Any,
) -> dict[str, Any]: ...
def plan(
    scenario: Scenario,
    *,
    set: Iterable[str] = (),
    folder: str | PathLike[str] = ".",
    out: str | PathLike[str] | None = None,
    **options: Any,
) -> dict[str, Any]: ...
