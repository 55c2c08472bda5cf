//! The generated class `dev.anrscope.MapId`.

use trace_format::MapId;

use crate::class::class_file::access;

/// Entry name of the class.
pub(crate) const ENTRY: &str = "dev/anrscope/MapId.class";

/// `public final class dev.anrscope.MapId { public static final String ID = "..."; }`
///
/// Class file version 49 works with every reader, and there is no code that would need frames.
pub(crate) fn bytes(id: MapId) -> Vec<u8> {
    const OF_CLASS: u16 = access::PUBLIC | access::FINAL | access::SUPER | access::SYNTHETIC;
    const OF_FIELD: u16 = access::PUBLIC | access::STATIC | access::FINAL;
    let mut out = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 49];
    let u2 = |out: &mut Vec<u8>, values: &[u16]| {
        values.iter().for_each(|value| out.extend_from_slice(&value.to_be_bytes()));
    };
    let utf8 = |out: &mut Vec<u8>, text: &str| {
        out.push(1);
        out.extend_from_slice(&(text.len() as u16).to_be_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    u2(&mut out, &[10]);
    utf8(&mut out, "dev/anrscope/MapId"); // 1
    out.extend_from_slice(&[7, 0, 1]); // 2: class
    utf8(&mut out, "java/lang/Object"); // 3
    out.extend_from_slice(&[7, 0, 3]); // 4: class
    utf8(&mut out, "ID"); // 5
    utf8(&mut out, "Ljava/lang/String;"); // 6
    utf8(&mut out, "ConstantValue"); // 7
    utf8(&mut out, &id.to_string()); // 8
    out.extend_from_slice(&[8, 0, 8]); // 9: string
    u2(&mut out, &[OF_CLASS, 2, 4, 0]);
    u2(&mut out, &[1, OF_FIELD, 5, 6, 1, 7, 0, 2, 9]);
    u2(&mut out, &[0, 0]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::class_file::ClassFile;

    #[test]
    fn the_generated_class_contains_the_id() {
        let bytes = bytes(MapId(0x0123_4567_89ab_cdef));
        let class = ClassFile::read(&bytes).unwrap();
        assert_eq!(class.name, b"dev/anrscope/MapId");
        assert!(bytes.windows(16).any(|window| window == b"0123456789abcdef"));
        let noak = noak::reader::Class::new(&bytes).unwrap();
        assert_eq!(noak.fields().iter().count(), 1);
    }
}
