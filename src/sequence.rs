//! All distinct words in one array, rewritten in place as pairs are merged.
//!
//! One slot a character, a separator before, between and after the words. A symbol stands in its first slot; if it
//! takes more than one, its second and its last slot hold its length, tagged, so that both neighbours are found in
//! the same cache line. The slots between are tagged too: an untagged slot is the start of a symbol or a separator.
//! `compact` closes the gaps, so that each symbol takes one slot again.

use crate::chars::{self, CharMap};
use crate::count::WordCounts;
use crate::error::Error;
use crate::hash::NumberMap;
use crate::symbols::Symbols;

/// The id of the separator; it is part of no pair.
pub const SEPARATOR: u32 = 0;

const TAG: u32 = 1 << 31;

/// Words between two calls of `go_on`.
const GO_ON: usize = 1 << 16;

/// Neighbouring words that occur equally often.
#[derive(Clone, Copy, Debug)]
struct Run {
    end: u32,
    weight: u64,
}

/// The array, and how often the word around each position occurs.
#[derive(Debug, Default)]
pub struct Sequence {
    slots: Vec<u32>,
    runs: Vec<Run>,
    run_ends: Vec<u32>, // as in `runs`; alone they stay in the nearest cache
    lengths: Vec<u32>,  // by symbol: how many slots it takes
    compacted: Option<Compaction>,
}

#[derive(Debug, Default)]
struct Compaction {
    read: usize,
    written: usize,
    word: usize, // the separator before the word being written
    run: usize,
    runs: Vec<Run>,
}

/// What the learner needs to know of the words before it starts: one look at all of them.
pub struct Survey {
    /// The distinct characters; all have a number above zero.
    pub alphabet: CharMap,
    prefix: Vec<u8>, // put before every word
    slots: u64,
    slots_by_count: ByCount<u64>,
}

/// Values by a word's count, with a short way for the small counts that most words have.
#[derive(Default)]
struct ByCount<V> {
    small: Vec<V>,
    large: NumberMap<V>,
}

impl<V: Copy + Default> ByCount<V> {
    fn get_mut(&mut self, count: u64) -> &mut V {
        match usize::try_from(count) {
            Ok(count) if count < 256 => {
                if count >= self.small.len() {
                    self.small.resize(count + 1, V::default());
                }
                &mut self.small[count]
            }
            _ => self.large.entry(count).or_default(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u64, V)> {
        let small = (0..).zip(self.small.iter().copied());
        small.chain(self.large.iter().map(|(&count, &value)| (count, value)))
    }
}

/// Calls `f` with all words that have a character, and `go_on` now and then.
fn for_each_word(
    counts: &WordCounts,
    go_on: &mut dyn FnMut() -> Result<(), Error>,
    mut f: impl FnMut(&[u8], u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut words = 0;
    counts.for_each(|word, count| {
        words += 1;
        if words % GO_ON == 0 {
            go_on()?;
        }
        if word.is_empty() { Ok(()) } else { f(word, count) }
    })
}

impl Survey {
    /// Looks at all words, each with `prefix` before it; calls `go_on` now and then.
    pub fn new(
        counts: &WordCounts,
        prefix: &[u8],
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Survey, Error> {
        let (alphabet, slots_by_count) = (CharMap::default(), ByCount::default());
        let mut survey = Survey { alphabet, prefix: prefix.to_vec(), slots: 1, slots_by_count };
        let mut ascii = [false; 128];
        for_each_word(counts, go_on, |word, count| {
            let mut slots = 1;
            for part in [prefix, word] {
                for code_point in chars::code_points(part) {
                    slots += 1;
                    match ascii.get_mut(code_point as usize) {
                        Some(seen) => *seen = true,
                        None if survey.alphabet.get(code_point) == 0 => survey.alphabet.set(code_point, 1),
                        None => {}
                    }
                }
            }
            if slots >= u64::from(TAG) {
                return Err(Error::Invalid(format!(
                    "a word has {slots} characters; at most {} can be learned",
                    TAG - 1
                )));
            }
            survey.slots += slots;
            *survey.slots_by_count.get_mut(count) += slots;
            Ok(())
        })?;
        for (code_point, _) in (0..).zip(ascii).filter(|&(_, seen)| seen) {
            survey.alphabet.set(code_point, 1);
        }
        if survey.slots > u64::from(u32::MAX) {
            let message =
                "the distinct words have {} characters together; at most 2**32 can be learned at once";
            return Err(Error::Invalid(message.replace("{}", &survey.slots.to_string())));
        }
        Ok(survey)
    }

    /// The bytes that the bare array takes.
    pub fn memory(&self) -> u64 {
        4 * self.slots
    }
}

/// A position as it is stored; `Survey` has seen to it that all fit.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "Survey refuses arrays of 2^32 slots")]
pub fn position(at: usize) -> u32 {
    debug_assert!(u32::try_from(at).is_ok());
    at as u32
}

impl Sequence {
    /// Lays out all words, the most frequent first. The survey's alphabet must hold the ids of the characters. Calls
    /// `go_on` now and then.
    pub fn new(
        counts: &WordCounts,
        survey: &Survey,
        symbols: &Symbols,
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Sequence, Error> {
        let mut by_count: Vec<_> = survey.slots_by_count.iter().filter(|&(_, slots)| slots > 0).collect();
        by_count.sort_unstable_by(|a, b| b.cmp(a));
        let mut starts = ByCount::default();
        let mut runs = Vec::with_capacity(by_count.len());
        let mut end = 1;
        for (count, slots) in by_count {
            *starts.get_mut(count) = end;
            end += usize::try_from(slots).unwrap_or(0);
            runs.push(Run { end: position(end), weight: count });
        }
        let mut slots = vec![SEPARATOR; end];
        let prefix: Vec<u32> = chars::code_points(&survey.prefix).map(|c| survey.alphabet.get(c)).collect();
        for_each_word(counts, go_on, |word, count| {
            let start = starts.get_mut(count);
            slots[*start..][..prefix.len()].copy_from_slice(&prefix);
            let mut at = *start + prefix.len();
            for code_point in chars::code_points(word) {
                slots[at] = survey.alphabet.get(code_point);
                at += 1;
            }
            *start = at + 1;
            Ok(())
        })?;
        let run_ends = runs.iter().map(|run| run.end).collect();
        Ok(Sequence { slots, runs, run_ends, lengths: vec![1; symbols.len()], compacted: None })
    }

    /// The slots. After `compact` each is a symbol or a separator.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// Calls `f(start, end, weight)` for each part of `range` in which all words occur equally often.
    pub fn for_each_run(&self, range: std::ops::Range<usize>, mut f: impl FnMut(usize, usize, u64)) {
        let first = self.runs.partition_point(|run| run.end as usize <= range.start);
        let mut start = range.start;
        for run in &self.runs[first..] {
            let end = (run.end as usize).min(range.end);
            if start >= end {
                return;
            }
            f(start, end, run.weight);
            start = end;
        }
    }

    /// Closes the gaps that merging left, and leaves out the words that are one symbol: they hold no pair. Works
    /// through `most` slots and says whether it is done; nothing else may be asked of the sequence before.
    pub fn compact(&mut self, most: usize) -> bool {
        let Sequence { slots, runs, .. } = self;
        let state =
            self.compacted.get_or_insert_with(|| Compaction { read: 1, written: 1, ..Compaction::default() });
        let stop = state.read.saturating_add(most).min(slots.len());
        let (mut read, mut written, mut word) = (state.read, state.written, state.word);
        while read < stop {
            let run = runs[state.run];
            let end = stop.min(run.end as usize);
            for at in read..end {
                let slot = slots[at];
                if slot & TAG == 0 {
                    slots[written] = slot;
                    written += 1;
                    if slot == SEPARATOR {
                        if written - word <= 3 {
                            written = word + 1;
                        }
                        word = written - 1;
                    }
                }
            }
            read = end;
            if read == run.end as usize {
                if state.runs.last().map_or(1, |last| last.end as usize) < written {
                    state.runs.push(Run { end: position(written), weight: run.weight });
                }
                state.run += 1;
            }
        }
        (state.read, state.written, state.word) = (read, written, word);
        if read < slots.len() {
            return false;
        }
        slots.truncate(written);
        slots.shrink_to_fit();
        self.runs = std::mem::take(&mut state.runs);
        self.run_ends = self.runs.iter().map(|run| run.end).collect();
        self.lengths.fill(1);
        self.compacted = None;
        true
    }

    /// Adds the symbol that joins two others; give its id to `replace`.
    pub fn add_joined(&mut self, left: u32, right: u32) {
        self.lengths.push(self.length(left) + self.length(right));
    }

    /// How many slots a symbol takes.
    #[inline]
    pub fn length(&self, symbol: u32) -> u32 {
        self.lengths[symbol as usize]
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.runs) + size_of_val(&*self.lengths)
    }

    /// Replaces the pair at each of `positions`, which ascend, unless it is no longer there or overlaps the one
    /// before; calls `f(position, symbol before, symbol after, weight)` as each occurrence goes.
    #[inline]
    pub fn replace(
        &mut self,
        positions: impl IntoIterator<Item = u32>,
        (left, right, joined): (u32, u32, u32),
        mut f: impl FnMut(u32, u32, u32, u64),
    ) {
        const AHEAD: usize = 32;
        let (left_length, length) = (self.length(left) as usize, self.length(joined) as usize);
        let mut positions = positions.into_iter();
        let mut run = 0;
        loop {
            // Reading a batch of slots first lets their cache misses overlap.
            let mut batch = [0; AHEAD];
            let mut touched = 0;
            let mut n = 0;
            for (place, at) in batch.iter_mut().zip(&mut positions) {
                *place = at;
                touched ^= self.slots[at as usize];
                n += 1;
            }
            if n == 0 {
                return;
            }
            std::hint::black_box(touched);
            for &here in &batch[..n] {
                let at = here as usize;
                let second = at + left_length;
                if self.slots[at] != left || self.slots[second] != right {
                    continue;
                }
                let before = self.slots[at - 1];
                let before =
                    if before & TAG == 0 { before } else { self.slots[at - (before & !TAG) as usize] };
                let tag = TAG | position(length);
                self.slots[at] = joined;
                self.slots[second] = TAG;
                self.slots[at + 1] = tag;
                self.slots[at + length - 1] = tag;
                run = self.find_run(run, here);
                f(here, before, self.slots[at + length], self.runs[run].weight);
            }
        }
    }

    /// The run of a position, at or after the run `from`.
    #[inline]
    fn find_run(&self, from: usize, at: u32) -> usize {
        let mut step = 1;
        let mut low = from;
        while let Some(&end) = self.run_ends.get(low + step - 1) {
            if at < end {
                break;
            }
            low += step;
            step *= 2;
        }
        let high = (low + step).min(self.run_ends.len());
        low + self.run_ends[low..high].partition_point(|&end| end <= at)
    }

    /// The positions of a pair at or after `from`, at most about `most` of them, and where to go on from.
    pub fn find(&self, (left, right): (u32, u32), from: usize, most: usize) -> (Vec<u32>, usize) {
        let mut found = Vec::new();
        let mut at = from;
        let length = self.length(left) as usize;
        while at < self.slots.len() && found.len() < most {
            // A tagged slot is never equal to a symbol, so there is no need to know where symbols start.
            if self.slots[at] == left && self.slots[at + length] == right {
                found.push(position(at));
            }
            at += 1;
        }
        (found, at)
    }

    /// The positions of all symbols, with the symbol and the one behind it.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let here = at;
            let symbol = *self.slots.get(here)?;
            let next = self.slots.get(here + 1).copied().unwrap_or(SEPARATOR);
            at += if next & TAG == 0 { 1 } else { (next & !TAG) as usize };
            Some((position(here), symbol, self.slots.get(at).copied().unwrap_or(SEPARATOR)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(words: &[(&str, u64)]) -> Sequence {
        let mut counts = WordCounts::default();
        words.iter().for_each(|(word, count)| counts.add(word.as_bytes(), *count).unwrap());
        let mut survey = Survey::new(&counts, b"", &mut || Ok(())).unwrap();
        let mut symbols = Symbols::default();
        symbols.push(b"");
        for (id, c) in (1..).zip(survey.alphabet.code_points()) {
            survey.alphabet.set(c, id);
            symbols.push(char::from_u32(c).unwrap().to_string().as_bytes());
        }
        Sequence::new(&counts, &survey, &symbols, &mut || Ok(())).unwrap()
    }

    #[test]
    fn neighbours_are_found_and_gaps_are_closed() {
        for most in [1, 2, 3, 100] {
            let mut text = sequence(&[("abcab", 3), ("ab", 9)]);
            assert_eq!(text.slots(), [0, 1, 2, 0, 1, 2, 3, 1, 2, 0]);
            let mut seen = Vec::new();
            text.add_joined(1, 2);
            text.replace([1, 4, 7], (1, 2, 4), |at, x, y, weight| seen.push((at, x, y, weight)));
            assert_eq!(seen, [(1, 0, 0, 9), (4, 0, 3, 3), (7, 3, 0, 3)]);
            seen.clear();
            text.add_joined(4, 3);
            text.replace([4], (4, 3, 5), |at, x, y, weight| seen.push((at, x, y, weight)));
            assert_eq!(seen, [(4, 0, 4, 3)]);
            assert_eq!(text.pairs().map(|(at, ..)| at).collect::<Vec<_>>(), [0, 1, 3, 4, 7, 9]);
            while !text.compact(most) {}
            assert_eq!(text.slots(), [0, 5, 4, 0]);
            let mut runs = Vec::new();
            text.for_each_run(0..4, |start, end, weight| runs.push((start, end, weight)));
            assert_eq!(runs, [(0, 4, 3)]);
        }
    }
}
