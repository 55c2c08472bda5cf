//! Native stacks against compilers, other tools and damaged files.

mod bounds;
mod hostile;
mod symbols;
mod truth;
