//! A synthetic recording of one busy thread, for measurements.

use std::path::Path;

use exporter::MethodMap;
use trace_format::synth::RecordingBuilder;

/// Names of 832 methods with realistic lengths.
const METHODS: u64 = 832;

/// A small deterministic generator, without a dependency.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Nested calls, deterministic, all of them closed.
pub fn recording(events: u64) -> Vec<u8> {
    let mut random = Random(7);
    RecordingBuilder::new(4242, "com.example.app")
        .main("main", |t| {
            let mut now = 1_000_000_000;
            let mut open = Vec::new();
            for left in (0..events).rev() {
                // Mostly short calls; some outer ones take some hundred microseconds.
                let most = if random.below(16) == 0 { 40_000 } else { 1_500 };
                now += 40 + random.below(most);
                let must_close = open.len() as u64 > left;
                if !open.is_empty() && (must_close || open.len() > 30 || random.below(2) == 0) {
                    t.exit(now, open.pop().expect("not empty"));
                } else {
                    let id = 1 + random.below(METHODS) as u32;
                    t.enter(now, id);
                    open.push(id);
                }
            }
        })
        .build()
}

/// The lines of the map of its methods.
pub fn lines() -> String {
    let line = |id| format!("{id},1,com.example.app.feature{}.Klass{} method{id} ()V\n", id % 7, id % 60);
    (1..=METHODS).map(line).collect()
}

/// The map of its methods.
pub fn map() -> MethodMap {
    MethodMap::parse(Path::new("map"), lines().into_bytes()).expect("a map")
}
