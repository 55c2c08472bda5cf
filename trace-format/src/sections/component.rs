//! The component of the app that a stalled message of main runs: the payload of [`SectionKind::Component`].
//!
//! ```text
//! since=<when the message began, BOOTTIME ns>    call=receiver | service_create | ...    class=<the component's class>
//! foreground=0 | 1, of a broadcast               queued_ms=<from the system's call to the message's start>
//! ```

use super::lines::{Keys, Lines};
use super::text_of;
use crate::section::SectionKind;

words! {
    /// What the system asks a component to do.
    ///
    /// The recorder names those whose message describes the component. The others occur only where a reader takes them
    /// from main's stack.
    ComponentCall {
        /// `onReceive` of a receiver in the manifest.
        Receiver = "receiver",
        /// `onReceive` of a receiver that the app registered. Never recorded.
        RegisteredReceiver = "registered_receiver",
        /// `onCreate` of a service.
        ServiceCreate = "service_create",
        /// `onStartCommand` of a service.
        ServiceStart = "service_start",
        /// `onBind` or `onRebind` of a service.
        ServiceBind = "service_bind",
        /// `onUnbind` of a service.
        ServiceUnbind = "service_unbind",
        /// `onDestroy` of a service. Never recorded.
        ServiceDestroy = "service_destroy",
        /// `onStartJob` of a job service. Never recorded.
        JobStart = "job_start",
        /// `onStopJob` of a job service. Never recorded.
        JobStop = "job_stop",
        /// `onCreate` of a content provider. Never recorded.
        ProviderCreate = "provider_create",
        /// `onCreate` of the application. Never recorded.
        ApplicationCreate = "application_create",
    }
}

/// The component that a message of main runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    /// When the message began, BOOTTIME ns.
    pub since: u64,
    /// What the system asks for.
    pub call: ComponentCall,
    /// The component's class, with its package.
    pub class: String,
    /// Whether the broadcast is a foreground one; `None` for services.
    pub foreground: Option<bool>,
    /// How long the message waited in main's queue, ms, if known.
    pub queued_ms: Option<u64>,
}

impl Component {
    /// The section's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut lines = Lines::default();
        lines.number("since", self.since);
        lines.text("call", self.call.word());
        lines.text("class", &self.class);
        lines.flags("foreground", self.foreground);
        lines.numbers("queued_ms", self.queued_ms);
        lines.into_bytes()
    }

    /// Reads a payload; `None` if it is too long, has no valid time, no known call or no class.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let text = text_of(SectionKind::Component, payload)?;
        let keys = Keys::new(&text);
        Some(Self {
            since: keys.time("since")?,
            call: keys.text("call")?.parse().ok()?,
            class: keys.owned("class")?,
            foreground: keys.flag("foreground"),
            queued_ms: keys.number("queued_ms"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_section_is_a_component_with_a_class_or_nothing() {
        let text = "since=7\ncall=receiver\nclass=com.example.Push\nforeground=1\nqueued_ms=6100\n";
        let read = Component::parse(text.as_bytes()).unwrap();
        assert_eq!((read.since, read.call, &*read.class), (7, ComponentCall::Receiver, "com.example.Push"));
        assert_eq!((read.foreground, read.queued_ms), (Some(true), Some(6_100)));
        for missing in ["since=7\n", "call=receiver\n", "class=com.example.Push\n"] {
            assert_eq!(Component::parse(text.replace(missing, "").as_bytes()), None, "{missing}");
        }
        assert_eq!(Component::parse(text.replace("=receiver", "=dream").as_bytes()), None);
    }

    proptest! {
        #[test]
        fn components_round_trip(
            since in 1..1_000_000u64,
            call in prop::sample::select(ComponentCall::ALL),
            class in "[a-zA-Z.$é]{0,20}[a-z]",
            foreground: Option<bool>,
            queued_ms: Option<u64>,
        ) {
            let component = Component { since, call, class, foreground, queued_ms };
            let payload = component.encode();
            prop_assert_eq!(Component::parse(&payload), Some(component));
            (0..payload.len()).for_each(|cut| drop(Component::parse(&payload[..cut])));
        }
    }
}
