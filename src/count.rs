//! How often each word occurs.
//!
//! The words are dealt into a fixed number of tables by their hashes. So threads that count need no locks and fill no
//! table twice, and a table that grows is small.

use crate::dealt_words::DealtWords;
use crate::error::Error;
use crate::hash;
use crate::parallel;
use crate::word::{Key, Word};
use crate::word_slots::{self, TABLES};
use crate::word_table::{WordTable, split};
use std::ops::Range;

/// Words and how often each occurs.
#[derive(Clone, Debug, Default)]
pub struct WordCounts {
    tables: Vec<WordTable>, // `TABLES` of them, or none while there are no words
}

impl WordCounts {
    /// Counts words that were dealt from several texts, on as many threads.
    pub fn add_dealt(&mut self, dealt: &[(&[u8], &DealtWords)]) -> Result<(), Error> {
        self.for_each_table(dealt.len(), |number, table| {
            dealt.iter().try_for_each(|(text, words)| words.count(text, number, table))
        })
    }

    /// Counts all words of `text`, generalized UTF-8.
    pub fn add_text(&mut self, text: &[u8]) -> Result<(), Error> {
        let mut words = DealtWords::default();
        words.deal(text);
        self.add_dealt(&[(text, &words)])
    }

    /// Counts one word, taken as it is, `count` times; the empty word counts as any other.
    pub fn add(&mut self, word: &[u8], count: u64) -> Result<(), Error> {
        let (key, table) = place(word);
        self.tables_mut()[table].add(key, word, count)
    }

    /// Adds all counts of another table; on an overflow nothing is added.
    pub fn merge(&mut self, other: &WordCounts) -> Result<(), Error> {
        if self.total() + other.total() > u128::from(u64::MAX) {
            for (word, count) in other.iter() {
                if self.get(&word).checked_add(count).is_none() {
                    return Err(Error::word_overflow(&word));
                }
            }
        }
        self.add_all(other, 1)
    }

    /// Adds all counts of another table, on so many threads; on an overflow some of them.
    pub fn add_all(&mut self, other: &WordCounts, threads: usize) -> Result<(), Error> {
        self.for_each_table(threads, |number, table| {
            other.tables.get(number).map_or(Ok(()), |other| table.merge(other))
        })
    }

    /// All tables, made now if there were none.
    fn tables_mut(&mut self) -> &mut [WordTable] {
        self.tables.resize_with(TABLES, WordTable::default);
        &mut self.tables
    }

    /// Calls `f` with the number of each table and the table, on so many threads.
    fn for_each_table(
        &mut self,
        threads: usize,
        f: impl Fn(usize, &mut WordTable) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let share = TABLES.div_ceil(threads.max(1));
        let mut work: Vec<_> = self.tables_mut().chunks_mut(share).zip((0..).step_by(share)).collect();
        let done = parallel::run(&mut work, |(tables, first)| {
            tables.iter_mut().zip(*first..).try_for_each(|(table, number)| f(number, table))
        });
        done.into_iter().collect()
    }

    /// Takes out all words; the memory stays.
    pub fn clear(&mut self) {
        self.tables.iter_mut().for_each(WordTable::clear);
    }

    /// How often a word occurs.
    pub fn get(&self, word: &[u8]) -> u64 {
        let (key, table) = place(word);
        self.tables.get(table).map_or(0, |table| table.get(key, word))
    }

    /// The number of distinct words.
    pub fn len(&self) -> usize {
        self.tables.iter().map(WordTable::words).sum()
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of words, each as often as it occurs.
    pub fn total(&self) -> u128 {
        self.tables.iter().map(WordTable::total).sum()
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.tables.iter().map(WordTable::memory).sum()
    }

    /// All words with their counts, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (Word<'_>, u64)> {
        self.tables.iter().flat_map(WordTable::iter)
    }

    /// Cuts the words into parts of about equal size.
    pub fn parts(&self, parts: usize) -> Vec<Part> {
        let slots: usize = self.tables.iter().map(WordTable::slots).sum();
        (0..parts).map(|i| Part(slots * i / parts..slots * (i + 1) / parts)).collect()
    }

    /// Calls `f` with the words of a part and their counts, and takes them off it; stops after `most` slots.
    pub fn take_words(
        &self,
        part: &mut Part,
        most: usize,
        mut f: impl FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let end = part.0.end.min(part.0.start.saturating_add(most));
        let mut wanted = std::mem::replace(&mut part.0.start, end)..end;
        for table in &self.tables {
            let (here, rest) = split(wanted, table.slots());
            table.for_each_word(here, &mut f)?;
            wanted = rest;
        }
        Ok(())
    }

    /// All words with their counts, in code point order.
    pub fn sorted_by_word(&self) -> Vec<(Word<'_>, u64)> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// All words with their counts: the most frequent first, in code point order among equals.
    pub fn sorted_by_count(&self) -> Vec<(Word<'_>, u64)> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }
}

impl PartialEq for WordCounts {
    fn eq(&self, other: &WordCounts) -> bool {
        self.len() == other.len() && self.iter().all(|(word, count)| other.get(&word) == count)
    }
}

/// The key of a word, and the number of its table.
fn place(word: &[u8]) -> (Key, usize) {
    let seed = hash::seed();
    let key = Key::new(seed, word, 0, word.len());
    (key, word_slots::table(key.hash(seed)))
}

/// A part of the words, by the slots they stand in: those of all tables in a row.
#[derive(Clone, Debug)]
pub struct Part(Range<usize>);

impl Part {
    /// Whether no slots are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whitespace;
    use std::collections::HashMap;

    fn counted(text: &str) -> WordCounts {
        let mut counts = WordCounts::default();
        counts.add_text(text.as_bytes()).unwrap();
        counts
    }

    #[test]
    fn words_of_every_length_are_counted() {
        let mut text = String::new();
        let mut expected: HashMap<String, u64> = HashMap::new();
        for i in 0..20_000_usize {
            let word = format!("{}\0{}", "é".repeat(i % 7), "x".repeat(i % 13)) + &(i % 997).to_string();
            let word = if i % 5 == 0 { word + "\0" } else { word };
            *expected.entry(word.clone()).or_default() += 1;
            text += &word;
            text += ["\u{1c}", " ", "\u{3000}\n"][i % 3];
        }
        let counts = counted(&text);
        assert_eq!(counts.len(), expected.len());
        assert_eq!(counts.total(), 20_000);
        for (word, count) in counts.iter() {
            assert_eq!(expected[std::str::from_utf8(&word).unwrap()], count);
            assert_eq!(counts.get(&word), count);
        }
        for parts in 1..5 {
            let mut sum = WordCounts::default();
            for piece in whitespace::cut(text.as_bytes(), parts) {
                sum.merge(&counted(std::str::from_utf8(piece).unwrap())).unwrap();
            }
            assert_eq!(sum, counts);
            let mut seen = HashMap::new();
            for part in &mut counts.parts(parts) {
                while !part.is_empty() {
                    let add = |word: &[u8], count| {
                        assert_eq!(seen.insert(word.to_vec(), count), None);
                        Ok(())
                    };
                    counts.take_words(part, 997, add).unwrap();
                }
            }
            assert_eq!(seen.len(), expected.len());
            assert!(seen.iter().all(|(word, count)| expected[std::str::from_utf8(word).unwrap()] == *count));
        }
    }

    #[test]
    fn an_overflow_is_refused_and_changes_nothing_in_a_merge() {
        let mut counts = counted("a bb a-word-of-many-bytes");
        counts.add(b"bb", u64::MAX - 1).unwrap();
        assert!(counts.add(b"bb", 1).is_err());
        let before = counts.clone();
        for word in ["bb", "zz bb"] {
            assert!(counts.merge(&counted(word)).is_err());
            assert_eq!(counts, before);
        }
        counts.merge(&counted("a")).unwrap();
        assert_eq!(counts.get(b"a"), 2);
        assert_eq!(counts.get(b""), 0);
    }
}
