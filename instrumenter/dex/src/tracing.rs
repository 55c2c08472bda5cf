//! What tracing a method needs of the tables.

use crate::code::trace::{Calls, Kind, Parameter, Shape};
use crate::{ClassMethod, Dex, access};

impl Dex<'_> {
    /// The methods `i(I)V` and `o(I)V` of the class with this descriptor, which are added if they are missing.
    pub fn find_or_add_calls(&mut self, class: &str) -> Calls {
        let class = self.find_or_add_type(class);
        let (void, int) = (self.find_or_add_type("V"), self.find_or_add_type("I"));
        let proto = self.find_or_add_proto(void, &[int]);
        Calls {
            enter: self.find_or_add_method(class, "i", proto),
            exit: self.find_or_add_method(class, "o", proto),
        }
    }

    /// The types of all errors that inserted calls may throw, which are added if they are missing.
    pub fn find_or_add_errors(&mut self) -> [u32; 2] {
        ["Ljava/lang/StackOverflowError;", "Ljava/lang/OutOfMemoryError;"]
            .map(|descriptor| self.find_or_add_type(descriptor))
    }

    /// The shape of a method of a class. `this` is the index of the string `this`, if the file has it. `None` if the method or its proto is
    /// outside of the tables.
    pub fn shape(&self, method: &ClassMethod<'_>, this: Option<u32>) -> Option<Shape> {
        let id = self.methods.get(method.method as usize)?;
        let proto = self.protos.get(id.proto as usize)?;
        let parameter = |&declared: &u32| {
            let kind = match self.descriptor(declared) {
                Some([b'J' | b'D']) => Kind::Wide,
                Some([b'L' | b'[', ..]) => Kind::Object,
                _ => Kind::Plain,
            };
            Parameter { kind, declared }
        };
        Some(Shape {
            parameters: proto.parameters.iter().map(parameter).collect(),
            is_static: method.access & access::STATIC != 0,
            is_constructor: self.string(id.name) == Some(b"<init>"),
            this: this.map(|this| (id.class, this)),
        })
    }
}
