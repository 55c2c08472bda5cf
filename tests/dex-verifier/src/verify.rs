//! All methods of a file.

use rayon::prelude::*;

use crate::code::{self, Code};
use crate::error::ReadError;
use crate::file::{Class, Declared, DexFile};
use crate::flow::{Context, Flow, Method, Stop};
use crate::inserted;
use crate::members::Members;
use crate::report::{Finding, Inserted, MethodName, MethodReport, Report, Severity};
use crate::structure::{Fault, Structure};
use crate::types::{Hierarchy, Types};

/// Registers times code units that the methods of a file may have in all, plus [`COST_PER_BYTE`] for each of its bytes.
/// Files whose methods share code can exceed it; what follows is reported as not verified.
const BASE_COST: u64 = 1 << 28;
const COST_PER_BYTE: u64 = 64;

/// Where the classes are that an app gets.
const LIBRARY: &str = "Ldev/anrscope/";

const ACC_STATIC: u32 = 0x8;
const ACC_SYNCHRONIZED: u32 = 0x20;
const ACC_NATIVE: u32 = 0x100;
const ACC_ABSTRACT: u32 = 0x400;

/// Checks all methods of a dex file, or of each file of a container.
///
/// # Errors
///
/// The tables of a file are broken, so that there is nothing to check code against.
pub fn verify(bytes: &[u8]) -> Result<Report, ReadError> {
    verify_app(&[bytes])
}

/// Checks all methods of the dex files of one app, whose classes know each other.
///
/// # Errors
///
/// As for [`verify`], for the first file in which it happens.
pub fn verify_app(dexes: &[&[u8]]) -> Result<Report, ReadError> {
    let mut report = Report::default();
    for context in contexts(dexes)? {
        let work = methods(&context);
        let checked: Vec<_> = work.par_iter().with_min_len(64).map(|work| check(&context, work)).collect();
        let mut one = Report {
            classes: context.file.classes.len(),
            methods: work.iter().filter(|work| work.method.code != 0).count(),
            ..Report::default()
        };
        for (Checked { findings, inserted, has_tries }, work) in checked.into_iter().zip(&work) {
            one.inserted.add(inserted);
            if findings.is_empty() && !has_tries {
                continue;
            }
            let Some(method) = name(&context, work) else { continue };
            if has_tries && inserted.covered == 0 && !method.class.starts_with(LIBRARY) {
                one.with_tries.push(method.clone());
            }
            if !findings.is_empty() {
                one.findings.push(MethodReport { method, findings });
            }
        }
        report.append(one);
    }
    Ok(report)
}

/// Reads the tables of all dex files of an app.
pub(crate) fn contexts<'a>(dexes: &[&'a [u8]]) -> Result<Vec<Context<'a>>, ReadError> {
    let mut headers = Vec::new();
    for &bytes in dexes {
        headers.extend(DexFile::headers(bytes)?.into_iter().map(|header| (bytes, header)));
    }
    let files: Vec<DexFile<'a>> = headers
        .into_par_iter()
        .map(|(bytes, header)| DexFile::read(bytes, header))
        .collect::<Result<_, _>>()?;
    let mut hierarchy = Hierarchy::default();
    for file in &files {
        hierarchy.add(file);
    }
    let context = |file: DexFile<'a>| {
        let types = Types::new(&file, &hierarchy)?;
        let members = Members::new(&file, &types);
        Ok(Context { file, types, members })
    };
    files.into_par_iter().map(context).collect()
}

/// A method to check.
pub(crate) struct Work<'c> {
    pub(crate) class: &'c Class,
    pub(crate) method: &'c Declared,
    is_direct: bool,
    /// Whether the file's limit on work leaves room for it.
    affordable: bool,
}

/// Lists the methods of a file in its order.
pub(crate) fn methods<'c>(context: &'c Context<'_>) -> Vec<Work<'c>> {
    let bytes = context.file.bytes;
    let mut left = BASE_COST.saturating_add((bytes.len() as u64).saturating_mul(COST_PER_BYTE));
    let mut work = Vec::new();
    for class in &context.file.classes {
        let direct = class.direct_methods.iter().map(|method| (method, true));
        let virtuals = class.virtual_methods.iter().map(|method| (method, false));
        for (method, is_direct) in direct.chain(virtuals) {
            let (registers, units, tries) = code::size(bytes, method.code).unwrap_or_default();
            let cost = u64::from(registers + 4)
                .saturating_mul(u64::from(units))
                .saturating_add(u64::from(tries) * 16);
            let affordable = method.code == 0 || cost <= left;
            if affordable && method.code != 0 {
                left -= cost;
            }
            work.push(Work { class, method, is_direct, affordable });
        }
    }
    work
}

fn name(context: &Context<'_>, work: &Work<'_>) -> Option<MethodName> {
    let file = &context.file;
    let member = file.methods.get(work.method.index as usize)?;
    Some(MethodName {
        class: String::from_utf8_lossy(file.descriptor(work.class.kind)?).into_owned(),
        name: file.text(member.name),
        descriptor: file.proto_of(*member).map(|proto| file.proto_text(proto)).unwrap_or_default(),
    })
}

/// What was found in a method.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) findings: Vec<Finding>,
    inserted: Inserted,
    has_tries: bool,
}

impl Checked {
    fn whole(severity: Severity, rule: &'static str) -> Self {
        let finding = Finding { severity, pc: None, rule, detail: String::new() };
        Self { findings: vec![finding], ..Self::default() }
    }
}

fn check(context: &Context<'_>, work: &Work<'_>) -> Checked {
    let error = |rule| Checked::whole(Severity::Error, rule);
    let declared = work.method;
    let without_code = declared.access & (ACC_NATIVE | ACC_ABSTRACT) != 0;
    if declared.code == 0 {
        return if without_code {
            Checked::default()
        } else {
            error("a method that is neither abstract nor native has no code")
        };
    }
    if without_code {
        return error("an abstract or native method has code");
    }
    if !work.affordable {
        return Checked::whole(Severity::NotVerified, "the methods of the file have too much code");
    }
    if declared.access & ACC_STATIC != 0 && !work.is_direct {
        return error("a static method is listed among the virtual ones");
    }
    match Code::read(context.file.bytes, declared.code) {
        Ok(code) => check_code(context, work, &code),
        Err(rule) => error(rule),
    }
}

fn error_at(fault: Fault) -> Finding {
    Finding { severity: Severity::Error, pc: Some(fault.pc), rule: fault.rule, detail: fault.detail }
}

/// Checks `code` as the code of a method.
pub(crate) fn check_code(context: &Context<'_>, work: &Work<'_>, code: &Code) -> Checked {
    let declared = work.method;
    let whole = |severity, rule| Finding { severity, pc: None, rule, detail: String::new() };
    let structure = match Structure::check(&context.file, code) {
        Ok(structure) => structure,
        Err(fault) => return Checked { findings: vec![error_at(fault)], ..Checked::default() },
    };
    let is_static = declared.access & ACC_STATIC != 0;
    let name = context.file.methods.get(declared.index as usize).map(|method| method.name);
    let name = name.and_then(|name| context.file.string(name)).unwrap_or_default();
    let method = Method {
        class: context.types.of(work.class.kind),
        index: declared.index,
        is_static,
        is_constructor: !is_static && name == b"<init>",
    };
    let mut flow = Flow::new(context, code, &structure, method);
    let stopped = flow.run();
    let mut findings = std::mem::take(&mut flow.findings);
    let (inserted, bare) = inserted::check(&context.file, code, &structure);
    findings.extend(bare);
    if declared.access & ACC_SYNCHRONIZED != 0 {
        // ART 5 refuses the whole file for it; d8 writes monitor instructions instead.
        findings.push(whole(Severity::Soft, "ACC_SYNCHRONIZED on a method with code"));
    }
    for range in &code.tries {
        let whole_instructions = range.end as usize == code.units.len() || structure.is_start(range.end);
        if !whole_instructions {
            let rule = "a try range ends within an instruction";
            findings.push(Finding {
                severity: Severity::Soft,
                pc: Some(range.end),
                rule,
                detail: String::new(),
            });
        }
    }
    match stopped {
        Ok(()) => {}
        Err(Stop::Fault(fault)) => findings.push(error_at(fault)),
        Err(Stop::TooExpensive) => {
            findings.push(whole(Severity::NotVerified, "the method takes too much work"))
        }
    }
    Checked { findings, inserted, has_tries: !code.tries.is_empty() }
}
