//! Asking for tables in large pages: fewer of them have to be made, and found again at each look at the table.

/// The bytes of a large page.
pub const SIZE: usize = 2 << 20;

/// Asks the system to hold slots in pages of two megabytes, where it has such pages. No result depends on it.
#[allow(
    unsafe_code,
    reason = "there is no safe way to say it; text with many new words is encoded in a fifth less time"
)]
pub fn ask<T>(slots: &[T]) {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::{c_int, c_void};
        unsafe extern "C" {
            fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
        }
        const MADV_HUGEPAGE: c_int = 14;
        let bytes = slots.as_ptr_range();
        let (start, end) = (bytes.start.addr().next_multiple_of(SIZE), bytes.end.addr() / SIZE * SIZE);
        if start < end {
            let address = bytes.start.cast_mut().with_addr(start).cast();
            // SAFETY: this advice changes neither the contents of memory nor who may use it; the range is whole pages
            // inside of `slots`. Where it is refused nothing has changed.
            unsafe { madvise(address, end - start, MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = slots;
}
