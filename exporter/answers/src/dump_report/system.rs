//! The parts of the page about the system, and about a process whose stacks are missing.

use std::fmt;

use super::page::Page;
use crate::dump::anr_report::AnrReport;
use crate::dump::facts::{Fact, FactValue};
use crate::dump::model::Section;

/// Maximum number of rows of CPU usage.
const MAX_CPU_ROWS: usize = 6;
/// Maximum number of reports from the log.
const MAX_REPORTS: usize = 4;

impl Page<'_> {
    /// Writes the system's ANR reports from its log, newest first.
    pub(super) fn reports(&mut self) -> fmt::Result {
        let max = if self.options.all { usize::MAX } else { MAX_REPORTS };
        for report in self.dump.anr_reports.iter().rev().take(max) {
            self.report(report)?;
            self.out.write_char('\n')?;
        }
        let left = self.dump.anr_reports.len().saturating_sub(max);
        if left > 0 {
            self.line(&format!("... {left} older ANRs (--all)\n"))?;
            self.out.write_char('\n')?;
        }
        Ok(())
    }

    fn report(&mut self, report: &AnrReport) -> fmt::Result {
        let pid = report.pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
        let component = report.component.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
        self.line(&format!("ANR in {}{pid}{component}", report.process))?;
        if let Some(reason) = &report.reason {
            self.line(&format!("  reason    {}", reason.text))?;
        }
        if report.frozen == Some(true) {
            self.line("  frozen    the system had frozen the process")?;
        }
        if let Some(load) = &report.load {
            self.line(&format!("  load      {load} (1, 5 and 15 minutes)"))?;
        }
        for fact in report.pressure.iter().filter(|fact| fact.key.ends_with("_avg10_percent")) {
            if let FactValue::Text(percent) = &fact.value {
                let what = fact.key.trim_start_matches("pressure_").trim_end_matches("_avg10_percent");
                self.line(&format!("  pressure  {}: {percent} % of 10 s", what.replace('_', ", ")))?;
            }
        }
        for cpu in &report.cpu {
            self.line(&format!("  CPU usage {}", cpu.interval))?;
            let max = if self.options.all { usize::MAX } else { MAX_CPU_ROWS };
            for row in cpu.rows.iter().take(max) {
                self.line(&format!("  {:>7}%  {} {}: {}", row.percent, row.id, row.name, row.parts))?;
            }
            if cpu.rows.len() > max {
                self.line(&format!("            {} more (--all)", cpu.rows.len() - max))?;
            }
            if let Some(total) = &cpu.total {
                self.line(&format!("  all       {total}"))?;
            }
        }
        Ok(())
    }

    /// Writes that the stacks of the process that did not respond are missing.
    pub(super) fn no_stacks(&mut self) -> fmt::Result {
        let dump = self.dump;
        let Some(anr_process) = dump.anr_process() else {
            for section in &dump.sections {
                self.wait_channels(section)?;
            }
            return Ok(());
        };
        self.line(&format!("{} did not respond, and its stacks are not in this text", anr_process.title()))?;
        // The system may write several lists: use the last one.
        let channels = dump.channels_of(&anr_process).last();
        channels.map_or(Ok(()), |section| self.wait_channels(section))
    }

    /// Writes where in the kernel the threads of a process wait.
    fn wait_channels(&mut self, section: &Section) -> fmt::Result {
        let time = section.time.as_deref().unwrap_or_default();
        let (title, threads) = (section.title(), section.channels.len());
        self.line(&format!("{title}, {time}: no stacks, only where {threads} threads wait in the kernel"))?;
        let main = section.channels.iter().find(|channel| Some(channel.sys_tid) == section.pid);
        if let Some(main) = main {
            let state = main.state.map(|state| format!(", in state {state}")).unwrap_or_default();
            self.line(&format!("  main waits at {}{state}", main.channel))?;
        }
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for channel in &section.channels {
            match counts.iter_mut().find(|(name, _)| *name == channel.channel) {
                Some((_, count)) => *count += 1,
                None => counts.push((&channel.channel, 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (name, count) in counts {
            let frozen = if name.contains("freezer") { ": frozen by the system" } else { "" };
            self.line(&format!("  {count:>4} {name}{frozen}"))?;
        }
        Ok(())
    }

    /// Writes the figures of a head.
    pub(super) fn facts(&mut self, facts: &[Fact], title: &str) -> fmt::Result {
        if facts.is_empty() {
            return Ok(());
        }
        self.line(&format!("\n{title}"))?;
        for fact in facts {
            self.line(&format!("  {:<28} {}", fact.key, in_words(fact)))?;
        }
        Ok(())
    }

    /// Writes the system's event log.
    pub(super) fn events(&mut self) -> fmt::Result {
        if self.dump.events.is_empty() {
            return Ok(());
        }
        self.line("\nTHE SYSTEM'S CRITICAL EVENTS before this one")?;
        for event in &self.dump.events {
            let at = event.timestamp_ms.unwrap_or_default();
            let process = event.value("process").unwrap_or("?");
            let subject = event.value("subject").map(|s| format!(": {s}")).unwrap_or_default();
            self.line(&format!("  {}.{:03} {} of {process}{subject}", at / 1000, at % 1000, event.kind))?;
        }
        Ok(())
    }
}

fn in_words(fact: &Fact) -> String {
    match &fact.value {
        FactValue::Text(text) => text.clone(),
        FactValue::Number(n) if fact.key.ends_with("_ns") => format!("{:.3} ms", *n as f64 / 1e6),
        FactValue::Number(n) if fact.key.ends_with("_bytes") && *n >= 1 << 20 => {
            format!("{:.1} MB", *n as f64 / f64::from(1 << 20))
        }
        FactValue::Number(n) if fact.key.ends_with("_bytes") => format!("{:.1} KB", *n as f64 / 1024.0),
        FactValue::Number(n) => n.to_string(),
    }
}
