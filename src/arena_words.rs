//! Words of more than 16 bytes, with how often each occurs: a hash beside an offset into an arena.

use crate::error::Error;
use crate::word_slots::{BATCH, Slot, Table, in_batches};
use std::ops::Range;

/// These words, and all others that cannot be packed.
#[derive(Clone, Debug, Default)]
pub struct ArenaWords {
    table: Table<ArenaSlot>,
    arena: Vec<u8>, // the words, each behind its length in eight bytes
}

#[derive(Clone, Copy, Debug, Default)]
struct ArenaSlot {
    hash: u64, // 0 marks an empty slot
    start: usize,
    count: u64,
}

impl Slot for ArenaSlot {
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

impl ArenaWords {
    /// Adds to the counts of some words, given with their hashes.
    pub fn add(&mut self, batch: &[(u64, &[u8], u64)]) -> Result<(), Error> {
        self.table.reserve(batch.len());
        let mut starts = [usize::MAX; BATCH];
        for (start, (hash, ..)) in starts.iter_mut().zip(batch) {
            let slot = self.table.at_home(*hash);
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
            let arena = &mut self.arena;
            let slot = self.table.find_or_add(
                hash,
                |slot| slot.hash == hash && word_at(arena, slot.start) == word,
                ArenaSlot { hash, start: arena.len(), count: 0 },
            );
            if slot.start == arena.len() {
                arena.extend((word.len() as u64).to_le_bytes());
                arena.extend(word);
            }
            slot.count = slot.count.checked_add(count).ok_or_else(|| Error::word_overflow(word))?;
        }
        Ok(())
    }

    /// Adds all counts of other words.
    pub fn merge(&mut self, other: &ArenaWords) -> Result<(), Error> {
        self.table.reserve(other.table.used()); // see `PackedWords::merge`
        let words = other.table.with_words(0..other.slots());
        in_batches(words.map(|slot| (slot.hash, word_at(&other.arena, slot.start), slot.count)), |batch| {
            self.add(batch)
        })
    }

    /// Takes out all words; the memory stays.
    pub fn clear(&mut self) {
        self.table.clear();
        self.arena.clear();
    }

    /// How often a word occurs.
    pub fn get(&self, hash: u64, word: &[u8]) -> u64 {
        let hash = hash | 1;
        self.table.count(hash, |slot| slot.hash == hash && word_at(&self.arena, slot.start) == word)
    }

    /// The number of distinct words.
    pub fn words(&self) -> usize {
        self.table.used()
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.table.slots()
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.table.memory() + self.arena.capacity()
    }

    /// All words with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.table.with_words(0..self.slots()).map(|slot| (word_at(&self.arena, slot.start), slot.count))
    }

    /// Calls `f` with the words in these slots and their counts. Faster than `iter`: the words of a batch of slots are
    /// touched before the first one is needed.
    pub fn for_each(
        &self,
        slots: Range<usize>,
        mut f: impl FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        in_batches(self.table.with_words(slots), |batch| {
            let starts = batch.iter().filter_map(|slot| self.arena.get(slot.start));
            std::hint::black_box(starts.fold(0, |sum, &byte| sum ^ byte));
            batch.iter().try_for_each(|slot| f(word_at(&self.arena, slot.start), slot.count))
        })
    }
}

fn word_at(arena: &[u8], start: usize) -> &[u8] {
    let (len, rest) = arena[start..].split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
    &rest[..usize::try_from(u64::from_le_bytes(*len)).unwrap_or(0)]
}
