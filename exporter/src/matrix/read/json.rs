//! Parses JSON with a limit on its size in memory: `[1,1,1` has two bytes per value but takes sixteen times as
//! much in memory.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Maximum number of values per document, including nested ones: 16,384 reports have some 400,000.
const MAX_VALUES: usize = 1 << 20;

/// A document.
#[derive(Debug)]
pub(super) struct Document(pub(super) Value);

impl<'de> serde::Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let room = Cell::new(MAX_VALUES);
        Bounded(&room).deserialize(from).map(Self)
    }
}

/// Parses a value while the limit allows.
#[derive(Clone, Copy)]
struct Bounded<'r>(&'r Cell<usize>);

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        let left = self.0.get().checked_sub(1).ok_or_else(|| D::Error::custom("too many values"))?;
        self.0.set(left);
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut of: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = of.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut of: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = of.next_key::<String>()? {
            values.insert(key, of.next_value_seed(self)?);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> serde_json::Result<Value> {
        serde_json::from_str::<Document>(text).map(|document| document.0)
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|all| Value::Object(all.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_document_is_read_as_serde_json_reads_it(value in any_value()) {
            let text = value.to_string();
            prop_assert_eq!(read(&text).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
        }
    }

    #[test]
    fn a_document_of_very_many_values_is_refused_where_they_get_too_many() {
        let most = format!("[{}1]", "1,".repeat(MAX_VALUES - 2));
        assert_eq!(read(&most).unwrap().as_array().map(Vec::len), Some(MAX_VALUES - 1));
        let error = read(&format!("[{}1]", "1,".repeat(MAX_VALUES - 1))).unwrap_err();
        assert!(error.is_data(), "{error}");
        assert_eq!((error.line(), error.column()), (1, 2 * MAX_VALUES - 1));
    }
}
