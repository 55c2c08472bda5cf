//! Finds the end of a `debug_info_item`, which does not say its size.

use super::cursor::Cursor;
use crate::Malformed;
use crate::code::debug_operands;

/// The offset behind the DBG_END_SEQUENCE of the item at `at`.
pub(super) fn end(bytes: &[u8], at: usize) -> Result<usize, Malformed> {
    let mut cursor = Cursor::new(bytes, at);
    let _line = cursor.uleb()?;
    for _ in 0..cursor.uleb()? {
        cursor.uleb()?;
    }
    while let Some(operands) = debug_operands(cursor.u8()?) {
        operands.iter().try_for_each(|_| cursor.uleb().map(drop))?;
    }
    Ok(cursor.at())
}
