//! Names of real libraries, built here, beside what binutils say of them.

mod directories;
mod hostile;
mod names;
