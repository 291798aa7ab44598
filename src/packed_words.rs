//! Packed words, with how often each occurs: they stand in the table itself.

use crate::error::Error;
use crate::hash;
use crate::packed_word::Packed;
use crate::word::Word;
use crate::word_slots::{BATCH, Slot, Table, in_batches};
use std::ops::Range;

/// Slots are asked for so many words before they are needed.
const AHEAD: usize = 32;

/// These words.
#[derive(Clone, Debug, Default)]
pub struct PackedWords<P> {
    table: Table<(P, u64)>,
}

/// A word and its count; all zero in an empty slot.
impl<P: Packed> Slot for (P, u64) {
    fn is_empty(&self) -> bool {
        self.0 == P::default()
    }
    fn hash(&self) -> u64 {
        self.0.hash(hash::seed())
    }
    fn count(&self) -> u64 {
        self.1
    }
}

impl<P: Packed> PackedWords<P> {
    /// Adds to the counts of some words.
    pub fn add(&mut self, words: &[(P, u64)]) -> Result<(), Error> {
        self.add_all(words, |&pair| pair)
    }

    /// Adds one to the counts of all these words.
    pub fn add_each(&mut self, words: &[P]) -> Result<(), Error> {
        self.add_all(words, |&word| (word, 1))
    }

    fn add_all<T>(&mut self, words: &[T], get: impl Fn(&T) -> (P, u64)) -> Result<(), Error> {
        let seed = hash::seed();
        let prefetch = |table: &Table<_>, word: &T| table.prefetch(get(word).0.hash(seed));
        self.table.reserve(BATCH.min(words.len()));
        words.iter().take(AHEAD).for_each(|word| prefetch(&self.table, word));
        for (i, word) in words.iter().enumerate() {
            if i % BATCH == 0 {
                self.table.reserve(BATCH.min(words.len() - i));
            }
            if let Some(later) = words.get(i + AHEAD) {
                prefetch(&self.table, later);
            }
            let (word, count) = get(word);
            let slot = self.table.find_or_add(word.hash(seed), |slot| slot.0 == word, (word, 0));
            slot.1 = slot.1.checked_add(count).ok_or_else(|| Error::word_overflow(&Word::unpacked(word)))?;
        }
        Ok(())
    }

    /// Adds all counts of other words.
    pub fn merge(&mut self, other: &PackedWords<P>) -> Result<(), Error> {
        // Words come in the order of their hashes. In a table that grows meanwhile they would crowd in a corner of it.
        self.table.reserve(other.table.used());
        in_batches(other.table.with_words(0..other.slots()).copied(), |batch| self.add(batch))
    }

    /// Takes out all words; the memory stays.
    pub fn clear(&mut self) {
        self.table.clear();
    }

    /// How often a word occurs.
    pub fn get(&self, word: P) -> u64 {
        self.table.count(word.hash(hash::seed()), |slot| slot.0 == word)
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
        self.table.memory()
    }

    /// The words in these slots with their counts.
    pub fn iter<'a>(&'a self, slots: Range<usize>) -> impl Iterator<Item = (Word<'a>, u64)> + use<'a, P> {
        self.table.with_words(slots).map(|&(word, count)| (Word::unpacked(word), count))
    }
}
