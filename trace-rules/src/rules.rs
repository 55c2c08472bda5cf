/// By whose rules something is counted or written, where the two differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rules {
    /// Ours.
    #[default]
    Anrscope,
    /// Tencent Matrix's, faults included: for those who compare with the figures they had.
    Matrix,
}
