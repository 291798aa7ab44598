//! Asking for memory some time before it is needed, so that cache misses overlap with each other and with work.

/// The bytes of a line of the caches, on most processors.
pub const LINE: usize = 64;

/// Brings a slot into the caches, if there is one. No result depends on it.
#[inline(always)]
pub fn ahead<T>(slots: &[T], at: usize) {
    object(slots.as_ptr().wrapping_add(at));
}

/// Brings what stands at an address into the caches, if something does. No result depends on it.
#[inline(always)]
#[allow(unsafe_code, reason = "there is no safe way to say it; counting takes a fifth less time with it")]
pub fn object<T>(address: *const T) {
    // SAFETY: a prefetch of any address reads and writes nothing that a program could see, and never faults.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    // SAFETY: the same holds of this instruction, which uses neither stack nor flags.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        use std::arch::asm;
        asm!("prfm pldl1keep, [{address}]", address = in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
