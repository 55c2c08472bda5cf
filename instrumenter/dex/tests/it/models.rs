//! Models that no reader made: tables in any order, values of every kind.

use std::borrow::Cow;
use std::sync::Arc;

use dex::code::{Code, Handler, Try};
use dex::{Annotation, Class, ClassField, ClassMethod, Dex, Handle, MethodCode, Value};
use proptest::prelude::*;

/// Values whose indices still are any numbers.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i8>().prop_map(Value::Byte),
        any::<i16>().prop_map(Value::Short),
        any::<u16>().prop_map(Value::Char),
        (any::<i32>(), 0..32).prop_map(|(value, shift)| Value::Int(value >> shift)),
        (any::<i64>(), 0..64).prop_map(|(value, shift)| Value::Long(value >> shift)),
        (any::<u32>(), 0..32).prop_map(|(value, shift)| Value::Float(value << shift)),
        (any::<u64>(), 0..64).prop_map(|(value, shift)| Value::Double(value << shift)),
        any::<u32>().prop_map(Value::MethodType),
        any::<u32>().prop_map(Value::MethodHandle),
        any::<u32>().prop_map(Value::String),
        any::<u32>().prop_map(Value::Type),
        any::<u32>().prop_map(Value::Field),
        any::<u32>().prop_map(Value::Method),
        any::<u32>().prop_map(Value::Enum),
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| Value::Array(items.into())),
            prop::collection::vec((any::<u32>(), inner), 0..3).prop_map(|elements| {
                Value::Annotation(Box::new(Annotation {
                    visibility: None,
                    kind: 1,
                    elements: elements.into(),
                }))
            }),
        ]
    })
}

/// A class by numbers.
#[derive(Clone, Debug)]
struct Recipe {
    name: u8,
    fields: Vec<(u8, u8, Option<Value>)>,
    methods: Vec<(u8, Vec<u8>, bool)>,
    annotations: Vec<(u8, Vec<(u8, Value)>)>,
    source: bool,
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let fields = prop::collection::vec((any::<u8>(), 0..4_u8, prop::option::of(value())), 0..5);
    let methods =
        prop::collection::vec((any::<u8>(), prop::collection::vec(0..4_u8, 0..3), any::<bool>()), 0..5);
    let annotations =
        prop::collection::vec((any::<u8>(), prop::collection::vec((any::<u8>(), value()), 0..3)), 0..3);
    (any::<u8>(), fields, methods, annotations, any::<bool>()).prop_map(
        |(name, fields, methods, annotations, source)| Recipe { name, fields, methods, annotations, source },
    )
}

fn class_name(number: u8) -> String {
    // Also names whose order in UTF-16 is another than in UTF-8.
    let first = ["a", "\u{e9}", "\u{e000}", "\u{1f600}", "\u{10ffff}"][usize::from(number) % 5];
    format!("L{first}/{number};")
}

/// Makes every index one of the tables.
fn fitted(dex: &Dex<'_>, it: &Value) -> Value {
    let within = |index: u32, size: usize| index % size as u32;
    match it {
        Value::MethodType(index) => Value::MethodType(within(*index, dex.protos.len())),
        Value::MethodHandle(index) => Value::MethodHandle(within(*index, dex.handles.len())),
        Value::String(index) => Value::String(within(*index, dex.strings.len())),
        Value::Type(index) => Value::Type(within(*index, dex.types.len())),
        Value::Field(index) => Value::Field(within(*index, dex.fields.len())),
        Value::Method(index) => Value::Method(within(*index, dex.methods.len())),
        Value::Enum(index) => Value::Enum(within(*index, dex.fields.len())),
        Value::Array(items) => Value::Array(items.iter().map(|it| fitted(dex, it)).collect()),
        Value::Annotation(it) => {
            let elements = it.elements.iter().map(|(name, it)| (within(*name, dex.strings.len()), it));
            Value::Annotation(Box::new(annotation(dex, None, it.kind, elements)))
        }
        other => other.clone(),
    }
}

fn annotation<'v>(
    dex: &Dex<'_>,
    visibility: Option<u8>,
    kind: u32,
    elements: impl Iterator<Item = (u32, &'v Value)>,
) -> Annotation {
    let mut named: Vec<(u32, Value)> = Vec::new();
    for (name, it) in elements {
        if named.iter().all(|(other, _)| *other != name) {
            named.push((name, fitted(dex, it)));
        }
    }
    Annotation { visibility, kind: kind % dex.types.len() as u32, elements: named.into() }
}

fn model(recipes: &[Recipe], sites: &[Vec<Value>]) -> Dex<'static> {
    let mut dex = Dex { version: 38, ..Dex::default() };
    let object = dex.find_or_add_type("Ljava/lang/Object;");
    let void = dex.find_or_add_type("V");
    let proto = dex.find_or_add_proto(void, &[]);
    let method = dex.find_or_add_method(object, "<init>", proto);
    let field = dex.find_or_add_field(object, "f", object);
    dex.handles = vec![Handle { kind: 7, target: method }, Handle { kind: 1, target: field }];
    let kinds = ["I", "J", "[D", "Ljava/lang/String;"].map(|kind| dex.find_or_add_type(kind));
    let kind = |number: u8| kinds[usize::from(number) % 4];
    let mut above = object;
    for recipe in recipes {
        let class = dex.find_or_add_type(&class_name(recipe.name));
        if dex.classes.iter().any(|other| other.class == class) {
            continue;
        }
        let mut it =
            Class { class, access: u32::from(recipe.name), super_class: Some(above), ..Class::default() };
        above = class;
        it.source_file = recipe.source.then(|| dex.find_or_add_string("A.java"));
        let mut values = Vec::new();
        for (number, of, it_value) in &recipe.fields {
            let field = dex.find_or_add_field(class, &format!("f{number}"), kind(*of));
            let field = ClassField { field, access: 8 };
            if !it.static_fields.contains(&field) {
                it.static_fields.push(field);
                values.extend(it_value.clone().filter(|_| values.len() + 1 == it.static_fields.len()));
            }
        }
        it.static_values = values.into();
        for (number, parameters, code) in &recipe.methods {
            let parameters: Vec<u32> = parameters.iter().map(|&number| kind(number)).collect();
            let proto = dex.find_or_add_proto(void, &parameters);
            let method = dex.find_or_add_method(class, &format!("m{number}"), proto);
            if it.direct_methods.iter().any(|other| other.method == method) {
                continue;
            }
            // const-string v0; const-class v0; sget-object v0; invoke-static {}; return-void
            let words = [
                0x001a,
                dex.methods[method as usize].name,
                0x001c,
                class,
                0x0062,
                field,
                0x0071,
                method,
                0,
                0x000e,
            ];
            let units = words.iter().flat_map(|&word| (word as u16).to_le_bytes()).collect();
            let code = code.then(|| {
                MethodCode::Read(Code {
                    registers: 9,
                    ins: 3,
                    outs: 1,
                    units: Cow::Owned(units),
                    tries: vec![
                        Try { start: 0, length: 4, handler: 1 },
                        Try { start: 6, length: 3, handler: 0 },
                    ],
                    handlers: vec![
                        Handler { typed: vec![(class, 9), (object, 6)], catch_all: None },
                        Handler { typed: Vec::new(), catch_all: Some(9) },
                    ],
                    debug: Some(Cow::Borrowed(&[5, 0, 7, 0x0e, 0])),
                    ..Code::default()
                })
            });
            it.direct_methods.push(ClassMethod { method, access: 9, code });
        }
        dex.classes.push(it);
    }
    // All tables are filled now.
    let mut classes = std::mem::take(&mut dex.classes);
    for class in &mut classes {
        let Some(recipe) = recipes
            .iter()
            .find(|it| Some(class_name(it.name).as_str()) == name(&dex, class.class).as_deref())
        else {
            continue;
        };
        class.static_values = class.static_values.iter().map(|it| fitted(&dex, it)).collect();
        let mut set: Vec<Annotation> = Vec::new();
        for (kind, elements) in &recipe.annotations {
            let elements =
                elements.iter().map(|(name, it)| (u32::from(*name) % dex.strings.len() as u32, it));
            let it = annotation(&dex, Some(kind % 3), u32::from(*kind), elements);
            if set.iter().all(|other| other.kind != it.kind) {
                set.push(it);
            }
        }
        let set: Arc<[Annotation]> = set.into();
        class.annotations.class = Some(Arc::clone(&set));
        class.annotations.fields =
            class.static_fields.iter().map(|it| (it.field, Arc::clone(&set))).collect();
        class.annotations.methods =
            class.direct_methods.iter().map(|it| (it.method, Arc::clone(&set))).collect();
        let parameters = class.direct_methods.iter().take(1);
        class.annotations.parameters = parameters
            .map(|it| (it.method, vec![None, Some(Arc::clone(&set)), Some(Arc::default())].into()))
            .collect();
    }
    // Classes before their super classes: the writer puts them in order.
    classes.reverse();
    dex.classes = classes;
    dex.call_sites = sites.iter().map(|site| site.iter().map(|it| fitted(&dex, it)).collect()).collect();
    dex
}

fn name(dex: &Dex<'_>, kind: u32) -> Option<String> {
    Some(dex::mutf8::decode(dex.descriptor(kind)?).into_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_model_is_read_as_it_was_written(
        recipes in prop::collection::vec(recipe(), 0..5),
        sites in prop::collection::vec(prop::collection::vec(value(), 0..4), 0..3),
    ) {
        let model = model(&recipes, &sites);
        let bytes = model.write().unwrap();
        let read = Dex::read(&bytes).unwrap();
        prop_assert_eq!(test_support::dex::tables(&model), test_support::dex::tables(&read));
        prop_assert_eq!(test_support::dex::classes(&model), test_support::dex::classes(&read));
        // The order of what was sorted by writing stays.
        let again = read.write().unwrap();
        prop_assert!(Dex::read(&again).unwrap().write().unwrap() == again);
        for (place, class) in read.classes.iter().enumerate() {
            let before = |kind: u32| read.classes[..place].iter().any(|other| other.class == kind);
            let defined = |kind: u32| read.classes.iter().any(|other| other.class == kind);
            prop_assert!(class.super_class.is_none_or(|kind| before(kind) || !defined(kind)));
        }

        let parts = model.split().unwrap();
        prop_assert_eq!(parts.len(), 1);
        let bytes = parts[0].write().unwrap();
        let smaller = Dex::read(&bytes).unwrap();
        prop_assert_eq!(test_support::dex::classes(&read), test_support::dex::classes(&smaller));
    }
}
