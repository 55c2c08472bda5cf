//! Why main's wait is not over: the line of the page, and the JSON, whose keys are those of `why` in a report.

use serde_json::{Value, json};

use crate::answer::{CauseId, DumpedLink, DumpedWhy};
use crate::dump::{Dump, address};

/// Maximum number of threads listed for a link.
const MAX_THREADS: usize = 64;

/// The lines of the page: where its connections end, the chain in a sentence if the answer's finding does not say it, and
/// what its cause is inferred from.
pub(super) fn lines(dump: &Dump) -> Vec<(&'static str, String)> {
    let ends_here = dump.answer().is_some_and(|section| section.connects_to_itself);
    let here = || "all end in this process: who reads from one waits for another of its threads".to_owned();
    let connections = ends_here.then(|| ("Connections", here()));
    connections.into_iter().chain(chain(dump)).collect()
}

fn chain(dump: &Dump) -> Vec<(&'static str, String)> {
    let Some(why) = DumpedWhy::of_dump(dump) else { return Vec::new() };
    let is_said = why.found.is_some() && why.links.len() <= 2;
    let chain = (!is_said).then(|| ("Why", why.text()));
    chain.into_iter().chain(why.found.map(|found| ("Because", found.because))).collect()
}

fn link(link: &DumpedLink) -> Value {
    json!({
        "thread": link.threads.first(),
        "threads": link.threads.iter().take(MAX_THREADS).collect::<Vec<_>>(),
        "tid": link.tid,
        "since_ns": null,
        "waits_for": link.waits_for,
        "class": link.class,
        "call": null,
        "id": address::text(link.address),
        "in": link.inside,
        "task": null,
        "owner": link.owner,
    })
}

/// The chain as JSON; `null` if main waits for no thread, or the dump shows no more than that.
pub(super) fn json(dump: &Dump) -> Value {
    let Some(why) = DumpedWhy::of_dump(dump) else { return Value::Null };
    let found = why.found.as_ref();
    // Of a chain without a known cause the dump does not show who must move.
    let culprit = why.links.last().filter(|_| why.links.len() > 1);
    json!({
        "text": why.text(),
        "cause": found.map(|found| match found.cause {
            CauseId::PoolDeadlock => CauseId::SelfMadeDeadlock.word(),
            cause => cause.word(),
        }),
        "confidence": found.map(|found| found.confidence.word()),
        "because": found.map(|found| &found.because),
        "cycle": why.cycle,
        "links": why.links.iter().map(link).collect::<Vec<_>>(),
        "culprit": {"thread": culprit.and_then(|link| link.threads.first()), "task": null, "site": null},
        "steps_left_out": 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const SCHEMA: &str = include_str!("../../../../docs/report-schema.json");

    fn read(file: &str) -> Dump {
        Dump::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/waits").join(file)).unwrap()
    }

    #[test]
    fn the_json_has_the_keys_of_a_reports_why() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let why = json(&read("pool-behind-a-lock.25.jcmd-l.txt"));
        assert_eq!(why["links"].as_array().unwrap().len(), 3, "{why}");
        for (of, value) in [("Why", &why), ("WhyLink", &why["links"][1])] {
            for key in schema["$defs"][of]["required"].as_array().unwrap() {
                assert!(value.get(key.as_str().unwrap()).is_some(), "{key} is not in {value}");
            }
        }
        assert_eq!(why["links"][1]["threads"], json!(["io-1", "io-2"]));
        assert_eq!(why["links"][1]["owner"], "db-writer");
        assert_eq!((&why["cause"], &why["cycle"]), (&Value::Null, &json!(false)));
        let deadlock = json(&read("future-monitor.17.jstack-l.txt"));
        assert_eq!(deadlock["cause"], "self-made-deadlock");
        assert_eq!((&deadlock["cycle"], &deadlock["confidence"]), (&json!(true), &json!("high")));
        assert_eq!(json(&read("nested-get.25.jstack.txt"))["cause"], "pool-exhausted");
    }

    #[test]
    fn circles_through_a_notification_are_called_as_the_wait() {
        let text = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15 mixed mode):\n\n\
            \"main\" #1 prio=5 tid=0x01 nid=0x1 in Object.wait()\n   java.lang.Thread.State: WAITING (on object monitor)\n\
            \tat java.lang.Object.wait(Native Method)\n\t- waiting on <0x0a> (a shop.Outbox)\n\
            \tat shop.Outbox.put(Outbox.java:5)\n\t- locked <0x0a> (a shop.Outbox)\n\
            \tat shop.Campaign.send(Campaign.java:9)\n\t- locked <0x0b> (a shop.Campaign)\n\n\
            \"drain\" #9 prio=5 tid=0x02 nid=0x2 waiting for monitor entry\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\
            \tat shop.Campaign.next(Campaign.java:14)\n\t- waiting to lock <0x0b> (a shop.Campaign)\n\
            \tat shop.Drain.run(Drain.java:3)\n\n";
        let why = json(&Dump::read(Path::new("dump"), text.as_bytes()).unwrap());
        assert_eq!((&why["cause"], &why["cycle"]), (&json!("object-wait"), &json!(true)), "{why}");
        assert_eq!(why["confidence"], "medium");
    }

    #[test]
    fn a_dump_that_shows_no_more_than_mains_wait_has_no_chain() {
        for file in ["partly-waiting.17.kill3.txt", "http-like.17.jstack.txt", "scheduled.17.kill3.txt"] {
            assert_eq!(json(&read(file)), Value::Null, "{file}");
            assert_eq!(lines(&read(file)), [], "{file}");
        }
    }

    #[test]
    fn the_page_says_what_holds_main_up() {
        let lines = lines(&read("pool-behind-a-lock.25.jcmd-l.txt"));
        let text = "main waits for a future; both threads of pool \"io\" wait for the lock of java.lang.Object, \
                    which \"db-writer\" owns; \"db-writer\" is in java.net.Socket$SocketInputStream.read";
        assert_eq!(lines, [("Why", text.to_owned())]);
    }
}
