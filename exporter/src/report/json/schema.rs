//! The written schema is the one of the types.

use std::path::Path;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};

use super::{Document, SCHEMA_VERSION};

/// Allows further keys where keys are described: a minor version adds some.
fn allow_further_keys(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), true.into());
    }
    // JSON has one kind of integers.
    schema.remove("format");
}

fn generated() -> String {
    let major = SCHEMA_VERSION.split('.').next().unwrap();
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Document<'_>>();
    RecursiveTransform(allow_further_keys).transform(&mut schema);
    schema.insert("$id".to_owned(), format!("anrscope-report-{major}").into());
    schema.insert("title".to_owned(), "The output of `anrscope report --format json`".into());
    let mut out = Vec::new();
    let indent = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, indent);
    serde::Serialize::serialize(&schema, &mut serializer).unwrap();
    String::from_utf8(out).unwrap() + "\n"
}

#[test]
fn the_written_schema_is_generated_from_the_types() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report-schema.json");
    let generated = generated();
    if std::env::var_os("ANRSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(&file, &generated).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written == generated,
        "docs/report-schema.json is not the schema of the types: ANRSCOPE_WRITE_DOCS=1 cargo test -p anrscope-exporter --lib schema"
    );
}
