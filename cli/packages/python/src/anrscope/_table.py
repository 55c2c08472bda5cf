"""Rows with names and types, and their way to pandas and Arrow."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, Union, overload

if TYPE_CHECKING:
    import pandas
    import pyarrow

Row = TypeVar("Row", bound="tuple[Any, ...]")


class Column(NamedTuple):
    """The name and type of a column."""

    name: str
    #: ``int``, ``float``, ``str``, ``bool`` or ``datetime``.
    kind: type
    #: Whether a row may have no value, which is ``None``.
    optional: bool


class Table(Sequence[Row], Generic[Row]):
    """Rows of one type; each is a named tuple.

    A table is a sequence. ``to_pandas`` and ``to_arrow`` give it columns whose types do not depend on the rows.
    """

    def __init__(self, row: type[Row], rows: Iterable[Row]) -> None:
        #: The type of the rows.
        self.row = row
        self._rows = list(rows)

    @property
    def columns(self) -> list[Column]:
        """Name and type of each column."""
        columns = []
        for name, hint in typing.get_type_hints(self.row).items():
            kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
            columns.append(Column(name, kinds[0] if kinds else hint, bool(kinds)))
        return columns

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Table[Row]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[Row, Table[Row]]:
        if isinstance(index, slice):
            return Table(self.row, self._rows[index])
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.row is other.row and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {self.row.__name__}: {', '.join(column.name for column in self.columns)}>"

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame, with pandas' types that know missing values (``Int64``, ``string``, ``boolean``).

        Raises:
            ImportError: without pandas; ``pip install anrscope[pandas]`` installs it.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas() needs pandas: pip install anrscope[pandas]") from error
        types = {int: "Int64", float: "Float64", bool: "boolean", str: "string", datetime: "datetime64[us, UTC]"}
        values = zip(*self._rows) if self._rows else ([] for _ in self.columns)
        return pandas.DataFrame(
            {
                column.name: pandas.array(list(of), dtype=types[column.kind])  # type: ignore[call-overload]
                for column, of in zip(self.columns, values)
            }
        )

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table, for Polars, DuckDB or Parquet files.

        Raises:
            ImportError: without pyarrow; ``pip install anrscope[arrow]`` installs it.
        """
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError("to_arrow() needs pyarrow: pip install anrscope[arrow]") from error
        types = {
            int: pyarrow.int64(),
            float: pyarrow.float64(),
            bool: pyarrow.bool_(),
            str: pyarrow.string(),
            datetime: pyarrow.timestamp("us", tz="UTC"),
        }
        schema = pyarrow.schema(
            [pyarrow.field(column.name, types[column.kind], nullable=column.optional) for column in self.columns]
        )
        values = zip(*self._rows) if self._rows else ([] for _ in self.columns)
        arrays = [pyarrow.array(list(of), type=field.type) for field, of in zip(schema, values)]
        return pyarrow.Table.from_arrays(arrays, schema=schema)
