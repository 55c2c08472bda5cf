//! Dex files.

use dex::code::trace::{Argument, Around, Exits, StaticCall, Waits};
use dex::code::{Body, facts};
use dex::{Dex, MethodCode};

/// Reads dex files, traces every method, writes, and reads what was written. The checksum is repaired first: else nearly no input would
/// get past it.
///
/// # Panics
///
/// If a file that was read cannot be read again after it was written.
pub fn dex(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if bytes.len() > 12 {
        let sum = libdeflater::adler32(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    }
    for mut dex in dex::read::all(&bytes).unwrap_or_default() {
        if let Ok(written) = dex.write() {
            let again = Dex::read(&written).expect("a file that was written");
            assert_eq!(again.classes.len(), dex.classes.len());
        }
        trace_all(&mut dex);
        if let Ok(written) = dex.write() {
            Dex::read(&written).expect("a traced file that was written");
        }
    }
}

fn trace_all(dex: &mut Dex<'_>) {
    let calls = dex.find_or_add_calls("Ldev/anrscope/MethodBeat;");
    let [class, void, int] =
        ["Ldev/anrscope/MethodBeat;", "V", "I"].map(|descriptor| dex.find_or_add_type(descriptor));
    let errors = dex.find_or_add_errors();
    let proto = dex.find_or_add_proto(void, &[int]);
    let lost = dex.find_or_add_method(class, "wr", proto);
    let mut classes = std::mem::take(&mut dex.classes);
    let methods = classes
        .iter_mut()
        .flat_map(|class| class.direct_methods.iter_mut().chain(&mut class.virtual_methods));
    for method in methods {
        let Some(MethodCode::Read(code)) = &method.code else { continue };
        let Ok(_) = facts(code) else { continue };
        let Ok(mut body) = Body::read(code) else { continue };
        let Some(shape) = dex.shape(method, None) else { continue };
        let call = StaticCall { method: lost, arguments: vec![Argument::Number(1)] };
        let around = |at| Around {
            at,
            before: vec![call.clone()],
            behind: vec![call.clone()],
            thrown: Some(call.clone()),
        };
        // Around each instruction that throws.
        let throws = |at: &u32| body.instructions()[*at as usize].opcode().can_throw;
        let sites = (0..body.instructions().len() as u32).filter(throws).map(around).collect();
        let waits = Waits { sites, task: None, errors };
        let waited = body.clone().trace(&shape, 0x1_2345, calls, Exits::All, Some(&waits)).is_ok();
        if body.trace(&shape, 0x1_2345, calls, Exits::All, Some(&waits).filter(|_| waited)).is_ok() {
            method.code = Some(MethodCode::Edited(Box::new(body)));
        }
    }
    dex.classes = classes;
}
