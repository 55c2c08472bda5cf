//! Starts of the process and of pages.

use trace_format::ids::DISPATCH;
use trace_format::time::MS;
use trace_rules::stack::{Call, CallTree, text};
use trace_rules::startup::{CreatedBy, Grades, Page, Start, StartConfig, StartKind, Starts};

const HOME: u32 = 11;
const SPLASH: u32 = 22;

fn starts(config: StartConfig) -> Starts {
    Starts::new(config, 1_000 * MS)
}

fn start(times: (Option<Page>, Option<Start>)) -> Option<Start> {
    times.1
}

/// A start to HOME's focus at 1,900: application 300, create at 1,400.
fn cold(starts: &mut Starts) -> Option<Start> {
    starts.message(CreatedBy::TRANSACTION, 1_300 * MS);
    starts.created(1, 1_400 * MS);
    start(starts.focus(1, HOME, true, 1_900 * MS))
}

#[test]
fn a_cold_start_without_a_splash_page_ends_with_the_first_focus() {
    let mut starts = starts(StartConfig::default());
    let start = cold(&mut starts).unwrap();
    assert_eq!((start.kind, start.application_ms, start.created_by), (StartKind::Cold, 300, CreatedBy(159)));
    assert_eq!((start.first_screen_ms, start.cost_ms, start.slice_from_ns), (900, 900, 1_000 * MS));
    assert!(!start.with_stack && !start.bad);
    // Only once.
    assert_eq!(starts.focus(1, HOME, false, 2_000 * MS), (None, None));
    assert_eq!(starts.focus(1, HOME, true, 2_100 * MS), (None, None));
}

#[test]
fn a_cold_start_with_a_splash_page_ends_with_the_next_page() {
    let mut starts = starts(StartConfig { splash: vec![SPLASH], ..StartConfig::default() });
    starts.message(CreatedBy::LAUNCH, 1_300 * MS);
    starts.created(1, 1_400 * MS);
    assert_eq!(start(starts.focus(1, SPLASH, true, 1_700 * MS)), None);
    starts.created(2, 3_000 * MS);
    let start = start(starts.focus(2, HOME, true, 3_400 * MS)).unwrap();
    assert_eq!((start.first_screen_ms, start.cost_ms, start.created_by), (700, 2_400, CreatedBy(100)));
    assert!(start.bad, "2,000 ms is the limit");
}

#[test]
fn a_cold_start_may_end_with_a_chosen_page() {
    let mut starts = starts(StartConfig { end_pages: vec![HOME], ..StartConfig::default() });
    starts.message(CreatedBy::LAUNCH, 1_300 * MS);
    starts.created(1, 1_400 * MS);
    assert_eq!(start(starts.focus(1, 99, true, 1_700 * MS)), None);
    starts.created(2, 2_000 * MS);
    assert_eq!(start(starts.focus(2, HOME, true, 2_500 * MS)).unwrap().cost_ms, 1_500);
}

#[test]
fn a_process_may_start_for_a_service_or_a_receiver() {
    for by in [CreatedBy::SERVICE, CreatedBy::RECEIVER] {
        let mut starts = starts(StartConfig::default());
        assert_eq!(starts.message(by, 1_300 * MS), None);
        // An hour later the user opens the app.
        starts.message(CreatedBy::TRANSACTION, 3_600_000 * MS);
        starts.created(1, 3_600_010 * MS);
        let (page, start) = starts.focus(1, HOME, true, 3_600_510 * MS);
        let start = start.unwrap();
        assert_eq!((start.cost_ms, start.application_ms, start.first_screen_ms), (300, 300, 0));
        assert_eq!(start.created_by, by);
        // What the user waited for is the page's.
        let page = page.unwrap();
        assert_eq!(page.launch_ms, Some(510));
    }
}

#[test]
fn the_start_of_a_process_without_activities_ends_with_its_application() {
    let mut starts = starts(StartConfig { has_activity: false, ..StartConfig::default() });
    let start = starts.message(CreatedBy::SERVICE, 1_300 * MS).unwrap();
    assert_eq!(
        (start.kind, start.cost_ms, start.application_ms, start.first_screen_ms),
        (StartKind::Cold, 300, 300, 0)
    );
    assert_eq!(starts.message(CreatedBy::RECEIVER, 1_400 * MS), None);
}

#[test]
fn a_page_that_takes_thirty_seconds_is_dropped_without_a_report() {
    for (create_to_focus_ms, reported) in [(29_999, true), (30_000, false)] {
        let mut starts = starts(StartConfig::default());
        starts.message(CreatedBy::LAUNCH, 1_300 * MS);
        starts.created(1, 1_400 * MS);
        let first = start(starts.focus(1, HOME, true, (1_400 + create_to_focus_ms) * MS));
        assert_eq!(first.is_some(), reported, "{create_to_focus_ms}");
        // For good.
        starts.created(2, 40_000 * MS);
        assert_eq!(start(starts.focus(2, 99, true, 40_100 * MS)), None);
    }
}

#[test]
fn a_start_is_warm_only_without_a_living_activity() {
    let mut starts = starts(StartConfig::default());
    cold(&mut starts).unwrap();
    // A second page while the first lives: a page, no start.
    starts.message(CreatedBy::TRANSACTION, 5_000 * MS);
    starts.created(2, 5_010 * MS);
    let (page, none) = starts.focus(2, 33, true, 5_300 * MS);
    assert_eq!(none, None);
    assert_eq!(page, Some(Page { launch_ms: Some(300) }));
    starts.focus(2, 33, false, 6_000 * MS);
    starts.focus(1, HOME, false, 6_000 * MS);
    starts.destroyed(1);
    starts.destroyed(2);
    starts.created(3, 60_000 * MS);
    let warm = start(starts.focus(3, HOME, true, 64_000 * MS)).unwrap();
    assert_eq!((warm.kind, warm.cost_ms, warm.slice_from_ns), (StartKind::Warm, 4_000, 60_000 * MS));
    assert!(warm.with_stack, "4,000 ms is the limit, and it has a slice");
    assert_eq!((warm.application_ms, warm.first_screen_ms), (0, 0));
}

#[test]
fn a_second_focus_of_the_same_class_is_ignored() {
    let mut starts = starts(StartConfig { splash: vec![SPLASH], ..StartConfig::default() });
    starts.message(CreatedBy::LAUNCH, 1_300 * MS);
    starts.created(1, 1_400 * MS);
    assert_eq!(start(starts.focus(1, SPLASH, true, 1_700 * MS)), None);
    // Instrumented at each level of the hierarchy it comes twice; a second splash page is the same class.
    assert_eq!(starts.focus(1, SPLASH, true, 1_700 * MS), (None, None));
    starts.created(2, 1_800 * MS);
    assert_eq!(starts.focus(2, SPLASH, true, 1_900 * MS), (None, None));
    assert!(start(starts.focus(3, HOME, true, 2_000 * MS)).is_some());
}

#[test]
fn starts_have_stacks_from_ten_and_four_seconds_on_that_are_not_empty() {
    for (cost_ms, with_stack) in [(9_999, false), (10_000, true)] {
        let mut starts = starts(StartConfig::default());
        starts.message(CreatedBy::LAUNCH, 1_300 * MS);
        starts.created(1, 1_400 * MS);
        let start = start(starts.focus(1, HOME, true, (1_000 + cost_ms) * MS)).unwrap();
        assert_eq!(start.with_stack, with_stack);
    }
    // The slice of a cold start begins with the process and ends inside of the message that shows the page, before
    // any message or call of it has ended. Matrix's is empty then.
    let calls = [Call::enter(1, 1_000 * MS), Call::enter(DISPATCH, 1_300 * MS), Call::enter(2, 1_400 * MS)];
    let lines = CallTree::from_calls(calls, 11_000 * MS).lines;
    assert_eq!(text(&lines), "0,1,1,10000\n1,1048574,1,9700\n2,2,1,9600\n");
}

#[test]
fn a_hot_start_returns_to_the_foreground_with_a_living_activity() {
    let mut starts = starts(StartConfig::default());
    // The first start brings to the front too.
    starts.to_front(1_350 * MS);
    cold(&mut starts).unwrap();
    starts.focus(1, HOME, false, 5_000 * MS);
    starts.to_back();
    starts.to_front(60_000 * MS);
    let hot = start(starts.focus(1, HOME, true, 60_501 * MS)).unwrap();
    assert_eq!((hot.kind, hot.cost_ms, hot.bad), (StartKind::Hot, 501, true));
    // A notification opens another page over it.
    starts.focus(1, HOME, false, 70_000 * MS);
    starts.to_back();
    starts.message(CreatedBy::TRANSACTION, 80_000 * MS);
    starts.created(2, 80_010 * MS);
    starts.to_front(80_020 * MS);
    let hot = start(starts.focus(2, 77, true, 80_400 * MS)).unwrap();
    assert_eq!((hot.kind, hot.cost_ms, hot.bad), (StartKind::Hot, 400, false));
    // A dialog that closes is no start.
    starts.focus(2, 77, false, 81_000 * MS);
    assert_eq!(start(starts.focus(2, 77, true, 82_000 * MS)), None);
    // Games may take a second.
    let grades = Grades { cold_ms: 3_000, hot_ms: 1_000 };
    let mut game = self::starts(StartConfig { grades, ..StartConfig::default() });
    cold(&mut game);
    game.focus(1, HOME, false, 5_000 * MS);
    game.to_back();
    game.to_front(60_000 * MS);
    assert!(!start(game.focus(1, HOME, true, 60_900 * MS)).unwrap().bad);
}

#[test]
fn messages_that_create_a_component_end_the_applications_part() {
    let by = |what, launches| CreatedBy::from_message(what, launches).map(|by| by.launches());
    assert_eq!(by(100, false), Some(true));
    assert_eq!((by(159, true), by(159, false)), (Some(true), None));
    assert_eq!((by(126, false), by(160, false)), (Some(true), Some(true)), "relaunch, older and newer");
    assert_eq!((by(113, false), by(114, false)), (Some(false), Some(false)));
    assert_eq!(by(118, true), None);
    // No message could be read: the first create ends the application's part.
    let mut starts = starts(StartConfig::default());
    starts.created(1, 1_400 * MS);
    let (page, start) = starts.focus(1, HOME, true, 1_900 * MS);
    assert_eq!((start.unwrap().application_ms, start.unwrap().cost_ms), (400, 900));
    assert_eq!(page.unwrap().launch_ms, None);
}
