//! Counts to the array of words that learning works on.

use crate::chars::{self, CharMap, CharSet};
use crate::count::WordCounts;
use crate::error::Error;
use crate::hash::NumberMap;
use crate::large_pages;
use crate::parallel;
use crate::sequence::{MOST_SLOTS_A_SYMBOL, SEPARATOR, Sequence, position};

/// How many places of the tables are looked at between two calls of `go_on`.
const GO_ON: usize = 1 << 18;

/// Fewer words are looked at on one thread: starting another takes longer.
const MANY: usize = 1 << 12;

/// The slots that a word of one character would take. It holds no pair, so it is left out.
const ONE_CHARACTER: u64 = 2;

/// What the learner needs to know of the words before it starts: one look at all of them.
pub struct Survey {
    /// The distinct characters.
    pub alphabet: CharSet,
    prefix: Vec<u8>, // put before every word
    slots: u64,
    parts: Vec<ByCount<u64>>, // how many slots the words of each part take, by count
}

/// Values by a word's count, with a short way for the small counts that most words have.
#[derive(Debug, Default)]
struct ByCount<V> {
    small: Vec<V>,
    large: NumberMap<V>,
}

impl<V: Copy + Default> ByCount<V> {
    #[inline]
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

/// Looks at all words that have a character, a part of them on each thread; calls `go_on` now and then.
fn for_each_word<W: Send>(
    counts: &WordCounts,
    workers: &mut [W],
    go_on: &mut dyn FnMut() -> Result<(), Error>,
    f: impl Fn(&mut W, &[u8], u64) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let parts = counts.parts(workers.len());
    let mut work: Vec<_> = parts.into_iter().zip(workers).collect();
    loop {
        let done = parallel::run(&mut work, |(part, worker)| {
            counts.take_words(
                part,
                GO_ON,
                |word, count| if word.is_empty() { Ok(()) } else { f(worker, word, count) },
            )
        });
        done.into_iter().collect::<Result<(), Error>>()?;
        if work.iter().all(|(part, _)| part.is_empty()) {
            return Ok(());
        }
        go_on()?;
    }
}

/// What one thread has seen.
struct Seen {
    alphabet: CharSet,
    slots: u64,
    slots_by_count: ByCount<u64>,
}

impl Survey {
    /// Looks at all words, each with `prefix` before it, on so many threads; calls `go_on` now and then.
    pub fn new(
        counts: &WordCounts,
        prefix: &[u8],
        threads: usize,
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Survey, Error> {
        let nothing = |_| Seen { alphabet: CharSet::default(), slots: 0, slots_by_count: ByCount::default() };
        let threads = if counts.len() < MANY { 1 } else { threads };
        let mut seen: Vec<Seen> = (0..threads).map(nothing).collect();
        for_each_word(counts, &mut seen, go_on, |seen, word, count| {
            let mut slots = 1;
            for part in [prefix, word] {
                for code_point in chars::code_points(part) {
                    slots += 1;
                    seen.alphabet.insert(code_point);
                }
            }
            if slots > MOST_SLOTS_A_SYMBOL {
                return Err(Error::Invalid(format!(
                    "a word has {slots} characters; at most {MOST_SLOTS_A_SYMBOL} can be learned"
                )));
            }
            if slots > ONE_CHARACTER {
                seen.slots += slots;
                *seen.slots_by_count.get_mut(count) += slots;
            }
            Ok(())
        })?;
        let mut survey =
            Survey { alphabet: CharSet::default(), prefix: prefix.to_vec(), slots: 1, parts: Vec::new() };
        for part in seen {
            survey.alphabet.extend(&part.alphabet);
            survey.slots += part.slots;
            survey.parts.push(part.slots_by_count);
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

    /// Lays out all words that hold a pair, those of each part together, its most frequent first. `ids` are those of the
    /// characters, `symbols` is how many there are. Calls `go_on` now and then.
    pub fn sequence(
        &self,
        counts: &WordCounts,
        ids: &CharMap,
        symbols: usize,
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Sequence, Error> {
        let mut slots = vec![SEPARATOR; usize::try_from(self.slots).unwrap_or(0)];
        large_pages::ask(&slots);
        let mut runs = Vec::new();
        let mut starts = Vec::new(); // where the next word of a count stands in its part, by count
        let mut lengths = Vec::new();
        let mut end = 1;
        for part in &self.parts {
            let mut by_count: Vec<_> = part.iter().filter(|&(_, slots)| slots > 0).collect();
            by_count.sort_unstable_by(|a, b| b.cmp(a));
            let (start, mut start_of) = (end, ByCount::default());
            for (count, slots) in by_count {
                *start_of.get_mut(count) = end - start;
                end += usize::try_from(slots).unwrap_or(0);
                runs.push((position(end), count));
            }
            starts.push(start_of);
            lengths.push(end - start);
        }
        let prefix: Vec<u32> = chars::code_points(&self.prefix).map(|c| ids.get(c)).collect();
        let mut workers: Vec<_> =
            starts.into_iter().zip(parallel::pieces(&mut slots[1..], lengths)).collect();
        for_each_word(counts, &mut workers, go_on, |(starts, slots), word, count| {
            if prefix.is_empty() && chars::read(word, 0).1 == word.len() {
                return Ok(());
            }
            let start = starts.get_mut(count);
            slots[*start..][..prefix.len()].copy_from_slice(&prefix);
            let mut at = *start + prefix.len();
            for code_point in chars::code_points(word) {
                slots[at] = ids.get(code_point);
                at += 1;
            }
            *start = at + 1;
            Ok(())
        })?;
        Ok(Sequence::new(slots, runs.into_iter(), symbols))
    }
}
