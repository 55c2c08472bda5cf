//! Programs that wait for the garbage collector, and one that computes while it collects, on real JVMs.

use super::attach::Program;
use super::jvm_programs::Programs;
use test_support::jdk::{compile_files, java};
use test_support::program::run;
use test_support::temp_dir::TempDir;

/// Collects for so many ms, or in a loop that computes if there is a second argument; prints a line once it has begun.
const COLLECTS: &str = "public class Collects { static Object[] kept = new Object[300_000]; static long sum; \
    static void collect(long until) { System.out.println(90); while (System.nanoTime() < until) { System.gc(); } } \
    static void compute(long until) { while (System.nanoTime() < until) { kept[(int) (sum & 0xffff)] = new byte[64]; \
        for (int n = 0; n < 10_000; n++) { sum += n ^ sum; } } } \
    public static void main(String[] a) throws Exception { for (int n = 0; n < kept.length; n++) { kept[n] = new byte[64]; } \
        long until = System.nanoTime() + Long.parseLong(a[0]) * 1_000_000; \
        if (a.length > 1) { compute(until); } else { collect(until); } Thread.sleep(200); } }";

#[test]
fn collections_that_take_most_of_a_hang_are_its_cause() {
    let programs = Programs::build();
    let source = programs.directory.file("collects/Collects.java", COLLECTS);
    compile_files(&[&source], &programs.directory.path().join("classes"));
    for collector in ["-XX:+UseSerialGC", "-XX:+UseG1GC"] {
        let trace = programs.name("collects.pftrace");
        let program = ["-Xmx96m", collector, "-cp", "classes", "Collects", "5500"];
        let shown = programs.shown(&["-o", &trace], &program);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let page = run(["report", &programs.name("collects.anrscope")]).ok(&[]);
        for text in ["GARBAGE COLLECTION (high confidence)", "Collects.collect", "garbage collections took "]
        {
            assert!(page.contains(text), "{collector}: {text}: {page}");
        }
    }
    let trace = programs.name("computes.pftrace");
    programs.shown(&["-o", &trace], &["-Xmx96m", "-cp", "classes", "Collects", "5500", "computes"]);
    let page = run(["report", &programs.name("computes.anrscope")]).ok(&[]);
    assert!(page.contains("Collects.compute") && !page.contains("GARBAGE COLLECTION"), "{page}");
}

#[test]
fn collections_are_the_answer_of_an_attachment() {
    let directory = TempDir::new();
    let source = directory.file("Collects.java", COLLECTS);
    compile_files(&[&source], &directory.path().join("classes"));
    let words = ["-Xmx96m", "-XX:+UseParallelGC", "-cp", "classes", "Collects", "600000"];
    let program = Program::run_by(java(), &directory, &words);
    let trace = directory.name("x.pftrace");
    let shown = run(["attach", &program.child.id().to_string(), "--for", "3s", "-o", &trace]);
    shown.ok(&["GARBAGE COLLECTION (high confidence)", "garbage collections took ", "Collects.collect"]);
}
