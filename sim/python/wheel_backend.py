"""Builds the wheel for pip: what the CMake build installs of program and Python module, zipped.

A backend of its own because the build is CMake's and pip shall need nothing from the network: it uses
Python's library alone. The wheel is for the Python and the system that it was built with; libraries
of the system (SimGrid, fmt, yaml-cpp) are not in it.
"""
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
DATE = (1980, 1, 1, 0, 0, 0)  # of every file, so that equal builds give equal wheels


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("there is no source distribution; build a wheel from a checkout")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = re.search(r"project\(foretoken VERSION ([0-9.]+)",
                        (ROOT / "CMakeLists.txt").read_text())[1]
    run_cmake()
    with tempfile.TemporaryDirectory() as folder:
        installed = pathlib.Path(folder)
        for component in ("program", "python"):
            cmake("--install", BUILD, "--prefix", installed, "--component", component, "--strip")
        files = wheel_files(installed, version)
        files.update(metadata_files(project, version))
        name = f"foretoken-{version}-{tag()}.whl"
        write_wheel(pathlib.Path(wheel_directory) / name, files, f"foretoken-{version}.dist-info")
    return name


def cmake(*arguments):
    # stdout is pip's own.
    subprocess.run(["cmake", *map(str, arguments)], cwd=ROOT, check=True, stdout=sys.stderr)


def run_cmake():
    if not (BUILD / "build.ninja").exists():
        cmake("--preset", "release", f"-DPython3_EXECUTABLE={sys.executable}")
    cmake("--build", BUILD, "--target", "foretoken", "foretoken_told", "foretoken_python")


def tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{re.sub(r'[-.]', '_', sysconfig.get_platform())}"


def wheel_files(installed, version):
    """What is installed, by its name in the wheel."""
    files = {}
    for path in sorted(installed.rglob("*")):
        if not path.is_file():
            continue
        inside = path.relative_to(installed).as_posix()
        if "/dist-packages/" in inside:
            files[inside.split("/dist-packages/")[1]] = path.read_bytes()
        elif inside.startswith("bin/"):
            files[f"foretoken-{version}.data/scripts/{path.name}"] = path.read_bytes()
        else:
            files[f"foretoken-{version}.data/data/{inside}"] = path.read_bytes()
    module = "foretoken/_foretoken" + sysconfig.get_config_var("EXT_SUFFIX")
    if module not in files:
        raise RuntimeError(f"{BUILD} holds no {module}: it was configured for another Python, or "
                           "without pybind11; remove it, or build with that Python's pip")
    return files


def metadata_files(project, version):
    folder = f"foretoken-{version}.dist-info"
    metadata = (f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n"
                f"Summary: {project['description']}\nLicense: {project['license']['text']}\n"
                f"Requires-Python: {project['requires-python']}\n"
                "Provides-Extra: pandas\nRequires-Dist: pandas; extra == 'pandas'\n"
                "Description-Content-Type: text/markdown\n\n")
    return {
        f"{folder}/METADATA": (metadata + (ROOT / "README.md").read_text()).encode(),
        f"{folder}/WHEEL": (f"Wheel-Version: 1.0\nGenerator: foretoken\nRoot-Is-Purelib: false\n"
                            f"Tag: {tag()}\n").encode(),
        f"{folder}/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }


def write_wheel(path, files, folder):
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files = {**files, f"{folder}/RECORD": (record + f"{folder}/RECORD,,\n").encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            is_program = ".data/scripts/" in name
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            archive.writestr(entry, content)
