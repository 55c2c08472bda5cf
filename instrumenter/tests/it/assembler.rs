//! An assembler for class files that no Java compiler produces.
//!
//! It shares no code with the instrumenter: the two agree on the format only.

/// Builds a class `name` that extends `java/lang/Object`, of version 61.
pub(crate) struct Assembler {
    count: u16,
    pool: Vec<u8>,
    this: u16,
    object: u16,
    methods: Vec<Vec<u8>>,
}

/// A method's code and tables.
#[derive(Default)]
pub(crate) struct Body {
    pub(crate) code: Vec<u8>,
    /// `start end handler catch_type`
    pub(crate) handlers: Vec<[u16; 4]>,
    /// Frames without their count; empty for no StackMapTable.
    pub(crate) frames: Vec<u8>,
    pub(crate) frame_count: u16,
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
}

fn u2(value: u16) -> [u8; 2] {
    value.to_be_bytes()
}

impl Assembler {
    pub(crate) fn new(name: &str) -> Self {
        Self::below(name, "java/lang/Object")
    }

    /// Builds a class that extends `super_class`.
    pub(crate) fn below(name: &str, super_class: &str) -> Self {
        let mut new = Self { count: 1, pool: Vec::new(), this: 0, object: 0, methods: Vec::new() };
        new.this = new.class(name);
        new.object = new.class(super_class);
        new
    }

    fn entry(&mut self, parts: &[&[u8]]) -> u16 {
        self.pool.extend(parts.concat());
        self.count += 1;
        self.count - 1
    }

    pub(crate) fn utf8(&mut self, text: &str) -> u16 {
        self.entry(&[&[1], &u2(text.len() as u16), text.as_bytes()])
    }

    pub(crate) fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.entry(&[&[7], &u2(name)])
    }

    /// Returns `constant_pool_count` so far.
    pub(crate) fn pool_count(&self) -> u16 {
        self.count
    }

    pub(crate) fn this_class(&self) -> u16 {
        self.this
    }

    pub(crate) fn method_ref(&mut self, class: &str, name: &str, descriptor: &str) -> [u8; 2] {
        let class = self.class(class);
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let name_and_type = self.entry(&[&[12], &u2(name), &u2(descriptor)]);
        u2(self.entry(&[&[10], &u2(class), &u2(name_and_type)]))
    }

    pub(crate) fn method(&mut self, access: u16, name: &str, descriptor: &str, body: &Body) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let code_name = self.utf8("Code");
        let mut code = [u2(body.max_stack), u2(body.max_locals)].concat();
        code.extend((body.code.len() as u32).to_be_bytes());
        code.extend(&body.code);
        code.extend(u2(body.handlers.len() as u16));
        code.extend(body.handlers.iter().flatten().copied().flat_map(u2));
        if body.frames.is_empty() {
            code.extend(u2(0));
        } else {
            let name = self.utf8("StackMapTable");
            code.extend([u2(1), u2(name)].concat());
            code.extend((body.frames.len() as u32 + 2).to_be_bytes());
            code.extend(u2(body.frame_count));
            code.extend(&body.frames);
        }
        let mut method = [u2(access), u2(name), u2(descriptor), u2(1), u2(code_name)].concat();
        method.extend((code.len() as u32).to_be_bytes());
        method.extend(code);
        self.methods.push(method);
    }

    /// Repeats the last method until there are this many.
    pub(crate) fn fill_methods(&mut self, count: usize) {
        let last = self.methods.last().cloned().unwrap_or_default();
        self.methods.resize(count, last);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let mut out = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 61];
        out.extend(u2(self.count));
        out.extend(&self.pool);
        out.extend([u2(0x21), u2(self.this), u2(self.object), u2(0), u2(0)].concat());
        out.extend(u2(self.methods.len() as u16));
        out.extend(self.methods.concat());
        out.extend(u2(0));
        out
    }
}
