//! Names of real libraries, built here, beside what binutils say of them.

mod build;
mod directories;
mod hostile;
mod names;
