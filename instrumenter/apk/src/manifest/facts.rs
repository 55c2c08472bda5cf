//! What a manifest says of its app, as far as tracing it needs it.

use super::attribute::{self, Attribute};
use super::document::Document;
use super::error::{Error, Malformed};
use super::value::Value;

/// `Build.VERSION_CODES.CUR_DEVELOPMENT`: the number of a preview, whose version is a name.
const PREVIEW: u32 = 10_000;

/// The most that decoded names may take together, in bytes. Many elements of a hostile file can name the same long string.
const MAX_NAMES: usize = 16 << 20;

/// The kind of a [`Component`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComponentKind {
    /// `<activity>`
    Activity,
    /// `<service>`
    Service,
    /// `<receiver>`
    Receiver,
    /// `<provider>`
    Provider,
    /// `<instrumentation>`, which stands outside of `<application>`.
    Instrumentation,
}

impl ComponentKind {
    /// The tag.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::Activity => "activity",
            Self::Service => "service",
            Self::Receiver => "receiver",
            Self::Provider => "provider",
            Self::Instrumentation => "instrumentation",
        }
    }

    fn of(document: &dyn Document, element: usize) -> Option<Self> {
        let all = [Self::Activity, Self::Service, Self::Receiver, Self::Provider, Self::Instrumentation];
        all.into_iter().find(|kind| document.is_named(element, kind.tag()))
    }
}

/// A class that the system creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Which tag it has.
    pub kind: ComponentKind,
    /// The full name of the class, in Java's form: `com.example.Main`.
    pub class: String,
}

/// What a manifest says of its app.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `package`. Not empty.
    pub package: String,
    /// `split`: the name of the split that this is. `None` for the base.
    pub split: Option<String>,
    /// `isFeatureSplit`.
    pub is_feature_split: bool,
    /// `versionCode`, with `versionCodeMajor` in the upper 32 bits.
    pub version_code: u64,
    /// `sharedUserId`: the app shares its data with others that are signed with the same key.
    pub shared_user_id: Option<String>,
    /// `minSdkVersion`; 1 if it is absent, 10,000 for a preview.
    pub min_sdk: u32,
    /// `targetSdkVersion`; [`min_sdk`](Self::min_sdk) if it is absent, 10,000 for a preview.
    pub target_sdk: u32,
    /// `debuggable`
    pub debuggable: bool,
    /// `hasCode`: false promises that there is no dex.
    pub has_code: bool,
    /// `extractNativeLibs`; `None` if it is absent, which the system takes for true.
    pub extract_native_libs: Option<bool>,
    /// The full name of the class of `<application android:name>`.
    pub application_class: Option<String>,
    /// In document order, without aliases.
    pub components: Vec<Component>,
    /// The names of `<meta-data>` of the application, in document order.
    pub meta_data: Vec<String>,
    /// The names of `<uses-permission>`, in document order.
    pub permissions: Vec<String>,
}

impl Facts {
    pub(super) fn of(document: &dyn Document) -> Result<Self, Error> {
        if document.is_empty() || !document.is_named(0, "manifest") {
            return Err(Error::NoManifest);
        }
        let facts = Self { has_code: true, min_sdk: 1, target_sdk: 1, ..Self::default() };
        let mut reader = Reader { document, names: 0, facts };
        reader.root()?;
        let application = application(document);
        for element in 1..document.len() {
            let Some(parent) =
                document.parent(element).filter(|parent| *parent == 0 || Some(*parent) == application)
            else {
                continue;
            };
            // Read for every tag, which limits what edits may have to decode.
            let name = reader.text(element, attribute::NAME)?;
            if Some(element) == application {
                reader.application(element, name)?;
            } else if Some(parent) == application {
                reader.member(element, name)?;
            } else {
                reader.child(element, name)?;
            }
        }
        Ok(reader.facts)
    }
}

/// The `<application>` that the system reads: the first one directly in `<manifest>`.
pub(super) fn application(document: &dyn Document) -> Option<usize> {
    children(document, 0).find(|element| document.is_named(*element, "application"))
}

/// The elements directly in this one.
pub(super) fn children(document: &dyn Document, parent: usize) -> impl Iterator<Item = usize> + '_ {
    (0..document.len()).filter(move |element| document.parent(*element) == Some(parent))
}

/// The full name of a class, as `PackageParser.buildClassName` forms it.
pub(super) fn class_name(package: &str, name: &str) -> String {
    match name {
        name if name.starts_with('.') => format!("{package}{name}"),
        name if name.contains('.') => name.to_owned(),
        name => format!("{package}.{name}"),
    }
}

/// An API level. A name is a preview's.
pub(super) fn sdk(value: Option<&Value>) -> Option<u32> {
    let value = value?;
    match value.integer() {
        Some(level) => u32::try_from(level).ok(),
        None => value.text().map(|_| PREVIEW),
    }
}

/// Reads the facts, and limits what is decoded.
struct Reader<'a> {
    document: &'a dyn Document,
    /// Bytes decoded so far.
    names: usize,
    facts: Facts,
}

impl Reader<'_> {
    /// Reads `<manifest>`.
    fn root(&mut self) -> Result<(), Error> {
        let package = self.plain_text("package")?.filter(|package| !package.is_empty());
        self.facts.package = package.ok_or(Error::NoManifest)?;
        self.facts.split = self.plain_text("split")?;
        self.facts.is_feature_split = self.boolean(0, attribute::IS_FEATURE_SPLIT)?.unwrap_or(false);
        let half =
            |value: Option<i64>| value.and_then(|code| u32::try_from(code & 0xffff_ffff).ok()).unwrap_or(0);
        let code = half(self.integer(0, attribute::VERSION_CODE)?);
        let major = half(self.integer(0, attribute::VERSION_CODE_MAJOR)?);
        self.facts.version_code = u64::from(major) << 32 | u64::from(code);
        self.facts.shared_user_id = self.text(0, attribute::SHARED_USER_ID)?;
        Ok(())
    }

    /// Reads a child of `<manifest>` other than the application.
    fn child(&mut self, element: usize, name: Option<String>) -> Result<(), Malformed> {
        let document = self.document;
        if document.is_named(element, "uses-sdk") {
            let min = self.attribute(element, attribute::MIN_SDK_VERSION)?;
            let target = self.attribute(element, attribute::TARGET_SDK_VERSION)?;
            self.facts.min_sdk = sdk(min.as_ref()).unwrap_or(1);
            self.facts.target_sdk = sdk(target.as_ref()).unwrap_or(self.facts.min_sdk);
        } else if document.is_named(element, "uses-permission")
            || document.is_named(element, "uses-permission-sdk-23")
        {
            self.facts.permissions.extend(name);
        } else if document.is_named(element, ComponentKind::Instrumentation.tag()) {
            self.component(ComponentKind::Instrumentation, name)?;
        }
        Ok(())
    }

    /// Reads `<application>`.
    fn application(&mut self, element: usize, name: Option<String>) -> Result<(), Malformed> {
        self.facts.debuggable = self.boolean(element, attribute::DEBUGGABLE)?.unwrap_or(false);
        self.facts.has_code = self.boolean(element, attribute::HAS_CODE)?.unwrap_or(true);
        self.facts.extract_native_libs = self.boolean(element, attribute::EXTRACT_NATIVE_LIBS)?;
        let class = name.filter(|name| !name.is_empty());
        self.facts.application_class = class.map(|name| class_name(&self.facts.package, &name));
        Ok(())
    }

    /// Reads a child of `<application>`.
    fn member(&mut self, element: usize, name: Option<String>) -> Result<(), Malformed> {
        if self.document.is_named(element, "meta-data") {
            self.facts.meta_data.extend(name);
        } else if let Some(kind) = ComponentKind::of(self.document, element) {
            self.component(kind, name)?;
        }
        Ok(())
    }

    fn component(&mut self, kind: ComponentKind, name: Option<String>) -> Result<(), Malformed> {
        let Some(name) = name else { return Ok(()) };
        let class = class_name(&self.facts.package, &name);
        self.count(class.len())?;
        self.facts.components.push(Component { kind, class });
        Ok(())
    }

    fn count(&mut self, size: usize) -> Result<(), Malformed> {
        self.names = self.names.saturating_add(size);
        Malformed::when(self.names > MAX_NAMES, 0, "the names in the manifest take more than 16 MiB")
    }

    fn attribute(&mut self, element: usize, attribute: Attribute) -> Result<Option<Value>, Malformed> {
        let value = self.document.android_attribute(element, attribute)?;
        self.count(value.as_ref().and_then(Value::text).map_or(0, str::len))?;
        Ok(value)
    }

    fn text(&mut self, element: usize, attribute: Attribute) -> Result<Option<String>, Malformed> {
        Ok(match self.attribute(element, attribute)? {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        })
    }

    fn boolean(&mut self, element: usize, attribute: Attribute) -> Result<Option<bool>, Malformed> {
        Ok(self.attribute(element, attribute)?.and_then(|value| value.boolean()))
    }

    fn integer(&mut self, element: usize, attribute: Attribute) -> Result<Option<i64>, Malformed> {
        Ok(self.attribute(element, attribute)?.and_then(|value| value.integer()))
    }

    /// A string of `<manifest>`.
    fn plain_text(&mut self, name: &str) -> Result<Option<String>, Malformed> {
        let value = self.document.plain_attribute(0, name)?;
        self.count(value.as_ref().and_then(Value::text).map_or(0, str::len))?;
        Ok(value.and_then(|value| value.text().map(str::to_owned)))
    }
}
