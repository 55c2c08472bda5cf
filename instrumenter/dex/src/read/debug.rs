//! Finds the end of a `debug_info_item`, which does not say its size.

use super::cursor::Cursor;
use crate::Malformed;

/// The offset behind the DBG_END_SEQUENCE of the item at `at`.
pub(super) fn end(bytes: &[u8], at: usize) -> Result<usize, Malformed> {
    let mut cursor = Cursor::new(bytes, at);
    let _line = cursor.uleb()?;
    let parameters = cursor.uleb()?;
    for _ in 0..parameters {
        cursor.uleb()?;
    }
    loop {
        let operands = match cursor.u8()? {
            0 => return Ok(cursor.at()),
            // DBG_ADVANCE_PC, DBG_END_LOCAL, DBG_RESTART_LOCAL, DBG_SET_FILE
            1 | 5 | 6 | 9 => 1,
            // DBG_ADVANCE_LINE
            2 => {
                cursor.sleb()?;
                0
            }
            // DBG_START_LOCAL
            3 => 3,
            // DBG_START_LOCAL_EXTENDED
            4 => 4,
            _ => 0,
        };
        for _ in 0..operands {
            cursor.uleb()?;
        }
    }
}
