"""Reads the recordings and thread dumps of anrscope into rows.

``read`` opens a recording, ``dump`` thread dumps; ``group``, ``group_dumps`` and ``fleet`` take many. Rows are named tuples in a
`Table`, which ``to_pandas`` and ``to_arrow`` convert. Every function runs the program ``anrscope`` of this package and raises
`AnrscopeError` with its message if it fails.
"""

from __future__ import annotations

from ._dump import Dump, DumpedThread, DumpGroup, Frame, Lock, dump, group_dumps
from ._program import AnrscopeError, AnrscopeWarning, ProgramNotFound, program, run
from ._recording import Anr, FleetRow, Group, Recording, Slice, Thread, Wait, fleet, group, read
from ._table import Column, Table
from ._version import __version__

__all__ = [
    "Anr",
    "AnrscopeError",
    "AnrscopeWarning",
    "Column",
    "Dump",
    "DumpGroup",
    "DumpedThread",
    "FleetRow",
    "Frame",
    "Group",
    "Lock",
    "ProgramNotFound",
    "Recording",
    "Slice",
    "Table",
    "Thread",
    "Wait",
    "__version__",
    "dump",
    "fleet",
    "group",
    "group_dumps",
    "program",
    "read",
    "run",
]
