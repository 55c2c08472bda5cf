//! Products that encrypt an app's code or check that it is unchanged, by the names they leave in an APK.
//!
//! The names are facts that public analyses and rule sets agree on: the lists of PkDroid, the packer rules of Koodous, the
//! makers' own documentation. A product that renames its files is not recognised here; the missing classes of the manifest show
//! a packer all the same.

use super::{Evidence, Finding, Severity};

/// What a product does to a changed app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Keeps the app's classes encrypted and loads them when the app starts.
    Packs,
    /// Compares the app with its original when it starts, and ends it.
    Checks,
}

/// A product and its marks.
struct Product {
    name: &'static str,
    kind: Kind,
    /// Names of native libraries, without a directory.
    libraries: &'static [&'static str],
    /// Names of other entries.
    entries: &'static [&'static str],
    /// Classes that it adds.
    classes: &'static [&'static str],
}

use Kind::{Checks, Packs};

const PRODUCTS: &[Product] = &[
    Product {
        name: "360 Jiagu",
        kind: Packs,
        libraries: &[
            "libjiagu.so",
            "libjiagu_art.so",
            "libjiagu_a64.so",
            "libjiagu_x86.so",
            "libprotectClass.so",
        ],
        entries: &["assets/libjiagu.so", "assets/libjiagu_a64.so", "assets/libjiagu_x86.so"],
        classes: &["com.stub.StubApp", "com.qihoo.util.StubApp"],
    },
    Product {
        name: "Alibaba Mobisec",
        kind: Packs,
        libraries: &["libmobisec.so", "libmobisecy.so"],
        entries: &["assets/aliprotect.dat"],
        classes: &["com.ali.mobisecenhance.StubApplication"],
    },
    Product {
        name: "APKProtect",
        kind: Packs,
        libraries: &["libAPKProtect.so"],
        entries: &["apkprotect.com/key.dat"],
        classes: &[],
    },
    Product {
        name: "AppSealing",
        kind: Packs,
        libraries: &["libcovault.so", "libcovault-appsec.so"],
        entries: &["assets/appsealing.dex", "assets/sealed1.dex"],
        classes: &[],
    },
    Product {
        name: "Baidu Protect",
        kind: Packs,
        libraries: &["libbaiduprotect.so", "libbaiduprotect_x86.so"],
        entries: &["assets/baiduprotect.jar"],
        classes: &["com.baidu.protect.StubApplication"],
    },
    Product {
        name: "Bangcle (SecNeo)",
        kind: Packs,
        libraries: &[
            "libDexHelper.so",
            "libDexHelper-x86.so",
            "libSecShell.so",
            "libSecShell-x86.so",
            "libsecexe.so",
            "libsecmain.so",
        ],
        entries: &["assets/bangcle_classes.jar", "assets/classes0.jar", "assets/secData0.jar"],
        classes: &[
            "com.secneo.apkwrapper.ApplicationWrapper",
            "com.secneo.guard.ApplicationWrapper",
            "com.secshell.secData.ApplicationWrapper",
        ],
    },
    Product {
        name: "DexProtector",
        kind: Packs,
        libraries: &["libdexprotector.so"],
        entries: &[
            "assets/dp.arm.so.dat",
            "assets/dp.arm-v7.so.dat",
            "assets/dp.arm-v8.so.dat",
            "assets/dp.x86.so.dat",
        ],
        classes: &[],
    },
    Product {
        name: "Google Play automatic protection (PairIP)",
        kind: Checks,
        libraries: &["libpairipcore.so"],
        entries: &[],
        classes: &[
            "com.pairip.application.Application",
            "com.pairip.licensecheck.LicenseClient",
            "com.pairip.SignatureCheck",
        ],
    },
    Product {
        name: "Ijiami",
        kind: Packs,
        libraries: &["libexec.so", "libexecmain.so"],
        entries: &["assets/ijiami.dat", "assets/ijiami.ajm"],
        classes: &[
            "com.shell.SuperApplication",
            "s.h.e.l.l.S",
            "com.ijiami.residconfusion.ConfusionApplication",
        ],
    },
    Product {
        name: "Kiwi Security",
        kind: Packs,
        libraries: &["libkwscmm.so", "libkwscr.so", "libkwslinker.so"],
        entries: &[],
        classes: &[],
    },
    Product {
        name: "LIAPP",
        kind: Packs,
        libraries: &[],
        entries: &["assets/LIAPPEgg.dex", "assets/LIAPPEgg"],
        classes: &[],
    },
    Product {
        name: "Naga (chaosvmp)",
        kind: Packs,
        libraries: &["libchaosvmp.so", "libddog.so", "libedog.so", "libfdog.so"],
        entries: &[],
        classes: &["com.chaosvmp.AppWrapper", "com.edog.AppWrapper"],
    },
    Product {
        name: "NetEase Yidun",
        kind: Packs,
        libraries: &["libnesec.so"],
        entries: &[],
        classes: &["com.netease.nis.wrapper.MyApplication"],
    },
    Product {
        name: "NQ Shield",
        kind: Packs,
        libraries: &["libnqshield.so"],
        entries: &[],
        classes: &["com.nqshield.NqApplication"],
    },
    Product {
        name: "PayEgis",
        kind: Packs,
        libraries: &["libegis.so", "libNSaferOnly.so"],
        entries: &[],
        classes: &["com.payegis.ProxyApplication"],
    },
    Product {
        name: "Tencent Legu",
        kind: Packs,
        libraries: &[
            "libshella-2.8.so",
            "libtup.so",
            "libtosprotection.armeabi.so",
            "libtosprotection.armeabi-v7a.so",
            "libtosprotection.x86.so",
        ],
        entries: &["lib/armeabi/mix.dex", "lib/armeabi/mixz.dex"],
        classes: &["com.tencent.StubShell.TxAppEntry"],
    },
];

/// The products whose marks the app has. `packed` says that the manifest names classes that are not there.
///
/// The mark of a packer alone is no proof: some names are short, and some products pack only native code. So tracing stops only
/// if classes are missing as well, or if the application class is the product's loader.
pub(super) fn findings(evidence: &Evidence<'_>, packed: bool) -> impl Iterator<Item = Finding> {
    PRODUCTS.iter().filter_map(move |product| {
        let mark = mark(product, evidence)?;
        let name = product.name;
        let (severity, text) = match product.kind {
            Packs if packed || is_loader(product, evidence) => (
                Severity::Stop,
                format!(
                    "{mark} belongs to {name}, which encrypts an app's code and loads it when the app starts. Tracing would show \
                     only the loader. Trace the build from before the packing."
                ),
            ),
            Packs => (
                Severity::Breaks,
                format!(
                    "{mark} is usually part of {name}, which protects apps. The app's own classes are here and can be traced, but \
                     the product may end a changed app. If the traced app does not start, trace a build without it."
                ),
            ),
            Checks => (
                Severity::Breaks,
                format!(
                    "{mark} belongs to {name}, which ends an app whose files or signature differ from the original. Trace a \
                     build without it, such as one that did not come from the store."
                ),
            ),
        };
        Some(Finding { severity, subject: name.to_owned(), text })
    })
}

/// True if the product's loader is what the system starts.
fn is_loader(product: &Product, evidence: &Evidence<'_>) -> bool {
    let loads = |class| product.classes.contains(&class);
    evidence.facts.application_class.as_deref().is_some_and(loads)
}

/// The first mark of the product that the app has.
fn mark(product: &Product, evidence: &Evidence<'_>) -> Option<String> {
    let library = product.libraries.iter().find(|library| {
        let is_it = |entry: &&str| {
            let path = entry.strip_prefix("lib/").or_else(|| entry.strip_prefix("base/lib/"));
            path.and_then(|path| path.split_once('/')).is_some_and(|(_, name)| name == **library)
        };
        evidence.entries.iter().any(is_it)
    });
    if let Some(library) = library {
        return Some(format!("The library {library}"));
    }
    // In an App Bundle the entries of the base stand in a directory of their own.
    let file = product.entries.iter().find(|file| {
        evidence.entries.iter().any(|entry| {
            let entry =
                entry.strip_prefix("base/root/").or_else(|| entry.strip_prefix("base/")).unwrap_or(entry);
            entry == **file
        })
    });
    if let Some(file) = file {
        return Some(format!("The file {file}"));
    }
    let class = product.classes.iter().find(|class| (evidence.defines_class)(class));
    class.map(|class| format!("The class {class}"))
}
