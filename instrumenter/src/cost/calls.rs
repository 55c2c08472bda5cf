//! The calls in the code of a method, and what they cost by themselves.

use super::known;
use crate::class::text;
use crate::class_facts::body::{Call, CallKind};
use crate::waits::Catalogue;

/// The cost of a call in [`known`], in instructions.
const KNOWN_CALL_COST: u16 = 4;

/// The calls of a method so far. All names are those in the file of its class.
pub(crate) struct Calls<'a> {
    /// Name of its class.
    class: &'a [u8],
    super_class: Option<&'a [u8]>,
    /// Calls that may wait, so that their cost is unlimited.
    waits: Option<&'a Catalogue>,
    /// The additional cost of array creations and calls of known methods.
    pub(crate) more: u16,
    pub(crate) found: Vec<Call>,
}

impl<'a> Calls<'a> {
    pub(crate) fn of(class: &'a [u8], super_class: Option<&'a [u8]>, waits: Option<&'a Catalogue>) -> Self {
        Self { class, super_class, waits, more: 0, found: Vec::new() }
    }

    /// Adds the initialization of `class`, unless it is certainly initialized already.
    pub(crate) fn uses(&mut self, class: &[u8]) {
        if class == self.class || known::is_platform(class) {
            return;
        }
        let class: Box<str> = text::decode(class).into();
        if !self.found.iter().any(|call| call.how == CallKind::Initialize && call.class == class) {
            let (name, descriptor) = ("<clinit>".into(), "()V".into());
            self.found.push(Call { how: CallKind::Initialize, class, name, descriptor });
        }
    }

    /// Returns whether this is a super constructor call that may call an overridden method: that of a throwable calls
    /// `fillInStackTrace`.
    fn calls_back(&self, class: &[u8], name: &[u8]) -> bool {
        const QUIET: [&[u8]; 3] = [b"java/lang/Object", b"java/lang/Enum", b"java/lang/Record"];
        name == b"<init>" && self.super_class == Some(class) && !QUIET.contains(&class)
    }

    /// Adds a call of the method with this class, name and descriptor; `None` if its cost is unlimited.
    pub(crate) fn call(&mut self, how: CallKind, [class, name, descriptor]: [&[u8]; 3]) -> Option<()> {
        if self.waits.is_some_and(|waits| waits.names(class, name, descriptor)) {
            return None;
        }
        if known::lists(class, name, descriptor) && !self.calls_back(class, name) {
            self.more = self.more.checked_add(KNOWN_CALL_COST)?;
            return Some(());
        }
        // These are never inputs, and most calls that end here go to them.
        if known::is_platform(class) {
            return None;
        }
        if how == CallKind::Static {
            self.uses(class);
        }
        self.found.push(Call {
            how,
            class: text::decode(class).into(),
            name: text::decode(name).into(),
            descriptor: text::decode(descriptor).into(),
        });
        Some(())
    }
}
