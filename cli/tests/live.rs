//! The program as users see it, the pages about it, the structure of the workspace, and whole ways from a real program to what is shown of it.

mod cli;
mod docs;
mod end_to_end;
mod structure;
