//! Polls of threads and system while main is stalled.

use trace_format::section::SectionKind;
use trace_format::sections::system_state::{Quantity, SystemState};

use test_support::android::{Case, Run, main_thread, sections};

/// Main computes for 2 s of its own CPU time while another thread of the app computes too.
fn case(name: &str, option: &str) -> Case {
    let words = ["compute", "2000", "4000", "none", "1", "0", "timer", "lag_ms=500", "anr_ms=1000", option];
    let case = Case::new("PhoneLife")
        .named(name)
        .property("android.host.thermal=3")
        .property("android.host.powerSave=true");
    words.into_iter().fold(case, Case::word)
}

fn polls(run: &Run) -> Vec<SystemState> {
    let payloads = sections(&run.recording(), SectionKind::SystemState);
    payloads.iter().map(|payload| SystemState::parse(payload).expect("a poll")).collect()
}

#[test]
fn a_stall_has_polls_of_its_threads_and_of_the_platform() {
    let run = case("polls", "system_state=1").run();
    let main = main_thread(&run.recording()).tid;
    let polls = polls(&run);
    let (kernel, platform): (Vec<_>, Vec<_>) = polls.iter().partition(|poll| !poll.threads.is_empty());
    assert!(kernel.len() >= 2 && platform.len() >= 2, "{polls:?}");
    let of_main =
        |poll: &SystemState| poll.threads.iter().find(|thread| thread.tid == main).map(|thread| thread.ran);
    let ran: Vec<_> = kernel.iter().map(|poll| of_main(poll).expect("main")).collect();
    assert!(ran.is_sorted() && ran.last() > ran.first(), "{ran:?}");
    let named = |name: &str| kernel.iter().any(|poll| poll.threads.iter().any(|thread| thread.name == name));
    assert!(named("encoder-1") && named("anrscope-timer"), "{kernel:?}");
    for quantity in
        [Quantity::Realtime, Quantity::Cpus, Quantity::Process, Quantity::MajorFaults, Quantity::Available]
    {
        assert!(kernel.iter().all(|poll| poll.get(quantity).is_some()), "{quantity:?}");
    }
    assert!(kernel.iter().any(|poll| poll.get(Quantity::Cost).is_some_and(|ns| ns > 0)));
    let last = platform.last().unwrap();
    assert_eq!((last.get(Quantity::Thermal), last.get(Quantity::PowerSave)), (Some(3), Some(1)));
    assert!(last.get(Quantity::HeapUsed) < last.get(Quantity::HeapMax) && last.get(Quantity::Gcs).is_some());
}

#[test]
fn without_the_option_nothing_is_polled() {
    let run = case("no-polls", "system_state=0").run();
    assert_eq!(polls(&run), []);
}
