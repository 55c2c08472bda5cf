"""Compares the rows of `anrscope report --group --rows` in both forms with each other, by Python and by DuckDB, also as the Parquet file
that DuckDB makes of them; and their groups by DuckDB and, optionally, Spark with those that the program printed.

    compare.py groups.json fleet.jsonl fleet.csv [spark]
"""
import csv
import json
import os
import sys

import duckdb

SQL = (
    "SELECT cause, root, count(*) AS count, max(hang_ns) AS longest_ns "
    "FROM fleet GROUP BY cause, root ORDER BY count DESC, cause, root"
)


def groups_by_duckdb(lines):
    with duckdb.connect() as connection:
        connection.execute("CREATE VIEW fleet AS SELECT * FROM read_json_auto('%s')" % lines)
        return "DuckDB " + duckdb.__version__, connection.execute(SQL).fetchall()


def groups_by_spark(lines):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        table = spark.read.option("inferTimestamp", True).json(lines)
        if dict(table.dtypes)["start"] != "timestamp":
            sys.exit("Spark takes the start for another type: %s" % table.dtypes)
        table.createOrReplaceTempView("fleet")
        return "Spark " + spark.version, [tuple(row) for row in spark.sql(SQL).collect()]
    finally:
        spark.stop()


def compare_groups(document, lines, engines):
    expected = {(g["cause"], g["root"]): (g["count"], g["longest_ns"]) for g in document["groups"]}
    for engine in engines:
        name, rows = engine(lines)
        found = {(row[0], row[1]): (row[2], row[3]) for row in rows}
        if found != expected or len(rows) != len(found):
            sys.exit("%s finds other groups: %s" % (name, sorted(set(found.items()) ^ set(expected.items()), key=str)))
        print("%s: the same %d groups of %d recordings" % (name, len(found), sum(n for n, _ in found.values())))


def rows_by_duckdb(connection, table):
    """Names of the columns, and the rows, with the start as text."""
    start = "strftime(start AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')"
    found = connection.execute("SELECT * REPLACE (%s AS start) FROM %s" % (start, table))
    return [column[0] for column in found.description], found.fetchall()


def compare_rows(count, lines, sheet):
    with open(lines, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    columns, expected = list(rows[0]), [tuple(row.values()) for row in rows]
    if len(rows) != count or any(list(row) != columns for row in rows):
        sys.exit("%s has %d rows, or other columns in some" % (lines, len(rows)))
    with open(sheet, encoding="utf-8", newline="") as file:
        head, *records = csv.reader(file, strict=True)
    as_text = [[v if isinstance(v, str) else "" if v is None else json.dumps(v) for v in row] for row in expected]
    if head != columns or records != as_text:
        sys.exit("Python reads other rows from the CSV file")
    parquet = os.path.splitext(lines)[0] + ".parquet"
    with duckdb.connect() as connection:
        connection.execute("COPY (SELECT * FROM '%s') TO '%s'" % (lines, parquet))
        # Without this option DuckDB takes an empty text for null.
        for table in ("'%s'" % lines, "read_csv('%s', allow_quoted_nulls = false)" % sheet, "'%s'" % parquet):
            if rows_by_duckdb(connection, table) != (columns, expected):
                sys.exit("DuckDB reads other rows from %s" % table)
    print("JSON Lines, CSV and Parquet: the same %d rows of %d columns" % (len(rows), len(columns)))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    lines, sheet = sys.argv[2:4]
    compare_rows(document["recordings"], lines, sheet)
    compare_groups(document, lines, [groups_by_duckdb] + ([groups_by_spark] if "spark" in sys.argv[4:] else []))


main()
