//! What the library's own manifest adds to an app's.

use std::collections::BTreeMap;

use super::attribute::{self, NAMESPACE};
use super::element::{NewAttribute, NewElement};

/// Stands for the app's package in a library's manifest.
const APPLICATION_ID: &str = "${applicationId}";

/// Deeper than any element of a library's manifest.
const MAX_DEPTH: usize = 16;

/// What the library's manifest and options add to an app's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addition {
    /// Children of `<manifest>`, such as permissions.
    pub(super) elements: Vec<NewElement>,
    /// Children of `<application>`.
    pub(super) members: Vec<NewElement>,
    /// Values of `<meta-data>` by name.
    pub(super) meta_data: BTreeMap<String, String>,
    min_sdk: u32,
}

/// Why a library's manifest cannot be added to others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdditionError {
    /// It is not well-formed XML.
    #[error("the library's manifest is not well-formed XML: {0}")]
    Xml(String),
    /// Its root is another element.
    #[error("the library's manifest has no <manifest> element")]
    NoManifest,
    /// The table of ids has to be extended.
    #[error("line {line}: the resource id of the attribute {name} is unknown")]
    UnknownAttribute {
        /// Line in the XML, from 1.
        line: u32,
        /// Its name without the prefix.
        name: String,
    },
    /// The text does not fit the attribute's type.
    #[error("line {line}: {name} cannot have the value {value:?}")]
    Value {
        /// Line in the XML, from 1.
        line: u32,
        /// The attribute.
        name: String,
        /// Its text.
        value: String,
    },
    /// Elements are nested too deeply.
    #[error("line {0}: elements are nested deeper than 16")]
    Depth(u32),
    /// The name or value of an option has a character that XML does not allow.
    #[error("{0:?} has a control character, which a manifest cannot hold")]
    ControlCharacter(String),
}

impl Addition {
    /// Reads a library's `AndroidManifest.xml`.
    ///
    /// `package` and attributes of `<application>` itself are not added. `${applicationId}` is replaced when the addition is
    /// merged.
    ///
    /// # Errors
    ///
    /// An attribute that is not in the table of ids, or a value that does not fit it: see [`AdditionError`].
    pub fn parse(xml: &str) -> Result<Self, AdditionError> {
        let tree = roxmltree::Document::parse(xml).map_err(|error| AdditionError::Xml(error.to_string()))?;
        let root = tree.root_element();
        if !root.has_tag_name("manifest") {
            return Err(AdditionError::NoManifest);
        }
        let mut addition = Self { min_sdk: 1, ..Self::default() };
        for child in root.children().filter(roxmltree::Node::is_element) {
            if child.has_tag_name("application") {
                for member in child.children().filter(roxmltree::Node::is_element) {
                    addition.members.push(element(member, 0)?);
                }
            } else if child.has_tag_name("uses-sdk") {
                let level = child.attribute((NAMESPACE, attribute::MIN_SDK_VERSION.name)).unwrap_or("1");
                let wrong = |_| wrong_value(child, attribute::MIN_SDK_VERSION.name, level);
                addition.min_sdk = level.parse().map_err(wrong)?;
            } else {
                addition.elements.push(element(child, 0)?);
            }
        }
        Ok(addition)
    }

    /// Adds `<meta-data android:name=... android:value=.../>` to `<application>`. An entry of the same name is replaced, in the
    /// addition as in the app.
    ///
    /// # Errors
    ///
    /// [`AdditionError::ControlCharacter`].
    pub fn set_meta_data(&mut self, name: &str, value: &str) -> Result<(), AdditionError> {
        if let Some(text) =
            [name, value].into_iter().find(|text| text.chars().any(|c| c < ' ' && !"\t\n\r".contains(c)))
        {
            return Err(AdditionError::ControlCharacter(text.to_owned()));
        }
        self.meta_data.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// `minSdkVersion` of the library; 1 if it has none.
    #[must_use]
    pub fn min_sdk(&self) -> u32 {
        self.min_sdk
    }
}

fn line(node: roxmltree::Node<'_, '_>) -> u32 {
    node.document().text_pos_at(node.range().start).row
}

fn wrong_value(node: roxmltree::Node<'_, '_>, name: &str, value: &str) -> AdditionError {
    AdditionError::Value { line: line(node), name: name.to_owned(), value: value.to_owned() }
}

fn element(node: roxmltree::Node<'_, '_>, depth: usize) -> Result<NewElement, AdditionError> {
    if depth == MAX_DEPTH {
        return Err(AdditionError::Depth(line(node)));
    }
    let attributes = node.attributes().map(|at| {
        let unknown = || AdditionError::UnknownAttribute { line: line(node), name: at.name().to_owned() };
        let known = attribute::by_name(at.name())
            .filter(|_| at.namespace() == Some(NAMESPACE))
            .ok_or_else(unknown)?;
        let value = known.compile(at.value());
        let value = value.ok_or_else(|| wrong_value(node, at.name(), at.value()))?;
        Ok(NewAttribute { attribute: known, value, text: at.value().to_owned() })
    });
    let children = node.children().filter(roxmltree::Node::is_element).map(|child| element(child, depth + 1));
    Ok(NewElement {
        name: node.tag_name().name().to_owned(),
        attributes: attributes.collect::<Result<_, _>>()?,
        children: children.collect::<Result<_, _>>()?,
    })
}

/// The elements with the app's package in place of `${applicationId}`.
pub(super) fn resolved(elements: &[NewElement], package: &str) -> Vec<NewElement> {
    let attribute = |new: &NewAttribute| match new.value.text() {
        Some(text) => NewAttribute::text(new.attribute, &text.replace(APPLICATION_ID, package)),
        None => new.clone(),
    };
    let element = |element: &NewElement| NewElement {
        name: element.name.clone(),
        attributes: element.attributes.iter().map(attribute).collect(),
        children: resolved(&element.children, package),
    };
    elements.iter().map(element).collect()
}
