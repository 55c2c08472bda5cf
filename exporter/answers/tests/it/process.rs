//! Which process a text is about, and what the system reports about it.

use std::path::Path;

use answers::dump::{AnrKind, Dump, FactValue};

use super::{open, page};

#[test]
fn another_process_is_not_shown_for_one_whose_stacks_are_missing() {
    let dump = open("system-ui-without-stacks.txt");
    let anr_process = dump.anr_process().unwrap();
    assert_eq!((anr_process.pid, anr_process.name.as_deref()), (Some(21479), Some("com.android.systemui")));
    assert_eq!(dump.answer(), None);
    let page = page(&dump);
    assert!(!page.contains("MAIN"), "{page}");
    for text in [
        "com.android.systemui (pid 21479) did not respond, and its stacks are not in this text",
        "main waits at binder_ioctl_write_read, in state S",
        "OTHER PROCESSES (1; --all for their threads)\n  system_server (pid 1600)",
        "pressure_memory_full_avg10_percent 16.62",
    ] {
        assert!(page.contains(text), "{text:?} is not in\n{page}");
    }
    assert_eq!(dump.warnings.len(), 2, "{:?}", dump.warnings);
    assert!(dump.warnings[0].contains("failed to read status response"));
    assert!(dump.warnings[1].contains("com.android.systemui (pid 21479), which did not respond"));
    let json = dump.to_json("x");
    assert_eq!(json["process"]["pid"], 21479);
    assert_eq!(json["process"]["has_stacks"], false);
    assert_eq!(json["sections"][0]["wait_channels"][0]["state"], "S");
}

#[test]
fn the_process_of_the_subject_is_shown_wherever_it_stands() {
    let section = |pid: u32, name: &str, method: &str| {
        format!(
            "----- pid {pid} at 2026-01-01 00:00:00 -----\nCmd line: {name}\n\n\"main\" prio=5 tid=1 Native\n  at a.B.{method}(B.java:1)\n\n----- end {pid} -----\n\n"
        )
    };
    let (other, shop) = (section(7, "system_server", "other"), section(8, "com.acme.shop:cart", "mine"));
    let read = |text: String| Dump::read(Path::new("x"), text.as_bytes()).unwrap();
    for subject in [
        "Subject: Input dispatching timed out (1a com.acme.shop/com.acme.shop.Cart (server) is not responding)",
        "Subject: Process ProcessRecord{1a 8:com.acme.shop:cart/u0a1} failed to complete startup",
        "Subject: Broadcast of Intent { act=x }\n--- CriticalEventLog ---\nevents <\n  anr <\n    pid: 8\n    subject: \"Broadcast of[...]\"\n  >\n>\n",
        "Subject: Broadcast of Intent { act=x }\n----- dumping pid: 8 at 100",
    ] {
        let dump = read(format!("{subject}\n{other}{shop}"));
        assert_eq!(dump.answer().and_then(|section| section.pid), Some(8), "{subject}");
        assert!(
            super::page(&dump)
                .contains("MAIN \"main\" (tid 1) is Native: it is in native code\n    at a.B.mine")
        );
    }
    // Without a subject it is the first one.
    assert_eq!(read(format!("{other}{shop}")).answer().and_then(|section| section.pid), Some(7));
    // A text without a head belongs to the subject's process.
    let text = "Subject: executing service com.acme/.S\n\"main\" prio=5 tid=1 Native\n  at a.B.c(D.java:1)\n";
    assert!(read(text.to_owned()).answer().is_some());
}

#[test]
fn what_logcat_reports_of_an_anr_is_shown() {
    let dump = open("logcat-anr.txt");
    let [report] = dump.anr_reports.as_slice() else { panic!("{:?}", dump.anr_reports) };
    assert_eq!(
        (report.process.as_str(), report.pid, report.frozen),
        ("com.acme.shop", Some(4242), Some(false))
    );
    assert_eq!(report.reason.as_ref().map(|reason| reason.kind), Some(AnrKind::InputDispatching));
    assert_eq!((report.cpu[0].rows.len(), report.pressure.len()), (4, 6));
    assert_eq!(report.pressure[3].value, FactValue::Text("0.98".into()));
    let page = page(&dump);
    for text in [
        "ANR in com.acme.shop (pid 4242), com.acme.shop/.CartActivity",
        "  reason    Input dispatching timed out (",
        "  load      5.02 / 4.66 / 4.4",
        "  pressure  memory, full: 0.98 % of 10 s",
        "       81%  1600 system_server: 50% user + 31% kernel",
        "  all       32%: 19% user + 10% kernel + 0.9% iowait + 0.3% softirq",
        "its stacks are not in this text",
    ] {
        assert!(page.contains(text), "{text:?} is not in\n{page}");
    }
    assert!(!page.contains("Subject: "), "{page}");
    let json = dump.to_json("x");
    assert_eq!(json["anr_reports"][0]["cpu"][0]["rows"][1]["id"], 4242);
    // With the stacks in the same text.
    let stacks = std::fs::read_to_string(super::data("art14-deadlock.txt")).unwrap();
    let text = std::fs::read_to_string(super::data("logcat-anr.txt")).unwrap() + &stacks;
    let dump = Dump::read(Path::new("x"), text.as_bytes()).unwrap();
    assert_eq!(dump.answer().and_then(|section| section.pid), Some(4242));
}

#[test]
fn the_columns_of_every_log_are_taken_off() {
    let report = [
        "ANR in com.acme (com.acme/.Main)",
        "PID: 77",
        "Reason: Broadcast of Intent { act=x }",
        "Load: 1.0 / 2.0 / 3.0",
        "CPU usage from 0ms to 10ms later:",
        "  5% 77/com.acme: 5% user + 0% kernel",
    ];
    for prefix in [
        "",
        "E/ActivityManager( 1600): ",
        "E/ActivityManager: ",
        "01-01 11:00:05.600 E/ActivityManager( 1600): ",
        "01-01 11:00:05.600  1600  7001 E ActivityManager: ",
        "8367:01-01 11:00:05.600  1600  7001 E ActivityManager: ",
        "2026-01-01 11:00:05.600 +0100  1600  7001 E ActivityManager: ",
        "2026-01-01 11:00:05.600  1000  1600  7001 E ActivityManager: ",
        "2026-01-01 11:00:05.600 1600-7001/? E/ActivityManager: ",
        "2026-01-01 11:00:05.600  1600-7001  ActivityManager  system_server  E  ",
        "1767261605.600  1600  7001 E ActivityManager: ",
        "> 01-01 11:00:05.600  1600  7001 E ActivityManager: ",
    ] {
        let text: String = report.iter().map(|line| format!("{prefix}{line}\n")).collect();
        let dump = Dump::read(Path::new("x"), text.as_bytes()).unwrap_or_else(|e| panic!("{prefix}: {e}"));
        let report = &dump.anr_reports[0];
        assert_eq!((report.process.as_str(), report.pid), ("com.acme", Some(77)), "{prefix}");
        assert_eq!(
            (report.load.as_deref(), report.cpu[0].rows.len()),
            (Some("1.0 / 2.0 / 3.0"), 1),
            "{prefix}"
        );
    }
}
