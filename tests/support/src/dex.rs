//! Dex files as text without indices, so that files with other tables can be compared.

use std::collections::BTreeMap;

use dex::code::{Code, Use};
use dex::{Annotation, Class, ClassMethod, Dex, MethodCode, Table, Value, mutf8};

/// A file with the sums and the size that its header needs.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() >= 0x70 {
        let size = bytes.len() as u32;
        bytes[0x20..0x24].copy_from_slice(&size.to_le_bytes());
        let sum = libdeflater::adler32(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}

/// What the classes of a file are, by descriptor.
pub fn classes(dex: &Dex<'_>) -> BTreeMap<String, Vec<String>> {
    dex.classes.iter().map(|class| (kind(dex, class.class), lines(dex, class))).collect()
}

/// The entries of the tables.
pub fn tables(dex: &Dex<'_>) -> Vec<String> {
    let size = |length: usize| 0..length as u32;
    let mut lines: Vec<String> = size(dex.strings.len()).map(|index| string(dex, index)).collect();
    lines.extend(size(dex.types.len()).map(|index| kind(dex, index)));
    lines.extend(size(dex.protos.len()).map(|index| proto(dex, index)));
    lines.extend(size(dex.fields.len()).map(|index| field(dex, index)));
    lines.extend(size(dex.methods.len()).map(|index| method(dex, index)));
    lines.sort();
    lines.dedup();
    lines.extend(size(dex.handles.len()).map(|index| handle(dex, index)));
    lines.extend(dex.call_sites.iter().map(|site| values(dex, site)));
    lines
}

pub fn string(dex: &Dex<'_>, index: u32) -> String {
    format!("{:?}", mutf8::decode(dex.string(index).unwrap()))
}

pub fn kind(dex: &Dex<'_>, index: u32) -> String {
    mutf8::decode(dex.descriptor(index).unwrap()).into_owned()
}

pub fn proto(dex: &Dex<'_>, index: u32) -> String {
    let proto = &dex.protos[index as usize];
    let parameters: String = proto.parameters.iter().map(|parameter| kind(dex, *parameter)).collect();
    format!("({parameters}){} {}", kind(dex, proto.result), string(dex, proto.shorty))
}

pub fn field(dex: &Dex<'_>, index: u32) -> String {
    let field = dex.fields[index as usize];
    format!("{}->{}:{}", kind(dex, field.class), string(dex, field.name), kind(dex, field.kind))
}

pub fn method(dex: &Dex<'_>, index: u32) -> String {
    let method = dex.methods[index as usize];
    format!("{}->{}{}", kind(dex, method.class), string(dex, method.name), proto(dex, method.proto))
}

fn handle(dex: &Dex<'_>, index: u32) -> String {
    let handle = dex.handles[index as usize];
    let target = if handle.is_of_field() { field(dex, handle.target) } else { method(dex, handle.target) };
    format!("{} {target}", handle.kind)
}

fn value(dex: &Dex<'_>, it: &Value) -> String {
    match it {
        Value::MethodType(index) => proto(dex, *index),
        Value::MethodHandle(index) => handle(dex, *index),
        Value::String(index) => string(dex, *index),
        Value::Type(index) => kind(dex, *index),
        Value::Field(index) => field(dex, *index),
        Value::Enum(index) => format!("enum {}", field(dex, *index)),
        Value::Method(index) => method(dex, *index),
        Value::Array(items) => values(dex, items),
        Value::Annotation(it) => annotation(dex, it),
        other => format!("{other:?}"),
    }
}

fn values(dex: &Dex<'_>, items: &[Value]) -> String {
    format!("{:?}", items.iter().map(|it| value(dex, it)).collect::<Vec<_>>())
}

fn annotation(dex: &Dex<'_>, it: &Annotation) -> String {
    let mut elements: Vec<String> =
        it.elements.iter().map(|(name, it)| format!("{}={}", string(dex, *name), value(dex, it))).collect();
    elements.sort();
    format!("@{:?} {} {elements:?}", it.visibility, kind(dex, it.kind))
}

fn set(dex: &Dex<'_>, items: &[Annotation]) -> String {
    let mut items: Vec<String> = items.iter().map(|it| annotation(dex, it)).collect();
    items.sort();
    format!("{items:?}")
}

fn lines(dex: &Dex<'_>, class: &Class<'_>) -> Vec<String> {
    let mut lines = vec![
        format!("access {:x}", class.access),
        format!("super {:?}", class.super_class.map(|index| kind(dex, index))),
        format!(
            "interfaces {:?}",
            class.interfaces.iter().map(|&index| kind(dex, index)).collect::<Vec<_>>()
        ),
        format!("source {:?}", class.source_file.map(|index| string(dex, index))),
        format!("annotations {:?}", class.annotations.class.as_ref().map(|it| set(dex, it))),
    ];
    lines.extend(
        class.annotations.fields.iter().map(|(index, it)| format!("{} {}", field(dex, *index), set(dex, it))),
    );
    lines.extend(
        class
            .annotations
            .methods
            .iter()
            .map(|(index, it)| format!("{} {}", method(dex, *index), set(dex, it))),
    );
    for (index, sets) in &class.annotations.parameters {
        let sets: Vec<_> = sets.iter().map(|it| it.as_ref().map(|it| set(dex, it))).collect();
        lines.push(format!("{} {sets:?}", method(dex, *index)));
    }
    for (place, it) in class.static_fields.iter().enumerate() {
        // A default value is as good as none.
        let text = class.static_values.get(place).map(|it| value(dex, it)).unwrap_or_default();
        let default = [
            "Null",
            "Int(0)",
            "Long(0)",
            "Boolean(false)",
            "Double(0)",
            "Byte(0)",
            "Char(0)",
            "Short(0)",
            "Float(0)",
        ];
        let text = if default.contains(&&*text) { "" } else { &text };
        lines.push(format!("static {:x} {} {text}", it.access, field(dex, it.field)));
    }
    lines.extend(
        class.instance_fields.iter().map(|it| format!("field {:x} {}", it.access, field(dex, it.field))),
    );
    lines.extend(class.direct_methods.iter().map(|it| class_method(dex, "direct", it)));
    lines.extend(class.virtual_methods.iter().map(|it| class_method(dex, "virtual", it)));
    lines.sort();
    lines
}

fn class_method(dex: &Dex<'_>, list: &str, it: &ClassMethod<'_>) -> String {
    let code = match &it.code {
        None => String::new(),
        Some(MethodCode::Read(it)) => code(dex, it),
        Some(MethodCode::Edited(_)) => panic!("edited code has no text"),
    };
    format!("{list} {:x} {} {code}", it.access, method(dex, it.method))
}

/// References in their order. The instructions themselves are the business of the tests of `dex::code`.
fn code(dex: &Dex<'_>, code: &Code<'_>) -> String {
    let mut uses = Vec::new();
    let mut visit = |it: Use| {
        uses.push(match it {
            (Table::Strings, index) => string(dex, index),
            (Table::Types, index) => kind(dex, index),
            (Table::Protos, index) => proto(dex, index),
            (Table::Fields, index) => field(dex, index),
            (Table::Methods, index) => method(dex, index),
            (Table::CallSites, index) => values(dex, &dex.call_sites[index as usize]),
            (Table::Handles, index) => handle(dex, index),
        });
    };
    code.uses(&mut visit).unwrap();
    let catches: Vec<_> = code.handlers.iter().map(|it| (it.typed.len(), it.catch_all)).collect();
    format!("{} {} {} {:?} {catches:?} {uses:?}", code.registers, code.ins, code.outs, code.tries)
}
