"""Compares the groups that `anrscope report --group --format json` printed with those of DuckDB and, optionally, Spark.

    compare.py groups.json fleet.parquet [spark]
"""
import json
import sys

SQL = (
    "SELECT cause, root, count(*) AS count, max(hang_ns) AS longest_ns "
    "FROM fleet GROUP BY cause, root ORDER BY count DESC, cause, root"
)


def by_duckdb(file):
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE VIEW fleet AS SELECT * FROM read_parquet('%s')" % file.replace("'", "''"))
    return "DuckDB " + duckdb.__version__, connection.execute(SQL).fetchall()


def by_spark(file):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        spark.read.parquet(file).createOrReplaceTempView("fleet")
        return "Spark " + spark.version, [tuple(row) for row in spark.sql(SQL).collect()]
    finally:
        spark.stop()


def main():
    with open(sys.argv[1]) as file:
        document = json.load(file)
    expected = {(g["cause"], g["root"]): (g["count"], g["longest_ns"]) for g in document["groups"]}
    engines = [by_duckdb] + ([by_spark] if "spark" in sys.argv[3:] else [])
    for engine in engines:
        name, rows = engine(sys.argv[2])
        found = {(row[0], row[1]): (row[2], row[3]) for row in rows}
        if found != expected or len(rows) != len(found):
            sys.exit("%s finds other groups: %s" % (name, sorted(set(found.items()) ^ set(expected.items()), key=str)))
        print("%s: the same %d groups of %d recordings" % (name, len(found), sum(n for n, _ in found.values())))


main()
