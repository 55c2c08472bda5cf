//! Every link leads to a file and a heading that exist.

use std::collections::BTreeSet;
use std::fs;

use crate::docs::markdown::{Page, beside, pages};
use crate::docs::repository;

/// The targets of a page's links and pictures, with their lines.
fn links(page: &Page) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in page.prose() {
        // What stands between backticks is no link.
        let plain: String =
            line.split('`').enumerate().filter(|(n, _)| n % 2 == 0).map(|(_, text)| text).collect();
        for rest in plain.split("](").skip(1) {
            links.push((number, rest.split(')').next().unwrap().to_owned()));
        }
        for rest in line.split('<').skip(1).filter(|rest| rest.starts_with("http")) {
            links.push((number, rest.split('>').next().unwrap().to_owned()));
        }
    }
    links
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let pages = pages();
    let mut checked = 0;
    for page in &pages {
        for (number, link) in links(page) {
            let place = format!("{}:{number}: {link}", page.path);
            if link.starts_with("http") {
                assert!(link.starts_with("https://"), "{place}: not https");
                continue;
            }
            let (path, anchor) = link.split_once('#').map_or((link.as_str(), None), |(p, a)| (p, Some(a)));
            let target =
                if path.is_empty() { repository().join(&page.path) } else { beside(&page.path, path) };
            assert!(target.exists(), "{place}: there is no such file");
            if let Some(anchor) = anchor {
                let text = fs::read_to_string(&target).unwrap();
                let anchors = Page { path: link.clone(), text }.anchors();
                assert!(
                    anchors.iter().any(|known| known == anchor),
                    "{place}: no such heading, but {anchors:?}"
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked} links");
}

#[test]
fn every_page_is_found_from_another_one() {
    let pages = pages();
    let mut reached = BTreeSet::new();
    for page in &pages {
        for (_, link) in links(page) {
            let path = link.split('#').next().unwrap();
            if let Ok(target) = beside(&page.path, path).canonicalize() {
                reached.insert(target);
            }
        }
    }
    for page in &pages {
        let path = repository().join(&page.path);
        assert!(page.path == "README.md" || reached.contains(&path), "no page links to {}", page.path);
    }
}
