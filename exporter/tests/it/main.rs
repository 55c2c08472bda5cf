//! Recordings, and the traces, reports and answers that are made of them.

mod answers;
mod causes;
mod chrome_json;
mod components;
mod decoded;
mod engine_rows;
mod fleet;
mod latest_stall;
mod matrix_data;
mod matrix_issues;
mod measured_stages;
mod pages_agree;
mod perfetto_pages;
mod recorded;
mod report;
mod report_json;
mod units;
mod why;
