//! Words that were met before, and their tokens.

use crate::hash;
use crate::packed_word::{self, Packed};
use crate::prefetch;

/// Ends a run of less than four symbols; no symbol is as high.
pub const END: u32 = u32::MAX;

/// A word of the text, where it would stand in the cache, and what stands there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookup<'a> {
    /// The word.
    pub word: &'a [u8],
    key: Key,
    slot: usize,
}

/// The bytes of a short word; all zero for one that counts as long.
type Key = [u32; 4];

/// Words of up to 16 bytes that have at most four tokens. A word may stand in either of two slots, which share a cache
/// line. It comes into the second one, and goes on to the first when it is met again: words that occur once, most of
/// all, push out only each other. Longer words stand in slots four times as large, the last one that came to each.
///
/// Both tables are arrays of plain numbers: these come zeroed from the system, and what is not used costs nothing.
#[derive(Debug)]
pub struct WordCache {
    sets: Vec<[u32; 4]>,
    skip: usize, // so many of `sets` are left out, so that each set is one cache line
    bits: u32,
    long: Vec<LongSlot>,
    long_bits: u32,
    seed: u64,
}

/// Two slots: a word and its tokens, padded with `END`, and another word and its tokens.
type Set = [[u32; 4]; 4];

/// The bytes of a word, at `LENGTH` how many these are and at `SYMBOLS` the number of its tokens, at `RUN` the tokens.
type LongSlot = [u8; 128];

const LENGTH: usize = 62; // 0 there marks an empty slot
const SYMBOLS: usize = 63;
const RUN: usize = 64;

const LINE: usize = 64;

impl WordCache {
    /// A cache that takes no more than so many bytes.
    pub fn new(bytes: usize) -> WordCache {
        let slots = |size: usize, bytes: usize| (bytes / size).checked_ilog2().unwrap_or(0).min(32);
        let bits = slots(size_of::<Set>(), (bytes / 4 * 3).saturating_sub(LINE));
        let long_bits = slots(size_of::<LongSlot>(), bytes / 4);
        let number = |bits: u32| if bits > 0 { 1_usize << bits } else { 0 };
        let sets = if bits > 0 { vec![[0; 4]; 4 * number(bits) + 3] } else { Vec::new() };
        let skip = sets.as_ptr().addr().wrapping_neg() % LINE / size_of::<[u32; 4]>();
        WordCache {
            skip: skip.min(sets.len()),
            sets,
            bits,
            long: vec![[0; 128]; number(long_bits)],
            long_bits,
            seed: hash::seed(),
        }
    }

    #[inline]
    fn sets(&self) -> &[Set] {
        self.sets[self.skip..].as_chunks().0
    }

    #[inline]
    fn set_mut(&mut self, lookup: &Lookup<'_>) -> Option<&mut Set> {
        let is_short = lookup.key != Key::default();
        self.sets[self.skip..].as_chunks_mut().0.get_mut(lookup.slot).filter(|_| is_short)
    }

    /// Prepares to look up the word `text[start..end]`.
    #[inline]
    pub fn lookup<'a>(&self, text: &'a [u8], start: usize, end: usize) -> Lookup<'a> {
        let word = &text[start..end];
        let Some(packed) = packed_word::pack(text, start, end) else {
            let hash = if self.long_bits > 0 { hash::bytes(self.seed, word) } else { 0 };
            return Lookup { word, key: Key::default(), slot: hash::slot(hash, self.long_bits.max(1)) };
        };
        let slot = hash::slot(packed.hash(self.seed), self.bits.max(1));
        Lookup { word, key: quarters(packed), slot }
    }

    /// Asks for the slot, some time before it is needed.
    #[inline]
    pub fn prefetch(&self, lookup: &Lookup<'_>) {
        if lookup.key == Key::default() {
            prefetch::ahead(&self.long, lookup.slot);
        } else {
            prefetch::ahead(self.sets(), lookup.slot);
        }
    }

    /// The tokens of a short word that is in the cache.
    #[inline]
    pub fn get(&mut self, lookup: &Lookup<'_>) -> Option<&[u32; 4]> {
        let [word, run, other, other_run] = self.set_mut(lookup)?;
        if *word != lookup.key {
            if *other != lookup.key {
                return None;
            }
            std::mem::swap(word, other);
            std::mem::swap(run, other_run);
        }
        Some(run)
    }

    /// The tokens of a long word, in the bytes of each.
    pub fn get_long(&self, lookup: &Lookup<'_>) -> Option<&[[u8; 4]]> {
        let slot = self.long.get(lookup.slot).filter(|_| lookup.key == Key::default())?;
        let (length, symbols) = (usize::from(slot[LENGTH]), usize::from(slot[SYMBOLS]));
        let is_it = length > 0 && slot.get(..length) == Some(lookup.word);
        slot[RUN..].as_chunks().0.get(..symbols).filter(|_| is_it)
    }

    /// Remembers the tokens of a word, if they fit.
    pub fn put(&mut self, lookup: &Lookup<'_>, run: &[u32]) {
        if let Some([_, _, word, place]) = self.set_mut(lookup) {
            if run.len() <= place.len() {
                (*word, *place) = (lookup.key, [END; 4]);
                place[..run.len()].copy_from_slice(run);
            }
        } else if let Some(slot) = self.long.get_mut(lookup.slot)
            && lookup.key == Key::default()
            && let (Some(word), Ok(length)) =
                (slot[..LENGTH].get_mut(..lookup.word.len()), u8::try_from(lookup.word.len()))
            && let Ok(symbols @ 0..=16) = u8::try_from(run.len())
        {
            word.copy_from_slice(lookup.word);
            (slot[LENGTH], slot[SYMBOLS]) = (length, symbols);
            let places = slot[RUN..].as_chunks_mut().0.iter_mut();
            places.zip(run).for_each(|(place, symbol)| *place = symbol.to_ne_bytes());
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the halves of both numbers are wanted")]
fn quarters([low, high]: [u64; 2]) -> Key {
    [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
}
