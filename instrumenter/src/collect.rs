//! The first look at a class: its methods, and which of them are to be traced.

use crate::base_map::BaseMap;
use crate::class::class_file::{ClassFile, Method, access};
use crate::class::code::Code;
use crate::class::text;
use crate::error::SkipReason;
use crate::filter;
use crate::options::Options;
use crate::rewrite;

/// What the maps need to know of a class.
#[derive(Debug)]
pub(crate) struct ClassFacts {
    /// Internal name.
    pub(crate) name: String,
    pub(crate) source_file: Option<String>,
    /// In the order of the class file.
    pub(crate) methods: Vec<MethodFacts>,
}

#[derive(Debug)]
pub(crate) struct MethodFacts {
    pub(crate) access: u16,
    pub(crate) name: Box<str>,
    pub(crate) descriptor: Box<str>,
    pub(crate) first_line: Option<u16>,
    pub(crate) verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Trace,
    /// The filter's rule says that it is not worth it.
    Ignore,
    /// Its class is blocked.
    Block,
    /// Native or abstract.
    NoCode,
    /// Its code is broken.
    Skip(SkipReason),
}

/// Looks at a class file.
///
/// # Errors
///
/// Why the class must be copied as it is.
pub(crate) fn collect(bytes: &[u8], options: &Options, base: &BaseMap) -> Result<ClassFacts, SkipReason> {
    let class = ClassFile::read(bytes)?;
    let name = text::decode(class.name).into_owned();
    let facts = |methods| ClassFacts {
        name: name.clone(),
        source_file: class.source_file.map(|file| text::decode(file).into_owned()),
        methods,
    };
    if class.access & access::MODULE != 0 {
        return Ok(facts(Vec::new()));
    }
    let untouchable = filter::never_touched(&name) || filter::covers(&options.call_class, &name);
    if !untouchable && rewrite::calls_already(&class, &options.call_class) {
        return Err(SkipReason::AlreadyInstrumented);
    }
    let blocked = untouchable || options.filter.blocks(&name);
    let methods = class.methods.iter().map(|method| {
        let (method_name, descriptor) = (text::decode(method.name), text::decode(method.descriptor));
        let forced = !untouchable && base.id(&name, &method_name, &descriptor).is_some();
        let (verdict, first_line) = judge(&class, method, blocked && !forced, forced);
        MethodFacts {
            access: method.access,
            name: method_name.into(),
            descriptor: descriptor.into(),
            first_line,
            verdict,
        }
    });
    let methods = methods.collect();
    Ok(facts(methods))
}

fn judge(class: &ClassFile<'_>, method: &Method<'_>, blocked: bool, forced: bool) -> (Verdict, Option<u16>) {
    if method.access & (access::NATIVE | access::ABSTRACT) != 0 {
        return (Verdict::NoCode, None);
    }
    if blocked {
        return (Verdict::Block, None);
    }
    let code = match Code::of(class, method) {
        Ok(Some(code)) => code,
        Ok(None) => return (Verdict::NoCode, None),
        Err(broken) => return (Verdict::Skip(broken.into()), None),
    };
    let verdict = match filter::worth_tracing(code.bytes, method.is_constructor()) {
        Ok(true) => Verdict::Trace,
        Ok(false) if forced => Verdict::Trace,
        Ok(false) => Verdict::Ignore,
        Err(broken) => Verdict::Skip(broken.behind(code.at).into()),
    };
    let first_line = if verdict == Verdict::Trace { code.first_line(class) } else { None };
    (verdict, first_line)
}
