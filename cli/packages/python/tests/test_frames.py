"""Tables as data frames and Arrow tables. Needs pandas and pyarrow."""

from __future__ import annotations

import unittest
from datetime import datetime
from typing import Any

import anrscope
import pyarrow
from test_rows import DATA, Files, quiet

TYPES = {
    int: ("Int64", pyarrow.int64()),
    str: ("string", pyarrow.string()),
    bool: ("boolean", pyarrow.bool_()),
    datetime: ("datetime64[us, UTC]", pyarrow.timestamp("us", tz="UTC")),
}


class Frames(Files):
    """``to_pandas``, ``to_arrow``."""

    def tables(self) -> list[anrscope.Table[Any]]:
        recording, dump = self.recording("1.2"), anrscope.dump(DATA / "dump/art14-deadlock.txt")
        with quiet():
            groups, fleet = anrscope.group_dumps(DATA / "dump"), anrscope.fleet(self.directory)
        tables: list[anrscope.Table[Any]] = [recording.slices, recording.threads, recording.waits, recording.anrs]
        return [*tables, dump.threads, dump.frames, dump.locks, anrscope.group(self.directory), groups, fleet]

    def test_frames_have_the_rows_and_their_types(self) -> None:
        for table in self.tables():
            for rows in (table, table[:0]):
                with self.subTest(table.row.__name__, rows=len(rows)):
                    frame, arrow = rows.to_pandas(), rows.to_arrow()
                    self.assertEqual([str(of) for of in frame.dtypes], [TYPES[column.kind][0] for column in table.columns])
                    self.assertEqual(arrow.schema.types, [TYPES[column.kind][1] for column in table.columns])
                    self.assertEqual(list(frame.columns), [column.name for column in table.columns])
                    expected = [row._asdict() for row in rows]
                    self.assertEqual(arrow.to_pylist(), expected)
                    self.assertEqual(frame.astype(object).where(frame.notna(), None).to_dict("records"), expected)
                    arrow.validate(full=True)

    def test_time_by_method_is_that_of_the_rows(self) -> None:
        slices = self.recording("1.2").slices
        frame = slices.to_pandas()
        by_name = frame.groupby("name").self_ns.sum()
        name = str(by_name.idxmax())
        self.assertEqual(by_name[name], sum(row.self_ns for row in slices if row.name == name))


if __name__ == "__main__":
    unittest.main()
