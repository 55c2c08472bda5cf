"""Recordings: ``read``, ``report``, ``group`` and ``fleet``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple, Optional

from ._program import PathLike, options, run, run_json, scratch
from ._table import Table

#: Tracks that the trace adds to the threads have numbers from here on; Linux numbers threads below 2**22.
_FIRST_TRACK = 0xFF_FFFF

#: Categories of slices in which a thread waits.
_WAITS = frozenset(["lock", "binder", "io", "gc", "wait"])


class Slice(NamedTuple):
    """A call, message, frame or wait of a thread, from start to end."""

    tid: int
    thread: Optional[str]
    #: Start in ns since boot (``CLOCK_BOOTTIME``); `Recording.time` converts it.
    start_ns: int
    duration_ns: int
    #: Duration without the slices inside it.
    self_ns: int
    #: Number of slices around it.
    depth: int
    #: The row of the slice around it.
    parent: Optional[int]
    #: ``lock``, ``io``, ``binder``, ``gc`` or ``wait``; none for methods, messages and frames.
    category: Optional[str]
    name: str
    #: Whether the recording ended before the slice.
    incomplete: bool
    #: Further values as a JSON object.
    args: Optional[str]


class Thread(NamedTuple):
    """A thread, and how much of its life is recorded."""

    tid: int
    name: Optional[str]
    main: bool
    since_ns: int
    until_ns: int
    recorded_ns: int
    lived_ns: int


class Wait(NamedTuple):
    """A wait of a thread: for a lock, a file, the network, another process."""

    tid: int
    thread: Optional[str]
    start_ns: int
    duration_ns: int
    #: ``lock``, ``io``, ``binder``, ``gc`` or ``wait``.
    category: str
    name: str
    #: The method or message in which the thread waits.
    inside: Optional[str]
    owner_tid: Optional[int]
    owner: Optional[str]
    lock: Optional[str]
    lock_class: Optional[str]
    incomplete: bool


class Anr(NamedTuple):
    """An ANR, or a signal that was suspected to be one."""

    since_ns: int
    blocked_ns: Optional[int]
    detected_ns: int
    recovered_ns: Optional[int]
    #: What noticed it: ``sigquit``, ...
    detector: str
    suspected: bool
    #: The recorder's verdict on the signal, such as ``anr``.
    outcome: Optional[str]
    confidence: Optional[str]


class Group(NamedTuple):
    """Recordings whose hangs have the same cause and root."""

    #: How many.
    recordings: int
    cause: str
    root: Optional[str]
    median_ns: int
    longest_ns: int
    #: One of the recordings.
    example: str


class FleetRow(NamedTuple):
    """A recording of many, with the columns of ``anrscope report --rows``, which docs/reports.md explains."""

    file: str
    process: str
    pid: int
    #: When recording began; none if the clock was not read.
    start: Optional[datetime]
    map_id: str
    hung: bool
    hang_ns: int
    anrs: int
    cause: str
    confidence: str
    root: Optional[str]
    message: Optional[str]
    method: Optional[str]
    owner: Optional[str]
    cold_start_ns: Optional[int]
    unit: Optional[str]
    sdk: Optional[int]
    device: Optional[str]
    foreground: Optional[bool]
    component: Optional[str]
    verdict: Optional[str]
    stack_hash: Optional[str]
    app_version: Optional[str]
    app_version_code: Optional[int]
    root_file: Optional[str]
    root_line: Optional[int]
    unactionable: bool


class Recording:
    """A recording, read by the program.

    Rows are made when they are asked for the first time.
    """

    def __init__(self, path: PathLike, method_map: Optional[PathLike] = None, mapping: Optional[PathLike] = None) -> None:
        #: The file.
        self.path = os.fspath(path)
        self._options = options(method_map=method_map, mapping=mapping)
        #: The report as a JSON value; the file ``docs/report-schema.json`` of the project describes it.
        self.report: dict[str, Any] = run_json("report", "--json", *self._options, "--", self.path)["reports"][0]

    def __repr__(self) -> str:
        return f"<recording of {self.process} (pid {self.pid}): {self.answer['headline']}>"

    @property
    def process(self) -> Optional[str]:
        """The name of the process."""
        name: Optional[str] = self.report["process"]
        return name

    @property
    def pid(self) -> int:
        """The number of the process."""
        pid: int = self.report["pid"]
        return pid

    @property
    def hung(self) -> bool:
        """Whether main hung."""
        hung: bool = self.report["hung"]
        return hung

    @property
    def answer(self) -> dict[str, Any]:
        """Verdict, cause, root, stack, lock owners and advice."""
        answer: dict[str, Any] = self.report["answer"]
        return answer

    def time(self, ns: int) -> datetime:
        """The date and time, in UTC, of a time in ns since boot."""
        start = self.report["start"]
        since = start["realtime_ns"] + (ns - start["boottime_ns"])
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=since / 1000)

    @cached_property
    def slices(self) -> Table[Slice]:
        """All slices of all threads, main's first, by start; a slice follows the one around it."""
        with scratch() as directory:
            trace = directory / "trace.json"
            run("export", "--quiet", "-o", trace, *self._options, "--", self.path)
            with open(trace, encoding="utf-8") as file:
                # Times in microseconds have more digits than a float keeps.
                events = json.load(file, parse_float=Decimal)["traceEvents"]
        main = {of["tid"] for of in self.report["coverage"] if of["main"]}
        return Table(Slice, _slices(self.pid, main, events))

    @cached_property
    def waits(self) -> Table[Wait]:
        """The slices in which a thread waits, with the owner of the lock."""
        rows = []
        for row in self.slices:
            if row.category not in _WAITS:
                continue
            args = json.loads(row.args) if row.args else {}
            rows.append(
                Wait(
                    tid=row.tid,
                    thread=row.thread,
                    start_ns=row.start_ns,
                    duration_ns=row.duration_ns,
                    category=row.category or "wait",
                    name=row.name,
                    inside=None if row.parent is None else self.slices[row.parent].name,
                    owner_tid=args.get("owner_tid"),
                    owner=args.get("owner_name"),
                    lock=args.get("lock"),
                    lock_class=args.get("lock_class"),
                    incomplete=row.incomplete,
                )
            )
        return Table(Wait, rows)

    @cached_property
    def threads(self) -> Table[Thread]:
        """The recorded threads."""
        return Table(
            Thread,
            (
                Thread(
                    tid=of["tid"],
                    name=of["thread"],
                    main=of["main"],
                    since_ns=of["since_ns"],
                    until_ns=of["until_ns"],
                    recorded_ns=of["recorded_ns"],
                    lived_ns=of["lived_ns"],
                )
                for of in self.report["coverage"]
            ),
        )

    @cached_property
    def anrs(self) -> Table[Anr]:
        """The ANRs that were recorded."""
        rows = []
        for of in self.report["anrs"]:
            verdict = of["verdict"] or {}
            rows.append(
                Anr(
                    since_ns=of["since_ns"],
                    blocked_ns=of["blocked_ns"],
                    detected_ns=of["detected_ns"],
                    recovered_ns=of["recovered_ns"],
                    detector=of["detector"],
                    suspected=of["suspected"],
                    outcome=verdict.get("outcome"),
                    confidence=verdict.get("confidence"),
                )
            )
        return Table(Anr, rows)


def read(path: PathLike, *, method_map: Optional[PathLike] = None, mapping: Optional[PathLike] = None) -> Recording:
    """Reads a recording (``*.anrscope``), or a report or ring of Tencent Matrix.

    Args:
        path: the recording; of a directory the newest one.
        method_map: the build's method map or a directory of maps; without it the map beside the recording is used.
        mapping: the ``mapping.txt`` of ProGuard or R8, for a build that was instrumented after them.

    Raises:
        AnrscopeError: if it cannot be read.
    """
    return Recording(path, method_map, mapping)


def group(
    *paths: PathLike, method_map: Optional[PathLike] = None, mapping: Optional[PathLike] = None
) -> Table[Group]:
    """Groups recordings, or all in directories, by the cause and the root of their hangs; the largest group comes first.

    Raises:
        AnrscopeError: if none can be read.
    """
    given = options(method_map=method_map, mapping=mapping)
    document = run_json("report", "--group", "--json", "--quiet", *given, "--", *paths)
    return Table(
        Group,
        (
            Group(
                recordings=of["count"],
                cause=of["cause"],
                root=of["root"],
                median_ns=of["median_ns"],
                longest_ns=of["longest_ns"],
                example=of["example"],
            )
            for of in document["groups"]
        ),
    )


def fleet(
    *paths: PathLike, method_map: Optional[PathLike] = None, mapping: Optional[PathLike] = None
) -> Table[FleetRow]:
    """One row for each recording, or for each in these directories.

    Raises:
        AnrscopeError: if none can be read.
    """
    with scratch() as directory:
        file = directory / "fleet.jsonl"
        given = options(method_map=method_map, mapping=mapping)
        run("report", "--quiet", "--rows", file, *given, "--", *paths)
        with open(file, encoding="utf-8") as lines:
            return Table(FleetRow, (_fleet_row(json.loads(line)) for line in lines))


def _fleet_row(columns: dict[str, Any]) -> FleetRow:
    start = columns["start"]
    # Before Python 3.11 `fromisoformat` does not know the letter Z.
    columns["start"] = start and datetime.fromisoformat(start.replace("Z", "+00:00"))
    return FleetRow(**{name: columns[name] for name in FleetRow._fields})


def _slices(pid: int, main: set[int], events: Iterable[dict[str, Any]]) -> Iterable[Slice]:
    """The threads' slices of a trace in Chrome's JSON, nested by time."""
    names: dict[int, str] = {}
    # In a trace main has the process's number; a JVM's main has its own.
    own = next(iter(main)) if len(main) == 1 else pid
    threads: dict[int, list[tuple[int, int, dict[str, Any]]]] = {}
    for event in events:
        if event["pid"] != pid or event.get("tid", _FIRST_TRACK) >= _FIRST_TRACK:
            continue
        tid = own if event["tid"] == pid else event["tid"]
        if event["ph"] == "X":
            start = _ns(event["ts"])
            threads.setdefault(tid, []).append((start, start + _ns(event["dur"]), event))
        elif event["ph"] == "M" and event["name"] == "thread_name":
            names[tid] = event["args"]["name"]
    rows: list[Slice] = []
    for tid in sorted(threads, key=lambda tid: (tid not in main, tid)):
        # A slice comes after the one around it, which starts no later and ends no earlier.
        found = sorted(threads[tid], key=lambda of: (of[0], -of[1]))
        around: list[tuple[int, int]] = []
        inside = [0] * len(found)
        first = len(rows)
        for number, (start, end, event) in enumerate(found):
            while around and around[-1][0] <= start and (around[-1][0] < end or start < end):
                around.pop()
            parent = around[-1][1] if around else None
            if parent is not None:
                inside[parent] += end - start
            args = dict(event.get("args", {}))
            incomplete = bool(args.pop("incomplete", False))
            rows.append(
                Slice(
                    tid=tid,
                    thread=names.get(tid),
                    start_ns=start,
                    duration_ns=end - start,
                    self_ns=0,
                    depth=len(around),
                    parent=None if parent is None else first + parent,
                    category=event.get("cat"),
                    name=event["name"],
                    incomplete=incomplete,
                    args=json.dumps(args, default=float) if args else None,
                )
            )
            around.append((end, number))
        for number, (start, end, _) in enumerate(found):
            rows[first + number] = rows[first + number]._replace(self_ns=end - start - inside[number])
    return rows


def _ns(microseconds: Any) -> int:
    """A time in microseconds, with decimals, as whole nanoseconds."""
    return int(microseconds * 1000)
