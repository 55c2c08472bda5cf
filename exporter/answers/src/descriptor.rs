//! The types of a method's descriptor, such as `(I[Ljava/lang/String;)V`.

/// Removes one type from the front of a descriptor, and returns its name in Java's form, with the name that `class` gives to a
/// class; `None` if the descriptor is empty or malformed.
pub fn take_type(rest: &mut &str, class: impl FnOnce(String) -> String) -> Option<String> {
    let dimensions = rest.len() - rest.trim_start_matches('[').len();
    let element = &rest[dimensions..];
    let (name, length) = match element.chars().next()? {
        'L' => {
            let end = element.find(';')?;
            (class(element[1..end].replace('/', ".")), end + 1)
        }
        c => {
            let name = match c {
                'V' => "void",
                'Z' => "boolean",
                'B' => "byte",
                'C' => "char",
                'S' => "short",
                'I' => "int",
                'J' => "long",
                'F' => "float",
                'D' => "double",
                _ => return None,
            };
            (name.to_owned(), 1)
        }
    };
    *rest = &element[length..];
    Some(name + &"[]".repeat(dimensions.min(255)))
}
