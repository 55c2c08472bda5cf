//! Puts the hook's address into an object's slots, and restores them.

use super::error::{HookError, UnhookError};
use super::hook::Claim;
use super::protection;
use super::target::Target;
use crate::elf::live::{self, Loaded};
use crate::elf::{Dynamic, import_slots, slot_kinds};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use trace_format::native_slot::Machine;

/// One slot that holds the hook.
#[derive(Clone, Copy, Debug)]
struct Slot {
    address: usize,
    /// Its value before.
    before: usize,
    /// The function that it finally leads to.
    leads_to: usize,
}

/// Slots of one object that hold the hook.
#[derive(Debug)]
pub(super) struct Patch {
    slots: Vec<Slot>,
    bias: usize,
    path: Vec<u8>,
    hook: usize,
}

/// Puts `hook` into every slot of the target for `write`, or into none. The claim first gets the function that the hook
/// calls.
pub(super) fn place(target: &Target, hook: usize, claim: &Claim) -> Result<Patch, HookError> {
    let kinds = Machine::HERE.and_then(slot_kinds).ok_or(HookError::Machine)?;
    // Looked up before the loader's lock is held: `dlsym` may take the same lock.
    let real = real_write();
    let placed = live::find(|object| {
        if !target.is(&object) {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(place_in(&object, target, kinds, hook, real, claim))
    });
    placed.unwrap_or_else(|| Err(HookError::NotLoaded(target.clone())))
}

fn place_in(
    object: &Loaded<'_>,
    target: &Target,
    kinds: [u32; 2],
    hook: usize,
    real: usize,
    claim: &Claim,
) -> Result<Patch, HookError> {
    let no_slot = || HookError::NoSlot(target.clone());
    let dynamic = object.dynamic().ok_or_else(no_slot)?;
    let dynamic = Dynamic::parse(&dynamic, size_of::<usize>()).map_err(HookError::Elf)?;
    let found = import_slots(&object.view(), &dynamic, kinds, b"write").map_err(HookError::Elf)?;

    let mut slots = Vec::new();
    let mut original = None;
    for slot in found {
        let address = object.bias.wrapping_add(slot as usize);
        let last = address.wrapping_add(size_of::<usize>() - 1);
        if !address.is_multiple_of(align_of::<usize>()) || !object.contains(address) || !object.contains(last)
        {
            return Err(HookError::Elf(crate::elf::ElfError::OutOfBounds { table: "a slot of write" }));
        }
        // A page that is not readable cannot be checked, and one of unknown protection cannot be restored.
        match protection::of(address).map_err(HookError::Io)? {
            Some(there) if there & libc::PROT_READ != 0 => {}
            _ => return Err(HookError::Protection),
        }
        let before = word(address).load(SeqCst);
        // Not bound yet: the slot leads into the object's own linkage table. To call that would have the loader write
        // over our hook.
        let leads_to = if before != real && object.is_code(before) { real } else { before };
        if leads_to == 0 || leads_to == hook {
            return Err(HookError::Unresolved);
        }
        if original.is_some_and(|original| original != leads_to) {
            return Err(HookError::SlotsDisagree);
        }
        original = Some(leads_to);
        slots.push(Slot { address, before, leads_to });
    }
    claim.set_original(original.ok_or_else(no_slot)?);

    for (done, slot) in slots.iter().enumerate() {
        if let Err(error) = exchange(slot.address, slot.before, hook) {
            // Remove it from the slots that have it; `exchange` has restored this one itself, as well as it can.
            let undone = slots[..done].iter().all(|slot| exchange(slot.address, hook, slot.before).is_ok());
            if !undone || word(slot.address).load(SeqCst) == hook {
                claim.leave_behind();
            }
            return Err(error);
        }
    }
    Ok(Patch { slots, bias: object.bias, path: object.path.to_vec(), hook })
}

impl Patch {
    /// Restores every slot that still holds the hook.
    pub(super) fn remove(self) -> Result<(), UnhookError> {
        let removed = live::find(|object| {
            if object.bias != self.bias || object.path != self.path {
                return ControlFlow::Continue(());
            }
            let mut result = Ok(());
            for slot in &self.slots {
                let Err(error) = exchange(slot.address, self.hook, slot.before) else { continue };
                let now = word(slot.address).load(SeqCst);
                // Bound by the loader meanwhile, or restored by other code: it does not lead to us.
                if now == slot.before || now == slot.leads_to {
                    continue;
                }
                result = Err(match error {
                    HookError::Os(error) => UnhookError::Os(error),
                    HookError::Unresolved => UnhookError::Displaced,
                    _ => UnhookError::Protection,
                });
            }
            ControlFlow::Break(result)
        });
        // An object that is no longer loaded has no slots.
        removed.unwrap_or(Ok(()))
    }
}

/// The address of `write` for this process: what the loader would put into a slot.
fn real_write() -> usize {
    // SAFETY: the name is a C string, and the default scope needs no handle.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"write".as_ptr()) as usize }
}

/// A slot, which other threads read at any time and the loader may write to.
fn word(address: usize) -> &'static AtomicUsize {
    // SAFETY: the callers have found it aligned and in an object that stays loaded while the loader is held off, and
    // do not keep the reference longer. Reading is allowed by the page's protection.
    unsafe { AtomicUsize::from_ptr(address as *mut usize) }
}

/// Changes a slot from one value to another and leaves its page protected as it was.
fn exchange(address: usize, from: usize, to: usize) -> Result<(), HookError> {
    let before = protection::of(address).map_err(HookError::Io)?.ok_or(HookError::Protection)?;
    let is_open = before & libc::PROT_WRITE != 0;
    if !is_open {
        protection::set(address, before | libc::PROT_WRITE)?;
    }
    let changed = word(address).compare_exchange(from, to, SeqCst, SeqCst);
    if !is_open && let Err(error) = protection::set(address, before) {
        // The page is still writable then, so the value can be restored even if the protection cannot.
        let _ = word(address).compare_exchange(to, from, SeqCst, SeqCst);
        return Err(error);
    }
    changed.map(|_| ()).map_err(|_| HookError::Unresolved)
}
