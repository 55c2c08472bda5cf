//! Starts, as Matrix reports them.

use trace_rules::startup::{CreatedBy, Grades, Start, StartConfig, StartKind};

use crate::report::StartFact;

/// The start that a section tells; `None` for a page, which Matrix does not report.
pub(super) fn start_of(fact: &StartFact) -> Option<Start> {
    let config = StartConfig::default();
    let ms = |to: u64| to.saturating_sub(fact.begin) / 1_000_000;
    let (kind, created_by) = match fact.kind.as_str() {
        // Which message it was is not told; from API 28 on it is this one.
        "cold" => (StartKind::Cold, CreatedBy::TRANSACTION),
        "service" => (StartKind::Cold, CreatedBy::SERVICE),
        "receiver" => (StartKind::Cold, CreatedBy::RECEIVER),
        "warm" => (StartKind::Warm, CreatedBy::UNKNOWN),
        "hot" => (StartKind::Hot, CreatedBy::UNKNOWN),
        _ => return None,
    };
    let cold = kind == StartKind::Cold;
    let application_ms = if cold { ms(fact.application_end) } else { 0 };
    let shown = created_by.launches() && fact.end > 0;
    let cost_ms = if shown { ms(fact.end) } else { application_ms };
    // With a splash page the first screen is that one.
    let first_screen = if fact.splash_end > 0 { fact.splash_end.min(fact.end) } else { fact.end };
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

    const MS: u64 = 1_000_000;

    fn fact(kind: &str) -> StartFact {
        StartFact {
            kind: kind.to_owned(),
            begin: 1_000 * MS,
            application_end: 1_400 * MS,
            end: 12_000 * MS,
            ..StartFact::default()
        }
    }

    #[test]
    fn a_section_becomes_matrix_s_start() {
        let cold = start_of(&StartFact { splash_end: 2_000 * MS, ..fact("cold") }).unwrap();
        assert_eq!((cold.application_ms, cold.first_screen_ms, cold.cost_ms), (400, 1_000, 11_000));
        assert!(cold.with_stack && cold.bad);
        let warm = start_of(&fact("warm")).unwrap();
        assert_eq!(
            (warm.application_ms, warm.first_screen_ms, warm.cost_ms, warm.bad),
            (0, 0, 11_000, false)
        );
        let service = start_of(&fact("service")).unwrap();
        assert_eq!(
            (service.created_by, service.cost_ms, service.with_stack),
            (CreatedBy::SERVICE, 400, false)
        );
        assert!(start_of(&fact("page")).is_none() && start_of(&fact("")).is_none());
    }
}
