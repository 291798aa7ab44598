//! Words that were met before, and their tokens.

use crate::hash;
use crate::large_pages;
use crate::packed_word::{self, Packed};
use crate::prefetch::{self, LINE};
use crate::run::{self, Run};
use std::ops::Range;

/// A word of the text, where it would stand in the cache, and what stands there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookup<'a> {
    /// The word.
    pub word: &'a [u8],
    key: u128, // the bytes of a short word
    slot: usize,
}

/// Marks the slot of a long word; no table has so many.
const IS_LONG: usize = 1 << (usize::BITS - 1);

/// Words of up to 16 bytes that have at most four tokens. A word may stand in either of two slots, which share a cache
/// line. It comes into the second one, and goes on to the first when it is met again: words that occur once, most of
/// all, push out only each other. Longer words stand in slots four times as large, the last one that came to each.
///
/// Tables start small, as most tokenizers meet few words and zeroing memory takes time, and grow to large pages.
#[derive(Debug)]
pub struct WordCache {
    tables: Tables,
    bytes: usize, // that the tables may take now
    most_bytes: usize,
    room: usize, // bytes, till the tables grow
}

/// Both tables, one behind the other.
#[derive(Debug)]
struct Tables {
    memory: Vec<u8>,
    sets: Range<usize>, // their bytes
    long: Range<usize>,
    bits: u32,
    long_bits: u32,
    seed: u64,
}

/// What the first tables may take.
const SMALL: usize = if cfg!(test) { 1 << 9 } else { 1 << 19 };

/// By how much tables grow.
const GROWTH: usize = 16;

/// Allocators take memory of more than 32 megabytes from the system: it is zero without being touched, and what is not used
/// costs nothing. Less they may take from what was freed before, and zero all of it.
const FRESH: usize = 33 << 20;

/// Two slots: a word and its run, and another word and its run.
type Set = [[u8; 16]; 4];

/// The bytes of a word, at `LENGTH` how many these are and at `SYMBOLS` the number of its tokens, at `TOKENS` the tokens.
type LongSlot = [u8; 128];

const LENGTH: usize = 62; // 0 there marks an empty slot
const SYMBOLS: usize = 63;
const TOKENS: usize = 64;

impl Tables {
    /// Tables that take no more than so many bytes.
    fn new(bytes: usize) -> Tables {
        let slots = |size: usize, bytes: usize| (bytes / size).checked_ilog2().unwrap_or(0).min(32);
        let bits = slots(size_of::<Set>(), (bytes / 4 * 3).saturating_sub(LINE));
        let long_bits = slots(size_of::<LongSlot>(), bytes / 4);
        let number = |bits: u32| if bits > 0 { 1_usize << bits } else { 0 };
        let (sets, long) = (size_of::<Set>() * number(bits), size_of::<LongSlot>() * number(long_bits));
        // Each set is one cache line, and what is large begins with a page.
        let is_large = sets + long >= large_pages::SIZE;
        let (align, least) = if is_large { (large_pages::SIZE, FRESH) } else { (LINE, 0) };
        let memory = vec![0; least.max(sets + long + align)];
        let start = memory.as_ptr().addr().wrapping_neg() % align;
        let (sets, long) = (start..start + sets, start + sets..start + sets + long);
        large_pages::ask(&memory[start..long.end]);
        Tables { memory, sets, long, bits, long_bits, seed: hash::seed() }
    }

    fn bytes(&self) -> usize {
        self.sets.len() + self.long.len()
    }

    #[inline]
    fn sets(&self) -> &[Set] {
        self.memory[self.sets.clone()].as_chunks().0.as_chunks().0
    }

    #[inline]
    fn sets_mut(&mut self) -> &mut [Set] {
        self.memory[self.sets.clone()].as_chunks_mut().0.as_chunks_mut().0
    }

    #[inline]
    fn long(&self) -> &[LongSlot] {
        self.memory[self.long.clone()].as_chunks().0
    }

    #[inline]
    fn long_mut(&mut self) -> &mut [LongSlot] {
        self.memory[self.long.clone()].as_chunks_mut().0
    }

    #[inline]
    fn slot(&self, key: [u64; 2]) -> usize {
        hash::slot(key.hash(self.seed), self.bits.max(1))
    }

    #[inline]
    fn long_slot(&self, word: &[u8]) -> usize {
        let hash = if self.long_bits > 0 { hash::bytes(self.seed, word) } else { 0 };
        hash::slot(hash, self.long_bits.max(1))
    }
}

impl WordCache {
    /// A cache that takes no more than so many bytes.
    pub fn new(most_bytes: usize) -> WordCache {
        let bytes = most_bytes.min(SMALL);
        let tables = Tables::new(bytes);
        WordCache { room: tables.bytes(), tables, bytes, most_bytes }
    }

    /// Lets the tables grow once as much was put into them as they hold; for a moment there are both. What was looked up
    /// before is not to be used any more.
    pub fn make_room(&mut self) {
        if self.room > 0 || self.bytes == self.most_bytes {
            return;
        }
        self.bytes = self.bytes.saturating_mul(GROWTH).min(self.most_bytes);
        let small = std::mem::replace(&mut self.tables, Tables::new(self.bytes));
        self.room = self.tables.bytes();
        for set in small.sets() {
            for (place, [word, run]) in set.as_chunks().0.iter().enumerate() {
                let key = u128::from_ne_bytes(*word);
                if key > 0 {
                    let slot = self.tables.slot(packed_word::halves(key));
                    self.tables.sets_mut()[slot].as_chunks_mut().0[place] = [*word, *run];
                }
            }
        }
        for word in small.long().iter().filter(|word| word[LENGTH] > 0) {
            let slot = self.tables.long_slot(&word[..usize::from(word[LENGTH])]);
            self.tables.long_mut()[slot] = *word;
        }
    }

    /// Asks for the slot of the word `text[start..end]`, some time before it is needed.
    #[inline(always)]
    pub fn look_up<'a>(&self, text: &'a [u8], start: usize, end: usize) -> Lookup<'a> {
        let word = &text[start..end];
        let (key, slot) = match packed_word::pack(text, start, end) {
            Some(key) => {
                let slot = self.tables.slot(key);
                prefetch::ahead(self.tables.sets(), slot);
                (u128::from(key[1]) << 64 | u128::from(key[0]), slot)
            }
            None => (0, self.look_up_long(word)),
        };
        Lookup { word, key, slot }
    }

    #[inline(never)]
    fn look_up_long(&self, word: &[u8]) -> usize {
        let slot = self.tables.long_slot(word);
        prefetch::ahead(self.tables.long(), slot);
        slot | IS_LONG
    }

    /// The tokens of a short word that is in the cache.
    #[inline(always)]
    pub fn get(&mut self, lookup: &Lookup<'_>) -> Option<Run> {
        let [word, run, other, other_run] = self.tables.sets_mut().get_mut(lookup.slot)?;
        let key = lookup.key.to_ne_bytes();
        if *word != key {
            if *other != key {
                return None;
            }
            std::mem::swap(word, other);
            std::mem::swap(run, other_run);
        }
        Some(unpacked(*run))
    }

    /// The tokens of a long word, in the bytes of each.
    pub fn get_long(&self, lookup: &Lookup<'_>) -> Option<&[[u8; 4]]> {
        let slot = self.tables.long().get(lookup.slot ^ IS_LONG)?;
        let (length, symbols) = (usize::from(slot[LENGTH]), usize::from(slot[SYMBOLS]));
        let is_it = length > 0 && slot.get(..length) == Some(lookup.word);
        slot[TOKENS..].as_chunks().0.get(..symbols).filter(|_| is_it)
    }

    /// Remembers a word that has a run.
    #[inline]
    pub fn put(&mut self, lookup: &Lookup<'_>, run: Run) {
        if let Some([_, _, word, place]) = self.tables.sets_mut().get_mut(lookup.slot) {
            self.room = self.room.saturating_sub(size_of::<Set>() / 2);
            (*word, *place) = (lookup.key.to_ne_bytes(), packed(run));
        } else {
            self.put_long(lookup, &run[..run::len(run)]);
        }
    }

    /// Remembers the tokens of a long word, if they fit.
    pub fn put_long(&mut self, lookup: &Lookup<'_>, tokens: &[u32]) {
        if let Some(slot) = self.tables.long_mut().get_mut(lookup.slot ^ IS_LONG)
            && let (Some(word), Ok(length)) =
                (slot[..LENGTH].get_mut(..lookup.word.len()), u8::try_from(lookup.word.len()))
            && let Ok(symbols @ 0..=16) = u8::try_from(tokens.len())
        {
            self.room = self.room.saturating_sub(size_of::<LongSlot>());
            word.copy_from_slice(lookup.word);
            (slot[LENGTH], slot[SYMBOLS]) = (length, symbols);
            let places = slot[TOKENS..].as_chunks_mut().0.iter_mut();
            places.zip(tokens).for_each(|(place, symbol)| *place = symbol.to_ne_bytes());
        }
    }
}

#[inline(always)]
fn packed(run: Run) -> [u8; 16] {
    run.into_iter().rev().fold(0, |all, symbol| all << 32 | u128::from(symbol)).to_ne_bytes()
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "the quarters of the number are wanted")]
fn unpacked(run: [u8; 16]) -> Run {
    let all = u128::from_ne_bytes(run);
    [all as u32, (all >> 32) as u32, (all >> 64) as u32, (all >> 96) as u32]
}
