//! A pseudo-random generator for the hand-written fuzzer of dumps (`exporter/examples/fuzz_dump.rs`).

/// Marsaglia's xorshift64: the same mutants for the same seed, everywhere.
pub(crate) struct Random(u64);

impl Random {
    /// Creates a generator; similar seeds give unrelated numbers.
    pub(crate) fn seeded(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns any number but 0.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below the limit; 0 if the limit is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
