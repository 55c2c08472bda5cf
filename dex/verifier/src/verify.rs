//! All methods of a file.

use rayon::prelude::*;

use crate::code::{self, Code};
use crate::error::ReadError;
use crate::file::{Class, Declared, DexFile};
use crate::flow::{Context, Flow, Method, Stop};
use crate::members::Members;
use crate::report::{Finding, MethodName, MethodReport, Report, Severity};
use crate::structure::{Fault, Structure};
use crate::types::Types;

/// Registers times code units that the methods of a file may have in all, plus [`COST_PER_BYTE`] for each of its bytes.
/// Files whose methods share code can exceed it; what follows is reported as not verified.
const BASE_COST: u64 = 1 << 28;
const COST_PER_BYTE: u64 = 64;

const ACC_STATIC: u32 = 0x8;
const ACC_NATIVE: u32 = 0x100;
const ACC_ABSTRACT: u32 = 0x400;

/// Checks all methods of a dex file, or of each file of a container.
///
/// # Errors
///
/// The tables of the file are broken, so that there is nothing to check code against.
pub fn verify(bytes: &[u8]) -> Result<Report, ReadError> {
    let mut report = Report::default();
    for header in DexFile::headers(bytes)? {
        report.append(verify_one(bytes, header)?);
    }
    Ok(report)
}

struct Work<'c> {
    class: &'c Class,
    method: &'c Declared,
    is_direct: bool,
    /// Whether the file's limit on work leaves room for it.
    affordable: bool,
}

fn verify_one(bytes: &[u8], header: usize) -> Result<Report, ReadError> {
    let file = DexFile::read(bytes, header)?;
    let types = Types::new(&file)?;
    let members = Members::new(&file, &types);
    let context = Context { file, types, members };
    let mut left = BASE_COST.saturating_add((bytes.len() as u64).saturating_mul(COST_PER_BYTE));
    let mut work = Vec::new();
    let mut methods = 0;
    for class in &context.file.classes {
        let direct = class.direct_methods.iter().map(|method| (method, true));
        let virtuals = class.virtual_methods.iter().map(|method| (method, false));
        for (method, is_direct) in direct.chain(virtuals) {
            methods += usize::from(method.code != 0);
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
    let findings = work.par_iter().with_min_len(64).filter_map(|work| check(&context, work)).collect();
    Ok(Report { classes: context.file.classes.len(), methods, findings })
}

fn check(context: &Context<'_>, work: &Work<'_>) -> Option<MethodReport> {
    let findings = check_method(context, work);
    if findings.is_empty() {
        return None;
    }
    let file = &context.file;
    let member = file.methods.get(work.method.index as usize)?;
    let method = MethodName {
        class: String::from_utf8_lossy(file.descriptor(work.class.kind)?).into_owned(),
        name: file.text(member.name),
        descriptor: file.proto_of(*member).map(|proto| file.proto_text(proto)).unwrap_or_default(),
    };
    Some(MethodReport { method, findings })
}

fn check_method(context: &Context<'_>, work: &Work<'_>) -> Vec<Finding> {
    let whole = |severity, rule| Finding { severity, pc: None, rule, detail: String::new() };
    let error = |rule| vec![whole(Severity::Error, rule)];
    let error_at = |fault: Fault| Finding {
        severity: Severity::Error,
        pc: Some(fault.pc),
        rule: fault.rule,
        detail: fault.detail,
    };
    let declared = work.method;
    let without_code = declared.access & (ACC_NATIVE | ACC_ABSTRACT) != 0;
    if declared.code == 0 {
        return if without_code {
            Vec::new()
        } else {
            error("a method that is neither abstract nor native has no code")
        };
    }
    if without_code {
        return error("an abstract or native method has code");
    }
    if !work.affordable {
        return vec![whole(Severity::NotVerified, "the methods of the file have too much code")];
    }
    let is_static = declared.access & ACC_STATIC != 0;
    let name = context.file.methods.get(declared.index as usize).map(|method| method.name);
    let name = name.and_then(|name| context.file.string(name)).unwrap_or_default();
    if is_static && !work.is_direct {
        return error("a static method is listed among the virtual ones");
    }
    let code = match Code::read(context.file.bytes, declared.code) {
        Ok(code) => code,
        Err(rule) => return error(rule),
    };
    let structure = match Structure::check(&context.file, &code) {
        Ok(structure) => structure,
        Err(fault) => return vec![error_at(fault)],
    };
    let method = Method {
        class: context.types.of(work.class.kind),
        index: declared.index,
        is_static,
        is_constructor: !is_static && name == b"<init>",
    };
    let mut flow = Flow::new(context, &code, &structure, method);
    let stopped = flow.run();
    let mut findings = std::mem::take(&mut flow.findings);
    match stopped {
        Ok(()) => {}
        Err(Stop::Fault(fault)) => findings.push(error_at(fault)),
        Err(Stop::TooExpensive) => {
            findings.push(whole(Severity::NotVerified, "the method takes too much work"))
        }
    }
    findings
}
