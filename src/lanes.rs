//! Numbers of 16 bits, eight or sixteen at once. Compilers do not find these ways: with them a new word takes a tenth
//! less time.

/// The lowest of sixteen numbers, and its first place.
#[inline(always)]
pub fn lowest(numbers: &[i16; 16]) -> (i16, usize) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code, reason = "the only way to say so")]
    // SAFETY: every x86-64 processor has SSE2.
    let found = unsafe { sse2::lowest(numbers) };
    #[cfg(not(target_arch = "x86_64"))]
    let found = portable::lowest(numbers);
    found
}

/// The first place of a number among eight, or the last one.
#[inline(always)]
pub fn find(number: u16, numbers: &[u16; 8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code, reason = "the only way to say so")]
    // SAFETY: every x86-64 processor has SSE2.
    let place = unsafe { sse2::find(number, numbers) };
    #[cfg(not(target_arch = "x86_64"))]
    let place = portable::find(number, numbers);
    place
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi16, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_min_epi16, _mm_movemask_epi8,
        _mm_packs_epi16, _mm_set1_epi16, _mm_shuffle_epi32, _mm_shufflehi_epi16, _mm_shufflelo_epi16,
    };

    #[target_feature(enable = "sse2")]
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the lowest number of eight is wanted")]
    pub(super) fn lowest(numbers: &[i16; 16]) -> (i16, usize) {
        let (eights, _) = numbers.as_chunks::<8>();
        let (first, second) = (load(&eights[0]), load(&eights[1]));
        // Halves, quarters and eighths change places, till each holds the lowest number.
        let mut lowest = _mm_min_epi16(first, second);
        lowest = _mm_min_epi16(lowest, _mm_shuffle_epi32::<0b01_00_11_10>(lowest));
        lowest = _mm_min_epi16(lowest, _mm_shuffle_epi32::<0b10_11_00_01>(lowest));
        let turned = _mm_shufflelo_epi16::<0b10_11_00_01>(lowest);
        lowest = _mm_min_epi16(lowest, _mm_shufflehi_epi16::<0b10_11_00_01>(turned));
        let is_lowest = _mm_packs_epi16(_mm_cmpeq_epi16(first, lowest), _mm_cmpeq_epi16(second, lowest));
        let places = _mm_movemask_epi8(is_lowest);
        (_mm_cvtsi128_si32(lowest) as i16, (places | 1 << 15).trailing_zeros() as usize)
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    pub(super) fn find(number: u16, numbers: &[u16; 8]) -> usize {
        let is_it = _mm_cmpeq_epi16(load(numbers), _mm_set1_epi16(number.cast_signed()));
        let places = _mm_movemask_epi8(_mm_packs_epi16(is_it, is_it));
        (places | 1 << 7).trailing_zeros() as usize
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    #[allow(unsafe_code, reason = "there is no safe way to load numbers together")]
    fn load<T>(eight: &[T; 8]) -> __m128i {
        const { assert!(size_of::<T>() == 2) };
        // SAFETY: the sixteen bytes of the array are read, which need not be aligned.
        unsafe { _mm_loadu_si128(eight.as_ptr().cast()) }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    pub(super) fn lowest(numbers: &[i16; 16]) -> (i16, usize) {
        let lowest = numbers.iter().fold(i16::MAX, |lowest, &number| number.min(lowest));
        (lowest, numbers.iter().position(|&number| number == lowest).unwrap_or(0))
    }

    pub(super) fn find(number: u16, numbers: &[u16; 8]) -> usize {
        numbers.iter().position(|&other| other == number).unwrap_or(7)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;

    #[test]
    fn all_ways_find_the_same() {
        let mut state = 1_u64;
        for spread in [1, 2, 5, 300, 1 << 16] {
            for _ in 0..2_000 {
                let numbers = [(); 16].map(|()| {
                    state = hash::mix(state ^ 0x9e37_79b9, 0xd1b5_4a32_d192_ed03).wrapping_add(1);
                    u16::try_from(state % spread).unwrap()
                });
                let signed = numbers.map(u16::cast_signed);
                assert_eq!(lowest(&signed), portable::lowest(&signed));
                let (eights, _) = numbers.as_chunks::<8>();
                for number in [numbers[0], numbers[9], numbers[15], 0] {
                    assert_eq!(find(number, &eights[1]), portable::find(number, &eights[1]));
                }
            }
        }
        assert_eq!(lowest(&[i16::MAX; 16]), (i16::MAX, 0));
    }
}
