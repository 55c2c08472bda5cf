//! Builds a dex file of one class with one method, whose code item is given unit by unit.

/// The code of the method `LT;->m(I)V`, static.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) version: &'static [u8; 3],
    pub(crate) registers: u16,
    pub(crate) ins: u16,
    pub(crate) outs: u16,
    pub(crate) units: Vec<u16>,
    /// Start, length and offset into `handlers`.
    pub(crate) tries: Vec<(u32, u16, u16)>,
    /// The encoded list of handler lists.
    pub(crate) handlers: Vec<u8>,
    pub(crate) access: u8,
}

/// A body of two registers, of which v1 is the parameter.
pub(crate) fn body(units: &[u16]) -> Body {
    Body {
        version: b"035",
        registers: 2,
        ins: 1,
        outs: 1,
        units: units.to_vec(),
        tries: Vec::new(),
        handlers: Vec::new(),
        access: 9,
    }
}

impl Body {
    /// Returns the file. Strings and types: `I`, `LT;`, `Ljava/lang/Exception;`, `Ljava/lang/Object;`, `V`, `[I`, and
    /// the name `m`; method 0 is `m` itself.
    pub(crate) fn dex(&self) -> Vec<u8> {
        let strings: [&[u8]; 7] =
            [b"I", b"LT;", b"Ljava/lang/Exception;", b"Ljava/lang/Object;", b"V", b"[I", b"m"];
        let (string_ids, type_ids) = (0x70, 0x70 + 7 * 4);
        let proto_ids = type_ids + 6 * 4;
        let method_ids = proto_ids + 12;
        let class_defs = method_ids + 8;
        let data = class_defs + 32;
        let mut bytes = vec![0u8; data];
        let word = |bytes: &mut Vec<u8>, at: usize, value: u32| {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes())
        };

        // Data: parameters of the prototype, code, class data, strings, map.
        let parameters = bytes.len();
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        let code = bytes.len();
        for half in [self.registers, self.ins, self.outs, self.tries.len() as u16] {
            bytes.extend(half.to_le_bytes());
        }
        bytes.extend(0u32.to_le_bytes());
        bytes.extend((self.units.len() as u32).to_le_bytes());
        bytes.extend(self.units.iter().flat_map(|unit| unit.to_le_bytes()));
        if !self.tries.is_empty() {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            for &(start, length, offset) in &self.tries {
                bytes.extend(start.to_le_bytes());
                bytes.extend(length.to_le_bytes());
                bytes.extend(offset.to_le_bytes());
            }
            bytes.extend(&self.handlers);
        }
        let class_data = bytes.len();
        // No fields, one direct method: index 0, access flags, code offset in two bytes of uleb128.
        bytes.extend([0, 0, 1, 0, 0, self.access, 0x80 | (code & 0x7f) as u8, (code >> 7) as u8]);
        for (index, string) in strings.iter().enumerate() {
            let at = bytes.len() as u32;
            word(&mut bytes, string_ids + 4 * index, at);
            bytes.push(string.len() as u8);
            bytes.extend(*string);
            bytes.push(0);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let map = bytes.len();
        bytes.extend(0u32.to_le_bytes());

        for index in 0..6 {
            word(&mut bytes, type_ids + 4 * index, index as u32);
        }
        word(&mut bytes, proto_ids, 4);
        word(&mut bytes, proto_ids + 4, 4);
        word(&mut bytes, proto_ids + 8, parameters as u32);
        word(&mut bytes, method_ids, 1);
        word(&mut bytes, method_ids + 4, 6);
        for (offset, value) in [(0, 1), (4, 1), (8, 3), (16, u32::MAX), (24, class_data as u32)] {
            word(&mut bytes, class_defs + offset, value);
        }
        bytes[..4].copy_from_slice(b"dex\n");
        bytes[4..7].copy_from_slice(self.version);
        let size = bytes.len() as u32;
        for (at, value) in [
            (0x20, size),
            (0x24, 0x70),
            (0x28, 0x1234_5678),
            (0x34, map as u32),
            (0x38, 7),
            (0x3c, string_ids as u32),
            (0x40, 6),
            (0x44, type_ids as u32),
            (0x48, 1),
            (0x4c, proto_ids as u32),
            (0x58, 1),
            (0x5c, method_ids as u32),
            (0x60, 1),
            (0x64, class_defs as u32),
        ] {
            word(&mut bytes, at, value);
        }
        bytes
    }
}
