//! `anrscope apk`: instruments an app without its build.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use instrumenter::Input;
use instrumenter::app::{
    AppOptions, AppSummary, Change, Identity, PackageSummary, Severity, Signing, instrument_app,
};
use serde_json::json;

use crate::cleanup;
use crate::instrument::{self, choice::Choice};
use crate::recordings::MAP_NAME;

/// Instrument an app without its build: an APK, its splits, an App Bundle or an APK set
///
/// Rewrites the app's dex files so that its methods record their calls, adds the recorder, and signs the result. Writes methodMapping.txt
/// beside it: keep it, since recordings of that app are read with it.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # One APK. The next steps are printed.
    anrscope apk app.apk --out app-traced.apk

    # An app from a device consists of a base and splits.
    anrscope apk base.apk split_config.arm64_v8a.apk split_config.xxhdpi.apk --out traced

    # An app that R8 has processed. The map has the original names.
    anrscope apk app-release.apk --out app-traced.apk --mapping mapping.txt

    # Change options of the recorder (docs/configuration.md).
    anrscope apk app.apk --out app-traced.apk --set slow_ms=500 --set native_stacks=1

    # Sign with a key of your own, EC on P-256.
    openssl ecparam -name prime256v1 -genkey -noout -out key.pem
    openssl req -new -x509 -key key.pem -days 10000 -subj /CN=me -out certificate.pem
    anrscope apk app.apk --out app-traced.apk --key key.pem --certificate certificate.pem

    # Sign with a keystore: apksigner does it.
    anrscope apk app.apk --out app-aligned.apk --unsigned
    apksigner sign --ks release.jks --out app-traced.apk app-aligned.apk

    # Also record waits: which thread waits for which lock or task, and for how long.
    anrscope apk app.apk --out app-traced.apk --waits

    # Which methods are traced: the options and RULES of anrscope instrument.
    anrscope apk app.apk --out app-traced.apk --rules trace.rules

Without --key, a debug key is created once and kept, so that the next traced app replaces this one. Android
replaces an app only if the key is the same: an app that is installed with another key must be removed first.

Exit status:
    0  done; classes and methods that were left unchanged are listed
    1  an input cannot be read, is packed or instrumented already, or an output cannot be written; then nothing
       was written. Or, with --fail-on-skip, a class or method was left unchanged; then everything else was written
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// APKs of one app, an App Bundle (.aab), or an APK set (.apks)
    #[arg(required = true, value_name = "APK")]
    inputs: Vec<PathBuf>,
    /// Output: with one input a file or directory, with several a directory
    #[arg(long, short, value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    choice: Choice,
    /// An option of the recorder, as in docs/configuration.md; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Add the library for this ABI only, such as arm64-v8a; may be repeated [default: each that the app has]
    #[arg(long, value_name = "ABI")]
    abi: Vec<String>,
    /// Set android:debuggable, so that adb's run-as and native debuggers work
    #[arg(long)]
    debuggable: bool,
    /// A private key (PEM, EC on P-256) to sign with [default: a debug key that is created once]
    #[arg(long, value_name = "FILE", conflicts_with = "unsigned")]
    key: Option<PathBuf>,
    /// The certificate of the key (PEM) [default: the one in the key's file]
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Do not sign; the output is aligned, and apksigner can sign it
    #[arg(long)]
    unsigned: bool,
    /// The Android runtime to add, anrscope-runtime.zip [default: the one in this program, or that of $ANRSCOPE_ANDROID_RUNTIME]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
}

/// The runtime in this program, packed by `scripts/android/apk-runtime`; empty if it was built without one (`build.rs`).
static ANDROID_RUNTIME: &[u8] = include_bytes!(env!("ANRSCOPE_EMBEDDED_ANDROID_RUNTIME"));

/// Prefix of the recorder's options among the `<meta-data>` of an app (`Install.java` in android/aar).
const SETTING_PREFIX: &str = "anrscope.";

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    if name.is_empty()
        || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    {
        return Err(format!("{name:?} is no option of the recorder: see docs/configuration.md"));
    }
    Ok((format!("{SETTING_PREFIX}{name}"), value.to_owned()))
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    let into_directory = options.inputs.len() > 1 || options.out.is_dir();
    let inputs = instrument::inputs_to(&options.out, &options.inputs, into_directory);
    let map = if into_directory { options.out.join(MAP_NAME) } else { options.out.with_file_name(MAP_NAME) };
    let maps = options.choice.maps(map);
    let directories = inputs.iter().map(|input| &input.output).chain([&maps.methods]);
    directories.filter_map(|path| path.parent()).for_each(cleanup::sweep);
    let (signing, created) = signing(&options)?;
    let runtime_path = options.runtime.clone().or_else(runtime_of_the_environment);
    let runtime = runtime(runtime_path.as_deref())?;
    let app = AppOptions {
        common: options.choice.settings(instrumenter::Options::default())?,
        runtime: runtime.as_deref().unwrap_or(ANDROID_RUNTIME),
        runtime_path,
        signing,
        debuggable: options.debuggable,
        abis: options.abi.clone(),
        settings: options.set.clone(),
    };
    let summary = instrument_app(&inputs, &maps, &app, &instrument::watched(&options.choice, inputs.len()))?;
    if options.choice.json {
        let mut json = instrument::to_json(&summary.methods, &inputs, &maps);
        add_json(&mut json, &summary);
        crate::terminal::print_json(&json)?;
    } else {
        let mut text = instrument::to_text(&summary.methods, &maps);
        text.push_str(&to_text(&summary));
        if let Some(path) = created {
            text.push_str(&format!(
                "created the debug key {}: keep it to replace this app later\n",
                path.display()
            ));
        }
        text.push_str(&next_steps(&summary, &inputs, &maps.methods));
        instrument::print(&options.choice, &summary.methods, &text)?;
    }
    instrument::check_skipped(&options.choice, &summary.methods)
}

/// Returns how the output is signed, and the path of a debug key that was created now.
fn signing(options: &Options) -> anyhow::Result<(Signing, Option<PathBuf>)> {
    if options.unsigned {
        return Ok((Signing::Unsigned, None));
    }
    if let Some(key) = &options.key {
        return Ok((Signing::Key(Identity::read(key, options.certificate.as_deref())?), None));
    }
    let path = debug_key().context(
        "no home directory to keep a debug key in: give one with --key, or sign later with --unsigned",
    )?;
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {} for the debug key", directory.display()))?;
    }
    let (key, is_new) = Identity::debug(&path, SystemTime::now())?;
    Ok((Signing::Key(key), is_new.then_some(path)))
}

/// The file of the debug key: in the directory for a program's data (XDG Base Directory), or its counterpart on Windows.
fn debug_key() -> Option<PathBuf> {
    let directory =
        |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = if cfg!(windows) {
        directory("LOCALAPPDATA")?
    } else {
        directory("XDG_DATA_HOME").or_else(|| Some(directory("HOME")?.join(".local/share")))?
    };
    Some(data.join("anrscope/debug-key.pem"))
}

/// The file of the variable with which this program can be built, too (`build.rs`).
fn runtime_of_the_environment() -> Option<PathBuf> {
    std::env::var_os("ANRSCOPE_ANDROID_RUNTIME").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Returns the runtime of a file; `None` for the one in the program.
fn runtime(path: Option<&Path>) -> anyhow::Result<Option<Vec<u8>>> {
    match path {
        Some(path) => {
            let bytes = std::fs::read(path);
            Ok(Some(bytes.with_context(|| format!("cannot read the Android runtime {}", path.display()))?))
        }
        None if ANDROID_RUNTIME.is_empty() => bail!(
            "this program was built without the Android runtime: run scripts/build-android, and give \
             target/android/anrscope-runtime.zip with --runtime"
        ),
        None => Ok(None),
    }
}

fn to_text(summary: &AppSummary) -> String {
    let mut text = String::new();
    for package in &summary.packages {
        text.push_str(&package_text(package));
    }
    if let Some(bundle) = &summary.mapping_of {
        text.push_str(&format!("the original names are from the mapping.txt in {bundle}\n"));
    }
    for finding in &summary.findings {
        let kind = if finding.severity == Severity::Limits { "note" } else { "warning" };
        text.push_str(&format!("{kind}: {}: {}\n", finding.subject, finding.text));
    }
    text
}

fn package_text(package: &PackageSummary) -> String {
    let name = Path::new(&package.name).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let mut text = format!(
        "{name}: {}; dex files {}, dex {}; method ids {}\n",
        megabytes(package.size),
        change(package.dexes),
        megabytes(package.dex_bytes),
        change(package.method_ids),
    );
    if !package.abis.is_empty() {
        text.push_str(&format!("  added libanrscope.so for {}\n", package.abis.join(", ")));
    }
    if !package.manifest.is_empty() {
        text.push_str(&format!("  added to the manifest: {}\n", package.manifest.join(", ")));
    }
    if let Some(was) = package.min_sdk_was {
        text.push_str(&format!(
            "warning: {name}: minSdkVersion is {} now and was {was}: the recorder needs Android 5.0\n",
            package.min_sdk
        ));
    }
    for (entry, reason) in &package.dropped {
        text.push_str(&format!("  dropped {entry}: {reason}\n"));
    }
    match &package.signed_by {
        Some(key) => text.push_str(&format!("  signed with {}\n", short(key))),
        None if package.is_bundle => {
            text.push_str("  not signed: bundletool signs the APKs that it makes of it\n")
        }
        None => text.push_str("  not signed: apksigner must sign it before it can be installed\n"),
    }
    if let Some(was) = package.was_signed_by.iter().find(|was| Some(*was) != package.signed_by.as_ref()) {
        text.push_str(&format!(
            "  was signed with {}: a copy of the app that is installed with that key must be removed first\n",
            short(was)
        ));
    }
    if let Some(reason) = &package.signer_unknown {
        text.push_str(&format!("  who signed it before is unknown: {reason}\n"));
    }
    text
}

/// The first digits of a certificate's digest, as `apksigner verify --print-certs` shows it.
fn short(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

fn change(change: Change) -> String {
    format!("{} -> {}", change.before, change.after)
}

fn megabytes(change: Change) -> String {
    let of = |bytes: u64| bytes as f64 / 1e6;
    let more = (change.after as f64 / change.before.max(1) as f64 - 1.0) * 100.0;
    format!("{:.2} -> {:.2} MB ({more:+.1} %)", of(change.before), of(change.after))
}

/// The commands that follow.
fn next_steps(summary: &AppSummary, inputs: &[Input], map: &Path) -> String {
    let Some(base) = summary.packages.iter().find(|package| !package.package.is_empty()) else {
        return String::new();
    };
    let outputs: Vec<String> = inputs.iter().map(|input| quoted(&input.output)).collect();
    let outputs = outputs.join(" ");
    // The APKs of a set that fit a device are bundletool's choice.
    let install = if base.is_bundle {
        let apks = quoted(&base.output.with_extension("apks"));
        format!(
            "bundletool build-apks --bundle={outputs} --output={apks}\n      bundletool install-apks --apks={apks}"
        )
    } else if base.signed_by.is_none() {
        return String::new();
    } else if base.name.contains("!/") {
        format!("bundletool install-apks --apks={outputs}")
    } else {
        format!("anrscope device install {outputs}")
    };
    format!(
        "\nNext: {install}\n      anrscope device pull {} -o recordings\n      anrscope report recordings --method-map {}\n",
        base.package,
        quoted(map)
    )
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    device::quote(&path.display().to_string())
}

fn add_json(json: &mut serde_json::Value, summary: &AppSummary) {
    let change = |change: Change| json!({ "before": change.before, "after": change.after });
    json["packages"] = summary
        .packages
        .iter()
        .map(|package| {
            json!({
                "name": package.name,
                "output": package.output.display().to_string(),
                "package": package.package,
                "version_code": package.version_code,
                "min_sdk": package.min_sdk,
                "min_sdk_was": package.min_sdk_was,
                "bytes": change(package.size),
                "dexes": change(package.dexes),
                "dex_bytes": change(package.dex_bytes),
                "method_ids": change(package.method_ids),
                "abis": package.abis,
                "manifest": package.manifest,
                "dropped": package.dropped.iter().map(|(entry, reason)| json!({ "entry": entry, "reason": reason }))
                    .collect::<Vec<_>>(),
                "was_signed_by": package.was_signed_by,
                "signer_unknown": package.signer_unknown,
                "signed_by": package.signed_by,
            })
        })
        .collect();
    json["mapping_of"] = json!(summary.mapping_of);
    json["findings"] = summary
        .findings
        .iter()
        .map(|finding| {
            let severity = if finding.severity == Severity::Limits { "limits" } else { "breaks" };
            json!({ "severity": severity, "subject": finding.subject, "text": finding.text })
        })
        .collect();
}
