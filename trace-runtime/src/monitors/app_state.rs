//! Whether the app is in the foreground, and which page is shown. The life cycle sets both, every report
//! reads them.

use crate::recorder;
use crate::unpoisoned::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use trace_format::event::TextId;

static FOREGROUND: AtomicBool = AtomicBool::new(false);
static FOR_JUDGE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const BACKGROUND_KNOWN: u8 = 1;
const FOREGROUND_KNOWN: u8 = 2;
static SCENE: AtomicU32 = AtomicU32::new(0);
static SCENE_NAME: Mutex<String> = Mutex::new(String::new());
/// Scenes so far, by their text ids: when a frame is counted, its page may have been left already.
static NAMES: Mutex<Vec<(u32, String)>> = Mutex::new(Vec::new());
/// The most scenes whose names are remembered.
pub(crate) const MAX_SCENES: usize = 256;

/// The scene before any activity was started (Matrix's name for it).
const NO_SCENE: &str = "default";

/// Whether the app is in the foreground. No lock, any thread.
pub(crate) fn is_foreground() -> bool {
    FOREGROUND.load(Ordering::Relaxed)
}

/// Sets whether the app is in the foreground, for reports and for the judge of SIGQUITs. The activities'
/// life cycle calls this.
pub(crate) fn set_by_life_cycle(foreground: bool) {
    FOREGROUND.store(foreground, Ordering::Relaxed);
    set_foreground(foreground);
}

/// Sets whether the app is in the foreground: whether one of its activities is resumed. Until it is set,
/// the foreground state is unknown, and only a main that is stalled for the background's 10 s counts as
/// stalled. Any thread; one store.
pub fn set_foreground(foreground: bool) {
    FOR_JUDGE.store(if foreground { FOREGROUND_KNOWN } else { BACKGROUND_KNOWN }, Ordering::Relaxed);
}

/// Whether the app is in the foreground, for the judge of SIGQUITs; `None` while unknown.
pub(crate) fn foreground_if_known() -> Option<bool> {
    match FOR_JUDGE.load(Ordering::Relaxed) {
        FOREGROUND_KNOWN => Some(true),
        BACKGROUND_KNOWN => Some(false),
        _ => None,
    }
}

/// The scene's text id in the recording, 0 before the first scene. No lock, any thread.
pub(crate) fn scene() -> TextId {
    TextId(SCENE.load(Ordering::Relaxed))
}

/// The scene's name. Takes a lock: not on a hot path.
pub(crate) fn scene_name() -> String {
    let name = lock(&SCENE_NAME);
    if name.is_empty() { NO_SCENE.to_owned() } else { name.clone() }
}

/// The name of a scene that [`scene`] returned. Takes a lock: not on a hot path.
pub(crate) fn name_of(scene: TextId) -> String {
    let names = lock(&NAMES);
    match names.iter().find(|(id, _)| *id == scene.0) {
        Some((_, name)) => name.clone(),
        None => NO_SCENE.to_owned(),
    }
}

/// Sets the scene: another page is shown, or the app named its scene.
pub(crate) fn set_scene(name: &str) {
    let id = recorder::text(name).0;
    let mut names = lock(&NAMES);
    match names.iter_mut().find(|(known, _)| *known == id) {
        // All scenes that did not fit into the texts have the id 0.
        Some((_, known)) => name.clone_into(known),
        None => {
            if names.len() == MAX_SCENES {
                names.remove(0);
            }
            names.push((id, name.to_owned()));
        }
    }
    drop(names);
    SCENE.store(id, Ordering::Relaxed);
    name.clone_into(&mut lock(&SCENE_NAME));
}
