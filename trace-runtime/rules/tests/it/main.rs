//! The rules of the monitors against data, a second writing of them, and random input.

mod deadlock;
mod fps_truth;
mod frames;
mod matrix_04;
mod matrix_words;
mod messages;
mod mid_fps;
mod no_allocation;
mod pairing_random;
mod reports;
mod stack_golden;
mod stack_random;
mod starts;
mod thresholds;
