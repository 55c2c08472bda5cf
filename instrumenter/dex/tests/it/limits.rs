//! Tables at their limits, one by one, and files that are divided because of them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use dex::code::Code;
use dex::{Class, ClassField, ClassMethod, Dex, Limit, MethodCode, WriteError};

/// `return-void`
const RETURN: [u8; 2] = [0x0e, 0];

fn empty() -> Dex<'static> {
    let mut dex = Dex { version: 35, ..Dex::default() };
    dex.find_or_add_type("Ljava/lang/Object;");
    dex
}

fn class(dex: &mut Dex<'static>, name: &str) -> Class<'static> {
    let super_class = dex.find_or_add_type("Ljava/lang/Object;");
    Class { class: dex.find_or_add_type(name), super_class: Some(super_class), access: 1, ..Class::default() }
}

/// Classes of 1000 methods each, which are `count` in all.
fn with_methods(count: usize) -> Dex<'static> {
    let mut dex = empty();
    let void = dex.find_or_add_type("V");
    let proto = dex.find_or_add_proto(void, &[]);
    for start in (0..count).step_by(1000) {
        let mut class = class(&mut dex, &format!("Lm/C{start};"));
        for number in start..count.min(start + 1000) {
            let method = dex.find_or_add_method(class.class, &format!("m{number}"), proto);
            let code = Code { registers: 1, units: Cow::Borrowed(&RETURN), ..Code::default() };
            class.direct_methods.push(ClassMethod { method, access: 9, code: Some(MethodCode::Read(code)) });
        }
        dex.classes.push(class);
    }
    dex
}

fn with_fields(count: usize) -> Dex<'static> {
    let mut dex = empty();
    let int = dex.find_or_add_type("I");
    for start in (0..count).step_by(1000) {
        let mut class = class(&mut dex, &format!("Lf/C{start};"));
        for number in start..count.min(start + 1000) {
            let field = dex.find_or_add_field(class.class, &format!("f{number}"), int);
            class.static_fields.push(ClassField { field, access: 9 });
        }
        dex.classes.push(class);
    }
    dex
}

/// Classes that implement 1000 interfaces each, so that there are `count` types in all.
fn with_types(count: usize) -> Dex<'static> {
    let mut dex = empty();
    while dex.types.len() < count {
        let number = dex.types.len();
        let mut class = class(&mut dex, &format!("Lt/C{number};"));
        let left = count - dex.types.len();
        class.interfaces = (0..left.min(1000))
            .map(|other| dex.find_or_add_type(&format!("Lt/I{number}x{other};")))
            .collect();
        dex.classes.push(class);
    }
    dex
}

/// Classes whose abstract methods have one proto each, `count` in all.
fn with_protos(count: usize) -> Dex<'static> {
    let mut dex = empty();
    let kinds: Vec<u32> = (0..260).map(|number| dex.find_or_add_type(&format!("Lp/K{number};"))).collect();
    let mut number = 0;
    while dex.protos.len() < count {
        let mut class = class(&mut dex, &format!("Lp/C{number};"));
        for _ in 0..1000.min(count - dex.protos.len()) {
            let proto = dex.find_or_add_proto(kinds[number / 260], &[kinds[number % 260]]);
            let method = dex.find_or_add_method(class.class, "m", proto);
            class.virtual_methods.push(ClassMethod { method, access: 0x401, code: None });
            number += 1;
        }
        dex.classes.push(class);
    }
    dex
}

/// Writes a file at its limit, and divides one beyond it.
fn check(name: &'static str, fits: Dex<'static>, too_large: Dex<'static>) {
    let written = fits.write().unwrap();
    let read = Dex::read(&written).unwrap();
    assert_eq!(read.classes.len(), fits.classes.len());
    assert_eq!(too_large.write(), Err(WriteError::Limit(Limit::Table(name))));

    let all: Vec<String> =
        too_large.classes.iter().map(|class| test_support::dex::kind(&too_large, class.class)).collect();
    let whole = test_support::dex::classes(&too_large);
    let parts = too_large.split().unwrap();
    assert_eq!(parts.len(), 2, "{name}");
    let mut found = BTreeSet::new();
    for part in &parts {
        let bytes = part.write().unwrap();
        let read = Dex::read(&bytes).unwrap();
        for (name, lines) in test_support::dex::classes(&read) {
            assert_eq!(lines, whole[&name]);
            assert!(found.insert(name), "no class stands twice");
        }
        assert!(!read.classes.is_empty());
    }
    assert_eq!(found.len(), all.len(), "no class is lost");
}

#[test]
fn a_file_has_65536_methods() {
    check("methods", with_methods(0x1_0000), with_methods(0x1_0001));
}

#[test]
fn a_file_has_65536_fields() {
    check("fields", with_fields(0x1_0000), with_fields(0x1_0001));
}

#[test]
fn a_file_has_65535_types() {
    check("types", with_types(0xffff), with_types(0x1_0000));
}

#[test]
fn a_file_has_65535_protos() {
    check("protos", with_protos(0xffff), with_protos(0x1_0000));
}

#[test]
fn items_that_nothing_uses_do_not_divide_a_file() {
    let mut dex = with_methods(0x1_0000);
    let void = dex.find_or_add_type("V");
    let proto = dex.find_or_add_proto(void, &[]);
    dex.find_or_add_method(void, "unused", proto);
    assert!(dex.write().is_err());
    let parts = dex.split().unwrap();
    assert_eq!(parts.len(), 1);
    assert_eq!(Dex::read(&parts[0].write().unwrap()).unwrap().methods.len(), 0x1_0000);
}

#[test]
fn a_class_that_fits_nowhere_is_an_error() {
    let mut dex = with_methods(0x1_0001);
    let mut one = dex.classes.pop().unwrap();
    one.direct_methods =
        dex.classes.drain(..).flat_map(|class| class.direct_methods).chain(one.direct_methods).collect();
    dex.classes.push(one);
    assert_eq!(dex.split().err(), Some(WriteError::Limit(Limit::Table("methods"))));
}

#[test]
fn a_string_beyond_65536_makes_its_instruction_wider() {
    let mut dex = with_methods(1);
    let string = dex.find_or_add_string("z: behind all others");
    // const-string v0; return-void
    let mut units = vec![0x1a, 0];
    units.extend((string as u16).to_le_bytes());
    units.extend(RETURN);
    let code = Code { registers: 1, units: Cow::Owned(units), ..Code::default() };
    dex.classes[0].direct_methods[0].code = Some(MethodCode::Read(code));
    let before = test_support::dex::classes(&dex);
    (0..0x1_0000).for_each(|number| _ = dex.find_or_add_string(&format!("a{number}")));
    let bytes = dex.write().unwrap();
    let read = Dex::read(&bytes).unwrap();
    assert_eq!(test_support::dex::classes(&read), before);
    let Some(MethodCode::Read(code)) = &read.classes[0].direct_methods[0].code else { panic!("no code") };
    assert_eq!(code.units[0], 0x1b, "const-string/jumbo");
}
