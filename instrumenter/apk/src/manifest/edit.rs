//! Edits of a manifest.

use super::Manifest;
use super::addition::{Addition, resolved};
use super::attribute::{self, Attribute};
use super::document::{Document, Edit, Place};
use super::element::{NewAttribute, NewElement};
use super::error::Error;
use super::facts::{Facts, application, children, class_name, sdk};

/// What [`Manifest::merge`] did. Elements are described by tag and name: `provider dev.anrscope.StartProvider`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Elements that were inserted.
    pub added: Vec<String>,
    /// Options whose value in the manifest was replaced.
    pub replaced: Vec<String>,
    /// Elements that the manifest had already, with the same tag and name; they are as they were.
    pub present: Vec<String>,
}

impl Manifest {
    /// Adds a library's elements and options: permissions before `<application>`, everything else as its first children. What is
    /// there already by tag and name is not added again; the value of an option is replaced.
    ///
    /// # Errors
    ///
    /// [`Error::NoApplication`], [`Error::MetaDataFromResource`], or a limit of the format. The manifest is then unchanged.
    pub fn merge(&mut self, addition: &Addition) -> Result<Merged, Error> {
        let package = self.facts.package.clone();
        self.edit(|document| {
            let mut merged = Merged::default();
            let into = application(document).ok_or(Error::NoApplication)?;
            let mut members =
                absent(document, into, resolved(&addition.members, &package), &package, &mut merged)?;
            for (name, value) in &addition.meta_data {
                members.extend(set_meta_data(document, into, name, value, &mut merged)?);
            }
            document.insert(Place::StartOf(into), &members)?;
            let elements =
                absent(document, 0, resolved(&addition.elements, &package), &package, &mut merged)?;
            document.insert(Place::Before(into), &elements)?;
            Ok(merged)
        })
    }

    /// Sets a flag of `<application>`, such as `android:debuggable`.
    ///
    /// # Errors
    ///
    /// [`Error::NoApplication`] or a limit of the format. The manifest is then unchanged.
    pub fn set_flag(&mut self, attribute: Attribute, value: bool) -> Result<(), Error> {
        self.edit(|document| {
            let element = application(document).ok_or(Error::NoApplication)?;
            document.set_attribute(element, &NewAttribute::boolean(attribute, value))
        })
    }

    /// Raises `minSdkVersion` to `level` where it is lower or absent, and returns the level it had.
    ///
    /// An absent `targetSdkVersion` means the level of `minSdkVersion`; it is then written with the old level, so that the system
    /// treats the app as before.
    ///
    /// # Errors
    ///
    /// A limit of the format. The manifest is then unchanged.
    pub fn raise_min_sdk(&mut self, level: u32) -> Result<Option<u32>, Error> {
        let old = self.facts.min_sdk;
        if old >= level {
            return Ok(None);
        }
        self.edit(|document| {
            let min = number(attribute::MIN_SDK_VERSION, level);
            let uses: Vec<usize> =
                children(document, 0).filter(|element| document.is_named(*element, "uses-sdk")).collect();
            if uses.is_empty() {
                let attributes = vec![min, number(attribute::TARGET_SDK_VERSION, old)];
                let element = NewElement { name: "uses-sdk".to_owned(), attributes, children: Vec::new() };
                return document.insert(Place::StartOf(0), &[element]);
            }
            for element in uses {
                let present = sdk(document.android_attribute(element, attribute::MIN_SDK_VERSION)?.as_ref())
                    .unwrap_or(1);
                if present >= level {
                    continue;
                }
                if document.android_attribute(element, attribute::TARGET_SDK_VERSION)?.is_none() {
                    document.set_attribute(element, &number(attribute::TARGET_SDK_VERSION, present))?;
                }
                document.set_attribute(element, &min)?;
            }
            Ok(())
        })?;
        Ok(Some(old))
    }

    /// Changes a copy, which replaces the document if there was no error.
    fn edit<T>(&mut self, change: impl FnOnce(&mut dyn Edit) -> Result<T, Error>) -> Result<T, Error> {
        let mut form = self.form.clone();
        let result = change(form.document_mut())?;
        self.facts = Facts::of(form.document())?;
        self.form = form;
        Ok(result)
    }
}

fn number(attribute: Attribute, level: u32) -> NewAttribute {
    NewAttribute::integer(attribute, i32::try_from(level).unwrap_or(i32::MAX))
}

/// The elements that `parent` does not have by tag and name.
fn absent(
    document: &dyn Document,
    parent: usize,
    elements: Vec<NewElement>,
    package: &str,
    merged: &mut Merged,
) -> Result<Vec<NewElement>, Error> {
    let mut out = Vec::new();
    for element in elements {
        let name = element.text_of(attribute::NAME).unwrap_or_default();
        let label = format!("{} {name}", element.name);
        let wanted = class_name(package, name);
        let mut present = false;
        for sibling in children(document, parent).filter(|sibling| document.is_named(*sibling, &element.name))
        {
            let value = document.android_attribute(sibling, attribute::NAME)?;
            present |=
                value.and_then(|value| Some(class_name(package, value.text()?))) == Some(wanted.clone());
        }
        if present {
            merged.present.push(label);
        } else {
            merged.added.push(label);
            out.push(element);
        }
    }
    Ok(out)
}

/// Sets an option that the application has, or returns the element of one that it does not have.
fn set_meta_data(
    document: &mut dyn Edit,
    application: usize,
    name: &str,
    value: &str,
    merged: &mut Merged,
) -> Result<Option<NewElement>, Error> {
    let new_value = NewAttribute::text(attribute::VALUE, value);
    let mut present = None;
    for element in children(document, application).filter(|element| document.is_named(*element, "meta-data"))
    {
        if document.android_attribute(element, attribute::NAME)?.and_then(|value| Some(value.text()? == name))
            == Some(true)
        {
            // The system keeps the last one.
            present = Some(element);
        }
    }
    let Some(element) = present else {
        let attributes = vec![NewAttribute::text(attribute::NAME, name), new_value];
        let element = NewElement { name: "meta-data".to_owned(), attributes, children: Vec::new() };
        merged.added.push(format!("meta-data {name}"));
        return Ok(Some(element));
    };
    if document.android_attribute(element, attribute::RESOURCE)?.is_some() {
        return Err(Error::MetaDataFromResource(name.to_owned()));
    }
    merged.replaced.push(format!("meta-data {name}"));
    document.set_attribute(element, &new_value)?;
    Ok(None)
}
