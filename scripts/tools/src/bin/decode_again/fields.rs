//! Checks that the schema has every field that the exporter writes.

use std::collections::BTreeMap;
use std::io::Read;

use perfetto_protos::trace::Trace;
use protobuf::reflect::{ReflectFieldRef, ReflectValueRef};
use protobuf::{Message, MessageDyn};

/// Fields newer than the crate's schema (Perfetto v51): message and number. Readers skip unknown fields.
const NEWER: [(&str, u32); 5] = [
    // Metadata of the whole trace.
    ("TracePacket", 126),
    // A track's description, and that it must not be merged with others of the same name.
    ("TrackDescriptor", 14),
    ("TrackDescriptor", 15),
    // File and line of a stack frame.
    ("Frame", 5),
    ("Frame", 6),
];

/// Counts the fields of a message, including nested ones; an unknown field is an error.
fn walk(message: &dyn MessageDyn, seen: &mut BTreeMap<String, u64>) -> Result<(), String> {
    let descriptor = message.descriptor_dyn();
    let name = descriptor.name();
    for (number, _) in message.unknown_fields_dyn().iter() {
        if !NEWER.contains(&(name, number)) {
            return Err(format!("the schema has no field {number} in {name}"));
        }
        *seen.entry(format!("{name} {number}")).or_default() += 1;
    }
    let mut value_of = |value: ReflectValueRef<'_>, field: &str| match value {
        ReflectValueRef::Message(inner) => walk(&*inner, seen),
        ReflectValueRef::Enum(kind, number) if kind.value_by_number(number).is_none() => {
            Err(format!("the schema has no value {number} of {field} in {name}"))
        }
        _ => Ok(()),
    };
    let mut known = Vec::new();
    for field in descriptor.fields() {
        let before = known.len();
        match field.get_reflect(message) {
            ReflectFieldRef::Optional(value) => {
                if let Some(value) = value.value() {
                    value_of(value, field.name())?;
                    known.push(field.name().to_owned());
                }
            }
            ReflectFieldRef::Repeated(values) => {
                for value in &values {
                    value_of(value, field.name())?;
                }
                if !values.is_empty() {
                    known.push(field.name().to_owned());
                }
            }
            ReflectFieldRef::Map(_) => {}
        }
        debug_assert!(known.len() <= before + 1);
    }
    for field in known {
        *seen.entry(format!("{name}.{field}")).or_default() += 1;
    }
    Ok(())
}

fn trace(bytes: &[u8], seen: &mut BTreeMap<String, u64>) -> Result<(), String> {
    let trace = Trace::parse_from_bytes(bytes).map_err(|e| e.to_string())?;
    // A field with a different wire type, or surplus bytes, would change the length.
    if trace.compute_size() != bytes.len() as u64 {
        return Err(format!("{} bytes are {} when encoded again", bytes.len(), trace.compute_size()));
    }
    for packet in &trace.packet {
        if packet.has_compressed_packets() {
            let mut inside = Vec::new();
            let block = packet.compressed_packets();
            flate2::read::ZlibDecoder::new(block).read_to_end(&mut inside).map_err(|e| e.to_string())?;
            self::trace(&inside, seen)?;
        }
    }
    // The trace's own field is one list of equal packets: count their fields.
    trace.packet.iter().try_for_each(|packet| walk(packet, seen))
}

/// Checks every field of a trace. Returns how many kinds there were, and which of them are newer than the
/// schema.
pub(crate) fn check(bytes: &[u8]) -> Result<String, String> {
    let mut seen = BTreeMap::new();
    trace(bytes, &mut seen)?;
    let newer: Vec<&str> = seen.keys().filter(|key| key.contains(' ')).map(String::as_str).collect();
    Ok(format!("{} kinds of fields, newer than the schema: {}", seen.len(), newer.join(", ")))
}
