//! Apps: an APK and a fake of the Android runtime, which `scripts/apk/make-app` makes of `tests/java/app` and `tests/java/runtime`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use apk::layout::{self, Entry};
use apk::manifest::Manifest;
use apk::sign;
use instrumenter::app::{AppOptions, AppSummary, Error, Identity, Signing, instrument_app};
use instrumenter::{Catalogue, Decision, Input, MapPaths, Options};
use test_support::signed;
use trace_format::event::CallId;

use crate::support::directory;

mod bounds;

fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/app").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A directory with the app in it, and what a run needs.
struct Bench {
    directory: PathBuf,
    runtime: Vec<u8>,
}

impl Bench {
    fn new(name: &str) -> Self {
        let bench = Self { directory: directory(&format!("app-{name}")), runtime: data("runtime.zip") };
        fs::write(bench.path("small.apk"), data("small.apk")).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn options(&self) -> AppOptions<'_> {
        AppOptions {
            // Every method with a call.
            common: Options { short: 0, ..Options::default() },
            runtime: &self.runtime,
            runtime_path: None,
            signing: Signing::Unsigned,
            debuggable: false,
            abis: Vec::new(),
            settings: Vec::new(),
        }
    }

    fn run(&self, inputs: &[&str], options: &AppOptions<'_>) -> Result<AppSummary, Error> {
        let inputs: Vec<Input> = inputs
            .iter()
            .map(|name| Input::new(self.path(name), self.path(&format!("out/{name}"))))
            .collect();
        instrument_app(&inputs, &MapPaths::beside(self.path("out/methodMapping.txt")), options, &|_| {})
    }

    fn output(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(&format!("out/{name}"))).unwrap()
    }
}

fn contents(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let entries = layout::read(archive).unwrap();
    entries
        .iter()
        .map(|entry| (entry.display_name(), entry.contents(u64::MAX).unwrap().into_owned()))
        .collect()
}

/// Returns the archive with other entries.
fn changed(archive: &[u8], change: impl FnOnce(&mut Vec<Entry<'_>>)) -> Vec<u8> {
    let mut entries = layout::read(archive).unwrap();
    change(&mut entries);
    let options = layout::Options { store_libraries: false, store_resources: false, level: 6, comment: &[] };
    layout::lay_out(&entries, &options).unwrap()
}

#[test]
fn an_app_gets_calls_the_runtime_and_a_manifest_and_keeps_everything_else() {
    let bench = Bench::new("whole");
    let mut options = bench.options();
    options.settings = vec![("anrscope.stall_ms".to_owned(), "700".to_owned())];
    let summary = bench.run(&["small.apk"], &options).unwrap();
    let (before, after) = (contents(&data("small.apk")), contents(&bench.output("small.apk")));
    let names: Vec<&str> = after.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "AndroidManifest.xml",
            "assets/prices.txt",
            "classes.dex",
            "classes2.dex",
            "lib/arm64-v8a/libanrscope.so",
            "lib/arm64-v8a/libsmall.so",
            "lib/x86_64/libanrscope.so",
            "lib/x86_64/libsmall.so",
        ]
    );
    for same in ["assets/prices.txt", "lib/arm64-v8a/libsmall.so", "lib/x86_64/libsmall.so"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    assert_eq!(after["lib/x86_64/libanrscope.so"], b"the library for x86_64\n");
    assert_eq!(signed::check(&bench.output("small.apk")).unwrap().misaligned, []);

    let manifest = Manifest::read(&after["AndroidManifest.xml"]).unwrap();
    let facts = manifest.facts();
    assert!(facts.components.iter().any(|component| component.class == "dev.anrscope.StartProvider"));
    assert_eq!((facts.min_sdk, facts.meta_data.as_slice()), (21, &["anrscope.stall_ms".to_owned()][..]));
    assert!(!facts.debuggable);

    let map = fs::read_to_string(bench.path("out/methodMapping.txt")).unwrap();
    assert!(map.contains("com.example.small.Shop kind (I)Ljava.lang.String;"), "{map}");
    assert!(!map.contains("getLevel") && !map.contains("Synthetic"), "{map}");
    let package = &summary.packages[0];
    assert_eq!((package.package.as_str(), package.min_sdk_was), ("com.example.small", Some(19)));
    assert_eq!(package.abis, ["arm64-v8a", "x86_64"]);
    let dropped: Vec<&str> = package.dropped.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(dropped, ["META-INF/OLD.SF", "assets/dexopt/baseline.prof"]);
    assert_eq!(summary.methods.skipped, []);
    // The id of the map is in the app.
    let id = summary.methods.map_id.to_string();
    assert!(after["classes2.dex"].windows(id.len()).any(|window| window == id.as_bytes()));
}

#[test]
fn traced_code_passes_the_verifier() {
    let bench = Bench::new("verified");
    bench.run(&["small.apk"], &bench.options()).unwrap();
    let (before, after) = (contents(&data("small.apk")), contents(&bench.output("small.apk")));
    let verified = |bytes: &[u8]| dex_verifier::verify(bytes).unwrap();
    let (old, new) = (verified(&before["classes.dex"]), verified(&after["classes.dex"]));
    assert_eq!(new.new_since(&old), []);
    assert!(new.methods > 0 && old.methods == new.methods);
    assert_eq!(verified(&after["classes2.dex"]).all().count(), 0);
}

#[test]
fn every_traced_method_enters_once() {
    let bench = Bench::new("calls");
    let summary = bench.run(&["small.apk"], &bench.options()).unwrap();
    let after = contents(&bench.output("small.apk"));
    let dex = dex::Dex::read(&after["classes.dex"]).unwrap();
    let beat = |name: &str| {
        let named = |method: &dex::Method| {
            dex.descriptor(method.class) == Some(b"Ldev/anrscope/MethodBeat;")
                && dex.string(method.name) == Some(name.as_bytes())
        };
        dex.methods.iter().position(named).unwrap() as u32
    };
    let (enter, exit) = (beat("i"), beat("o"));
    let (mut enters, mut without_exit) = (0, 0);
    for method in dex.classes.iter().flat_map(dex::Class::methods) {
        let Some(dex::MethodCode::Read(code)) = &method.code else { continue };
        let calls = dex::code::facts(code).unwrap().calls;
        let count = |target| calls.iter().filter(|call| call.target == target).count();
        assert!(count(enter) <= 1);
        enters += count(enter);
        without_exit += usize::from(count(enter) == 1 && count(exit) == 0);
    }
    assert_eq!((enters, without_exit), (summary.methods.traced, 0));
}

/// The calls of `MethodBeat` in each method that has any, by name.
fn recorded(dex: &dex::Dex<'_>) -> BTreeMap<String, Vec<String>> {
    let name = |method: u32| {
        let method = dex.methods.get(method as usize).unwrap();
        String::from_utf8_lossy(dex.string(method.name).unwrap()).into_owned()
    };
    let mut recorded = BTreeMap::new();
    for method in dex.classes.iter().flat_map(dex::Class::methods) {
        let Some(dex::MethodCode::Read(code)) = &method.code else { continue };
        let calls = dex::code::facts(code).unwrap().calls;
        let ours = calls.iter().filter(|call| {
            dex.descriptor(dex.methods[call.target as usize].class) == Some(b"Ldev/anrscope/MethodBeat;")
        });
        let mut ours: Vec<String> = ours.map(|call| name(call.target)).collect();
        ours.sort();
        if !ours.is_empty() {
            recorded.insert(name(method.method), ours);
        }
    }
    recorded
}

#[test]
fn waits_and_steps_are_recorded() {
    let bench = Bench::new("waits");
    let mut options = bench.options();
    options.common.waits = Some(Catalogue::default());
    let summary = bench.run(&["small.apk"], &options).unwrap();
    assert_eq!(summary.methods.skipped, []);
    let (before, after) = (contents(&data("small.apk")), contents(&bench.output("small.apk")));
    let verified = |bytes: &[u8]| dex_verifier::verify(bytes).unwrap();
    let (old, new) = (verified(&before["classes.dex"]), verified(&after["classes.dex"]));
    assert_eq!(new.new_since(&old), []);
    let dex = dex::Dex::read(&after["classes.dex"]).unwrap();
    let recorded = recorded(&dex);
    // A lock is released where the method returns and where it throws. What waits for it ends with or without it.
    let locks = ["i", "o", "o", "wb", "we", "we", "wr", "wr"];
    assert_eq!(recorded["add"], locks);
    assert_eq!(recorded["kind"].iter().filter(|call| call.starts_with('w')).count(), 5);
    // The lambda is made and handed over; the sleep ends or throws.
    assert_eq!(recorded["later"], ["c", "c", "i", "o", "o", "wb", "we", "we"]);
    let body = recorded.iter().find(|(name, _)| name.starts_with("lambda$later$")).unwrap().1;
    assert_eq!(*body, ["c", "c", "c", "i", "o", "o"], "its code starts, and finishes or throws");
    assert_eq!(recorded["parse"], ["i", "o", "o", "o"]);
    // `const/16` of the sleep's number and kind.
    let sleep = CallId::of("java.lang.Thread", "sleep").with_kind(4).to_le_bytes();
    let pushes = |bytes: &[u8]| bytes.windows(4).any(|code| code[0] == 0x13 && code[2..] == sleep);
    assert!(!pushes(&before["classes.dex"]) && pushes(&after["classes.dex"]));
}

#[test]
fn the_same_app_and_key_give_the_same_bytes_and_the_signature_is_valid() {
    let bench = Bench::new("signed");
    let mut options = bench.options();
    options.signing = Signing::Key(Identity::generate(SystemTime::UNIX_EPOCH).unwrap());
    let first = bench.run(&["small.apk"], &options).unwrap();
    let bytes = bench.output("small.apk");
    bench.run(&["small.apk"], &options).unwrap();
    assert!(bytes == bench.output("small.apk"));
    let verified = signed::verify(&bytes).unwrap();
    assert_eq!(verified.len(), 2, "{verified:?}");
    let digest: String = verified[0].certificate_digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(first.packages[0].signed_by, Some(digest));
    assert_eq!(signed::check(&bytes).unwrap().misaligned, []);
}

#[test]
fn splits_share_a_map_and_libraries_go_beside_those_of_the_app() {
    let bench = Bench::new("splits");
    let base =
        changed(&data("small.apk"), |entries| entries.retain(|entry| !entry.name.starts_with(b"lib/")));
    let split = data("split.apk");
    fs::write(bench.path("base.apk"), &base).unwrap();
    fs::write(bench.path("split.apk"), &split).unwrap();
    let set = {
        let mut entries = Vec::new();
        for (name, bytes) in [("splits/base-master.apk", &base), ("splits/base-arm64.apk", &split)] {
            entries.push(Entry::new(name.as_bytes().to_vec(), bytes.clone(), false));
        }
        let options =
            layout::Options { store_libraries: false, store_resources: false, level: 6, comment: &[] };
        layout::lay_out(&entries, &options).unwrap()
    };
    fs::write(bench.path("app.apks"), set).unwrap();

    let summary = bench.run(&["base.apk", "split.apk"], &bench.options()).unwrap();
    assert_eq!(summary.packages.len(), 2);
    let (base, split) = (contents(&bench.output("base.apk")), contents(&bench.output("split.apk")));
    assert!(!base.keys().any(|name| name.starts_with("lib/")), "{:?}", base.keys());
    assert!(split.contains_key("lib/arm64-v8a/libanrscope.so"), "{:?}", split.keys());

    bench.run(&["app.apks"], &bench.options()).unwrap();
    let set = contents(&bench.output("app.apks"));
    assert_eq!(contents(&set["splits/base-master.apk"])["classes.dex"], base["classes.dex"]);
    assert!(contents(&set["splits/base-arm64.apk"]).contains_key("lib/arm64-v8a/libanrscope.so"));
}

/// `small.apk` as a bundle, whose base has these entries too. `aapt2 convert --output-format proto` has made the manifest of the APK's.
fn bundle(more: &[(&str, &[u8])]) -> Vec<u8> {
    let manifest = data("manifest.pb");
    let dex = contents(&data("small.apk"))["classes.dex"].clone();
    let entry = |name: &str, bytes: &[u8]| Entry::new(name.as_bytes().to_vec(), bytes.to_vec(), true);
    let mut entries = vec![
        entry("BundleConfig.pb", b""),
        entry("base/manifest/AndroidManifest.xml", &manifest),
        entry("base/dex/classes.dex", &dex),
    ];
    entries.extend(more.iter().map(|(name, bytes)| entry(name, bytes)));
    let options = layout::Options { store_libraries: false, store_resources: false, level: 6, comment: &[] };
    layout::lay_out(&entries, &options).unwrap()
}

#[test]
fn a_bundle_says_which_abis_the_libraries_are_for() {
    let bench = Bench::new("bundle");
    let of = |abis: &[&str]| {
        let mut config = Vec::new();
        abis.iter().for_each(|abi| apk::bundle::add_native_directory(&mut config, abi));
        config
    };
    let arm = of(&["arm64-v8a"]);
    let own: [(&str, &[u8]); 2] = [("base/lib/arm64-v8a/libsmall.so", b"small"), ("base/native.pb", &arm)];
    for (name, more, expected) in [
        ("without.aab", &[][..], of(&["arm64-v8a", "armeabi-v7a", "x86_64"])),
        ("with.aab", &own[..], arm.clone()),
    ] {
        fs::write(bench.path(name), bundle(more)).unwrap();
        let summary = bench.run(&[name], &bench.options()).unwrap();
        assert!(summary.packages[0].is_bundle);
        let after = contents(&bench.output(name));
        assert_eq!(after["base/native.pb"], expected, "{name}");
        assert!(after.contains_key("base/lib/arm64-v8a/libanrscope.so"), "{:?}", after.keys());
        assert!(after.contains_key("base/dex/classes2.dex"), "{:?}", after.keys());
    }
}

#[test]
fn the_modules_of_a_bundle_have_the_level_of_the_base() {
    let bench = Bench::new("bundle-level");
    let dex = contents(&data("small.apk"))["classes.dex"].clone();
    let feature = data("feature.pb");
    let more: [(&str, &[u8]); 4] = [
        ("base/lib/x86_64/libsmall.so", b"small"),
        ("more/manifest/AndroidManifest.xml", &feature),
        ("more/dex/classes.dex", &dex),
        ("pack/manifest/AndroidManifest.xml", &data("asset_pack.pb")),
    ];
    fs::write(bench.path("app.aab"), bundle(&more)).unwrap();
    bench.run(&["app.aab"], &bench.options()).unwrap();
    let after = contents(&bench.output("app.aab"));
    let level = |module: &str| {
        Manifest::read(&after[&format!("{module}/manifest/AndroidManifest.xml")]).unwrap().facts().min_sdk
    };
    assert_eq!((level("base"), level("more")), (21, 21));
    assert_eq!(after["pack/manifest/AndroidManifest.xml"], data("asset_pack.pb"));
    assert!(!after.contains_key("more/dex/classes2.dex"), "{:?}", after.keys());
    let libraries: Vec<&String> = after.keys().filter(|name| name.ends_with("/libanrscope.so")).collect();
    assert_eq!(libraries, ["base/lib/x86_64/libanrscope.so"]);
}

#[test]
fn the_mapping_in_a_bundle_gives_original_names() {
    let bench = Bench::new("bundle-mapping");
    let mapping = b"com.example.before.Store -> com.example.small.Shop:\n";
    let entry = "BUNDLE-METADATA/com.android.tools.build.obfuscation/proguard.map";
    fs::write(bench.path("app.aab"), bundle(&[(entry, mapping)])).unwrap();
    let summary = bench.run(&["app.aab"], &bench.options()).unwrap();
    assert_eq!(summary.mapping_of, Some(bench.path("app.aab").display().to_string()));
    let map = fs::read_to_string(bench.path("out/methodMapping.txt")).unwrap();
    assert!(map.contains("com.example.before.Store kind (I)Ljava.lang.String;"), "{map}");
    assert_eq!(contents(&bench.output("app.aab"))[entry], mapping);
}

#[test]
fn one_abi_is_enough_for_one_device() {
    let bench = Bench::new("abi");
    let options = AppOptions { abis: vec!["x86_64".to_owned()], ..bench.options() };
    bench.run(&["small.apk"], &options).unwrap();
    let after = contents(&bench.output("small.apk"));
    assert!(after.contains_key("lib/x86_64/libanrscope.so"));
    assert!(!after.contains_key("lib/arm64-v8a/libanrscope.so"));
    let unknown = AppOptions { abis: vec!["mips".to_owned()], ..bench.options() };
    let error = bench.run(&["small.apk"], &unknown).unwrap_err().to_string();
    assert!(error.contains("no library for mips, only for arm64-v8a"), "{error}");
}

#[test]
fn what_cannot_be_traced_is_an_error_and_nothing_is_written() {
    let bench = Bench::new("errors");
    bench.run(&["small.apk"], &bench.options()).unwrap();
    fs::copy(bench.path("out/small.apk"), bench.path("again.apk")).unwrap();
    fs::write(bench.path("text.apk"), "not a zip file").unwrap();
    let no_code = changed(&data("small.apk"), |entries| {
        entries.retain(|entry| entry.name != b"classes.dex".as_slice())
    });
    fs::write(bench.path("empty.apk"), no_code).unwrap();
    let packed = changed(&data("small.apk"), |entries| {
        let other = contents(&data("runtime.zip"))["classes.dex"].clone();
        let dex = entries.iter_mut().find(|entry| entry.name == b"classes.dex".as_slice()).unwrap();
        dex.replace(other);
    });
    fs::write(bench.path("packed.apk"), packed).unwrap();
    let broken = changed(&data("small.apk"), |entries| {
        let dex = entries.iter_mut().find(|entry| entry.name == b"classes.dex".as_slice()).unwrap();
        let mut bytes = dex.contents(u64::MAX).unwrap().into_owned();
        bytes[200] ^= 1;
        dex.replace(bytes);
    });
    fs::write(bench.path("broken.apk"), broken).unwrap();
    for (name, wanted) in [
        ("again.apk", "already instrumented"),
        ("text.apk", "not an APK"),
        ("empty.apk", "no classes.dex"),
        ("packed.apk", "packed"),
        ("broken.apk", "classes.dex"),
    ] {
        let error = bench.run(&[name], &bench.options()).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains(name), "{name}: {error}");
        assert!(!bench.path(&format!("out/{name}")).exists());
    }
    let wrong = AppOptions { runtime: b"PK", ..bench.options() };
    assert!(matches!(bench.run(&["small.apk"], &wrong), Err(Error::Runtime { .. })));
}

#[test]
fn rules_ids_and_explanations_are_those_of_class_files() {
    let bench = Bench::new("chosen");
    fs::write(bench.path("rules"), "exclude method kind\nalways method getLevel\n").unwrap();
    fs::write(bench.path("base.txt"), "77,1,com.example.small.Shop parse (Ljava.lang.String;)I\n").unwrap();
    let mut options = bench.options();
    options.common.rules = Some(bench.path("rules"));
    options.common.base_map = Some(bench.path("base.txt"));
    options.common.explain = Some("com.example.small.Shop".to_owned());
    let summary = bench.run(&["small.apk"], &options).unwrap();
    let map = fs::read_to_string(bench.path("out/methodMapping.txt")).unwrap();
    assert!(map.contains("77,8,com.example.small.Shop parse"), "{map}");
    assert!(map.contains(" getLevel ") && !map.contains(" kind "), "{map}");
    let [class] = &summary.methods.explained[..] else { panic!("{:?}", summary.methods.explained) };
    let method = |name: &str| class.methods.iter().find(|method| method.name == name).unwrap();
    assert_eq!(method("kind").decision, Decision::Excluded);
    assert_eq!((&method("parse").decision, method("parse").id), (&Decision::Traced, Some(77)));
    let (before, after) = method("parse").code_bytes.unwrap();
    assert!(before > 0 && after > before);
}

/// Returns the dex file with other units in all methods of this name.
fn with_units(dex: &[u8], name: &str, units: &[u16]) -> Vec<u8> {
    let units: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let mut dex = dex::Dex::read(dex).unwrap();
    let named = |method: &dex::ClassMethod<'_>, dex: &dex::Dex<'_>| {
        dex.string(dex.methods[method.method as usize].name) == Some(name.as_bytes())
    };
    let mut classes = core::mem::take(&mut dex.classes);
    for class in &mut classes {
        for method in class.direct_methods.iter_mut().chain(&mut class.virtual_methods) {
            if named(method, &dex)
                && let Some(dex::MethodCode::Read(code)) = &mut method.code
            {
                *code = dex::code::Code { units: units.clone().into(), tries: Vec::new(), ..code.clone() };
            }
        }
    }
    dex.classes = classes;
    dex.write().unwrap()
}

/// By descriptor and name: the units of all methods with code.
fn units(dex: &[u8]) -> BTreeMap<(String, String), Vec<u8>> {
    let dex = dex::Dex::read(dex).unwrap();
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap()).into_owned();
    let mut found = BTreeMap::new();
    for class in &dex.classes {
        for method in class.direct_methods.iter().chain(&class.virtual_methods) {
            if let Some(dex::MethodCode::Read(code)) = &method.code {
                let name = text(dex.string(dex.methods[method.method as usize].name));
                found.insert((text(dex.descriptor(class.class)), name), code.units.to_vec());
            }
        }
    }
    found
}

/// Returns the app with this `classes.dex`, and these files after it.
fn with_dexes(first: Vec<u8>, others: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
    changed(&data("small.apk"), |entries| {
        entries.iter_mut().find(|entry| entry.name == b"classes.dex".as_slice()).unwrap().replace(first);
        entries.extend(others.iter().map(|(name, bytes)| Entry::new(name.as_bytes(), bytes.clone(), true)));
    })
}

#[test]
fn a_class_with_an_unknown_instruction_is_kept_as_it_was_and_all_others_are_traced() {
    let bench = Bench::new("unknown-instruction");
    // invoke-static of a method that is not in the tables, and no such instruction.
    for (number, unknown) in [&[0x0071_u16, 0xFFFF, 0, 0x000E][..], &[0x000E, 0x003E]].into_iter().enumerate()
    {
        let broken = with_units(&contents(&data("small.apk"))["classes.dex"], "apply", unknown);
        fs::write(bench.path("small.apk"), with_dexes(broken.clone(), &[])).unwrap();
        let summary = bench.run(&["small.apk"], &bench.options()).unwrap();
        let after = contents(&bench.output("small.apk"));
        assert!(summary.methods.traced > 0);
        let names: Vec<&String> = after.keys().filter(|name| name.ends_with(".dex")).collect();
        assert_eq!(names, ["classes.dex", "classes2.dex", "classes3.dex"], "{number}");
        let (before, traced, kept) =
            (units(&broken), units(&after["classes.dex"]), units(&after["classes2.dex"]));
        // Every method is in one of both: as it was in the second.
        assert_eq!(traced.len() + kept.len(), before.len());
        assert!(!kept.is_empty() && kept.iter().all(|(method, code)| before[method] == *code));
        let of_broken = kept.keys().all(|(class, _)| kept.contains_key(&(class.clone(), "apply".to_owned())));
        assert!(of_broken, "{:?}", kept.keys());
        let verified = |bytes: &[u8]| dex_verifier::verify(bytes).unwrap();
        let old = verified(&broken);
        for name in ["classes.dex", "classes2.dex"] {
            assert_eq!(verified(&after[name]).new_since(&old), [], "{name}");
        }
        let finding = summary.findings.iter().find(|finding| finding.subject == "classes.dex").unwrap();
        assert!(finding.text.contains(".apply: ") && finding.text.contains("at byte"), "{}", finding.text);
    }
}

#[test]
fn a_dex_file_that_cannot_be_read_is_copied_and_the_others_are_traced() {
    let bench = Bench::new("unreadable-dex");
    let good = contents(&data("small.apk"))["classes.dex"].clone();
    fs::write(bench.path("small.apk"), with_dexes(good, &[("classes2.dex", b"encrypted".to_vec())])).unwrap();
    let summary = bench.run(&["small.apk"], &bench.options()).unwrap();
    let after = contents(&bench.output("small.apk"));
    assert!(summary.methods.traced > 0);
    assert_eq!(after["classes2.dex"], b"encrypted");
    assert!(after.contains_key("classes3.dex"));
    let finding = summary.findings.iter().find(|finding| finding.subject == "classes2.dex").unwrap();
    assert!(
        finding.text.contains("copied unchanged") && finding.text.contains("at byte"),
        "{}",
        finding.text
    );
}

#[test]
fn a_dex_file_that_cannot_be_written_with_the_calls_is_copied_and_the_others_are_traced() {
    let bench = Bench::new("unwritable-dex");
    let good = contents(&data("small.apk"))["classes.dex"].clone();
    // A string whose index needs more than 16 bits when strings are added, in code with a branch to nowhere.
    let mut full = dex::Dex { version: 35, ..dex::Dex::default() };
    let (class, void) = (full.find_or_add_type("Lcom/example/Full;"), full.find_or_add_type("V"));
    let object = full.find_or_add_type("Ljava/lang/Object;");
    let proto = full.find_or_add_proto(void, &[]);
    let methods = ["run", "work"].map(|name| full.find_or_add_method(class, name, proto));
    while full.strings.len() < 0x1_0000 {
        full.find_or_add_string(&format!("{:05}", full.strings.len()));
    }
    full.classes.push(dex::Class {
        class,
        access: 1,
        super_class: Some(object),
        direct_methods: methods.map(|method| dex::ClassMethod { method, access: 0x101, code: None }).to_vec(),
        ..dex::Class::default()
    });
    // Read again, the tables are in order.
    let full = full.write().unwrap();
    let mut full = dex::Dex::read(&full).unwrap();
    // const-string of the last string, goto -100; invoke-static of the second method, return-void
    let units = [&[0x001A_u16, 0xFFFF, 0x9C28][..], &[0x0071, 1, 0, 0x000E]];
    for (method, units) in full.classes[0].direct_methods.iter_mut().zip(units) {
        let units: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let code = dex::code::Code { registers: 1, units: units.into(), ..dex::code::Code::default() };
        *method = dex::ClassMethod { access: 9, code: Some(dex::MethodCode::Read(code)), ..*method };
    }
    let full = full.write().unwrap();
    fs::write(bench.path("small.apk"), with_dexes(good, &[("classes2.dex", full.clone())])).unwrap();
    let summary = bench.run(&["small.apk"], &bench.options()).unwrap();
    let after = contents(&bench.output("small.apk"));
    assert!(after["classes2.dex"] == full);
    assert!(!after.contains_key("classes4.dex"));
    assert!(summary.methods.traced > 0);
    let skipped: Vec<_> = summary.methods.skipped.iter().map(|skip| skip.class.as_str()).collect();
    assert!(skipped.contains(&"com/example/Full"), "{skipped:?}");
    assert_eq!(summary.findings.iter().filter(|finding| finding.subject == "classes2.dex").count(), 1);

    // Alone, it leaves nothing to trace.
    let alone = changed(&with_dexes(full, &[]), |entries| {
        entries.retain(|entry| entry.name != b"AndroidManifest.xml".as_slice());
    });
    fs::write(bench.path("small.apk"), alone).unwrap();
    let error = bench.run(&["small.apk"], &bench.options()).unwrap_err().to_string();
    assert!(error.contains("classes.dex"), "{error}");
}

/// Returns the archive with a zip64 end record, which the end record leaves the number of entries to.
fn zip64(archive: &[u8]) -> Vec<u8> {
    let (entries, end) = archive.split_at(archive.len() - 22);
    let number = |at: usize, length: usize| {
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(&end[at..at + length]);
        u64::from_le_bytes(bytes)
    };
    let (count, length, offset) = (number(10, 2), number(12, 4), number(16, 4));
    let mut out = entries.to_vec();
    out.extend(b"PK\x06\x06");
    out.extend(44_u64.to_le_bytes());
    out.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    [count, count, length, offset].into_iter().for_each(|value| out.extend(value.to_le_bytes()));
    out.extend(b"PK\x06\x07\0\0\0\0");
    out.extend((entries.len() as u64).to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    out.extend(&end[..8]);
    out.extend([0xff; 4]);
    out.extend(&end[12..]);
    out
}

#[test]
fn an_app_whose_signer_cannot_be_found_is_traced_and_the_reason_reported() {
    let bench = Bench::new("unknown-signer");
    let signed =
        sign::sign_archive(data("small.apk"), &Identity::generate(SystemTime::UNIX_EPOCH).unwrap()).unwrap();
    fs::write(bench.path("small.apk"), &signed).unwrap();
    let package = bench.run(&["small.apk"], &bench.options()).unwrap().packages.remove(0);
    assert_eq!((package.was_signed_by.len(), package.signer_unknown), (1, None));
    let expected = contents(&bench.output("small.apk"));

    let block = signed.windows(16).position(|window| window == b"APK Sig Block 42").unwrap();
    let mut damaged = signed.clone();
    damaged[block - 8] ^= 1;
    let longer = [&signed[..], b"behind the end"].concat();
    for (apk, wanted) in [
        (damaged, "the signing block is damaged"),
        (zip64(&signed), "64-bit sizes"),
        (longer, "bytes behind the end record"),
    ] {
        assert!(sign::find_signers(&apk).is_err());
        fs::write(bench.path("small.apk"), apk).unwrap();
        let package = bench.run(&["small.apk"], &bench.options()).unwrap().packages.remove(0);
        let reason = package.signer_unknown.unwrap();
        assert!(reason.contains(wanted) && package.was_signed_by.is_empty(), "{reason}");
        assert_eq!(contents(&bench.output("small.apk")), expected, "{wanted}");
        assert_eq!(signed::check(&bench.output("small.apk")).unwrap().misaligned, []);
    }
}
