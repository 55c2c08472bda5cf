//! Frames: the stage that main is in, dropped frames, and frames per second.
//!
//! ```text
//! Choreographer's bounds ──▶ Stages (which one is open, their costs)      on main, read by any thread
//! FrameMetrics, or those ──▶ Sample ──▶ FpsMeter, Counts ──▶ SceneReport   on a worker
//!                                   └─▶ Overlay
//! ```

mod drops;
mod fps;
pub mod matrix;
mod overlay;
mod sample;
mod scenes;
mod stages;

pub use drops::{Counts, DropLevels, Dropped, Level, dropped, interval_ns};
pub use fps::FpsMeter;
pub use overlay::{BARS, OVERLAY_MS, Overlay, OverlayText};
pub use sample::{METRICS, Metric, Sample};
pub use scenes::{BadListener, Listener, REPORT_MS, SceneReport, Scenes};
pub use stages::{FrameCosts, OpenStage, Stages};
pub use trace_format::event::{InputEvents, Stage};
