//! Everything that decides what is traced and under which name, read once at the start of a run.

use std::sync::Arc;

use crate::base_map::BaseMap;
use crate::class_facts::{MethodFacts, Verdict};
use crate::error::Error;
use crate::filter::{self, Filter};
use crate::mapping::Mapping;
use crate::options::{Compat, Options};
use crate::rules::{Rules, Subject, Verb};
use crate::waits::Catalogue;

#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) filter: Filter,
    pub(crate) rules: Rules,
    pub(crate) base: Arc<BaseMap>,
    pub(crate) mapping: Option<Mapping>,
    pub(crate) call_class: String,
    /// With [`Compat::Matrix`] the selection is not made per class: see [`crate::matrix`].
    pub(crate) compat: Compat,
    /// The calls that are recorded as waits, if any.
    pub(crate) waits: Option<Catalogue>,
    /// Whether the next run reuses the results of this one.
    pub(crate) cached: bool,
    /// The highest cost at which a method is too short to be traced, in instructions; 0 skips none.
    pub(crate) short: u16,
    /// Whether these are classes of the JDK, which are traced by choice alone.
    of_jdk: bool,
    /// Internal name of the class to explain.
    explain: Option<String>,
}

/// What is known about a class before its methods are scanned.
pub(crate) struct ClassView<'a> {
    /// Internal name, as before obfuscation.
    pub(crate) name: &'a str,
    pub(crate) annotations: &'a [String],
    /// Whether it belongs to the runtime, or only the boot class loader may define it.
    pub(crate) untouchable: bool,
}

impl ClassView<'_> {
    /// Returns a method of the class, whose code has this size in bytes, as rules see it.
    pub(crate) fn method<'m>(
        &'m self,
        method: &'m MethodFacts,
        annotations: &'m [String],
        size: u32,
    ) -> Subject<'m> {
        Subject {
            class: self.name,
            class_annotations: self.annotations,
            name: &method.name,
            descriptor: &method.descriptor,
            annotations,
            size,
        }
    }
}

/// The decision about a method.
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    /// Line of the rule that decided, or 0.
    pub(crate) rule: u32,
    /// Whether the default rule decided.
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
            of_jdk: false,
            explain: options.explain.as_ref().map(|name| name.replace('.', "/")),
        };
        // Matrix's readers accept other lines and see other names, so the module `matrix` reads its files itself.
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

    /// The same for classes of the JDK.
    pub(crate) fn of_jdk(self) -> Self {
        Self { of_jdk: true, ..self }
    }

    /// Returns whether the class with this original name must never be changed.
    pub(crate) fn untouchable(&self, class: &str) -> bool {
        !self.of_jdk && filter::never_touched(class) || filter::covers(&self.call_class, class)
    }

    /// Returns the name before obfuscation of the class that has this one in its file.
    pub(crate) fn original(&self, in_file: String) -> String {
        let original = self.mapping.as_ref().and_then(|mapping| mapping.class(&in_file));
        original.map(str::to_owned).unwrap_or(in_file)
    }

    /// Returns whether no method of the class can be traced, so that its code need not be scanned.
    pub(crate) fn blocks_whole(&self, class: &ClassView<'_>) -> bool {
        let excepted = self.compat != Compat::None || !self.rules.is_empty() || !self.base.is_empty();
        class.untouchable || !excepted && self.filter.blocks(class.name)
    }

    /// Returns whether this is the class to explain.
    pub(crate) fn explains(&self, name: &str, name_in_file: &str) -> bool {
        self.explain.as_ref().is_some_and(|wanted| wanted == name || wanted == name_in_file)
    }

    /// Decides about a method with code. Calls `worth` last, because it walks over the code.
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
                // The walk finds broken code.
                return worth().map(|_| Judged::plain(Verdict::Trace));
            }
            let decided = self.rules.decide(method);
            line = decided.map_or(0, |(_, line)| line);
            match decided.map(|(verb, _)| verb) {
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

    /// Returns whether a method may be added to the class.
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
