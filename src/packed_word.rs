//! Words of up to 16 bytes as two numbers: compared and hashed as such, and stored without an arena.

use crate::hash;

/// The bytes of a packed word that belong to a word of so many.
const MASKS: [[u64; 2]; 17] = {
    let mut masks = [[0; 2]; 17];
    let mut len = 1;
    while len <= 16 {
        masks[len] = halves(u128::MAX >> (128 - 8 * len));
        len += 1;
    }
    masks
};

/// The bytes of a packed word as two numbers.
#[allow(clippy::cast_possible_truncation, reason = "the two halves of a u128 are wanted")]
pub const fn halves(all: u128) -> [u64; 2] {
    [all as u64, (all >> 64) as u64]
}

/// The bytes of `text[start..end]`, the first eight in the first number, if there are one to 16 and the last is not NUL.
/// Then no two words are packed alike, and none is all zero.
#[inline(always)]
pub fn pack(text: &[u8], start: usize, end: usize) -> Option<[u64; 2]> {
    let len = end - start;
    if len.wrapping_sub(1) >= 16 || text[end - 1] == 0 {
        return None;
    }
    let Some((bytes, _)) = text[start..].split_first_chunk::<16>() else {
        return Some(pack_near_end(text, start, end));
    };
    let ([low, high], mask) = (halves(u128::from_le_bytes(*bytes)), MASKS[len]);
    Some([low & mask[0], high & mask[1]])
}

/// The same where there are less than 16 bytes from `start` on.
#[inline(never)]
fn pack_near_end(text: &[u8], start: usize, end: usize) -> [u64; 2] {
    let len = end - start;
    if let Some((_, bytes)) = text[..end].split_last_chunk::<16>() {
        return halves(u128::from_le_bytes(*bytes) >> (128 - 8 * len));
    }
    let mut bytes = [0; 16];
    bytes[..len].copy_from_slice(&text[start..end]);
    halves(u128::from_le_bytes(bytes))
}

/// The bytes of a packed word, and how many there are.
pub fn unpack([low, high]: [u64; 2]) -> ([u8; 16], u8) {
    let all = u128::from(high) << 64 | u128::from(low);
    let unused = u8::try_from(all.leading_zeros() / 8).unwrap_or(16);
    (all.to_le_bytes(), 16 - unused)
}

/// A packed word: one number where one is enough, or two.
pub trait Packed: Copy + Default + PartialEq {
    /// As two numbers.
    fn pair(self) -> [u64; 2];
    /// The hash; `seed` is that of `hash`.
    fn hash(self, seed: u64) -> u64;
}

impl Packed for u64 {
    fn pair(self) -> [u64; 2] {
        [self, 0]
    }
    #[inline]
    fn hash(self, seed: u64) -> u64 {
        hash::number(seed, self)
    }
}

impl Packed for [u64; 2] {
    fn pair(self) -> [u64; 2] {
        self
    }
    #[inline]
    fn hash(self, seed: u64) -> u64 {
        hash::mix(self[0] ^ seed, self[1] ^ 0x9e37_79b9_7f4a_7c15)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_words_are_what_they_were() {
        let text: Vec<u8> = (1..=40).collect();
        for start in 0..text.len() {
            for end in start..=text.len() {
                let packed = pack(&text, start, end);
                assert_eq!(packed.is_some(), (1..=16).contains(&(end - start)));
                if let Some(packed) = packed {
                    let (bytes, len) = unpack(packed);
                    assert_eq!(bytes[..usize::from(len)], text[start..end]);
                }
            }
        }
        assert_eq!(pack(b"a\0", 0, 2), None);
        assert_eq!(pack(b"\0a", 0, 2), Some([0x6100, 0]));
    }
}
