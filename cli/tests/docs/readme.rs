//! README is short, and what it takes from other pages is what they say.

use std::fs;

use crate::docs::repository;

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// As `wc -w` counts: commands, outputs and the bars of tables too.
#[test]
fn readme_has_at_most_900_words() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= 900, "{words} words");
}

/// What recording costs and what the library weighs: the figures on README and on the comparison are those of the measurements.
#[test]
fn figures_of_the_cost_are_those_that_were_measured() {
    let measured = read("docs/evidence/performance.md");
    let library = measured.split("| every monitor |").nth(1).unwrap().lines().next().unwrap();
    let bytes: Vec<u32> =
        library.split('|').filter_map(|cell| cell.trim().replace(',', "").parse().ok()).collect();
    let sizes: Vec<u32> = bytes.iter().map(|bytes| (bytes + 500) / 1000).collect();
    let &[arm64, armv7, x86_64] = sizes.as_slice() else { panic!("{library}") };
    let programs = measured.split("## Real programs").nth(1).unwrap().split("\n## ").next().unwrap();
    let ratios: Vec<(f64, f64)> = programs
        .lines()
        .filter_map(|line| {
            let (median, worst) = line.split(" | ").nth(2)?.split_once(", ")?;
            Some((median.parse().ok()?, worst.parse().ok()?))
        })
        .collect();
    assert_eq!(ratios.len(), 4, "{programs}");
    let percent = |ratio: f64| ((ratio - 1.0) * 100.0).round();
    let least = percent(ratios.iter().map(|(median, _)| *median).fold(f64::MAX, f64::min));
    let most = percent(ratios.iter().map(|(median, _)| *median).fold(0.0, f64::max));
    let worst = percent(ratios.iter().map(|(_, worst)| *worst).fold(0.0, f64::max));
    for (page, figures) in [
        ("README.md", vec![format!("{arm64} kB library (arm64)"), format!("{least} to {most} % longer")]),
        (
            "docs/comparison.md",
            vec![
                format!("{arm64} kB arm64, {armv7} kB armv7, {x86_64} kB x86-64"),
                format!("{least} to {most} % longer; worst of 20 runs {worst} %"),
            ],
        ),
    ] {
        for figure in figures {
            assert!(read(page).contains(&figure), "{page}: {figure} is what was measured");
        }
    }
    for page in ["README.md", "docs/comparison.md"] {
        assert!(read(page).contains("48,499 of 71,294"), "{page}");
    }
}
