//! The order of the tables.

use crate::{Dex, Field, Limit, Method, Proto, Remap, WriteError, mutf8};

/// The tables in the order of the format, and the new indices.
pub(super) struct Order {
    pub(super) remap: Remap,
    /// Old indices of the strings, in their new order.
    pub(super) strings: Vec<u32>,
    /// New string indices.
    pub(super) types: Vec<u32>,
    /// With new indices.
    pub(super) protos: Vec<Proto>,
    /// With new indices.
    pub(super) fields: Vec<Field>,
    /// With new indices.
    pub(super) methods: Vec<Method>,
}

impl Order {
    /// Sorts every table of `dex`. Entries that are equal become one.
    pub(super) fn of(dex: &Dex<'_>) -> Result<Self, WriteError> {
        let mut remap = Remap::default();
        let mut strings: Vec<u32> = (0..).take(dex.strings.len()).collect();
        let text = |&index: &u32| dex.strings.get(index as usize).map_or(&[][..], |string| string);
        // The order of what was read is kept, so that this is one pass over most files.
        strings.sort_by(|left, right| mutf8::compare(text(left), text(right)));
        remap.strings = new_indices(&mut strings, |left, right| text(left) == text(right));

        let types = dex.types.iter().map(|&string| remap.string(string)).collect::<Result<Vec<u32>, _>>()?;
        let types = table(types, &mut remap.types, |&string| string);
        limit("types", types.len(), 0xffff)?;

        let proto = |proto: &Proto| {
            let parameters =
                proto.parameters.iter().map(|&kind| remap.kind(kind)).collect::<Result<_, _>>()?;
            Ok(Proto { shorty: remap.string(proto.shorty)?, result: remap.kind(proto.result)?, parameters })
        };
        let mut indices = Vec::new();
        let protos = dex.protos.iter().map(proto).collect::<Result<Vec<Proto>, WriteError>>()?;
        let protos = sorted(protos, &mut indices, |left, right| {
            (left.result, &left.parameters).cmp(&(right.result, &right.parameters))
        });
        remap.protos = indices;
        limit("protos", protos.len(), 0xffff)?;

        let field = |field: &Field| {
            let (class, kind) = (remap.kind(field.class)?, remap.kind(field.kind)?);
            Ok(Field { class, kind, name: remap.string(field.name)? })
        };
        let fields = dex.fields.iter().map(field).collect::<Result<Vec<Field>, WriteError>>()?;
        let fields = table(fields, &mut remap.fields, |field| (field.class, field.name, field.kind));
        limit("fields", fields.len(), 0x1_0000)?;

        let method = |method: &Method| {
            let (class, proto) = (remap.kind(method.class)?, remap.proto(method.proto)?);
            Ok(Method { class, proto, name: remap.string(method.name)? })
        };
        let methods = dex.methods.iter().map(method).collect::<Result<Vec<Method>, WriteError>>()?;
        let methods = table(methods, &mut remap.methods, |method| (method.class, method.name, method.proto));
        limit("methods", methods.len(), 0x1_0000)?;

        // These two have no order that ART checks, and equal call sites are linked apart.
        limit("call sites", dex.call_sites.len(), 0x1_0000)?;
        limit("method handles", dex.handles.len(), 0x1_0000)?;
        remap.call_sites = (0..).take(dex.call_sites.len()).collect();
        remap.handles = (0..).take(dex.handles.len()).collect();
        Ok(Self { remap, strings, types, protos, fields, methods })
    }
}

fn limit(name: &'static str, size: usize, max: usize) -> Result<(), Limit> {
    if size <= max { Ok(()) } else { Err(Limit::Table { name }) }
}

/// Sorts a table by a key, and fills in the new indices.
fn table<T: Clone, K: Ord>(entries: Vec<T>, indices: &mut Vec<u32>, key: impl Fn(&T) -> K) -> Vec<T> {
    sorted(entries, indices, |left, right| key(left).cmp(&key(right)))
}

fn sorted<T: Clone>(
    entries: Vec<T>,
    indices: &mut Vec<u32>,
    compare: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Vec<T> {
    let mut order: Vec<u32> = (0..).take(entries.len()).collect();
    let between = |left: &u32, right: &u32| {
        let (left, right) = (entries.get(*left as usize), entries.get(*right as usize));
        left.zip(right).map_or(std::cmp::Ordering::Equal, |(left, right)| compare(left, right))
    };
    order.sort_by(between);
    *indices = new_indices(&mut order, |left, right| between(left, right).is_eq());
    order.iter().filter_map(|&old| entries.get(old as usize).cloned()).collect()
}

/// Removes what is equal to its predecessor from `order`, a list of all old indices, and returns the new index of each old one.
fn new_indices(order: &mut Vec<u32>, equal: impl Fn(&u32, &u32) -> bool) -> Vec<u32> {
    let mut indices = vec![Remap::UNUSED; order.len()];
    let mut next = 0;
    let mut previous = None;
    order.retain(|old| {
        let first = previous.is_none_or(|previous| !equal(&previous, old));
        if first {
            previous = Some(*old);
            next += 1;
        }
        if let Some(index) = indices.get_mut(*old as usize) {
            *index = next - 1;
        }
        first
    });
    indices
}
