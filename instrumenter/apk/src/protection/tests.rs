use super::*;
use crate::manifest::Component;

fn component(class: &str) -> Component {
    Component { kind: ComponentKind::Activity, class: class.to_owned() }
}

fn facts(application: Option<&str>, components: &[&str]) -> Facts {
    Facts {
        package: "com.example".to_owned(),
        has_code: true,
        application_class: application.map(str::to_owned),
        components: components.iter().map(|class| component(class)).collect(),
        ..Facts::default()
    }
}

fn find(
    facts: &Facts,
    classes: &[&str],
    entries: &[&str],
    refers: &[(&str, &str, &str)],
) -> Vec<(Severity, String)> {
    let evidence = Evidence {
        facts,
        defines_class: &|class| classes.contains(&class),
        referrers: &|class, member| {
            assert!(members().any(|known| known == (class, member)));
            refers
                .iter()
                .filter(|(c, m, _)| (*c, *m) == (class, member))
                .map(|(_, _, by)| (*by).to_owned())
                .collect()
        },
        entries,
    };
    findings(&evidence).into_iter().map(|finding| (finding.severity, finding.subject)).collect()
}

#[test]
fn an_ordinary_app_has_no_findings() {
    let facts = facts(Some("com.example.App"), &["com.example.Main", "com.example.Gone"]);
    let classes = ["com.example.App", "com.example.Main"];
    assert_eq!(find(&facts, &classes, &["lib/x86/libnative.so", "classes.dex"], &[]), []);
}

#[test]
fn an_application_without_its_class_is_packed() {
    let packed = [(Severity::Stop, "packed".to_owned())];
    assert_eq!(
        find(&facts(Some("com.example.App"), &["com.example.Main"]), &["com.example.Main"], &[], &[]),
        packed
    );
    assert_eq!(find(&facts(Some("android.app.Application"), &[]), &[], &[], &[]), []);
}

#[test]
fn more_than_half_of_the_components_without_a_class_is_packed() {
    let three = facts(None, &["a.A", "a.B", "a.C"]);
    assert_eq!(find(&three, &["a.A"], &[], &[]), [(Severity::Stop, "packed".to_owned())]);
    assert_eq!(find(&three, &["a.A", "a.B"], &[], &[]), []);
    let mut resources = three;
    resources.has_code = false;
    assert_eq!(find(&resources, &[], &[], &[]), []);
}

#[test]
fn known_packers_are_found_by_library_file_and_class() {
    let facts = facts(None, &[]);
    let jiagu = [(Severity::Breaks, "360 Jiagu".to_owned())];
    assert_eq!(find(&facts, &[], &["lib/arm64-v8a/libjiagu.so"], &[]), jiagu);
    assert_eq!(find(&facts, &[], &["assets/libjiagu_x86.so"], &[]), jiagu);
    assert_eq!(find(&facts, &[], &["base/assets/libjiagu_x86.so"], &[]), jiagu);
    assert_eq!(find(&facts, &["com.stub.StubApp"], &[], &[]), jiagu);
    assert_eq!(find(&facts, &[], &["assets/doc/libjiagu.so", "lib/x86/xlibjiagu.so"], &[]), []);
    let pairip = [(Severity::Breaks, "Google Play automatic protection (PairIP)".to_owned())];
    assert_eq!(find(&facts, &[], &["lib/x86_64/libpairipcore.so"], &[]), pairip);
}

#[test]
fn a_known_packer_stops_if_classes_are_missing_or_its_loader_is_the_application() {
    let entries = ["lib/arm64-v8a/libjiagu.so"];
    let (jiagu, packed) = ((Severity::Stop, "360 Jiagu".to_owned()), (Severity::Stop, "packed".to_owned()));
    let loader = "com.stub.StubApp";
    assert_eq!(find(&facts(Some(loader), &[]), &[loader], &entries, &[]), std::slice::from_ref(&jiagu));
    assert_eq!(find(&facts(None, &["com.example.Main"]), &[], &entries, &[]), [jiagu, packed]);
}

#[test]
fn what_depends_on_the_key_is_found_by_class_meta_data_and_permission() {
    let mut facts = facts(None, &[]);
    facts.meta_data.push("com.google.android.geo.API_KEY".to_owned());
    facts.permissions.push("com.android.vending.CHECK_LICENSE".to_owned());
    facts.shared_user_id = Some("com.example.shared".to_owned());
    let found = find(&facts, &["com.google.firebase.appcheck.FirebaseAppCheck"], &[], &[]);
    let limits = ["Play licensing", "Google Maps", "Firebase App Check"]
        .map(|name| (Severity::Limits, name.to_owned()));
    assert_eq!(found.first(), Some(&(Severity::Breaks, "sharedUserId".to_owned())));
    assert_eq!(found.get(1..), Some(&limits[..]));
}

#[test]
fn only_the_apps_own_classes_count_as_signature_checks() {
    let facts = facts(None, &[]);
    let info = "android.content.pm.PackageInfo";
    assert_eq!(find(&facts, &[], &[], &[(info, "signatures", "com.google.android.gms.common.Verifier")]), []);
    let own = [(info, "signatures", "com.example.Guard"), (info, "signingInfo", "com.example.Guard")];
    assert_eq!(find(&facts, &[], &[], &own), [(Severity::Limits, "signature check".to_owned())]);
}

#[test]
fn a_checksum_counts_only_in_a_class_that_locates_the_apk() {
    let facts = facts(None, &[]);
    let opens = ("android.content.Context", "getPackageCodePath", "com.example.Guard");
    let sum = |by| ("java.util.zip.ZipEntry", "getCrc", by);
    assert_eq!(find(&facts, &[], &[], &[opens, sum("com.example.Other")]), []);
    let found = find(&facts, &[], &[], &[opens, sum("com.example.Guard")]);
    assert_eq!(found, [(Severity::Limits, "checksum of the APK".to_owned())]);
}
