/// Which rules to count and write by, where Matrix differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rules {
    /// anrscope's.
    #[default]
    Anrscope,
    /// Tencent Matrix's, with their faults, to compare with earlier figures.
    Matrix,
}
