//! methodMapping.txt and the file of source lines beside it.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use exporter::MethodMap;
use answers::retrace::Mapping;

static MAPPING: LazyLock<Mapping> = LazyLock::new(|| {
    let text = "com.acme.Main -> a.b:\n    1:9:void inner(int):3:3 -> c\n    void outer() -> c\n    int x(long[]) -> d\n";
    Mapping::parse(Path::new("m"), text.as_bytes()).expect("a mapping")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 256, || {
    let Ok(mut map) = MethodMap::parse(Path::new("m"), bytes.to_vec()) else { return };
    map.set_source_lines(String::from_utf8_lossy(bytes).into_owned());
    // Retraced with the mapping of a later build.
    let retraced = map.retraced(&MAPPING);
    assert_eq!((retraced.map_id(), retraced.len()), (map.map_id(), map.len()));
    let mut found = 0;
    for id in (0..300).chain(65_530..65_540).chain(1_044_400..1_048_576) {
        let (method, again) = (map.get(id), retraced.get(id));
        assert_eq!(method.is_some(), again.is_some());
        found += usize::from(method.is_some());
        let _ = map.source_line(id);
    }
    assert!(found <= map.len());
}));
