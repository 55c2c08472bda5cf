"""Thread dumps: ``dump`` and ``group_dumps``."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Optional, Union

from ._program import PathLike, options, run_json
from ._table import Table


class DumpedThread(NamedTuple):
    """A thread of a dump."""

    file: Optional[str]
    #: The section of the dump, which is a process: its place in the document's ``sections``.
    section: int
    pid: Optional[int]
    process: Optional[str]
    tid: Optional[int]
    sys_tid: Optional[int]
    name: Optional[str]
    main: bool
    state: Optional[str]
    #: The innermost frame.
    top: Optional[str]
    frames: int
    #: The class of the lock that the thread waits for.
    waits_for: Optional[str]
    #: The tid of that lock's owner.
    owner_tid: Optional[int]
    #: Whether the thread is in a deadlock.
    deadlocked: bool
    #: The line of the file in which the thread starts.
    line: int


class Frame(NamedTuple):
    """A frame of a thread's stack; number 0 is the innermost."""

    section: int
    tid: Optional[int]
    thread: Optional[str]
    number: int
    #: ``java``, ``native`` or ``kernel``.
    kind: str
    #: Class and method, or the symbol.
    name: Optional[str]
    file: Optional[str]
    line: Optional[int]
    #: How many more times the frame follows itself.
    repeated: int


class Lock(NamedTuple):
    """A lock that a thread owns or waits for."""

    section: int
    tid: Optional[int]
    thread: Optional[str]
    #: ``waiting_on``, ``sleeping_on``, ``waiting_to_lock``, ``locked``, ``parking_for`` or ``owned``.
    kind: str
    lock: Optional[str]
    lock_class: Optional[str]
    owner_tid: Optional[int]
    #: The number of the frame.
    frame: Optional[int]


class DumpGroup(NamedTuple):
    """Dumps in which main has the same stack."""

    #: How many.
    dumps: int
    cause: Optional[str]
    #: What main does.
    doing: str
    process: Optional[str]
    #: The innermost frame.
    top: Optional[str]
    #: The newest of the files.
    newest: Optional[str]


class Dump:
    """Thread dumps, read by the program."""

    def __init__(self, document: dict[str, Any]) -> None:
        #: What ``anrscope dump --json`` prints: ``files`` and ``sections``.
        self.document = document

    def __repr__(self) -> str:
        return f"<dump: {len(self.document['files'])} files, {len(self.threads)} threads>"

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The answer of each file: cause, finding, root, lock owners, advice."""
        return [file["answer"] for file in self.document["files"] if file.get("answer")]

    @property
    def answer(self) -> Optional[dict[str, Any]]:
        """The first file's answer."""
        answers = self.answers
        return answers[0] if answers else None

    @property
    def deadlocks(self) -> list[list[int]]:
        """The threads of each deadlock, by tid."""
        return [cycle for section in self.document["sections"] for cycle in section.get("deadlocks") or []]

    @cached_property
    def threads(self) -> Table[DumpedThread]:
        """The threads of all processes."""
        rows = []
        for number, section in enumerate(self.document["sections"]):
            deadlocked = {tid for cycle in section.get("deadlocks") or [] for tid in cycle}
            edges = {
                edge["from"]: edge
                for kind in ("inferred_lock_edges", "lock_edges")
                for edge in section.get(kind) or []
            }
            for thread in section.get("threads") or []:
                tid = thread["tid"]
                edge = edges.get(tid) if tid is not None else None
                waits = [lock for lock in thread["locks"] if lock["kind"] in ("waiting_to_lock", "parking_for")]
                frames = thread["frames"]
                rows.append(
                    DumpedThread(
                        file=section["file"],
                        section=number,
                        pid=section["pid"],
                        process=section["cmdline"],
                        tid=tid,
                        sys_tid=thread["sys_tid"],
                        name=thread["name"],
                        main=tid is not None and tid == section.get("main"),
                        state=thread["state"],
                        top=_name(frames[0]) if frames else None,
                        frames=len(frames),
                        waits_for=edge["lock_class"] if edge else waits[0]["class"] if waits else None,
                        owner_tid=edge["to"] if edge else waits[0]["owner"] if waits else None,
                        deadlocked=tid in deadlocked,
                        line=thread["lines"][0],
                    )
                )
        return Table(DumpedThread, rows)

    @cached_property
    def frames(self) -> Table[Frame]:
        """The frames of all threads."""
        return Table(
            Frame,
            (
                Frame(
                    section=number,
                    tid=thread["tid"],
                    thread=thread["name"],
                    number=place,
                    kind=frame["kind"],
                    name=_name(frame),
                    file=frame.get("file") or frame.get("map"),
                    line=frame.get("line"),
                    repeated=frame.get("repeated") or 0,
                )
                for number, section in enumerate(self.document["sections"])
                for thread in section.get("threads") or []
                for place, frame in enumerate(thread["frames"])
            ),
        )

    @cached_property
    def locks(self) -> Table[Lock]:
        """The locks that threads own or wait for."""
        return Table(
            Lock,
            (
                Lock(
                    section=number,
                    tid=thread["tid"],
                    thread=thread["name"],
                    kind=lock["kind"],
                    lock=lock["lock"],
                    lock_class=lock["class"],
                    owner_tid=lock["owner"],
                    frame=lock["frame"],
                )
                for number, section in enumerate(self.document["sections"])
                for thread in section.get("threads") or []
                for lock in thread["locks"]
            ),
        )


def dump(
    *paths: PathLike, text: Union[str, bytes, None] = None, mapping: Optional[PathLike] = None
) -> Dump:
    """Reads thread dumps: ``/data/anr/*``, bug reports, ``jstack``, Play Console and others.

    Args:
        paths: files, ``.zip`` archives, or directories of them.
        text: a dump itself, instead of files.
        mapping: the ``mapping.txt`` of ProGuard or R8.

    Raises:
        AnrscopeError: if one cannot be read or is no dump.
    """
    if (text is None) == (not paths):
        raise TypeError("dump() takes files or a text")
    words = list(paths) if paths else ["-"]
    return Dump(run_json("dump", "--json", *options(mapping=mapping), "--", *words, input=text))


def group_dumps(*paths: PathLike, mapping: Optional[PathLike] = None) -> Table[DumpGroup]:
    """Groups thread dumps, or all in directories, by main's stack; the largest group comes first.

    Raises:
        AnrscopeError: if one cannot be read.
    """
    document = run_json("dump", "--group", "--json", *options(mapping=mapping), "--", *paths)
    return Table(
        DumpGroup,
        (
            DumpGroup(
                dumps=of["count"],
                cause=of.get("cause"),
                doing=of["doing"],
                process=of["process"],
                top=of["stack"][0] if of["stack"] else None,
                newest=of["newest"]["file"] if of["newest"] else None,
            )
            for of in document["groups"]
        ),
    )


def _name(frame: dict[str, Any]) -> Optional[str]:
    """Class and method of a Java frame, the symbol of another."""
    if frame["kind"] == "java":
        return f"{frame['class']}.{frame['method']}"
    symbol: Optional[str] = frame["symbol"]
    return symbol
