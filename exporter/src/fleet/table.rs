//! Writes rows as a table: JSON Lines for databases, CSV for spreadsheets.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Row;
use crate::utc::{date, time_of_day};

/// The columns of both forms, in the order of [`Row`]'s fields. A column is never renamed or retyped; new ones are appended.
const COLUMNS: &str = "file,process,pid,start,map_id,hung,hang_ns,anrs,cause,confidence,root,message,method,owner,cold_start_ns,unit,\
    sdk,device,foreground,component,verdict,stack_hash,app_version,app_version_code,root_file,root_line,unactionable";

/// Serializes the number, or the greatest that a signed column of 64 bits holds. A damaged recording may have a greater one,
/// and a single such row would turn the column of a database into floating point.
pub(super) fn int64<S: Serializer>(
    number: &(impl Into<Option<u64>> + Copy),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let number: Option<u64> = (*number).into();
    number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)).serialize(serializer)
}

/// Serializes microseconds since 1970 in the form of ISO 8601 that databases take for a timestamp.
pub(super) fn timestamp<S: Serializer>(us: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = us.map(|us| {
        let (seconds, us) = (us / 1_000_000, us % 1_000_000);
        format!("{}T{}.{us:06}Z", date(seconds), time_of_day(seconds))
    });
    text.serialize(serializer)
}

/// Writes the rows as JSON Lines: one object a line, with every column, null where the value is unknown.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json_lines(rows: &[Row], mut out: impl Write) -> io::Result<()> {
    for row in rows {
        serde_json::to_writer(&mut out, row)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Writes the rows as CSV (RFC 4180), after a line with the names of the columns.
///
/// Every text, the start too, is in quotes, and nothing else is. So an empty text is not an unknown value, and a reader that
/// guesses types does not take the version `1.10` for a number.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_csv(rows: &[Row], mut out: impl Write) -> io::Result<()> {
    write_record(COLUMNS.split(',').map(Value::from), &mut out)?;
    for row in rows {
        let values = serde_json::to_value(row)?;
        write_record(COLUMNS.split(',').map(|column| values[column].clone()), &mut out)?;
    }
    Ok(())
}

fn write_record(values: impl Iterator<Item = Value>, out: &mut impl Write) -> io::Result<()> {
    let fields = values.map(|value| match value {
        Value::Null => String::new(),
        Value::String(text) => format!("\"{}\"", text.replace('"', "\"\"")),
        other => other.to_string(),
    });
    write!(out, "{}\r\n", fields.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row {
            file: "a,\"b\"\n.anrscope".to_owned(),
            process: String::new(),
            pid: 42,
            start_us: Some(1_709_164_800_000_007),
            map_id: "00000000000000ab".to_owned(),
            hung: true,
            hang_ns: u64::MAX,
            anrs: 1,
            cause: "lock-wait",
            confidence: "high",
            root: Some("=1+1".to_owned()),
            message: None,
            method: None,
            owner: None,
            cold_start_ns: None,
            unit: None,
            sdk: Some(34),
            device: None,
            foreground: Some(false),
            component: None,
            verdict: None,
            stack_hash: None,
            app_version: Some("1.10".to_owned()),
            app_version_code: None,
            root_file: None,
            root_line: None,
            unactionable: false,
        }
    }

    fn written(write: impl Fn(&[Row], &mut Vec<u8>) -> io::Result<()>, rows: &[Row]) -> String {
        let mut out = Vec::new();
        write(rows, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_lines_have_types_and_null_for_the_unknown() {
        assert_eq!(
            written(|rows, out| write_json_lines(rows, out), &[row()]),
            "{\"file\":\"a,\\\"b\\\"\\n.anrscope\",\"process\":\"\",\"pid\":42,\"start\":\"2024-02-29T00:00:00.000007Z\",\
             \"map_id\":\"00000000000000ab\",\"hung\":true,\"hang_ns\":9223372036854775807,\"anrs\":1,\
             \"cause\":\"lock-wait\",\"confidence\":\"high\",\"root\":\"=1+1\",\"message\":null,\"method\":null,\
             \"owner\":null,\"cold_start_ns\":null,\"unit\":null,\"sdk\":34,\"device\":null,\"foreground\":false,\
             \"component\":null,\"verdict\":null,\"stack_hash\":null,\"app_version\":\"1.10\",\"app_version_code\":null,\
             \"root_file\":null,\"root_line\":null,\"unactionable\":false}\n"
        );
        assert_eq!(written(|rows, out| write_json_lines(rows, out), &[]), "");
    }

    #[test]
    fn csv_quotes_every_text_and_leaves_the_unknown_empty() {
        let head = "\"file\",\"process\",\"pid\",\"start\",\"map_id\",\"hung\",\"hang_ns\",\"anrs\",\"cause\",\"confidence\",\
                    \"root\",\"message\",\"method\",\"owner\",\"cold_start_ns\",\"unit\",\"sdk\",\"device\",\"foreground\",\
                    \"component\",\"verdict\",\"stack_hash\",\"app_version\",\"app_version_code\",\"root_file\",\
                    \"root_line\",\"unactionable\"\r\n";
        let record = "\"a,\"\"b\"\"\n.anrscope\",\"\",42,\"2024-02-29T00:00:00.000007Z\",\"00000000000000ab\",true,\
                      9223372036854775807,1,\"lock-wait\",\"high\",\"=1+1\",,,,,,34,,false,,,,\"1.10\",,,,false\r\n";
        assert_eq!(written(|rows, out| write_csv(rows, out), &[row()]), format!("{head}{record}"));
        assert_eq!(written(|rows, out| write_csv(rows, out), &[]), head);
    }
}
