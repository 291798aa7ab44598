//! A table of words, with how often each occurs.
//!
//! Cache misses decide the speed, so there are two tables: words of up to eight bytes stand in the table itself,
//! longer ones as a hash beside an offset into an arena. Words are looked up in batches: a first pass touches
//! their slots, so that the misses overlap, and a second one counts.

use crate::error::Error;
use crate::hash;
use std::ops::Range;

const BATCH: usize = 64;

/// The top bits of a hash say which of so many tables a word stands in.
const TABLE_BITS: u32 = 4;

/// Into how many tables words are dealt.
pub const TABLES: usize = 1 << TABLE_BITS;

/// Words and how often each occurs.
#[derive(Clone, Debug, Default)]
pub struct WordTable {
    short: Table<ShortSlot>,
    long: LongWords,
}

/// Words of more than eight bytes.
#[derive(Clone, Debug, Default)]
struct LongWords {
    table: Table<LongSlot>,
    arena: Vec<u8>, // the words, each behind its length in eight bytes
}

/// How a word is looked up.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// The bytes of a short word as one number.
    Short(u64),
    /// The hash of another one.
    Long(u64),
}

impl Key {
    /// The key of the word `text[start..end]`; `seed` is that of `hash`.
    #[inline]
    pub fn new(seed: u64, text: &[u8], start: usize, end: usize) -> Key {
        match short_key(text, start, end) {
            Some(key) => Key::Short(key),
            None => Key::Long(hash::bytes(seed, &text[start..end])),
        }
    }

    /// Which of the `TABLES` it belongs to.
    #[inline]
    pub fn table(self, seed: u64) -> usize {
        let hash = match self {
            Key::Short(key) => hash::number(seed, key),
            Key::Long(hash) => hash,
        };
        hash::slot(hash, TABLE_BITS)
    }
}

impl WordTable {
    /// Adds one to the counts of short words, by their keys.
    pub fn add_short(&mut self, keys: &[u64]) -> Result<(), Error> {
        let mut batch = [(0, 1); BATCH];
        keys.chunks(BATCH).try_for_each(|keys| {
            batch.iter_mut().zip(keys).for_each(|(word, &key)| word.0 = key);
            self.short.add(&batch[..keys.len()])
        })
    }

    /// Adds one to the counts of long words, given with their hashes.
    pub fn add_long<'a>(&mut self, words: impl Iterator<Item = (u64, &'a [u8])>) -> Result<(), Error> {
        in_batches(words.map(|(hash, word)| (hash, word, 1)), |batch| self.long.add(batch))
    }

    /// Adds to the count of one word.
    pub fn add(&mut self, key: Key, word: &[u8], count: u64) -> Result<(), Error> {
        match key {
            Key::Short(key) => self.short.add(&[(key, count)]),
            Key::Long(hash) => self.long.add(&[(hash, word, count)]),
        }
    }

    /// Adds all counts of another table.
    pub fn merge(&mut self, other: &WordTable) -> Result<(), Error> {
        self.short.merge(&other.short)?;
        self.long.merge(&other.long)
    }

    /// How often a word occurs.
    pub fn get(&self, key: Key, word: &[u8]) -> u64 {
        match key {
            Key::Short(key) => self.short.count(hash::number(hash::seed(), key), |slot| slot.0 == key),
            Key::Long(hash) => {
                let hash = hash | 1;
                let is_it = |slot: &LongSlot| slot.hash == hash && self.long.word_at(slot.start) == word;
                self.long.table.count(hash, is_it)
            }
        }
    }

    /// The number of distinct words.
    pub fn words(&self) -> usize {
        self.short.used + self.long.table.used
    }

    /// The number of words, each as often as it occurs.
    pub fn total(&self) -> u128 {
        let short = self.short.slots.iter().map(|slot| u128::from(slot.1));
        let long = self.long.table.slots.iter().map(|slot| u128::from(slot.count));
        short.sum::<u128>() + long.sum::<u128>()
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.short.slots) + size_of_val(&*self.long.table.slots) + self.long.arena.capacity()
    }

    /// All words with their counts, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (Word<'_>, u64)> {
        let short =
            self.short.slots.iter().filter(|slot| slot.0 > 0).map(|slot| (Word::short(slot.0), slot.1));
        let long = self.long.table.slots.iter().filter(|slot| slot.hash > 0);
        short.chain(long.map(|slot| (Word::Long(self.long.word_at(slot.start)), slot.count)))
    }

    /// How many slots there are, those of short words first.
    pub fn slots(&self) -> usize {
        self.short.slots.len() + self.long.table.slots.len()
    }

    /// Calls `f` with the words in these slots and their counts. Faster than `iter`: the words of a batch of slots are
    /// touched before the first one is needed.
    pub fn for_each_word(
        &self,
        slots: Range<usize>,
        f: &mut impl FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let shorts = self.short.slots.len();
        let short = slots.start.min(shorts)..slots.end.min(shorts);
        let long = slots.start.max(shorts) - shorts..slots.end.max(shorts) - shorts;
        for slot in self.short.slots[short].iter().filter(|slot| slot.0 > 0) {
            f(&Word::short(slot.0), slot.1)?;
        }
        for batch in self.long.table.slots[long].chunks(BATCH) {
            let words = batch.iter().filter(|slot| slot.hash > 0);
            let touched =
                words.clone().filter_map(|slot| self.long.arena.get(slot.start)).fold(0, |sum, &b| sum ^ b);
            std::hint::black_box(touched);
            for slot in words {
                f(self.long.word_at(slot.start), slot.count)?;
            }
        }
        Ok(())
    }
}

/// Calls `f` with all items, some at a time.
fn in_batches<T>(
    mut items: impl Iterator<Item = T>,
    mut f: impl FnMut(&[T]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        batch.clear();
        batch.extend(items.by_ref().take(BATCH));
        if batch.is_empty() {
            return Ok(());
        }
        f(&batch)?;
    }
}

/// The bytes of a word; a short one is unpacked from its slot.
#[derive(Clone, Copy, Debug)]
pub enum Word<'a> {
    /// The bytes, and how many of them count.
    Short([u8; 8], usize),
    /// A word in the arena.
    Long(&'a [u8]),
}

impl Word<'_> {
    fn short(key: u64) -> Word<'static> {
        Word::Short(key.to_le_bytes(), 8 - key.leading_zeros() as usize / 8)
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
            Word::Short(bytes, len) => &bytes[..*len],
            Word::Long(bytes) => bytes,
        }
    }
}

/// The bytes of `text[start..end]` as one number, if there are one to eight and the last is not NUL: then no two
/// words share a number, and none has 0.
#[inline]
fn short_key(text: &[u8], start: usize, end: usize) -> Option<u64> {
    let len = end - start;
    if len.wrapping_sub(1) >= 8 || text[end - 1] == 0 {
        return None;
    }
    if let Some((eight, _)) = text[start..].split_first_chunk::<8>() {
        return Some(u64::from_le_bytes(*eight) & (u64::MAX >> (64 - 8 * len)));
    }
    let mut eight = [0; 8];
    eight[..len].copy_from_slice(&text[start..end]);
    Some(u64::from_le_bytes(eight))
}

/// A short word's key and count; key 0 marks an empty slot.
type ShortSlot = (u64, u64);

#[derive(Clone, Copy, Debug, Default)]
struct LongSlot {
    hash: u64, // 0 marks an empty slot
    start: usize,
    count: u64,
}

trait Slot: Copy + Default {
    fn is_empty(&self) -> bool;
    fn hash(&self) -> u64;
    fn count(&self) -> u64;
}

impl Slot for ShortSlot {
    fn is_empty(&self) -> bool {
        self.0 == 0
    }
    fn hash(&self) -> u64 {
        hash::number(hash::seed(), self.0)
    }
    fn count(&self) -> u64 {
        self.1
    }
}

impl Slot for LongSlot {
    fn is_empty(&self) -> bool {
        self.hash == 0
    }
    fn hash(&self) -> u64 {
        self.hash
    }
    fn count(&self) -> u64 {
        self.count
    }
}

/// Open addressing with linear probing, at most three quarters full.
#[derive(Clone, Debug, Default)]
struct Table<S> {
    slots: Vec<S>,
    bits: u32,
    used: usize,
}

impl<S: Slot> Table<S> {
    /// Where the slot of a hash would be, if no other took it. All words of a table agree in the top bits.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        hash::slot(hash << TABLE_BITS, self.bits)
    }

    /// The count of the word whose slot `is_it`.
    fn count(&self, hash: u64, is_it: impl Fn(&S) -> bool) -> u64 {
        if self.used == 0 {
            return 0;
        }
        self.find(self.place(hash), is_it).map_or(0, |at| self.slots[at].count())
    }

    /// The slot that `is_it`, or the empty one where it belongs.
    #[inline]
    fn find(&self, place: usize, is_it: impl Fn(&S) -> bool) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = place;
        loop {
            let slot = &self.slots[at];
            if slot.is_empty() {
                return Err(at);
            }
            if is_it(slot) {
                return Ok(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// Makes room for `more` words.
    #[inline]
    fn reserve(&mut self, more: usize) {
        if self.used + more > self.slots.len() / 4 * 3 {
            self.grow(self.used + more);
        }
    }

    #[cold]
    fn grow(&mut self, least: usize) {
        self.bits = hash::bits_for(least / 3 * 4 + 4).max(self.bits + 1);
        let old = std::mem::replace(&mut self.slots, vec![S::default(); 1 << self.bits]);
        for slot in old.into_iter().filter(|slot| !slot.is_empty()) {
            if let Err(at) = self.find(self.place(slot.hash()), |_| false) {
                self.slots[at] = slot;
            }
        }
    }
}

impl Table<ShortSlot> {
    fn add(&mut self, batch: &[ShortSlot]) -> Result<(), Error> {
        self.reserve(batch.len());
        let seed = hash::seed();
        let place = |table: &Self, key| table.place(hash::number(seed, key));
        // Nothing is stored here: what waits to be stored limits how many cache misses overlap.
        let touched = batch.iter().fold(0, |all, (key, _)| all ^ self.slots[place(self, *key)].0);
        std::hint::black_box(touched);
        for (key, count) in batch {
            let at = match self.find(place(self, *key), |slot| slot.0 == *key) {
                Ok(at) => at,
                Err(at) => {
                    self.used += 1;
                    self.slots[at].0 = *key;
                    at
                }
            };
            let slot = &mut self.slots[at].1;
            *slot = slot.checked_add(*count).ok_or_else(|| Error::word_overflow(&Word::short(*key)))?;
        }
        Ok(())
    }

    /// Adds all counts of another table.
    fn merge(&mut self, other: &Table<ShortSlot>) -> Result<(), Error> {
        // Words come in the order of their hashes. In a table that grows meanwhile they would crowd in a corner of it.
        self.reserve(other.used);
        in_batches(other.slots.iter().copied().filter(|slot| slot.0 > 0), |batch| self.add(batch))
    }
}

impl LongWords {
    fn add(&mut self, batch: &[(u64, &[u8], u64)]) -> Result<(), Error> {
        self.table.reserve(batch.len());
        let mut starts = [usize::MAX; BATCH];
        for (start, (hash, ..)) in starts.iter_mut().zip(batch) {
            let slot = &self.table.slots[self.table.place(*hash)];
            if slot.hash == *hash | 1 {
                *start = slot.start;
            }
        }
        // Touch the words themselves too, or their misses would come one by one.
        let touched =
            starts.iter().filter_map(|&start| self.arena.get(start)).fold(0, |sum, &byte| sum ^ byte);
        std::hint::black_box(touched);
        for &(hash, word, count) in batch {
            let hash = hash | 1; // 0 marks an empty slot
            let place = self.table.place(hash);
            let at =
                match self.table.find(place, |slot| slot.hash == hash && self.word_at(slot.start) == word) {
                    Ok(at) => at,
                    Err(at) => {
                        self.table.used += 1;
                        let start = self.arena.len();
                        self.arena.extend((word.len() as u64).to_le_bytes());
                        self.arena.extend(word);
                        self.table.slots[at] = LongSlot { hash, start, count: 0 };
                        at
                    }
                };
            let slot = &mut self.table.slots[at].count;
            *slot = slot.checked_add(count).ok_or_else(|| Error::word_overflow(word))?;
        }
        Ok(())
    }

    /// Adds all counts of other words.
    fn merge(&mut self, other: &LongWords) -> Result<(), Error> {
        self.table.reserve(other.table.used); // see `Table::merge`
        let words = other.table.slots.iter().filter(|slot| slot.hash > 0);
        in_batches(words.map(|slot| (slot.hash, other.word_at(slot.start), slot.count)), |batch| {
            self.add(batch)
        })
    }

    fn word_at(&self, start: usize) -> &[u8] {
        let (len, rest) = self.arena[start..].split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        &rest[..usize::try_from(u64::from_le_bytes(*len)).unwrap_or(0)]
    }
}
