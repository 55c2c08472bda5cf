//! How long a SIGQUIT takes from the sender to the Signal Catcher, with us in between and without us.

use super::Case;
use super::art::{block_as_art, install, start_catcher};
use super::driver::Played;
use super::page::Page;
use native_signal::boottime_ns;

/// The two players; not cases of their own.
pub(crate) const PLAYERS: [Case; 2] = [
    Case { name: "latency_without", play: play_without, judge: |_| {} },
    Case { name: "latency_with", play: play_with, judge: |_| {} },
];

fn play_without(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    page.reach(1);
    page.wait_allowed(2);
}

fn play_with(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let _sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
}

/// Sends so many to each, in turns, each after the one before arrived, and prints the figures. Each is waited for: one
/// that is lost ends the program.
pub(crate) fn run(number: usize) {
    let mut players = PLAYERS.map(|case| (Played::start(&case), Vec::with_capacity(number)));
    let turn = (number / 10).max(1);
    while players.iter().any(|(_, taken)| taken.len() < number) {
        for (index, (played, taken)) in players.iter_mut().enumerate() {
            for _ in 0..turn.min(number - taken.len()) {
                if PLAYERS[index].name == "latency_with" {
                    // What comes while the handler runs would go past us.
                    played.leader_opens();
                }
                let sent_ns = boottime_ns();
                played.send_spaced(1, |page| page.catcher.last());
                taken.push(played.page.catcher.last() - sent_ns);
            }
        }
    }
    println!("SIGQUIT to the Signal Catcher, µs, {number} each, one at a time, in turns:");
    let mut rows = Vec::new();
    for (played, mut taken) in players {
        taken.sort_unstable();
        let at = |share: f64| taken[((taken.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
        let (sent, got, told) = (played.sent, played.page.catcher.count(), played.page.observer.count());
        println!(
            "  median {:8.1}  99.9 % {:8.1}  max {:8.1}   {sent} sent, {got} at the catcher, {told} sensed",
            at(0.5),
            at(0.999),
            at(1.0),
        );
        rows.push((at(0.5), at(0.999), sent == got));
        played.end();
    }
    println!("  (the upper line without us, the lower with us)");
    let [(_, without, all), (median, with, all_with)] = rows[..] else { unreachable!("two players") };
    println!("  target: median under 50 µs, 99.9 % under 1 ms or twice the run without us, none lost");
    let met = median < 50.0 && (with < 1000.0 || with < 2.0 * without) && all && all_with;
    println!("  {}", if met { "met" } else { "NOT met in this run" });
}
