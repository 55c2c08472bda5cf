"""Finds the program and runs it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, Union

#: A path as ``open`` takes it.
PathLike = Union[str, "os.PathLike[str]"]


class AnrscopeError(Exception):
    """The program failed.

    The text is the program's own message.
    """

    def __init__(self, message: str, status: int, command: list[str]) -> None:
        super().__init__(message)
        #: The program's message.
        self.message = message
        #: The exit status: 1 if a file cannot be read, 2 if the command line is wrong; negative for a signal.
        self.status = status
        #: The command that was run.
        self.command = command


class ProgramNotFound(AnrscopeError):
    """There is no program ``anrscope`` in this package or on the ``PATH``."""


class AnrscopeWarning(UserWarning):
    """A warning of the program, such as missing data in a recording."""


def program() -> str:
    """The path of the program that the module runs.

    This is the one that ``ANRSCOPE_PROGRAM`` names, else the one that was installed with the module, else the one on the ``PATH``.

    Raises:
        ProgramNotFound: if no program is found.
    """
    named = os.environ.get("ANRSCOPE_PROGRAM")
    if named:
        if not os.path.isfile(named):
            raise ProgramNotFound(f"cannot run {named}, which ANRSCOPE_PROGRAM names: no such file", 127, [named])
        return os.path.abspath(named)
    name = "anrscope.exe" if os.name == "nt" else "anrscope"
    for directory in _script_directories():
        path = directory / name
        if path.is_file():
            return str(path)
    found = shutil.which("anrscope")
    if found is None:
        raise ProgramNotFound(
            "cannot find the program anrscope beside this module or on the PATH. "
            "Install the package for this system, or name the program in ANRSCOPE_PROGRAM.",
            127,
            ["anrscope"],
        )
    return found


def _script_directories() -> Iterator[Path]:
    """Where installers put the scripts of a package, this one's first."""
    # pip install --target puts them into bin, beside the package.
    beside = Path(__file__).resolve().parent.parent
    yield beside / "bin"
    yield Path(sysconfig.get_path("scripts"))
    user = "nt_user" if os.name == "nt" else "posix_user"
    if user in sysconfig.get_scheme_names():
        yield Path(sysconfig.get_path("scripts", scheme=user))


def run(*arguments: PathLike, input: Union[str, bytes, None] = None) -> str:  # noqa: A002
    """Runs the program and returns what it prints.

    Args:
        arguments: the command line, such as ``"retrace", "stack.txt", "--mapping", "mapping.txt"``.
        input: what the program reads from its standard input.

    Raises:
        AnrscopeError: if the program fails; the text is its message.
    """
    command = [program(), *(os.fspath(argument) for argument in arguments)]
    data = input.encode() if isinstance(input, str) else input
    ended = subprocess.run(
        command,
        input=data,
        stdin=subprocess.DEVNULL if data is None else None,
        capture_output=True,
        check=False,
    )
    stderr = ended.stderr.decode("utf-8", "replace")
    if ended.returncode != 0:
        raise AnrscopeError(_message(stderr, ended.returncode), ended.returncode, command)
    for line in _paragraphs(stderr, "warning: "):
        warnings.warn(line, AnrscopeWarning, stacklevel=_caller())
    return ended.stdout.decode("utf-8", "replace")


def run_json(*arguments: PathLike, input: Union[str, bytes, None] = None) -> Any:  # noqa: A002
    """Runs the program and returns the JSON value that it prints."""
    return json.loads(run(*arguments, input=input))


def options(**given: Optional[PathLike]) -> list[str]:
    """``method_map="a.txt"`` as ``["--method-map=a.txt"]``; what is ``None`` is left out.

    In one word, so that the name of a file may begin with ``-``. Paths follow ``--`` for the same reason.
    """
    return [
        f"--{name.replace('_', '-')}={os.fspath(value)}" for name, value in given.items() if value is not None
    ]


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory for the program's output, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="anrscope-") as directory:
        yield Path(directory)


def _caller() -> int:
    """How many calls up the code is that called this package, as ``warnings.warn`` counts them in ``run``."""
    # functools has cached_property, through which rows are made.
    own = (os.path.dirname(__file__) + os.sep, functools.__file__)
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
        level += 1
    return level


def _message(stderr: str, status: int) -> str:
    """The error without ``error: `` in front, or everything that the program printed."""
    errors = _paragraphs(stderr, "error: ")
    if errors:
        return "\n".join(errors)
    return stderr.strip() or f"the program ended with status {status} and no message"


def _paragraphs(stderr: str, prefix: str) -> list[str]:
    """The messages with this prefix, each with its lines of detail."""
    found: list[str] = []
    taking = False
    for line in stderr.splitlines():
        if line.startswith(("error: ", "warning: ", "note: ")):
            taking = line.startswith(prefix)
            if taking:
                found.append(line[len(prefix) :])
        elif taking and line.strip():
            found[-1] += "\n" + line.rstrip()
    return found
