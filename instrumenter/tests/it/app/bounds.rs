//! Entries that claim more than an app has are refused by their claim: nothing is inflated.

use apk::layout::{self, DEFLATED, Data, Entry};
use std::fs;

use super::{Bench, changed, data};

/// An entry that claims `mib` MiB. Its data is long enough for that, but inflating it finds damage.
fn claiming(name: &str, mib: u32) -> Entry<'static> {
    let bytes = vec![0xff; mib as usize * 1_100];
    let data = Data::Copied { method: DEFLATED, crc: 0, size: mib << 20, bytes: bytes.into() };
    Entry { data, ..Entry::new(name.as_bytes().to_vec(), b"".as_slice(), true) }
}

#[test]
fn claims_are_refused_before_they_are_inflated() {
    let bench = Bench::new("bounds");
    let with = |name: &str, claims: Vec<Entry<'static>>| {
        let bytes = changed(&data("small.apk"), |entries| {
            entries.retain(|entry| claims.iter().all(|claim| claim.name != entry.name));
            entries.extend(claims);
        });
        fs::write(bench.path(name), bytes).unwrap();
    };
    with("manifest.apk", vec![claiming("AndroidManifest.xml", 17)]);
    with("dex.apk", vec![claiming("classes.dex", 257)]);
    let several = ["classes.dex", "classes2.dex", "classes3.dex", "classes4.dex", "classes5.dex"];
    with("several.apk", several.map(|name| claiming(name, 250)).into());
    let set = layout::lay_out(&[claiming("splits/base-master.apk", 1_025)], &layout::Options::default());
    fs::write(bench.path("set.apks"), set.unwrap()).unwrap();
    for (name, entry, wanted) in [
        ("manifest.apk", "AndroidManifest.xml", "it is larger than 16 MiB"),
        ("dex.apk", "classes.dex", "it is larger than 256 MiB"),
        ("several.apk", "classes5.dex", "with it, manifests and dex files have more than 1024 MiB"),
        ("set.apks", "splits/base-master.apk", "it is larger than 1024 MiB"),
    ] {
        let error = bench.run(&[name], &bench.options()).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains(name) && error.contains(entry), "{error}");
    }
}
