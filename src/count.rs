//! How often each word occurs.
//!
//! Cache misses decide the speed, so there are two tables: words of up to eight bytes stand in the table itself,
//! longer ones as a hash beside an offset into an arena. Words are looked up in batches: a first pass touches
//! their slots, so that the misses overlap, and a second one counts.

use crate::error::Error;
use crate::{hash, whitespace};
use std::ops::Range;

const BATCH: usize = 64;

/// Words and how often each occurs.
#[derive(Clone, Debug, Default)]
pub struct WordCounts {
    short: Table<ShortSlot>,
    long: LongWords,
}

/// Words of more than eight bytes.
#[derive(Clone, Debug, Default)]
struct LongWords {
    table: Table<LongSlot>,
    arena: Vec<u8>, // the words, each behind its length in eight bytes
}

impl WordCounts {
    /// Counts all words of `text`, generalized UTF-8.
    pub fn add_text(&mut self, text: &[u8]) -> Result<(), Error> {
        let mut short = [(0, 1); BATCH];
        let mut long = [(0, &[][..], 1); BATCH];
        let (mut shorts, mut longs) = (0, 0);
        let seed = hash::seed();
        let mut result = Ok(());
        whitespace::for_each_word(text, |start, end| {
            if let Some(key) = short_key(text, start, end) {
                short[shorts].0 = key;
                shorts += 1;
                if shorts == BATCH {
                    shorts = 0;
                    result = std::mem::replace(&mut result, Ok(())).and(self.short.add(&short));
                }
            } else {
                let word = &text[start..end];
                long[longs] = (hash::bytes(seed, word), word, 1);
                longs += 1;
                if longs == BATCH {
                    longs = 0;
                    result = std::mem::replace(&mut result, Ok(())).and(self.long.add(&long));
                }
            }
        });
        result.and(self.short.add(&short[..shorts])).and(self.long.add(&long[..longs]))
    }

    /// Counts one word, taken as it is, `count` times; the empty word counts as any other.
    pub fn add(&mut self, word: &[u8], count: u64) -> Result<(), Error> {
        match short_key(word, 0, word.len()) {
            Some(key) => self.short.add(&[(key, count)]),
            None => self.long.add(&[(hash::bytes(hash::seed(), word), word, count)]),
        }
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
        self.short.merge(&other.short)?;
        self.long.merge(&other.long)
    }

    /// The sum of the tables that several threads have filled. Short words are added up on one thread, long ones on
    /// another.
    pub fn merged(tables: Vec<WordCounts>) -> Result<WordCounts, Error> {
        tables.into_iter().try_fold(WordCounts::default(), |mut sum, table| {
            if sum.is_empty() {
                return Ok(table);
            }
            let WordCounts { short, long } = &mut sum;
            std::thread::scope(|scope| {
                let short = scope.spawn(|| short.merge(&table.short));
                long.merge(&table.long)?;
                short.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })?;
            Ok(sum)
        })
    }

    /// How often a word occurs.
    pub fn get(&self, word: &[u8]) -> u64 {
        if let Some(key) = short_key(word, 0, word.len()) {
            let place = hash::slot(hash::number(hash::seed(), key), self.short.bits);
            return self.short.find(place, |slot| slot.0 == key).map_or(0, |at| self.short.slots[at].1);
        }
        let hash = hash::bytes(hash::seed(), word) | 1;
        let place = hash::slot(hash, self.long.table.bits);
        self.long
            .table
            .find(place, |slot| slot.hash == hash && self.long.word_at(slot.start) == word)
            .map_or(0, |at| self.long.table.slots[at].count)
    }

    /// The number of distinct words.
    pub fn len(&self) -> usize {
        self.short.used + self.long.table.used
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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

    /// Cuts the words into parts of about equal size.
    pub fn parts(&self, parts: usize) -> Vec<Part> {
        let cut = |slots: usize, i: usize| slots * i / parts..slots * (i + 1) / parts;
        let part =
            |i| Part { short: cut(self.short.slots.len(), i), long: cut(self.long.table.slots.len(), i) };
        (0..parts).map(part).collect()
    }

    /// Calls `f` with the words of a part and their counts, and takes them off it; stops after about `most` slots.
    /// Faster than `iter`: the words of a batch of slots are touched before the first one is needed.
    pub fn take_words(
        &self,
        part: &mut Part,
        most: usize,
        mut f: impl FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for slot in self.short.slots[take(&mut part.short, most)].iter().filter(|slot| slot.0 > 0) {
            f(&Word::short(slot.0), slot.1)?;
        }
        for batch in self.long.table.slots[take(&mut part.long, most)].chunks(BATCH) {
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

/// A part of the words of a table, by the slots they stand in.
#[derive(Clone, Debug)]
pub struct Part {
    short: Range<usize>,
    long: Range<usize>,
}

impl Part {
    /// Whether no slots are left.
    pub fn is_empty(&self) -> bool {
        self.short.is_empty() && self.long.is_empty()
    }
}

/// Takes the first `most` numbers off a range.
fn take(range: &mut Range<usize>, most: usize) -> Range<usize> {
    let end = range.end.min(range.start.saturating_add(most));
    std::mem::replace(&mut range.start, end)..end
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
}

impl Slot for ShortSlot {
    fn is_empty(&self) -> bool {
        self.0 == 0
    }
    fn hash(&self) -> u64 {
        hash::number(hash::seed(), self.0)
    }
}

impl Slot for LongSlot {
    fn is_empty(&self) -> bool {
        self.hash == 0
    }
    fn hash(&self) -> u64 {
        self.hash
    }
}

/// Open addressing with linear probing, at most three quarters full.
#[derive(Clone, Debug)]
struct Table<S> {
    slots: Vec<S>,
    bits: u32,
    used: usize,
}

impl<S: Slot> Default for Table<S> {
    fn default() -> Table<S> {
        Table { slots: vec![S::default(); 2], bits: 1, used: 0 }
    }
}

impl<S: Slot> Table<S> {
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
            if let Err(at) = self.find(hash::slot(slot.hash(), self.bits), |_| false) {
                self.slots[at] = slot;
            }
        }
    }
}

impl Table<ShortSlot> {
    fn add(&mut self, batch: &[ShortSlot]) -> Result<(), Error> {
        self.reserve(batch.len());
        let seed = hash::seed();
        let mut places = [(0, 0); BATCH];
        for (place, (key, _)) in places.iter_mut().zip(batch) {
            let at = hash::slot(hash::number(seed, *key), self.bits);
            *place = (at, self.slots[at].0);
        }
        for ((mut at, there), (key, count)) in places.into_iter().zip(batch) {
            if there != *key {
                at = match self.find(at, |slot| slot.0 == *key) {
                    Ok(at) => at,
                    Err(at) => {
                        self.used += 1;
                        self.slots[at].0 = *key;
                        at
                    }
                };
            }
            let slot = &mut self.slots[at].1;
            *slot = slot.checked_add(*count).ok_or_else(|| Error::word_overflow(&Word::short(*key)))?;
        }
        Ok(())
    }

    /// Adds all counts of another table.
    fn merge(&mut self, other: &Table<ShortSlot>) -> Result<(), Error> {
        // Words come in the order of their hashes. In a table that grows meanwhile they would crowd in a corner of it.
        self.reserve(other.used);
        let mut words = other.slots.iter().copied().filter(|slot| slot.0 > 0);
        loop {
            let batch: Vec<_> = (&mut words).take(BATCH).collect();
            if batch.is_empty() {
                return Ok(());
            }
            self.add(&batch)?;
        }
    }
}

impl LongWords {
    fn add(&mut self, batch: &[(u64, &[u8], u64)]) -> Result<(), Error> {
        self.table.reserve(batch.len());
        let mut starts = [usize::MAX; BATCH];
        for (start, (hash, ..)) in starts.iter_mut().zip(batch) {
            let slot = &self.table.slots[hash::slot(*hash | 1, self.table.bits)];
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
            let place = hash::slot(hash, self.table.bits);
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
        let mut words = other.table.slots.iter().filter(|slot| slot.hash > 0);
        loop {
            let batch: Vec<_> = (&mut words)
                .take(BATCH)
                .map(|slot| (slot.hash, other.word_at(slot.start), slot.count))
                .collect();
            if batch.is_empty() {
                return Ok(());
            }
            self.add(&batch)?;
        }
    }

    fn word_at(&self, start: usize) -> &[u8] {
        let (len, rest) = self.arena[start..].split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        &rest[..usize::try_from(u64::from_le_bytes(*len)).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let tables = whitespace::cut(text.as_bytes(), parts).into_iter().map(|piece| {
                let mut table = WordCounts::default();
                table.add_text(piece).unwrap();
                table
            });
            assert_eq!(WordCounts::merged(tables.collect()).unwrap(), counts);
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
