"""The module against the program: rows of recordings and dumps, errors, warnings.

``ANRSCOPE_PROGRAM`` names the program. The files are those of the exporter's tests; the judge of slices is Perfetto's engine, which
reads the trace that the same program writes in Perfetto's own format.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

import anrscope

REPOSITORY = Path(os.environ.get("ANRSCOPE_REPOSITORY", Path(__file__).resolve().parents[4]))
DATA = REPOSITORY / "exporter/tests/data"
DUMPS = REPOSITORY / "exporter/answers/tests/data/dump"

SLICES = """
SELECT t.tid, t.is_main_thread AS main, s.ts, s.dur, s.depth, s.name FROM slice s JOIN thread_track k ON s.track_id = k.id JOIN thread t USING (utid)
WHERE k.name IS NULL
"""


class Files(unittest.TestCase):
    """Unpacked recordings in a directory of their own."""

    directory: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.directory = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        for name in ("shop", "app-life"):
            with gzip.open(DATA / f"{name}.anrscope.gz") as packed:
                (cls.directory / f"{name}.anrscope").write_bytes(packed.read())

    def recording(self, name: str) -> anrscope.Recording:
        """A recording. The app's life has no method map, of which another test checks the warning."""
        method_map: Optional[Path] = DATA / "shop.map" if name == "shop" else None
        recording = anrscope.read(self.directory / f"{name}.anrscope", method_map=method_map)
        with quiet():
            self.assertGreater(len(recording.slices), 0)
        return recording


class Recordings(Files):
    """``read``, ``group``, ``fleet``."""

    def test_slices_are_those_that_perfetto_reads(self) -> None:
        for name in ("shop", "app-life"):
            with self.subTest(name):
                recording = self.recording(name)
                trace = self.directory / f"{name}.pftrace"
                words = ["--method-map", str(DATA / "shop.map")] if name == "shop" else []
                with quiet():
                    anrscope.run("export", recording.path, "-o", trace, *words)
                    slices = recording.slices
                rows = engine(trace, SLICES)
                # Perfetto knows main by the process's number; a JVM's main is another thread.
                main = next(row.tid for row in recording.threads if row.main)
                for row in rows:
                    row["tid"] = main if row["main"] else row["tid"]
                # What has no length is a mark as well in Perfetto's table, and Chrome's form of the trace may lose its depth.
                expected = sorted((row["tid"], row["ts"], row["dur"], row["depth"], row["name"]) for row in rows if row["dur"])
                found = sorted(
                    (row.tid, row.start_ns, row.duration_ns, row.depth, row.name) for row in slices if row.duration_ns
                )
                self.assertGreater(len(found), 10)
                self.assertEqual(found, expected)
                marks = {(row["tid"], row["ts"], row["name"]) for row in rows if not row["dur"]}
                without = {(row.tid, row.start_ns, row.name) for row in slices if not row.duration_ns}
                self.assertLessEqual(without, marks)

    def test_slices_are_nested(self) -> None:
        slices = self.recording("app-life").slices
        inside = [0] * len(slices)
        for number, row in enumerate(slices):
            if row.parent is None:
                self.assertEqual(row.depth, 0)
                continue
            parent = slices[row.parent]
            self.assertLess(row.parent, number)
            self.assertEqual((row.depth, row.tid), (parent.depth + 1, parent.tid))
            self.assertLessEqual(parent.start_ns, row.start_ns)
            self.assertLessEqual(row.start_ns + row.duration_ns, parent.start_ns + parent.duration_ns)
            inside[row.parent] += row.duration_ns
        for row, of in zip(slices, inside):
            self.assertEqual(row.self_ns, row.duration_ns - of)

    def test_threads_and_anrs_are_those_of_the_report(self) -> None:
        recording = self.recording("app-life")
        report = json.loads(anrscope.run("report", "--json", "--quiet", recording.path))["reports"][0]
        self.assertEqual(recording.report, report)
        self.assertEqual([row.tid for row in recording.threads], [row["tid"] for row in report["coverage"]])
        self.assertEqual([row.name for row in recording.threads if row.main], ["main"])
        self.assertEqual(recording.slices[0].thread, "main")
        self.assertLessEqual({row.tid for row in recording.slices}, {row.tid for row in recording.threads})
        found = [(row.detector, row.outcome, row.confidence, row.suspected) for row in recording.anrs]
        self.assertEqual(found, [("watchdog", None, None, True), ("sigquit", "anr", "high", False)])
        self.assertEqual(recording.answer["verdict"], "anr")
        self.assertTrue(recording.hung)
        self.assertIn("com.example.app", repr(recording))
        self.assertEqual(recording.time(report["start"]["boottime_ns"]).tzinfo, timezone.utc)
        day = datetime.fromtimestamp(report["start"]["realtime_ns"] / 1e9, timezone.utc)
        self.assertLess(abs((recording.time(report["start"]["boottime_ns"]) - day).total_seconds()), 1e-3)

    def test_a_wait_names_owner_and_lock(self) -> None:
        recording = self.recording("shop")
        waits = recording.waits
        self.assertEqual(len(waits), sum(row.category is not None for row in recording.slices))
        lock = max((row for row in waits if row.category == "lock"), key=lambda row: row.duration_ns)
        # The report's own line: "30.4 ms at +0.008 s for the lock of java.lang.Object, owned by "worker", in Shop.checkout".
        longest = next(row for row in recording.report["waits"] if row["kind"] == "monitor")
        self.assertEqual(lock.duration_ns, longest["duration_ns"])
        self.assertEqual((lock.lock_class, lock.owner), (longest["class"], "worker"))
        self.assertEqual(lock.inside, "com.example.Shop.checkout")

    def test_groups(self) -> None:
        groups = anrscope.group(self.directory)
        self.assertEqual(sum(row.recordings for row in groups), 2)
        self.assertEqual(groups[0].median_ns, groups[0].longest_ns)
        causes = {row.cause for row in groups}
        self.assertIn(self.recording("app-life").answer["cause"]["id"], causes)

    def test_the_fleet_has_a_row_for_each_recording(self) -> None:
        with quiet():
            fleet = anrscope.fleet(self.directory)
        rows = {row.process: row for row in fleet}
        self.assertEqual(sorted(rows), ["com.example.Shop", "com.example.app"])
        self.assertEqual(rows["com.example.app"].anrs, len(self.recording("app-life").anrs))
        self.assertEqual(rows["com.example.Shop"].hung, False)
        started = rows["com.example.app"].start
        assert started is not None
        realtime = self.recording("app-life").report["start"]["realtime_ns"]
        self.assertEqual(started.replace(microsecond=0), datetime.fromtimestamp(realtime // 1_000_000_000, timezone.utc))
        self.assertEqual(started.microsecond, realtime // 1_000 % 1_000_000)
        check_types(self, fleet)

    def test_a_path_that_begins_with_a_hyphen_is_no_option(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            shutil.copy(self.directory / "shop.anrscope", Path(work, "-q.anrscope"))
            shutil.copy(DATA / "shop.map", Path(work, "-q.map"))
            shutil.copy(DUMPS / "art14-deadlock.txt", Path(work, "-q"))
            # Windows does not remove a working directory, so it is left first.
            before = os.getcwd()
            os.chdir(work)
            try:
                self.assertGreater(len(anrscope.read("-q.anrscope", method_map="-q.map").slices), 0)
                self.assertEqual(anrscope.group("-q.anrscope")[0].recordings, 1)
                self.assertEqual(anrscope.dump("-q").deadlocks, [[1, 12]])
                self.assertEqual(len(anrscope.group_dumps("-q")), 1)
            finally:
                os.chdir(before)


class Dumps(unittest.TestCase):
    """``dump``, ``group_dumps``."""

    def test_rows_of_a_deadlock(self) -> None:
        file = DUMPS / "art14-deadlock.txt"
        dump = anrscope.dump(file)
        assert dump.answer is not None
        self.assertEqual(dump.answer["cause"]["id"], "deadlock")
        self.assertEqual(dump.deadlocks, [[1, 12]])
        self.assertEqual(len(dump.threads), 6)
        main = dump.threads[0]
        self.assertEqual((main.name, main.tid, main.sys_tid, main.main, main.deadlocked), ("main", 1, 4242, True, True))
        self.assertEqual((main.top, main.waits_for, main.owner_tid), ("com.acme.shop.PriceStore.priceOf", "com.acme.shop.PriceStore", 12))
        self.assertEqual([row.name for row in dump.threads if row.deadlocked], ["main", "SyncWorker"])
        # The line of the file in which the thread starts.
        lines = file.read_text().splitlines()
        for row in dump.threads:
            self.assertIn(f'"{row.name}"', lines[row.line - 1])
        self.assertEqual(sum(row.frames for row in dump.threads), len(dump.frames))
        frame = dump.frames[0]
        self.assertEqual((frame.kind, frame.file, frame.line, frame.number), ("java", "PriceStore.kt", 41, 0))
        self.assertEqual([row.kind for row in dump.locks if row.tid == 1], ["waiting_to_lock", "locked"])

    def test_a_text_is_read_as_its_file(self) -> None:
        file = DUMPS / "hotspot-17-jstack-l.txt"
        of_file, of_text = anrscope.dump(file), anrscope.dump(text=file.read_text())
        self.assertEqual(of_file.frames, of_text.frames)
        self.assertEqual(of_file.deadlocks, of_text.deadlocks)
        self.assertGreater(len(of_file.deadlocks), 0)

    def test_every_dump_has_rows(self) -> None:
        files = sorted(file for file in DUMPS.iterdir() if not file.name.startswith("mapping"))
        self.assertGreater(len(files), 20)
        for file in files:
            with self.subTest(file.name), quiet():
                dump = anrscope.dump(file)
                names = sum(len(section.get("threads") or []) for section in dump.document["sections"])
                self.assertEqual(len(dump.threads), names)
                self.assertEqual(sum(row.frames for row in dump.threads), len(dump.frames))
                for table in (dump.threads, dump.frames, dump.locks):
                    check_types(self, table)

    def test_groups(self) -> None:
        with quiet():
            groups = anrscope.group_dumps(DUMPS)
        self.assertEqual((groups[0].cause, groups[0].top), ("deadlock", "Dumped.total"))
        self.assertEqual([row.dumps for row in groups], sorted((row.dumps for row in groups), reverse=True))


class Failures(Files):
    """Errors and warnings of the program."""

    def test_an_error_has_the_programs_message(self) -> None:
        with self.assertRaises(anrscope.AnrscopeError) as raised:
            anrscope.read("no-such.anrscope")
        self.assertIn("no-such.anrscope: No such file", str(raised.exception))
        self.assertEqual(raised.exception.status, 1)
        with self.assertRaises(anrscope.AnrscopeError) as raised:
            anrscope.dump(REPOSITORY / "Cargo.toml")
        self.assertIn("no thread dump", raised.exception.message)
        with self.assertRaises(anrscope.AnrscopeError) as raised:
            anrscope.run("dump", "--no-such-option")
        self.assertEqual(raised.exception.status, 2)
        self.assertEqual(raised.exception.command[1:], ["dump", "--no-such-option"])
        with self.assertRaises(TypeError):
            anrscope.dump()

    def test_a_warning_is_a_python_warning_of_the_callers_line(self) -> None:
        with self.assertWarnsRegex(anrscope.AnrscopeWarning, "no method map") as caught:
            _ = anrscope.read(self.directory / "app-life.anrscope").slices
        self.assertEqual(caught.filename, __file__)

    def test_without_a_program_the_error_says_what_to_do(self) -> None:
        environment = {"PATH": str(self.directory), "PYTHONPATH": os.pathsep.join(sys.path)}
        # Without its site directory Python has no scripts of packages.
        code = "import anrscope, anrscope._program as p; p._script_directories = lambda: []; anrscope.dump('x')"
        ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
        self.assertIn("ProgramNotFound: cannot find the program anrscope", ended.stderr)
        environment["ANRSCOPE_PROGRAM"] = "/no/such/program"
        ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
        self.assertIn("cannot run /no/such/program, which ANRSCOPE_PROGRAM names", ended.stderr)

    def test_the_module_runs_the_program(self) -> None:
        ended = subprocess.run([sys.executable, "-m", "anrscope", "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(ended.stdout, f"anrscope {anrscope.__version__}\n")


class Tables(unittest.TestCase):
    """`Table`."""

    def test_a_table_is_a_sequence(self) -> None:
        table = anrscope.dump(DUMPS / "art14-deadlock.txt").threads
        self.assertEqual(len(table[:2]), 2)
        self.assertEqual(table[-1], list(table)[-1])
        self.assertEqual(table[:2], table[0:2])
        self.assertNotEqual(table[:2], table[:3])
        self.assertTrue(repr(table).startswith("<6 rows of DumpedThread: file, section, "), repr(table))
        column = {column.name: column for column in table.columns}["tid"]
        self.assertEqual((column.kind, column.optional), (int, True))


@contextmanager
def quiet() -> Iterator[None]:
    """Without the program's warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anrscope.AnrscopeWarning)
        yield


def check_types(test: unittest.TestCase, table: anrscope.Table[Any]) -> None:
    """Asserts that each value has its column's type."""
    for row in table:
        for column, value in zip(table.columns, row):
            if value is None:
                test.assertTrue(column.optional, (column, row))
            else:
                test.assertIs(type(value), column.kind, (column, row))


def engine(trace: Path, query: str) -> list[dict[str, Any]]:
    """The rows that Perfetto's engine finds."""
    request = json.dumps({"trace": str(trace), "queries": [query]})
    script = REPOSITORY / "scripts/perfetto/engine.mjs"
    ended = subprocess.run(["node", str(script), "--serve"], input=request + "\n", capture_output=True, text=True, check=True)
    answer = json.loads(ended.stdout)
    if "error" in answer:
        raise AssertionError(answer["error"])
    rows: list[dict[str, Any]] = answer["queries"][0]
    return rows


if __name__ == "__main__":
    unittest.main()
