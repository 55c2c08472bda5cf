//! Functions, inlined functions, files and lines.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use native_stacks::Symbols;
use native_stacks::symbols::{Named, in_elf};

use test_support::binaries::{self, Scratch, build_id, compile, functions, run, with_debugdata};

/// The addresses of call instructions in the functions of this file's own source, as a return address less 1 has them, and a few others.
fn addresses(file: &Path) -> Vec<u64> {
    let code = run("objdump", ["-d", "--no-show-raw-insn", "-j", ".text", file.to_str().unwrap()]);
    let at = |line: &str| u64::from_str_radix(line.trim_start().split_once(':')?.0, 16).ok();
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if line.contains("\tcall") || line.contains("\tbl\t") {
            found.extend(lines.get(number + 1).and_then(|next| at(next)).map(|next| next - 1));
        } else if line.starts_with("  ") && number % 3 == 0 && !line.contains("nop") {
            found.extend(at(line));
        }
    }
    found
}

/// What binutils' `addr2line -fiC` says: function, file, line; innermost first.
fn addr2line(file: &Path, addresses: &[u64]) -> Vec<Vec<(String, String)>> {
    let list: Vec<String> = addresses.iter().map(|address| format!("{address:#x}")).collect();
    let mut all = Vec::new();
    for part in list.chunks(2000) {
        let mut arguments = vec!["-afiC", "-e", file.to_str().unwrap()];
        arguments.extend(part.iter().map(String::as_str));
        let said = run("addr2line", arguments);
        let mut lines = said.lines().peekable();
        while lines.next().is_some() {
            let mut frames = Vec::new();
            while let Some(function) = lines.next_if(|line| !line.starts_with("0x")) {
                let place = lines.next().unwrap();
                frames.push((function.to_owned(), place.split(" (disc").next().unwrap().to_owned()));
            }
            all.push(frames);
        }
    }
    assert_eq!(all.len(), addresses.len());
    all
}

/// A name without what the two demanglers write differently: spaces, parentheses, and the types of numbers (`Buffer<8192ul>`).
fn without_types(name: &str) -> String {
    let mut plain = String::new();
    let mut in_number = false;
    let mut in_word = false;
    for letter in name.chars().filter(|letter| *letter != ' ') {
        if in_number && matches!(letter, 'u' | 'l') {
            continue;
        }
        in_number = letter.is_ascii_digit() && (in_number || !in_word);
        in_word = letter.is_alphanumeric() || letter == '_';
        plain.push(letter);
    }
    // `Log<1>` of `Log<(Level::type)1>`.
    while let Some((from, to)) = cast(&plain) {
        plain.replace_range(from..to, "");
    }
    // `Operation<&Service::clear()>` of `Operation<&Service::clear>`, `&compare(Site)` of `&(compare(Site))`.
    plain.replace(['(', ')'], "")
}

/// Where a type stands in parentheses before an argument that is a number.
fn cast(name: &str) -> Option<(usize, usize)> {
    name.match_indices(['<', ',']).find_map(|(before, _)| {
        let rest = name[before + 1..].strip_prefix('(')?;
        let len = rest.find(')')?;
        let is_number = rest[len + 1..].starts_with(|next: char| next.is_ascii_digit() || next == '-');
        is_number.then_some((before + 1, before + len + 3))
    })
}

/// One form of a path and a name for both tools.
fn plain(function: &str, place: &str) -> (String, String) {
    (without_types(function), place.rsplit('/').next().unwrap_or_default().to_owned())
}

fn shown(named: &[Named]) -> Vec<(String, String)> {
    let place = |named: &Named| match (&named.file, named.line) {
        (Some(file), 0) => format!("{file}:?"),
        (Some(file), line) => format!("{file}:{line}"),
        (None, _) => "??:0".to_owned(),
    };
    named.iter().map(|named| plain(&named.function, &place(named))).collect()
}

#[test]
fn inlined_functions_files_and_lines_are_those_of_addr2line() {
    let scratch = Scratch::new("addr2line");
    let (mut compared, mut inlined, mut undemangled) = (0, 0, 0);
    for (language, name, flags) in [
        ("c", "c5.so", &["-O2", "-gdwarf-5"][..]),
        ("c", "c4.so", &["-O0", "-gdwarf-4"]),
        ("c++", "cpp5.so", &["-O2", "-gdwarf-5"]),
        ("c++", "cpp4.so", &["-O3", "-gdwarf-4"]),
        ("c++", "packed.so", &["-O2", "-g", "-gz=zlib"]),
        ("rust", "rust.so", &["-Copt-level=3", "-g", "-Csymbol-mangling-version=v0"]),
    ] {
        let file = compile(&scratch, language, name, flags);
        let id = build_id(&file);
        let mut symbols = Symbols::new(vec![file.clone()]);
        // Rust's library holds its standard library, whose functions are many.
        let mut all = addresses(&file);
        if all.len() > 3000 {
            let step = all.len() / 3000;
            all = all.into_iter().step_by(step).collect();
        }
        let theirs = addr2line(&file, &all);
        for (address, theirs) in all.iter().zip(&theirs) {
            // Without a line they only know the symbol: of another function too, behind its end.
            if theirs.iter().any(|row| row.1.ends_with('?')) {
                continue;
            }
            let theirs: Vec<_> = theirs.iter().map(|(function, place)| plain(function, place)).collect();
            let named = symbols.name(&id, name, *address);
            let ours = shown(&named);
            let context = || format!("{name} at {address:#x}: {ours:?}, addr2line has {theirs:?}");
            assert_eq!(ours.len(), theirs.len(), "{}", context());
            let depth = ours.len() - 1;
            for (at, (own, other)) in ours.iter().zip(&theirs).enumerate() {
                assert_eq!(own.1, other.1, "{}", context());
                assert_eq!(named[at].inlined, at < depth, "{}", context());
                // binutils calls an inlined function that has no mangled name by the name of the symbol around it.
                let around = at < depth && other.0 == theirs[depth].0 && !own.0.contains("::");
                // The demangler has no form for one function of the C++ library; binutils has.
                let demangled =
                    if own.0.starts_with("_Z") { run("c++filt", [&own.0]) } else { own.0.clone() };
                assert!(around || without_types(demangled.trim()) == other.0, "{}", context());
                undemangled += usize::from(own.0.starts_with("_Z"));
                inlined += usize::from(at < depth);
            }
            compared += 1;
        }
    }
    println!("{compared} addresses, {inlined} inlined frames, {undemangled} not demangled");
    assert!(compared > 2000 && inlined > 500 && undemangled < inlined / 20);
}

#[test]
fn every_function_of_nm_has_its_name() {
    let scratch = Scratch::new("nm");
    for (language, name, flags) in [
        ("c", "c.so", &["-O1"][..]),
        ("c++", "cpp.so", &["-O2"]),
        ("rust", "rust.so", &["-Copt-level=2", "-Cstrip=debuginfo"]),
    ] {
        let file = compile(&scratch, language, name, flags);
        let (right, all) = compare(&file, &functions(&file, false));
        assert_eq!(right, all, "{name}");
        assert!(all > 3, "{name}: {all}");
    }
    // A whole program of C++: 100,000 symbols.
    let java = run("sh", ["-c", "readlink -f \"$(command -v javac)\""]);
    let java = Path::new(java.trim()).ancestors().nth(2).expect("a JDK");
    let jvm = java.join("lib/server/libjvm.so");
    let mut functions = functions(&jvm, false);
    let dynamic = functions.is_empty();
    if dynamic {
        functions = binaries::functions(&jvm, true);
    }
    let (right, all) = compare(&jvm, &functions);
    println!("{}: {right} of {all}, dynamic: {dynamic}", jvm.display());
    assert!(right * 1000 >= all * 999, "{right} of {all} of {}", jvm.display());
}

/// How many functions have one of the names that binutils demangles, at their first and at their last byte; and how many there are.
fn compare(file: &Path, functions: &[binaries::Function]) -> (usize, usize) {
    let mut names: HashMap<u64, Vec<&binaries::Function>> = HashMap::new();
    for function in functions {
        names.entry(function.start).or_default().push(function);
    }
    let sized: Vec<_> = functions.iter().filter(|function| function.size > 0).collect();
    let addresses: Vec<u64> =
        sized.iter().flat_map(|function| [function.start, function.start + function.size - 1]).collect();
    let named = in_elf(fs::read(file).unwrap(), &addresses).unwrap();
    let (mut right, mut wrong) = (0, 0);
    for (function, named) in sized.iter().zip(named.chunks(2)) {
        let aliases = &names[&function.start];
        let is_alias = |named: &[Named]| {
            named.last().is_some_and(|named| {
                aliases.iter().any(|alias| without_types(&alias.name) == without_types(&named.function))
            })
        };
        // Code may overlap: a function that ends inside another.
        let is_inside = |named: &[Named]| {
            named.last().is_some_and(|named| {
                let last = function.start + function.size - 1;
                let other = functions
                    .iter()
                    .filter(|other| without_types(&other.name) == without_types(&named.function));
                other.clone().any(|other| (other.start..other.start + other.size).contains(&last))
            })
        };
        if is_alias(&named[0]) && (is_alias(&named[1]) || is_inside(&named[1])) {
            right += 1;
        } else {
            wrong += 1;
            if wrong < 12 {
                println!("{function:?} is {named:?}");
            }
        }
    }
    (right, sized.len())
}

#[test]
fn a_name_ends_with_its_function_and_the_global_one_is_preferred() {
    let scratch = Scratch::new("ends");
    let file = compile(&scratch, "c", "c.so", &["-O1"]);
    let (all, bytes) = (functions(&file, false), fs::read(&file).unwrap());
    let start = |name: &str| all.iter().find(|function| function.name == name).unwrap().start;
    let sized = start("sized");
    // Without a size `nm -S` leaves a column out.
    let listed = run("nm", [file.to_str().unwrap()]);
    let no_size = listed.lines().find(|line| line.ends_with(" no_size")).unwrap();
    let no_size = u64::from_str_radix(no_size.split(' ').next().unwrap(), 16).unwrap();
    let names = in_elf(
        bytes,
        &[
            no_size,
            no_size + 0x1c,
            sized + 7,
            sized + 8,
            sized + 60,
            start("chosen_global") + 1,
            start("local_only"),
        ],
    );
    let names: Vec<_> =
        names.unwrap().into_iter().map(|named| named.first().map(|named| named.function.clone())).collect();
    let is = |name: &str| Some(name.to_owned());
    assert_eq!(
        names,
        [is("no_size"), is("no_size+0x1c"), is("sized"), None, None, is("chosen_global"), is("local_only")]
    );
}

#[test]
fn a_stripped_library_is_named_from_its_debugdata() {
    let scratch = Scratch::new("debugdata");
    for (number, xz) in [
        &["--check=crc64"][..],
        &["--check=crc32", "--block-size=64KiB"],
        &["--check=sha256", "--x86", "--lzma2"],
    ]
    .iter()
    .enumerate()
    {
        let file = compile(&scratch, "c++", "cpp.so", &["-O2", "-g"]);
        let packed = scratch.path(&format!("packed{number}.so"));
        with_debugdata(&scratch, &file, &packed, xz);
        let listed = run("nm", [packed.to_str().unwrap()]);
        assert!(listed.is_empty(), "the library is stripped: {listed}");
        let all = functions(&file, false);
        let hidden = all.iter().find(|function| function.name.ends_with("::hidden(unsigned long)")).unwrap();
        assert_eq!(hidden.kind, 't', "a function that only .symtab has");
        let (right, of) = compare(&packed, &all);
        assert_eq!(right, of, "{xz:?}");
    }
}

/// Made of three functions by `arm-linux-gnueabihf-gcc -mthumb -O1 -g -shared -fPIC -nostdlib -Wl,--build-id`, and `strip --strip-debug`.
const THUMB: [&[u8]; 2] =
    [include_bytes!("../../data/thumb.so"), include_bytes!("../../data/thumb-stripped.so")];

#[test]
fn thumb_code_has_names_and_mapping_symbols_have_not() {
    for (file, has_lines) in THUMB.into_iter().zip([true, false]) {
        // Symbols of Thumb code have the lowest bit set. At the same address is the mapping symbol `$t`.
        for (name, symbol) in [("first", 0x1a5), ("second", 0x1ad), ("third", 0x1c5)] {
            for address in [symbol - 1, symbol, symbol + 1] {
                let named = in_elf(file.to_vec(), &[address]).unwrap();
                assert_eq!(named[0].last().unwrap().function, name, "{address:#x}");
                assert_eq!(named[0].last().unwrap().line > 0, has_lines);
            }
        }
    }
}
