//! Whether the app is in the foreground, and which page is shown: told by the life cycle, read by every report.

use crate::recorder;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use trace_format::event::TextId;

static FOREGROUND: AtomicBool = AtomicBool::new(false);
static FOR_JUDGE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const BACKGROUND_KNOWN: u8 = 1;
const FOREGROUND_KNOWN: u8 = 2;
static SCENE: AtomicU32 = AtomicU32::new(0);
static SCENE_NAME: Mutex<String> = Mutex::new(String::new());
/// Scenes so far, by their texts: a frame is counted when its page may have been left already.
static NAMES: Mutex<Vec<(u32, String)>> = Mutex::new(Vec::new());
/// Of those, remembered at most.
const MOST_NAMES: usize = 256;

/// Before any activity was started (Matrix's name for it).
const NO_SCENE: &str = "default";

/// Whether the app is in the foreground. No lock: on any thread.
pub(crate) fn is_foreground() -> bool {
    FOREGROUND.load(Ordering::Relaxed)
}

/// Sets whether the app is in the foreground, as the activities' life cycle shows it, for reports and the judge.
pub(crate) fn set_by_life_cycle(foreground: bool) {
    FOREGROUND.store(foreground, Ordering::Relaxed);
    set_foreground(foreground);
}

/// Says whether the app is in the foreground: whether one of its activities is resumed. Until it is said, that is
/// not known, and only a main that is late by the background's 10 s counts as stuck. Any thread; one store.
pub fn set_foreground(foreground: bool) {
    FOR_JUDGE.store(if foreground { FOREGROUND_KNOWN } else { BACKGROUND_KNOWN }, Ordering::Relaxed);
}

/// Whether the app is in the foreground, for the judge of SIGQUITs; `None` until that is known.
pub(crate) fn foreground_if_known() -> Option<bool> {
    match FOR_JUDGE.load(Ordering::Relaxed) {
        FOREGROUND_KNOWN => Some(true),
        BACKGROUND_KNOWN => Some(false),
        _ => None,
    }
}

/// The scene's text in the recording, 0 before there is one. No lock: on any thread.
pub(crate) fn scene() -> TextId {
    TextId(SCENE.load(Ordering::Relaxed))
}

/// The scene's name. Locks: not on a hot path.
pub(crate) fn scene_name() -> String {
    let name = SCENE_NAME.lock().unwrap_or_else(PoisonError::into_inner);
    if name.is_empty() { NO_SCENE.to_owned() } else { name.clone() }
}

/// The name of a scene that [`scene`] gave. Locks: not on a hot path.
pub(crate) fn name_of(scene: TextId) -> String {
    let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    match names.iter().find(|(id, _)| *id == scene.0) {
        Some((_, name)) => name.clone(),
        None => NO_SCENE.to_owned(),
    }
}

/// Another page is shown, or the app gave its scene a name.
pub(crate) fn set_scene(name: &str) {
    let id = recorder::text(name).0;
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    match names.iter_mut().find(|(known, _)| *known == id) {
        // 0 is every scene's that found no room among the texts.
        Some((_, known)) => name.clone_into(known),
        None => {
            if names.len() == MOST_NAMES {
                names.remove(0);
            }
            names.push((id, name.to_owned()));
        }
    }
    drop(names);
    SCENE.store(id, Ordering::Relaxed);
    name.clone_into(&mut SCENE_NAME.lock().unwrap_or_else(PoisonError::into_inner));
}
