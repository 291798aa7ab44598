//! A table of words, with how often each occurs.
//!
//! Cache misses decide the speed, so there are three tables: words of up to eight bytes and of up to sixteen stand in
//! the table itself, longer ones as a hash beside an offset into an arena. What will be
//! looked up next is asked for some words ahead, so that the misses overlap.

use crate::arena_words::ArenaWords;
use crate::error::Error;
use crate::packed_words::PackedWords;
use crate::word::{Key, Word};
use crate::word_slots::in_batches;
use std::ops::Range;

/// Words and how often each occurs.
#[derive(Clone, Debug, Default)]
pub struct WordTable {
    short: PackedWords<u64>,
    middle: PackedWords<[u64; 2]>,
    long: ArenaWords,
}

impl WordTable {
    /// Adds one to the counts of words of up to eight bytes.
    pub fn add_short(&mut self, words: &[u64]) -> Result<(), Error> {
        self.short.add_each(words)
    }

    /// Adds one to the counts of words of up to sixteen bytes.
    pub fn add_middle(&mut self, words: &[[u64; 2]]) -> Result<(), Error> {
        self.middle.add_each(words)
    }

    /// Adds one to the counts of longer words, given with their hashes.
    pub fn add_long<'a>(&mut self, words: impl Iterator<Item = (u64, &'a [u8])>) -> Result<(), Error> {
        in_batches(words.map(|(hash, word)| (hash, word, 1)), |batch| self.long.add(batch))
    }

    /// Adds to the count of one word.
    pub fn add(&mut self, key: Key, word: &[u8], count: u64) -> Result<(), Error> {
        match key {
            Key::Short(short) => self.short.add(&[(short, count)]),
            Key::Middle(middle) => self.middle.add(&[(middle, count)]),
            Key::Long(hash) => self.long.add(&[(hash, word, count)]),
        }
    }

    /// Adds all counts of another table.
    pub fn merge(&mut self, other: &WordTable) -> Result<(), Error> {
        self.short.merge(&other.short)?;
        self.middle.merge(&other.middle)?;
        self.long.merge(&other.long)
    }

    /// Takes out all words; the memory stays.
    pub fn clear(&mut self) {
        self.short.clear();
        self.middle.clear();
        self.long.clear();
    }

    /// How often a word occurs.
    pub fn get(&self, key: Key, word: &[u8]) -> u64 {
        match key {
            Key::Short(short) => self.short.get(short),
            Key::Middle(middle) => self.middle.get(middle),
            Key::Long(hash) => self.long.get(hash, word),
        }
    }

    /// The number of distinct words.
    pub fn words(&self) -> usize {
        self.short.words() + self.middle.words() + self.long.words()
    }

    /// The number of words, each as often as it occurs.
    pub fn total(&self) -> u128 {
        self.iter().map(|(_, count)| u128::from(count)).sum()
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.short.memory() + self.middle.memory() + self.long.memory()
    }

    /// All words with their counts, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (Word<'_>, u64)> {
        let short = self.short.iter(0..self.short.slots());
        let middle = self.middle.iter(0..self.middle.slots());
        short.chain(middle).chain(self.long.iter().map(|(word, count)| (Word::Long(word), count)))
    }

    /// How many slots there are, those of short words first.
    pub fn slots(&self) -> usize {
        self.short.slots() + self.middle.slots() + self.long.slots()
    }

    /// Calls `f` with the words in these slots and their counts.
    pub fn for_each_word(
        &self,
        slots: Range<usize>,
        f: &mut impl FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (short, rest) = split(slots, self.short.slots());
        let (middle, long) = split(rest, self.middle.slots());
        self.short.iter(short).try_for_each(|(word, count)| f(&word, count))?;
        self.middle.iter(middle).try_for_each(|(word, count)| f(&word, count))?;
        self.long.for_each(long, f)
    }
}

/// The part of a range below `at`, and the rest, counted from there.
pub fn split(range: Range<usize>, at: usize) -> (Range<usize>, Range<usize>) {
    let below = range.start.min(at)..range.end.min(at);
    let rest = range.start.saturating_sub(at)..range.end.saturating_sub(at);
    (below, rest)
}
