//! The rows of a method, and the stacks of inlined frames that they are.

/// One line of a method.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Lines in the build; `None` if the row has no range, or an empty one (0:0).
    pub(super) range: Option<(u32, u32)>,
    /// The class that the method comes from, if it is a different one.
    pub(super) class: Option<Box<str>>,
    pub(super) method: Box<str>,
    pub(super) arguments: Box<str>,
    /// Lines of the source.
    pub(super) source: Option<(u32, Option<u32>)>,
    /// The descriptor in the build, if R8 writes it.
    pub(super) residual: Option<Box<str>>,
    pub(super) synthesized: bool,
    pub(super) outline: bool,
    /// For a call of an outline: the outline's line and the line here, in the build, sorted by the outline's
    /// line.
    pub(super) calls: Vec<(u32, u32)>,
}

/// Splits rows into stacks of inlined frames.
pub(super) fn stacks(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|a, b| a.range.is_some() && a.range == b.range && !ends_stack(a, b))
}

/// Whether two rows of one range are alternatives rather than nested frames: then neither has a source line,
/// and both are methods of this class (R8 merges methods with the same code).
fn ends_stack(a: &Row, b: &Row) -> bool {
    a.source.is_none() && b.source.is_none() && a.class.is_none() && b.class.is_none()
}
