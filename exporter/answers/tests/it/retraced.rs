//! A retraced dump.

use answers::dump::Frame;

use super::{open, page, r8};

#[test]
fn frames_locks_and_compiled_code_get_their_names() {
    let mut dump = open("obfuscated.txt");
    dump.retrace(&r8());
    let section = &dump.sections[0];
    let main = section.main().unwrap();
    let frames: Vec<String> = main.frames.iter().map(ToString::to_string).collect();
    assert_eq!(
        frames,
        [
            "at com.acme.shop.Table.find(Table.kt:12)",
            "at com.acme.shop.PriceStore.priceOf(Prices.kt:41)",
            "at com.acme.shop.CartActivity.total(CartActivity.kt:87)",
            "at com.acme.shop.CartActivity.onClick(CartActivity.kt:57)",
            "at com.acme.shop.PriceStore.first(Prices.kt)",
            "at com.acme.shop.PriceStore.unknown(Prices.kt:9)",
            "at android.os.Looper.loop(Looper.java:294)",
        ]
    );
    let Frame::Java(find) = &main.frames[0] else { panic!() };
    let Frame::Java(ambiguous) = &main.frames[4] else { panic!() };
    assert!(find.inlined && !ambiguous.inlined);
    assert_eq!(ambiguous.or, ["com.acme.shop.PriceStore.second"]);
    // The lock lines stand below the method that the code is in.
    assert_eq!(
        (main.locks[0].class.as_deref(), main.locks[0].frame),
        (Some("com.acme.shop.PriceStore"), Some(1))
    );
    let of_class = Some("java.lang.Class<com.acme.shop.CartActivity>");
    assert_eq!((main.locks[1].class.as_deref(), main.locks[1].frame), (of_class, Some(3)));
    let worker = section.thread(2).unwrap();
    assert_eq!(worker.frames[0].to_string(), "native: com.acme.shop.CartActivity.total [base.odex]");
    assert_eq!(worker.frames[1].to_string(), "at com.acme.shop.PriceStore.cached(Native method)");
    assert_eq!(worker.locks[0].class.as_deref(), Some("com.acme.shop.PriceStore[]"));
    let page = page(&dump);
    assert!(page.contains("at com.acme.shop.Table.find(Table.kt:12)  [inlined]"), "{page}");
    assert!(page.contains("   or com.acme.shop.PriceStore.second"), "{page}");
}

#[test]
fn long_methods_get_their_names_and_other_dumps_stay() {
    let mut dump = open("art17-long-methods.txt");
    dump.retrace(&r8());
    let long = dump.sections[0].long_methods.as_ref().unwrap();
    assert_eq!(long.runs[2].method, "com.acme.shop.PriceStore.cached");
    let before = open("art14-deadlock.txt");
    let mut after = before.clone();
    after.retrace(&r8());
    assert_eq!(before, after);
}
