//! One word of those that are counted: how it is looked up, and its bytes.

use crate::hash;
use crate::packed_word::{self, Packed};

/// How a word is looked up.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// The bytes of a word of up to eight.
    Short(u64),
    /// The bytes of a word of up to sixteen.
    Middle([u64; 2]),
    /// The hash of another one.
    Long(u64),
}

impl Key {
    /// The key of the word `text[start..end]`; `seed` is that of `hash`.
    #[inline]
    pub fn new(seed: u64, text: &[u8], start: usize, end: usize) -> Key {
        match packed_word::pack(text, start, end) {
            Some([low, 0]) => Key::Short(low),
            Some(packed) => Key::Middle(packed),
            None => Key::Long(hash::bytes(seed, &text[start..end])),
        }
    }

    /// The hash of the word.
    #[inline]
    pub fn hash(self, seed: u64) -> u64 {
        match self {
            Key::Short(low) => low.hash(seed),
            Key::Middle(packed) => packed.hash(seed),
            Key::Long(hash) => hash,
        }
    }
}

/// The bytes of a word.
#[derive(Clone, Copy, Debug)]
pub enum Word<'a> {
    /// Unpacked, and how many of them count.
    Packed([u8; 16], u8),
    /// A word that stands elsewhere.
    Long(&'a [u8]),
}

impl Word<'_> {
    /// The word that was packed.
    pub fn unpacked(packed: impl Packed) -> Word<'static> {
        let (bytes, len) = packed_word::unpack(packed.pair());
        Word::Packed(bytes, len)
    }
}

impl PartialEq for Word<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Word<'_> {}

impl PartialOrd for Word<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Word<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl std::ops::Deref for Word<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Word::Packed(bytes, len) => &bytes[..usize::from(*len)],
            Word::Long(bytes) => bytes,
        }
    }
}
