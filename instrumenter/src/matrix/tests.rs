use super::block_list::{block_set, is_read, needs_trace};
use super::traced::base_methods;

#[test]
fn a_block_list_is_a_set_of_prefixes() {
    let text = "#c\r\n-keepclass blk/Blocked\r\n -keepclass indented/X\n-keeppackage a/b\nunknown a/c\n-keepclass  two";
    let set = block_set(text, None);
    assert_eq!(set, ["android.", "com.tencent.matrix.", "blk.Blocked", "a.b", " two"]);
    for (class, needed) in [
        ("blk.Blocked", false),
        ("blk.BlockedToo", false),
        ("a.bc.D", false),
        ("androidx.A", true),
        ("indented.X", true),
    ] {
        assert_eq!(needs_trace(class, &set, None), needed, "{class}");
    }
}

#[test]
fn the_base_map_ends_at_the_first_invalid_line() {
    let methods = base_methods(
        "# x\n-1,1,a.B onWindowFocusChanged (Z)V\n\n7,256,a/B nat\nx,1,a.B c ()V\n8,1,a.B d ()V",
    );
    let keys: Vec<(i64, String)> = methods.iter().map(|method| (method.id, method.key())).collect();
    assert_eq!(keys, [(-1, "a.B.onWindowFocusChanged.(Z)V".to_owned()), (7, "a.B.nat".to_owned())]);
}

#[test]
fn files_that_matrix_does_not_read_are_recognised_by_name() {
    for (file, read) in [
        ("t/HANDLER.class", false),
        ("t/BAR$Inner.class", false),
        ("t/MyManifestParser.class", false),
        ("a/BuildConfig.class", false),
        ("t/Simple.class", true),
        ("t/R.class", false),
        ("t/HANDLERS.class", true),
    ] {
        assert_eq!(is_read(file), read, "{file}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_taken(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        base_methods(&text);
        block_set(&text, None);
    }
}
