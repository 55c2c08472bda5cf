//! Converts starts to Matrix's form.

use trace_rules::startup::{CreatedBy, Grades, Start, StartConfig, StartKind};

use crate::facts;
use trace_format::sections::startup::Startup;

/// The start in a section; `None` for a page, which Matrix does not report.
pub(super) fn start_of(fact: &Startup) -> Option<Start> {
    let config = StartConfig::default();
    let ms = |to: u64| to.saturating_sub(fact.begin) / 1_000_000;
    let (kind, created_by) = match fact.kind {
        // The recording does not have the message; from API 28 on it is this one.
        facts::StartKind::Cold => (StartKind::Cold, CreatedBy::TRANSACTION),
        facts::StartKind::Service => (StartKind::Cold, CreatedBy::SERVICE),
        facts::StartKind::Receiver => (StartKind::Cold, CreatedBy::RECEIVER),
        facts::StartKind::Warm => (StartKind::Warm, CreatedBy::UNKNOWN),
        facts::StartKind::Hot => (StartKind::Hot, CreatedBy::UNKNOWN),
        facts::StartKind::Page | facts::StartKind::Relaunch => return None,
    };
    let cold = kind == StartKind::Cold;
    let application_ms = fact.application_end.filter(|_| cold).map_or(0, ms);
    let shown = created_by.launches();
    let cost_ms = if shown { ms(fact.end) } else { application_ms };
    // With a splash page, that is the first screen.
    let first_screen = fact.splash_end.unwrap_or(fact.end);
    let Grades { cold_ms, hot_ms } = config.grades;
    Some(Start {
        kind,
        application_ms,
        created_by,
        first_screen_ms: if cold && shown { ms(first_screen) } else { 0 },
        cost_ms,
        slice_from_ns: fact.begin,
        with_stack: cost_ms >= if cold { config.cold_ms } else { config.warm_ms },
        bad: match kind {
            StartKind::Cold => cost_ms > cold_ms,
            StartKind::Hot => cost_ms > hot_ms,
            StartKind::Warm => false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::sections::startup::Grade;
    use trace_format::time::MS;

    fn fact(kind: facts::StartKind) -> Startup {
        Startup {
            kind,
            activity: String::new(),
            begin: 1_000 * MS,
            application_end: Some(1_400 * MS),
            end: 12_000 * MS,
            first_draw: None,
            splash_end: None,
            grade: Grade::Unknown,
        }
    }

    #[test]
    fn a_section_becomes_matrix_s_start() {
        use facts::StartKind::{Cold, Page, Service, Warm};
        let cold = start_of(&Startup { splash_end: Some(2_000 * MS), ..fact(Cold) }).unwrap();
        assert_eq!((cold.application_ms, cold.first_screen_ms, cold.cost_ms), (400, 1_000, 11_000));
        assert!(cold.with_stack && cold.bad);
        let warm = start_of(&fact(Warm)).unwrap();
        assert_eq!(
            (warm.application_ms, warm.first_screen_ms, warm.cost_ms, warm.bad),
            (0, 0, 11_000, false)
        );
        let service = start_of(&fact(Service)).unwrap();
        assert_eq!(
            (service.created_by, service.cost_ms, service.with_stack),
            (CreatedBy::SERVICE, 400, false)
        );
        assert!(start_of(&fact(Page)).is_none());
    }
}
