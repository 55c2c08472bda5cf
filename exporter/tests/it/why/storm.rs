//! A message storm: who posts it.

use std::fmt::Write as _;

use super::*;
use test_support::scenario;

#[test]
fn the_place_that_posts_most_of_a_storm_is_named() {
    let mut text = "case storm message-storm ? - - anr\nthread feed-1\n".to_owned();
    for number in 0..300 {
        let time = 0.5 + f64::from(number) / 1_000.0;
        writeln!(text, "{time} step submitted com.acme.Tick com.acme.Handler com.acme.Feed.post").unwrap();
    }
    text += "main\n0.9 step started com.acme.Tick none com.acme.Tick.run\n";
    text += "0.901 step finished none none com.acme.Tick.run\n";
    text += "1.0 storm 3000 0.002 com.acme.Handler com.acme.Tick\n";
    text += "service\n7.0 sigquit 0\nverdict anr the system lists us as not responding\nalive 7.05\n";
    let (cases, _) = scenario::cases(&text);
    let (recording, map) = scenario::recording(&cases[0]);
    let report = Report::build(Path::new("storm"), &recording, &map).unwrap();
    // The one that main has run was long before.
    let posters = report.posters.as_ref().expect("most of the storm is of one place");
    assert_eq!((posters.count, posters.of, posters.thread.as_deref()), (299, 299, Some("feed-1")));
    let page = report.to_string();
    assert!(page.contains("all 299 tasks of main's looper are Tick.run, submitted by feed-1"), "{page}");
}
