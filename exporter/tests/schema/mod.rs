//! Checks a document against the part of JSON Schema that the written schema uses. A keyword it does not know is an error,
//! so that nothing in the schema goes unchecked.

use serde_json::Value;

pub(crate) fn check(schema: &Value, document: &Value) -> Result<(), String> {
    node(schema, schema, document, "")
}

fn node(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let keywords = schema.as_object().ok_or_else(|| format!("{at}: the schema is no object"))?;
    for (keyword, wanted) in keywords {
        let good = match keyword.as_str() {
            "$schema" | "$id" | "title" | "description" | "$defs" => true,
            "$ref" => {
                let path = wanted.as_str().and_then(|p| p.strip_prefix('#')).unwrap_or_default();
                let target = root.pointer(path).ok_or_else(|| format!("{at}: no {wanted} in the schema"))?;
                return node(root, target, value, at);
            }
            "type" => {
                let types = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                types.iter().any(|t| is(value, t.as_str().unwrap_or_default()))
            }
            "enum" => wanted.as_array().is_some_and(|allowed| allowed.contains(value)),
            "minimum" => value.as_f64().is_none_or(|n| n >= wanted.as_f64().unwrap()),
            "anyOf" => wanted.as_array().unwrap().iter().any(|option| node(root, option, value, at).is_ok()),
            "required" => {
                wanted.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some())
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    node(root, wanted, item, &format!("{at}/{i}"))?;
                }
                true
            }
            "properties" => {
                for (key, property) in wanted.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        node(root, property, value, &format!("{at}/{key}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = |key: &String| keywords["properties"].get(key).is_some();
                wanted == &Value::Bool(true) || value.as_object().is_none_or(|o| o.keys().all(known))
            }
            _ => return Err(format!("{at}: this checker does not know {keyword}")),
        };
        if !good {
            return Err(format!("{at}: {keyword} {wanted} does not hold for {value}"));
        }
    }
    Ok(())
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        _ => false,
    }
}
