//! What depends on the key that an app is signed with.
//!
//! Sources: developer.android.com (Play Integrity, app licensing, `sharedUserId`), developers.google.com (Maps API keys, Google
//! sign-in), firebase.google.com (App Check, API keys), developers.facebook.com (key hashes), developers.weixin.qq.com (app
//! signature). Class names are those of the libraries as published; an app whose shrinker renamed them is not recognised by them.

use std::collections::BTreeSet;

use super::{Evidence, Facts, Finding, Severity};

/// A service that knows the app by its certificate.
struct Service {
    name: &'static str,
    /// Any of these is enough.
    /// Names of classes, of meta-data or of permissions.
    marks: &'static [&'static str],
    /// What will fail, and why.
    effect: &'static str,
}

const SERVICES: &[Service] = &[
    Service {
        name: "Play Integrity",
        marks: &[
            "com.google.android.play.core.integrity.IntegrityManagerFactory",
            "com.google.android.play.core.integrity.IntegrityManager",
            "com.google.android.play.core.integrity.StandardIntegrityManager",
        ],
        effect: "Google reports a changed app as UNRECOGNIZED_VERSION. A server that demands a recognized one refuses the traced \
                 app.",
    },
    Service {
        name: "SafetyNet",
        marks: &[
            "com.google.android.gms.safetynet.SafetyNetClient",
            "com.google.android.gms.safetynet.SafetyNet",
        ],
        effect: "An attestation names the certificate of the traced app. A server that compares it refuses the traced app.",
    },
    Service {
        name: "Play licensing",
        marks: &["com.google.android.vending.licensing.LicenseChecker", "com.android.vending.CHECK_LICENSE"],
        effect: "The store licenses an app only with its own certificate. The traced app may say that it is not licensed.",
    },
    Service {
        name: "Google Maps",
        marks: &["com.google.android.geo.API_KEY", "com.google.android.maps.v2.API_KEY"],
        effect: "An API key that is restricted to the app's certificate is refused: maps stay empty. Add the certificate of the \
                 tracing key to the API key's restrictions.",
    },
    Service {
        name: "Google sign-in",
        marks: &[
            "com.google.android.gms.auth.api.signin.GoogleSignIn",
            "com.google.android.libraries.identity.googleid.GetGoogleIdOption",
        ],
        effect: "The OAuth client is bound to the app's certificate: signing in fails with DEVELOPER_ERROR (10). Register the \
                 certificate of the tracing key, or sign in with the original before.",
    },
    Service {
        name: "Firebase App Check",
        marks: &["com.google.firebase.appcheck.FirebaseAppCheck"],
        effect: "App Check gets no token for the traced app. Services that enforce it refuse its requests; the debug provider is \
                 meant for this.",
    },
    Service {
        name: "Firebase",
        marks: &["com.google.firebase.provider.FirebaseInitProvider"],
        effect: "If the project's API key is restricted to the app's certificate, push messages, remote configuration and sign-in \
                 fail. Add the certificate of the tracing key to its restrictions.",
    },
    Service {
        name: "Facebook login",
        marks: &["com.facebook.sdk.ApplicationId"],
        effect: "Facebook compares the hash of the app's key: login fails until the hash of the tracing key is registered.",
    },
    Service {
        name: "WeChat",
        marks: &["com.tencent.mm.opensdk.openapi.WXAPIFactory"],
        effect: "WeChat compares the app's signature: login, sharing and payment fail.",
    },
];

/// Members of the platform by which an app reads or compares certificates.
const READS_CERTIFICATE: &[(&str, &str)] = &[
    ("android.content.pm.PackageInfo", "signatures"),
    ("android.content.pm.PackageInfo", "signingInfo"),
    ("android.content.pm.PackageManager", "hasSigningCertificate"),
    ("android.content.pm.PackageManager", "checkSignatures"),
];

/// Libraries that check the certificate of *other* apps, such as that of Play services, and of files they load.
const CHECKS_OTHERS: &[&str] = &[
    "com.google.android.gms.",
    "com.google.android.play.",
    "com.google.firebase.",
    "androidx.",
    "com.android.",
];

/// Members of the platform by which an app reads its own file and could compare it.
const READS_OWN_FILE: &[(&str, &str)] = &[
    ("android.content.Context", "getPackageCodePath"),
    ("android.content.pm.ApplicationInfo", "sourceDir"),
    ("android.content.pm.ApplicationInfo", "publicSourceDir"),
];

/// Members by which a program computes a checksum.
const COMPUTES_CHECKSUM: &[(&str, &str)] = &[
    ("java.util.zip.ZipEntry", "getCrc"),
    ("java.util.zip.CRC32", "update"),
    ("java.security.MessageDigest", "digest"),
];

/// All members that are asked for.
pub(super) fn members() -> impl Iterator<Item = (&'static str, &'static str)> {
    [READS_CERTIFICATE, READS_OWN_FILE, COMPUTES_CHECKSUM].into_iter().flatten().copied()
}

/// What of the app depends on its key.
pub(super) fn findings(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut all: Vec<Finding> = SERVICES.iter().filter_map(|service| found(service, evidence)).collect();
    if let Some(id) = &evidence.facts.shared_user_id {
        let text = format!(
            "The app shares the user id {id} with others. The system refuses to install it beside one of them that is signed with \
             another key: sign all of them again."
        );
        all.push(Finding { severity: Severity::Breaks, subject: "sharedUserId".to_owned(), text });
    }
    let readers = referrers(evidence, READS_CERTIFICATE);
    if let Some(first) = readers.first() {
        let text = format!(
            "{first}{} reads the certificates of packages. If it compares the app's own, the traced app, which has another key, \
             may refuse to work or report itself as tampered with.",
            others(readers.len())
        );
        all.push(Finding { severity: Severity::Limits, subject: "signature check".to_owned(), text });
    }
    let opens = referrers(evidence, READS_OWN_FILE);
    let sums = referrers(evidence, COMPUTES_CHECKSUM);
    // Both in one class; each by itself is in most apps.
    let checks: Vec<&String> = opens.intersection(&sums).collect();
    if let Some(first) = checks.first() {
        let text = format!(
            "{first}{} locates the app's own APK and computes checksums. If it compares them with the original's, the traced app \
             may refuse to work.",
            others(checks.len())
        );
        all.push(Finding { severity: Severity::Limits, subject: "checksum of the APK".to_owned(), text });
    }
    all
}

fn others(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    }
}

/// The app's classes that refer to any of the members, sorted, without those of libraries that check others.
fn referrers(evidence: &Evidence<'_>, members: &[(&str, &str)]) -> BTreeSet<String> {
    let all = members.iter().flat_map(|(class, member)| (evidence.referrers)(class, member));
    all.filter(|class| !CHECKS_OTHERS.iter().any(|prefix| class.starts_with(prefix))).collect()
}

fn found(service: &Service, evidence: &Evidence<'_>) -> Option<Finding> {
    let Facts { meta_data, permissions, .. } = evidence.facts;
    let has = |mark: &&&str| {
        (evidence.defines_class)(mark) || meta_data.iter().chain(permissions).any(|name| name == **mark)
    };
    let mark = service.marks.iter().find(has)?;
    Some(Finding {
        severity: Severity::Limits,
        subject: service.name.to_owned(),
        text: format!("The app uses {} ({mark}). {}", service.name, service.effect),
    })
}
