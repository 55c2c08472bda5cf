//! Manifests that aapt and aapt2 made of the same XML, read and edited alike.

use super::attribute::{self, Attribute};
use super::*;

const FILES: [(&str, &[u8]); 3] = [
    ("aapt", include_bytes!("../../tests/data/manifest/aapt.bin")),
    ("aapt2", include_bytes!("../../tests/data/manifest/aapt2.bin")),
    ("aapt2, protobuf", include_bytes!("../../tests/data/manifest/aapt2.pb")),
];

const LIBRARY: &str = include_str!("../../../../android/aar/AndroidManifest.xml");

fn component(kind: ComponentKind, class: &str) -> Component {
    Component { kind, class: class.to_owned() }
}

fn is_protobuf(manifest: &Manifest) -> bool {
    matches!(manifest.form, Form::Protobuf(_))
}

fn app(of: &[u8]) -> Manifest {
    Manifest::read(of).unwrap()
}

#[test]
fn the_facts_are_the_same_in_all_forms() {
    for (name, file) in FILES {
        let manifest = app(file);
        let expected = Facts {
            package: "com.example.app".to_owned(),
            version_code: 7,
            min_sdk: 14,
            target_sdk: 14,
            has_code: true,
            application_class: Some("com.example.app.App".to_owned()),
            components: vec![
                component(ComponentKind::Activity, "com.example.app.Main"),
                component(ComponentKind::Service, "org.other.Sync"),
                component(ComponentKind::Provider, "com.example.app.data.Files"),
            ],
            meta_data: vec!["anrscope.slow".to_owned()],
            permissions: vec!["android.permission.INTERNET".to_owned()],
            ..Facts::default()
        };
        assert_eq!(manifest.facts(), &expected, "{name}");
        assert_eq!(is_protobuf(&manifest), name.ends_with("protobuf"));
        assert_eq!(manifest.write(), file, "{name}");
    }
}

#[test]
fn the_librarys_manifest_is_merged_once() {
    let mut addition = Addition::parse(LIBRARY).unwrap();
    addition.set_meta_data("anrscope.slow", "900").unwrap();
    addition.set_meta_data("anrscope.fps", "off").unwrap();
    for (name, file) in FILES {
        let mut manifest = app(file);
        let first = manifest.merge(&addition).unwrap();
        let added = [
            "provider dev.anrscope.StartProvider",
            "provider dev.anrscope.RecordingsProvider",
            "receiver dev.anrscope.ControlReceiver",
            "receiver dev.anrscope.SignedControlReceiver",
            "meta-data anrscope.fps",
            "permission com.example.app.anrscope.CONTROL",
        ];
        assert_eq!(first.added, added, "{name}");
        assert_eq!(first.replaced, ["meta-data anrscope.slow"]);
        assert!(first.present.is_empty());
        assert!(manifest.facts().components.iter().any(|one| one.class == "dev.anrscope.StartProvider"));
        let written = manifest.write();
        assert_eq!(app(&written).facts(), manifest.facts(), "{name}");
        let second = manifest.merge(&addition).unwrap();
        assert!(second.added.is_empty(), "{name}: {:?}", second.added);
        assert_eq!((second.replaced.len(), second.present.len()), (2, 5));
        assert_eq!(manifest.write(), written, "{name}");
    }
}

#[test]
fn merged_attributes_have_the_types_of_the_platform_and_the_apps_package() {
    for (name, file) in FILES {
        let mut manifest = app(file);
        manifest.merge(&Addition::parse(LIBRARY).unwrap()).unwrap();
        let document = manifest.form.document();
        let application = facts::application(document).unwrap();
        let members: Vec<usize> = facts::children(document, application).collect();
        let value = |element, attribute| document.android_attribute(element, attribute).unwrap();
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        assert_eq!(
            value(members[0], attribute::AUTHORITIES),
            text("com.example.app.anrscope-start"),
            "{name}"
        );
        assert_eq!(value(members[0], attribute::INIT_ORDER), Some(Value::Integer(i32::MAX)));
        assert_eq!(value(members[0], attribute::EXPORTED), Some(Value::Boolean(false)));
        let path = facts::children(document, members[1]).next().unwrap();
        assert!(document.is_named(path, "path-permission"));
        assert_eq!(value(path, attribute::PERMISSION), text("com.example.app.anrscope.CONTROL"));
        // Before <application>, behind everything else.
        let permission =
            facts::children(document, 0).take_while(|element| *element != application).last().unwrap();
        assert!(document.is_named(permission, "permission"));
        assert_eq!(value(permission, attribute::PROTECTION_LEVEL), Some(Value::Hex(2)));
    }
}

#[test]
fn flags_of_the_application_are_set_and_replaced() {
    for (name, file) in FILES {
        let mut manifest = app(file);
        manifest.set_flag(attribute::DEBUGGABLE, true).unwrap();
        manifest.set_flag(attribute::EXTRACT_NATIVE_LIBS, false).unwrap();
        let again = app(&manifest.write());
        assert!(again.facts().debuggable, "{name}");
        assert_eq!(again.facts().extract_native_libs, Some(false));
        let size = manifest.write().len();
        manifest.set_flag(attribute::EXTRACT_NATIVE_LIBS, true).unwrap();
        manifest.set_flag(attribute::DEBUGGABLE, false).unwrap();
        assert_eq!((manifest.facts().debuggable, manifest.facts().extract_native_libs), (false, Some(true)));
        // A protobuf field has no fixed size.
        assert!(is_protobuf(&manifest) || manifest.write().len() == size);
    }
}

#[test]
fn a_raised_minimum_leaves_the_target_as_it_was() {
    for (name, file) in FILES {
        let mut manifest = app(file);
        assert_eq!(manifest.raise_min_sdk(14).unwrap(), None);
        assert_eq!(manifest.write(), file);
        assert_eq!(manifest.raise_min_sdk(21).unwrap(), Some(14), "{name}");
        let again = app(&manifest.write());
        assert_eq!((again.facts().min_sdk, again.facts().target_sdk), (21, 14));
        assert_eq!(manifest.raise_min_sdk(21).unwrap(), None);
    }
}

/// A manifest of the package `a.b.c` with these attributes and children, in the protobuf form, which is easy to build.
fn with(attributes: &[(Attribute, Value)], children: &[NewElement]) -> Manifest {
    let new = |attribute: Attribute, value: &Value| NewAttribute {
        attribute,
        value: value.clone(),
        text: String::new(),
    };
    let mut file = b"\x1a\x08manifest\x22\x10\x12\x07package\x1a\x05a.b.c".to_vec();
    let length = u8::try_from(file.len()).unwrap();
    file.splice(0..0, [0x0a, length]);
    let mut document = proto::Document::read(&file).unwrap();
    for (attribute, value) in attributes {
        document.set_attribute(0, &new(*attribute, value)).unwrap();
    }
    document.insert(Place::StartOf(0), children).unwrap();
    Manifest::read(&document.write()).unwrap()
}

fn element(name: &str, attributes: Vec<NewAttribute>, children: Vec<NewElement>) -> NewElement {
    NewElement { name: name.to_owned(), attributes, children }
}

#[test]
fn a_manifest_without_uses_sdk_gets_one() {
    let mut manifest = with(&[], &[]);
    assert_eq!((manifest.facts().min_sdk, manifest.facts().target_sdk), (1, 1));
    assert_eq!(manifest.raise_min_sdk(21).unwrap(), Some(1));
    assert_eq!((manifest.facts().min_sdk, manifest.facts().target_sdk), (21, 1));
}

#[test]
fn versions_may_be_strings_and_names_of_previews() {
    let uses = |min: &str| {
        element("uses-sdk", vec![NewAttribute::text(attribute::MIN_SDK_VERSION, min)], Vec::new())
    };
    assert_eq!(with(&[], &[uses("19")]).facts().min_sdk, 19);
    let mut preview = with(&[], &[uses("VanillaIceCream")]);
    assert_eq!(preview.facts().min_sdk, 10_000);
    assert_eq!(preview.raise_min_sdk(21).unwrap(), None);
}

#[test]
fn splits_and_the_base_differ() {
    let base = with(&[], &[]);
    assert!(base.facts().split.is_none() && !base.facts().is_feature_split);
    let feature = with(&[(attribute::IS_FEATURE_SPLIT, Value::Boolean(true))], &[]);
    assert!(feature.facts().is_feature_split);
}

#[test]
fn errors_leave_the_manifest_unchanged() {
    let mut manifest = with(&[], &[]);
    let before = manifest.write();
    let addition = Addition::parse(LIBRARY).unwrap();
    assert_eq!(manifest.merge(&addition), Err(Error::NoApplication));
    assert_eq!(manifest.set_flag(attribute::DEBUGGABLE, true), Err(Error::NoApplication));
    assert_eq!(manifest.write(), before);
    let attributes = vec![
        NewAttribute::text(attribute::NAME, "k"),
        NewAttribute {
            attribute: attribute::RESOURCE,
            value: Value::Reference(0x7f01_0001),
            text: String::new(),
        },
    ];
    let option = element("meta-data", attributes, Vec::new());
    let mut manifest = with(&[], &[element("application", Vec::new(), vec![option])]);
    let before = manifest.write();
    let mut addition = addition;
    addition.set_meta_data("k", "v").unwrap();
    assert_eq!(manifest.merge(&addition), Err(Error::MetaDataFromResource("k".to_owned())));
    assert_eq!(manifest.write(), before);
    assert_eq!(Manifest::read(b"\x0a\x03\x1a\x01a").unwrap_err(), Error::NoManifest);
}

#[test]
fn names_that_many_elements_share_are_limited() {
    let (_, file) = FILES[1];
    let long = "x".repeat(1 << 20);
    for (tag, place) in [("service", Place::StartOf as fn(_) -> _), ("other", Place::Before)] {
        let mut document = axml::Document::read(file).unwrap();
        let elements = vec![element(tag, vec![NewAttribute::text(attribute::NAME, &long)], Vec::new()); 17];
        let application = facts::application(&document).unwrap();
        document.insert(place(application), &elements).unwrap();
        let error = Manifest::read(&document.write()).unwrap_err();
        let expected = Malformed::new(0, "the names in the manifest take more than 16 MiB");
        assert_eq!(error, Error::Malformed(expected), "{tag}");
    }
}

#[test]
fn elements_behind_the_root_are_ignored() {
    let mut file = axml::Document::read(FILES[1].1).unwrap().write();
    // A service as a second root: the start and the end of an element in place of the end of the namespace.
    let end = file.len() - 24;
    file.truncate(end);
    for kind in [0x0102_u16, 0x0103] {
        file.extend(kind.to_le_bytes());
        file.extend([16, 0]);
        file.extend(if kind == 0x0102 { 36_u32 } else { 24 }.to_le_bytes());
        // Line, no comment, no namespace, the first string as the name.
        file.extend([0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        file.extend(0_u32.to_le_bytes());
        if kind == 0x0102 {
            file.extend([20, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    }
    let size = u32::try_from(file.len()).unwrap();
    file[4..8].copy_from_slice(&size.to_le_bytes());
    assert_eq!(app(&file).facts(), app(FILES[1].1).facts());
}

#[test]
fn what_a_librarys_manifest_must_not_have_is_an_error() {
    let parse = |body: &str| {
        let head = "<manifest xmlns:android=\"http://schemas.android.com/apk/res/android\" package=\"a\">\n";
        Addition::parse(&format!("{head}{body}</manifest>"))
    };
    let unknown = AdditionError::UnknownAttribute { line: 2, name: "colour".to_owned() };
    assert_eq!(parse("<permission android:colour=\"red\"/>"), Err(unknown));
    let plain = AdditionError::UnknownAttribute { line: 2, name: "name".to_owned() };
    assert_eq!(parse("<permission name=\"a\"/>"), Err(plain));
    let value = AdditionError::Value { line: 2, name: "exported".to_owned(), value: "yes".to_owned() };
    assert_eq!(parse("<application><receiver android:exported=\"yes\"/></application>"), Err(value));
    assert!(matches!(parse("<permission>"), Err(AdditionError::Xml(_))));
    assert_eq!(Addition::parse("<resources/>"), Err(AdditionError::NoManifest));
    let deep = format!("{}{}", "<a>".repeat(17), "</a>".repeat(17));
    assert_eq!(parse(&deep), Err(AdditionError::Depth(2)));
    assert_eq!(parse("<uses-sdk android:minSdkVersion=\"21\"/>").unwrap().min_sdk(), 21);
    let mut addition = parse("").unwrap();
    assert!(addition.set_meta_data("a", "b\u{1}").is_err());
}
