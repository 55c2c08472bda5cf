//! Everything that decides what is traced and under which name, read once at the start of a run.

use std::sync::Arc;

use crate::base_map::BaseMap;
use crate::class_facts::Verdict;
use crate::error::Error;
use crate::filter::{self, Filter};
use crate::mapping::Mapping;
use crate::options::{Compat, Options};
use crate::rules::{Rules, Subject, Verb};
use crate::waits::Catalogue;

pub(crate) struct Selection {
    pub(crate) filter: Filter,
    pub(crate) rules: Rules,
    pub(crate) base: Arc<BaseMap>,
    pub(crate) mapping: Option<Mapping>,
    pub(crate) call_class: String,
    /// Then nothing is decided class by class: see [`crate::matrix`].
    pub(crate) compat: Compat,
    /// The calls that are told as waits, if they are.
    pub(crate) waits: Option<Catalogue>,
    /// Whether the next run is to know what this one finds.
    pub(crate) cached: bool,
    /// The most that a method may cost and be left out for it, in instructions; 0 leaves none out.
    pub(crate) short: u16,
    /// Internal name of the class that is to be explained.
    explain: Option<String>,
}

/// What is known of a class before its methods are looked at.
pub(crate) struct ClassView<'a> {
    /// Internal name, from before obfuscation.
    pub(crate) name: &'a str,
    pub(crate) annotations: &'a [String],
    /// The runtime itself, or a class that only the boot class loader may define.
    pub(crate) untouchable: bool,
}

/// What was decided about a method.
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    /// Line of the rule that decided, or 0.
    pub(crate) rule: u32,
    /// Whether it was the default rule.
    pub(crate) by_default: bool,
}

impl Judged {
    pub(crate) fn plain(verdict: Verdict) -> Self {
        Self { verdict, rule: 0, by_default: false }
    }
}

impl Selection {
    pub(crate) fn read(options: &Options) -> Result<Self, Error> {
        let mut selection = Self {
            filter: options.filter.clone(),
            rules: Rules::default(),
            base: Arc::default(),
            mapping: None,
            call_class: options.call_class.clone(),
            compat: options.compat,
            waits: options.waits.clone(),
            cached: options.cache.is_some(),
            short: if options.compat == Compat::None { options.short } else { 0 },
            explain: options.explain.as_ref().map(|name| name.replace('.', "/")),
        };
        // Matrix's readers take other lines, and see other names: its part reads its files itself.
        if options.compat == Compat::Matrix {
            return Ok(selection);
        }
        if let Some(path) = &options.block_list {
            selection.filter.read_block_list(path)?;
        }
        if let Some(path) = &options.rules {
            selection.rules = Rules::read(path)?;
        }
        if let Some(path) = &options.base_map {
            selection.base = BaseMap::read(path)?.into();
        }
        if let Some(path) = &options.mapping {
            selection.mapping = Some(Mapping::read(path)?);
        }
        Ok(selection)
    }

    /// Whether the class of this original name must not be touched, whatever else is said.
    pub(crate) fn untouchable(&self, class: &str) -> bool {
        filter::never_touched(class) || filter::covers(&self.call_class, class)
    }

    /// Whether no method of the class can be traced, so that its code need not be looked at.
    pub(crate) fn blocks_whole(&self, class: &ClassView<'_>) -> bool {
        let excepted = self.compat != Compat::None || !self.rules.is_empty() || !self.base.is_empty();
        class.untouchable || !excepted && self.filter.blocks(class.name)
    }

    /// Whether it is this class that is to be explained.
    pub(crate) fn explains(&self, name: &str, name_in_file: &str) -> bool {
        self.explain.as_ref().is_some_and(|wanted| wanted == name || wanted == name_in_file)
    }

    /// Decides about a method with code. `worth` is asked last: it walks over the code.
    pub(crate) fn judge<E>(
        &self,
        class: &ClassView<'_>,
        method: &Subject<'_>,
        worth: impl FnOnce() -> Result<bool, E>,
    ) -> Result<Judged, E> {
        if class.untouchable {
            return Ok(Judged::plain(Verdict::Block));
        }
        let mut line = 0;
        if self.compat == Compat::None {
            if self.base.id(method.class, method.name, method.descriptor).is_some() {
                // Broken code shows by the walk.
                return worth().map(|_| Judged::plain(Verdict::Trace));
            }
            let verb = self.rules.decide(method).map(|(verb, by)| {
                line = by;
                verb
            });
            match verb {
                Some(Verb::Exclude) => return Ok(Judged { rule: line, ..Judged::plain(Verdict::Exclude) }),
                Some(Verb::Always) => {
                    return worth().map(|_| Judged { rule: line, ..Judged::plain(Verdict::Trace) });
                }
                Some(Verb::Include) => {}
                None if self.filter.blocks(method.class) => return Ok(Judged::plain(Verdict::Block)),
                None => {}
            }
        }
        let verdict = worth().map(|worth| if worth { Verdict::Trace } else { Verdict::Ignore })?;
        Ok(Judged { verdict, rule: line, by_default: self.compat == Compat::None })
    }

    /// Whether a method may be added to a class.
    pub(crate) fn may_change(&self, class: &ClassView<'_>) -> bool {
        if class.untouchable {
            return false;
        }
        match self.rules.class_verb(class.name, class.annotations) {
            Some(Verb::Exclude) => false,
            Some(_) => true,
            None => !self.filter.blocks(class.name),
        }
    }
}
