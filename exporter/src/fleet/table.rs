//! Writes rows as a Parquet file.

use std::io::Write;
use std::sync::Arc;

use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::Row;

/// The columns. A column is never renamed or retyped; new ones are appended.
const SCHEMA: &str = "
    message anrscope {
        required binary file (UTF8);
        required binary process (UTF8);
        required int64 pid;
        required int64 start (TIMESTAMP(MICROS,true));
        required binary map_id (UTF8);
        required boolean hung;
        required int64 hang_ns;
        required int64 anrs;
        required binary cause (UTF8);
        required binary confidence (UTF8);
        optional binary root (UTF8);
        optional binary message (UTF8);
        optional binary method (UTF8);
        optional binary holder (UTF8);
        optional int64 cold_start_ns;
        optional binary unit (UTF8);
        optional int64 sdk;
        optional binary device (UTF8);
        optional boolean foreground;
        optional binary component (UTF8);
        optional binary verdict (UTF8);
        optional binary stack_hash (UTF8);
        optional binary app_version (UTF8);
        optional int64 app_version_code;
        required binary cause_id (UTF8);
        optional binary root_file (UTF8);
        optional int64 root_line;
        required boolean unactionable;
    }
";
/// Number of rows per row group.
const ROW_GROUP: usize = 1 << 16;

/// One column of a row group.
enum Column<'a> {
    Text(fn(&'a Row) -> Option<&'a str>),
    Number(fn(&Row) -> Option<i64>),
    Flag(fn(&Row) -> Option<bool>),
}

fn columns<'a>() -> [Column<'a>; 28] {
    use Column::{Flag, Number, Text};
    [
        Text(|r| Some(&r.file)),
        Text(|r| Some(&r.process)),
        Number(|r| Some(r.pid.into())),
        Number(|r| Some(r.start_us)),
        Text(|r| Some(&r.map_id)),
        Flag(|r| Some(r.hung)),
        Number(|r| Some(signed(r.hang_ns))),
        Number(|r| Some(r.anrs.into())),
        Text(|r| Some(r.cause)),
        Text(|r| Some(r.confidence)),
        Text(|r| r.root.as_deref()),
        Text(|r| r.message.as_deref()),
        Text(|r| r.method.as_deref()),
        Text(|r| r.holder.as_deref()),
        Number(|r| r.cold_start_ns.map(signed)),
        Text(|r| r.unit.as_deref()),
        Number(|r| r.sdk.map(i64::from)),
        Text(|r| r.device.as_deref()),
        Flag(|r| r.foreground),
        Text(|r| r.component),
        Text(|r| r.verdict),
        Text(|r| r.stack_hash.as_deref()),
        Text(|r| r.app_version.as_deref()),
        Number(|r| r.app_version_code.map(i64::from)),
        Text(|r| Some(r.cause_id)),
        Text(|r| r.root_file.as_deref()),
        Number(|r| r.root_line.map(i64::from)),
        Flag(|r| Some(r.unactionable)),
    ]
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Writes the rows.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_parquet(rows: &[Row], out: impl Write + Send) -> std::io::Result<()> {
    write(rows, out).map_err(|error| match error {
        ParquetError::External(source) => std::io::Error::other(source),
        other => std::io::Error::other(other),
    })
}

fn write(rows: &[Row], out: impl Write + Send) -> Result<()> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder()
        .set_created_by(concat!("anrscope ", env!("CARGO_PKG_VERSION")).to_owned());
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties.build()))?;
    for rows in rows.chunks(ROW_GROUP) {
        let mut group = writer.next_row_group()?;
        for column in columns() {
            let Some(mut column_writer) = group.next_column()? else {
                return Err(ParquetError::General("the schema has fewer columns".to_owned()));
            };
            write_column(rows, &column, column_writer.untyped())?;
            column_writer.close()?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn write_column<'a>(rows: &'a [Row], column: &Column<'a>, writer: &mut ColumnWriter<'_>) -> Result<()> {
    // A required column has no definition levels.
    match (column, writer) {
        (Column::Text(of), ColumnWriter::ByteArrayColumnWriter(writer)) => {
            let levels: Vec<i16> = rows.iter().map(|row| of(row).is_some().into()).collect();
            let values: Vec<ByteArray> = rows.iter().filter_map(of).map(ByteArray::from).collect();
            let levels = (writer.get_descriptor().max_def_level() > 0).then_some(&levels[..]);
            writer.write_batch(&values, levels, None)?;
        }
        (Column::Number(of), ColumnWriter::Int64ColumnWriter(writer)) => {
            let levels: Vec<i16> = rows.iter().map(|row| of(row).is_some().into()).collect();
            let values: Vec<i64> = rows.iter().filter_map(of).collect();
            let levels = (writer.get_descriptor().max_def_level() > 0).then_some(&levels[..]);
            writer.write_batch(&values, levels, None)?;
        }
        (Column::Flag(of), ColumnWriter::BoolColumnWriter(writer)) => {
            let levels: Vec<i16> = rows.iter().map(|row| of(row).is_some().into()).collect();
            let values: Vec<bool> = rows.iter().filter_map(of).collect();
            let levels = (writer.get_descriptor().max_def_level() > 0).then_some(&levels[..]);
            writer.write_batch(&values, levels, None)?;
        }
        _ => return Err(ParquetError::General("a column has another type than the schema says".to_owned())),
    }
    Ok(())
}
