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

use Kind::{Checks, Packs};

/// Products, what they do, and their marks: native libraries, other files and classes, the strongest first.
const PRODUCTS: &[(&str, Kind, &str)] = &[
    (
        "360 Jiagu",
        Packs,
        "libjiagu.so libjiagu_art.so libjiagu_a64.so libjiagu_x86.so libprotectClass.so \
         assets/libjiagu.so assets/libjiagu_a64.so assets/libjiagu_x86.so com.stub.StubApp \
         com.qihoo.util.StubApp",
    ),
    (
        "Alibaba Mobisec",
        Packs,
        "libmobisec.so libmobisecy.so assets/aliprotect.dat com.ali.mobisecenhance.StubApplication",
    ),
    ("APKProtect", Packs, "libAPKProtect.so apkprotect.com/key.dat"),
    ("AppSealing", Packs, "libcovault.so libcovault-appsec.so assets/appsealing.dex assets/sealed1.dex"),
    (
        "Baidu Protect",
        Packs,
        "libbaiduprotect.so libbaiduprotect_x86.so assets/baiduprotect.jar \
         com.baidu.protect.StubApplication",
    ),
    (
        "Bangcle (SecNeo)",
        Packs,
        "libDexHelper.so libDexHelper-x86.so libSecShell.so libSecShell-x86.so libsecexe.so libsecmain.so \
         assets/bangcle_classes.jar assets/classes0.jar assets/secData0.jar \
         com.secneo.apkwrapper.ApplicationWrapper com.secneo.guard.ApplicationWrapper \
         com.secshell.secData.ApplicationWrapper",
    ),
    (
        "DexProtector",
        Packs,
        "libdexprotector.so assets/dp.arm.so.dat assets/dp.arm-v7.so.dat assets/dp.arm-v8.so.dat \
         assets/dp.x86.so.dat",
    ),
    (
        "Google Play automatic protection (PairIP)",
        Checks,
        "libpairipcore.so com.pairip.application.Application com.pairip.licensecheck.LicenseClient \
         com.pairip.SignatureCheck",
    ),
    (
        "Ijiami",
        Packs,
        "libexec.so libexecmain.so assets/ijiami.dat assets/ijiami.ajm com.shell.SuperApplication \
         s.h.e.l.l.S com.ijiami.residconfusion.ConfusionApplication",
    ),
    ("Kiwi Security", Packs, "libkwscmm.so libkwscr.so libkwslinker.so"),
    ("LIAPP", Packs, "assets/LIAPPEgg.dex assets/LIAPPEgg"),
    (
        "Naga (chaosvmp)",
        Packs,
        "libchaosvmp.so libddog.so libedog.so libfdog.so com.chaosvmp.AppWrapper com.edog.AppWrapper",
    ),
    ("NetEase Yidun", Packs, "libnesec.so com.netease.nis.wrapper.MyApplication"),
    ("NQ Shield", Packs, "libnqshield.so com.nqshield.NqApplication"),
    ("PayEgis", Packs, "libegis.so libNSaferOnly.so com.payegis.ProxyApplication"),
    (
        "Tencent Legu",
        Packs,
        "libshella-2.8.so libtup.so libtosprotection.armeabi.so libtosprotection.armeabi-v7a.so \
         libtosprotection.x86.so lib/armeabi/mix.dex lib/armeabi/mixz.dex \
         com.tencent.StubShell.TxAppEntry",
    ),
];

/// The products whose marks the app has. `packed` says that the manifest names classes that are not there.
///
/// The mark of a packer alone is no proof: some names are short, and some products pack only native code. So tracing stops only
/// if classes are missing as well, or if the application class is the product's loader.
pub(super) fn findings(evidence: &Evidence<'_>, packed: bool) -> impl Iterator<Item = Finding> {
    PRODUCTS.iter().filter_map(move |&(name, kind, marks)| {
        let marks = || marks.split_whitespace();
        let mark = marks().find_map(|mark| found(mark, evidence))?;
        let is_loader = || marks().any(|mark| evidence.facts.application_class.as_deref() == Some(mark));
        let (severity, text) = match kind {
            Packs if packed || is_loader() => (
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

/// Names `mark` if the app has it. A mark with a slash is a file, one that ends in `.so` a library in a directory of
/// its ABI, and any other a class.
fn found(mark: &str, evidence: &Evidence<'_>) -> Option<String> {
    let has = |is_it: &dyn Fn(&str) -> bool| evidence.entries.iter().any(|entry| is_it(entry));
    // In an App Bundle the entries of the base stand in a directory of their own.
    let is_file = |entry: &str| {
        let of_base = entry.strip_prefix("base/root/").or_else(|| entry.strip_prefix("base/"));
        of_base.unwrap_or(entry) == mark
    };
    let is_library = |entry: &str| {
        let path = entry.strip_prefix("lib/").or_else(|| entry.strip_prefix("base/lib/"));
        path.and_then(|path| path.split_once('/')).is_some_and(|(_, name)| name == mark)
    };
    let (what, is_there) = if mark.contains('/') {
        ("file", has(&is_file))
    } else if mark.ends_with(".so") {
        ("library", has(&is_library))
    } else {
        ("class", (evidence.defines_class)(mark))
    };
    is_there.then(|| format!("The {what} {mark}"))
}
