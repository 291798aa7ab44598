//! All distinct words in one array, rewritten in place as pairs are merged.
//!
//! One slot a character, a separator before, between and after the words. A symbol stands in its first slot; if it
//! takes more than one, its second and its last slot hold its length, tagged, so that both neighbours are found in
//! the same cache line. The slots between are tagged too: an untagged slot is the start of a symbol or a separator.
//! `compact` closes the gaps, so that each symbol takes one slot again.

use crate::compaction::{self, Part, end_of_word};
use crate::parallel;

/// The id of the separator; it is part of no pair.
pub const SEPARATOR: u32 = 0;

/// The mark of slots that neither start a symbol nor are separators.
pub const TAG: u32 = 1 << 31;

/// A tag holds the length of its symbol in the other bits.
pub const MOST_SLOTS_A_SYMBOL: u64 = (1 << 31) - 1;

/// Neighbouring words that occur equally often.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Where they end.
    pub end: u32,
    /// How often each of them occurs.
    pub weight: u64,
}

/// So many positions are read before the first of them is changed.
const AHEAD: usize = 32;

/// The array, and how often the word around each position occurs.
#[derive(Debug, Default)]
pub struct Sequence {
    slots: Vec<u32>,
    runs: Vec<Run>,
    run_ends: Vec<u32>,           // as in `runs`; alone they stay in the nearest cache
    lengths: Vec<u32>,            // by symbol: how many slots it takes
    compacted: Option<Vec<Part>>, // while gaps are being closed
}

/// A position as it is stored; `Survey` has seen to it that all fit.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "Survey refuses arrays of 2^32 slots")]
pub fn position(at: usize) -> u32 {
    debug_assert!(u32::try_from(at).is_ok());
    at as u32
}

impl Sequence {
    /// An array of words, and the runs of equal count that they form, as `(end, weight)`.
    pub fn new(slots: Vec<u32>, runs: impl Iterator<Item = (u32, u64)>, symbols: usize) -> Sequence {
        let mut sequence = Sequence { slots, lengths: vec![1; symbols], ..Sequence::default() };
        runs.for_each(|(end, weight)| sequence.push_run(end, weight));
        sequence
    }

    fn push_run(&mut self, end: u32, weight: u64) {
        self.runs.push(Run { end, weight });
        self.run_ends.push(end);
    }

    /// The slots. After `compact` each is a symbol or a separator.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// How many symbols there are, the separator included.
    pub fn symbols(&self) -> usize {
        self.lengths.len()
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

    /// Closes the gaps that merging left, and leaves out the words that are one symbol: they hold no pair. Each thread
    /// works through `most` slots; says whether it is done. Nothing else may be asked of the sequence before.
    pub fn compact(&mut self, most: usize, threads: usize) -> bool {
        let Sequence { slots, runs, compacted, .. } = self;
        let parts = compacted.get_or_insert_with(|| compaction::parts(slots, runs, threads));
        let lengths: Vec<_> = parts.iter().map(Part::slots).collect();
        let mut work: Vec<_> = parts.iter_mut().zip(parallel::pieces(&mut slots[1..], lengths)).collect();
        parallel::run(&mut work, |(part, slots)| part.advance(slots, runs, most));
        if !parts.iter().all(Part::is_done) {
            return false;
        }
        let parts = self.compacted.take().unwrap_or_default();
        self.runs.clear();
        self.run_ends.clear();
        let mut written = 1;
        for part in parts {
            let moved = part.start - written;
            self.slots.copy_within(part.start..part.written, written);
            written = part.written - moved;
            part.runs.into_iter().for_each(|run| self.push_run(run.end - position(moved), run.weight));
        }
        self.slots.truncate(written);
        self.slots.shrink_to_fit();
        self.lengths.fill(1);
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
    /// before; calls `f(sink, position, symbol before, symbol after, weight)` as each occurrence goes. The work is cut
    /// between words into as many parts as there are sinks, and done on as many threads.
    #[inline]
    pub fn replace<S: Send>(
        &mut self,
        positions: &[u32],
        pair: (u32, u32, u32),
        sinks: &mut [S],
        f: impl Fn(&mut S, u32, u32, u32, u64) + Sync,
    ) {
        let mut slots = std::mem::take(&mut self.slots);
        let (mut rest, mut start, mut positions) = (&mut slots[..], 0, positions);
        let mut parts = Vec::with_capacity(sinks.len());
        let left = (1..=sinks.len()).rev();
        for (sink, left) in sinks.iter_mut().zip(left) {
            let length = match positions.get(positions.len() / left) {
                Some(&next) => end_of_word(rest, next as usize - start),
                None => rest.len(),
            };
            let (own, others) = std::mem::take(&mut rest).split_at_mut(length);
            rest = others;
            let (here, further) =
                positions.split_at(positions.partition_point(|&at| (at as usize) < start + length));
            positions = further;
            parts.push((own, start, here, sink));
            start += length;
        }
        parallel::run(&mut parts, |(slots, start, positions, sink)| {
            self.replace_part(slots, *start, positions, pair, |at, before, after, weight| {
                f(sink, at, before, after, weight)
            });
        });
        self.slots = slots;
    }

    /// Does so in the words that stand in `slots`, from position `start` on.
    #[inline]
    fn replace_part(
        &self,
        slots: &mut [u32],
        start: usize,
        positions: &[u32],
        (left, right, joined): (u32, u32, u32),
        mut f: impl FnMut(u32, u32, u32, u64),
    ) {
        let (left_length, length) = (self.length(left) as usize, self.length(joined) as usize);
        let mut run = 0;
        for batch in positions.chunks(AHEAD) {
            // Reading a batch of slots first lets their cache misses overlap; what follows is often in another line.
            let read = |at: usize| slots.get(at).copied().unwrap_or_default();
            let read = |&at: &u32| read(at as usize - start) ^ read(at as usize - start + length);
            let touched = batch.iter().fold(0, |all, at| all ^ read(at));
            std::hint::black_box(touched);
            for &here in batch {
                let at = here as usize - start;
                let second = at + left_length;
                if slots[at] != left || slots[second] != right {
                    continue;
                }
                let before = slots.get(at.wrapping_sub(1)).copied().unwrap_or(SEPARATOR);
                let before = if before & TAG == 0 { before } else { slots[at - (before & !TAG) as usize] };
                let tag = TAG | position(length);
                slots[at] = joined;
                slots[second] = TAG;
                slots[at + 1] = tag;
                slots[at + length - 1] = tag;
                run = self.find_run(run, here);
                f(here, before, slots[at + length], self.runs[run].weight);
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
    use crate::chars::CharMap;
    use crate::count::WordCounts;
    use crate::layout::Survey;

    fn sequence(words: &[(&str, u64)], threads: usize) -> Sequence {
        let mut counts = WordCounts::default();
        words.iter().for_each(|(word, count)| counts.add(word.as_bytes(), *count).unwrap());
        let survey = Survey::new(&counts, b"", threads, &mut || Ok(())).unwrap();
        let alphabet = survey.alphabet.code_points();
        let mut ids = CharMap::default();
        (1..).zip(&alphabet).for_each(|(id, &code_point)| ids.set(code_point, id));
        survey.sequence(&counts, &ids, alphabet.len() + 1, &mut || Ok(())).unwrap()
    }

    #[test]
    fn neighbours_are_found_and_gaps_are_closed() {
        for most in [1, 2, 3, 100] {
            let mut text = sequence(&[("abcab", 3), ("ab", 9)], 1);
            assert_eq!(text.slots(), [0, 1, 2, 0, 1, 2, 3, 1, 2, 0]);
            let push = |seen: &mut Vec<_>, at, x, y, weight| seen.push((at, x, y, weight));
            let mut seen = vec![Vec::new(); 2];
            text.add_joined(1, 2);
            text.replace(&[1, 4, 7], (1, 2, 4), &mut seen, push);
            assert_eq!(seen.concat(), [(1, 0, 0, 9), (4, 0, 3, 3), (7, 3, 0, 3)]);
            let mut seen = vec![Vec::new(); 3];
            text.add_joined(4, 3);
            text.replace(&[4], (4, 3, 5), &mut seen, push);
            assert_eq!(seen.concat(), [(4, 0, 4, 3)]);
            assert_eq!(text.pairs().map(|(at, ..)| at).collect::<Vec<_>>(), [0, 1, 3, 4, 7, 9]);
            while !text.compact(most, 1 + most % 3) {}
            assert_eq!(text.slots(), [0, 5, 4, 0]);
            let mut runs = Vec::new();
            text.for_each_run(0..4, |start, end, weight| runs.push((start, end, weight)));
            assert_eq!(runs, [(0, 4, 3)]);
        }
    }
}
