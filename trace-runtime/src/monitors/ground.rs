//! Whether the app is in the foreground, and which page is shown: told by the life cycle, read by every report.

use crate::recorder;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use trace_format::event::TextId;

static FOREGROUND: AtomicBool = AtomicBool::new(false);
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

/// The app came to the foreground, or went. The judge of SIGQUITs is told, too.
pub(crate) fn set_foreground(foreground: bool) {
    FOREGROUND.store(foreground, Ordering::Relaxed);
    crate::set_foreground(foreground);
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
