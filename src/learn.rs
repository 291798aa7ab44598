//! Counts to merges.
//!
//! The rules say: merge the most frequent pair, everywhere, and look again. What makes it fast: the count of a pair
//! never rises after the merge that made its younger part. So only pairs that reach a threshold are tracked, with
//! their counts and positions; a pair below it can be forgotten until the highest count has fallen that far.
//! Then a `Recount` finds the next ones.

use crate::chars::{self, CharMap};
use crate::count::WordCounts;
use crate::error::Error;
use crate::layout::Survey;
use crate::neighbours::{Cell, Neighbours, Seen};
use crate::pairs::{Pairs, Queue, Tracked, key, parts};
use crate::recount::Recount;
use crate::sequence::{SEPARATOR, Sequence, position};
use crate::symbols::Symbols;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Bytes that recounts and pairs need at least.
const LEAST_ROOM: u64 = 1 << 18;

/// How many slots are looked at between two looks at the clock.
const SLOTS_A_STEP: usize = 1 << 22;

/// A pair at fewer positions is replaced on one thread: starting another takes longer.
const MANY: usize = 1 << 12;

/// One merge, with what a user wants to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The parts, as ids of `Learner::symbols`.
    pub left: u32,
    /// See `left`.
    pub right: u32,
    /// How often the pair occurred just before it was merged.
    pub frequency: u64,
    /// How many other pairs occurred as often; `None` if the merge was given and not learned.
    pub ties: Option<u64>,
}

/// Why learning ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The vocabulary is full.
    VocabSize,
    /// No pair occurs often enough.
    MinFrequency,
    /// No word has two symbols.
    NoPairs,
}

/// How far to go.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Entries of the vocabulary, characters included.
    pub vocab_size: u64,
    /// The most merges to learn, whatever the vocabulary.
    pub max_merges: u64,
    /// The least count of a pair that is merged; 0 means 1, `None` more than any count.
    pub min_frequency: Option<u64>,
    /// Put before every word.
    pub prefix: Vec<u8>,
    /// Bytes that learning may take, beside the counts it starts from.
    pub memory_limit: u64,
}

/// Learning under way, step by step.
#[derive(Debug)]
pub struct Learner {
    sequence: Sequence,
    symbols: Symbols, // 0 is the separator, then the alphabet, then what was merged
    alphabet: Vec<u32>,
    merges: Vec<Merge>,
    max_merges: usize,
    min_frequency: u64,
    is_hopeless: bool, // no pair can occur often enough
    threads: usize,
    state: State,
    given: Vec<u64>, // keys of the merges to repeat before learning, the next one last
    pairs: Pairs,
    queue: Queue,
    threshold: u64,              // every pair that occurs as often is tracked
    neighbours: Vec<Neighbours>, // one for each thread; the first one holds them all in the end
    memory_limit: u64,
    listed: usize, // bytes that lists of positions take
}

#[derive(Debug)]
enum State {
    Repeat,
    Compact,
    Recount(Box<Recount>),
    Merge,
    Stopped(Stopped),
}

impl Learner {
    /// Prepares to learn from `counts`; `initial` are merges learned before, as pairs of strings. Calls `go_on` now
    /// and then.
    pub fn new(
        counts: &WordCounts,
        goal: &Goal,
        initial: &[(&[u8], &[u8])],
        threads: usize,
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Learner, Error> {
        let mut survey = Survey::new(counts, &goal.prefix, threads, go_on)?;
        for code_point in
            initial.iter().flat_map(|(left, right)| [left, right]).flat_map(|part| chars::code_points(part))
        {
            survey.alphabet.insert(code_point);
        }
        let alphabet = survey.alphabet.code_points();
        let (mut ids, mut symbols) = (CharMap::default(), Symbols::default());
        symbols.reserve(alphabet.len() + 1);
        symbols.push(b""); // the separator
        let mut spelled = Vec::new();
        for (id, &code_point) in (1..).zip(&alphabet) {
            ids.set(code_point, id);
            spelled.clear();
            chars::push(&mut spelled, code_point);
            symbols.push(&spelled);
        }
        let room = goal.vocab_size.saturating_sub(alphabet.len() as u64);
        let max_merges = usize::try_from(room.min(goal.max_merges)).unwrap_or(usize::MAX);
        let mut given = keys_of(initial, &symbols)?;
        given.truncate(max_merges);
        given.reverse();
        let needed = survey.memory() + symbols.memory() as u64 + LEAST_ROOM;
        if needed > goal.memory_limit {
            return Err(Error::Memory { needed, limit: goal.memory_limit });
        }
        Ok(Learner {
            sequence: survey.sequence(counts, &ids, symbols.len(), go_on)?,
            neighbours: (0..threads.max(1)).map(|_| Neighbours::default()).collect(),
            symbols,
            alphabet,
            merges: Vec::new(),
            max_merges,
            min_frequency: goal.min_frequency.unwrap_or(u64::MAX).max(1),
            is_hopeless: goal.min_frequency.is_none(),
            threads: threads.max(1),
            state: if given.is_empty() { State::Compact } else { State::Repeat },
            given,
            pairs: Pairs::default(),
            queue: Queue::default(),
            threshold: u64::MAX,
            memory_limit: goal.memory_limit,
            listed: 0,
        })
    }

    /// Works for about as long as `budget`, at least a little; says why learning has ended once it has.
    pub fn step(&mut self, budget: Duration) -> Result<Option<Stopped>, Error> {
        let start = Instant::now();
        loop {
            match &mut self.state {
                State::Stopped(stopped) => return Ok(Some(*stopped)),
                State::Repeat => self.repeat()?,
                _ if self.merges.len() >= self.max_merges => self.stop(Stopped::VocabSize),
                State::Compact if self.is_hopeless => self.stop_without_pair(),
                State::Compact => {
                    // What was just laid out has no gaps.
                    if self.merges.is_empty() || self.sequence.compact(SLOTS_A_STEP, self.threads) {
                        self.pairs.clear();
                        self.queue.clear();
                        self.listed = 0;
                        let (below, least, room) = (self.threshold, self.min_frequency, self.room());
                        let left = self.max_merges - self.merges.len();
                        let recount = Recount::new(&self.sequence, below, least, left, self.threads, room);
                        self.state = State::Recount(Box::new(recount));
                    }
                }
                State::Recount(recount) => {
                    let found = recount.advance(&self.sequence, SLOTS_A_STEP);
                    if let Some(found) = found.map_err(|error| self.named(error))? {
                        self.threshold = found.threshold;
                        self.pairs.reserve(found.pairs.len());
                        for pair in found.pairs {
                            let number = self.pairs.add(pair);
                            self.queue.push(number, &self.pairs, &self.symbols);
                        }
                        self.listed = self.pairs.memory_of_positions();
                        self.state = State::Merge;
                    }
                }
                State::Merge => match self.queue.pop(self.threshold, &self.pairs, &self.symbols) {
                    Some((number, ties)) => {
                        let pair = self.pairs.take(number);
                        self.merge(pair, Some(ties));
                    }
                    None if self.threshold > self.min_frequency => self.state = State::Compact,
                    None => self.stop_without_pair(),
                },
            }
            if start.elapsed() >= budget {
                return Ok(if let State::Stopped(stopped) = self.state { Some(stopped) } else { None });
            }
        }
    }

    /// The merges so far.
    pub fn merges(&self) -> &[Merge] {
        &self.merges
    }

    /// At most this many merges will be learned.
    pub fn max_merges(&self) -> usize {
        self.max_merges
    }

    /// The distinct characters, in order.
    pub fn alphabet(&self) -> &[u32] {
        &self.alphabet
    }

    /// The strings of all symbols.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Bytes of memory in use, but for the lists of positions.
    pub fn memory(&self) -> usize {
        let recount = if let State::Recount(recount) = &self.state { recount.memory() } else { 0 };
        self.sequence.memory() + self.symbols.memory() + self.pairs.memory() + self.queue.memory() + recount
    }

    /// Bytes that recounts and pairs may take.
    fn room(&self) -> usize {
        let fixed = self.sequence.memory()
            + self.symbols.memory()
            + self.neighbours.iter().map(Neighbours::memory).sum::<usize>();
        usize::try_from(self.memory_limit).unwrap_or(usize::MAX).saturating_sub(fixed)
    }

    /// No pair occurs often enough: is there any?
    fn stop_without_pair(&mut self) {
        let is_pair = |(_, left, right)| left != SEPARATOR && right != SEPARATOR;
        let any = self.min_frequency > 1 && self.sequence.pairs().any(is_pair);
        self.stop(if any { Stopped::MinFrequency } else { Stopped::NoPairs });
    }

    fn stop(&mut self, why: Stopped) {
        self.state = State::Stopped(why);
    }

    /// Puts the strings of a pair into the message of a recount, which knows only numbers.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::PairOverflow(key) => {
                let (left, right) = parts(key);
                let string = |id| String::from_utf8_lossy(self.symbols.get(id)).into_owned();
                Error::Overflow(format!("the pair ({:?}, {:?})", string(left), string(right)))
            }
            other => other,
        }
    }

    /// Repeats the next merge that was given. Before the first one the positions of all their pairs are noted.
    fn repeat(&mut self) -> Result<(), Error> {
        if self.merges.is_empty() && self.pairs.is_empty() {
            for &key in &self.given {
                self.pairs.add(Tracked { key, count: 0, positions: Some(Vec::new()) });
            }
            let room = self.room() / 4;
            let listed = &mut self.listed;
            let mut overflow = None;
            let pairs = &mut self.pairs;
            let slots = self.sequence.slots();
            self.sequence.for_each_run(0..slots.len() - 1, |start, end, weight| {
                for at in start..end {
                    if let Some(number) = pairs.number(key(slots[at], slots[at + 1])) {
                        let pair = pairs.get_mut(number);
                        match pair.count.checked_add(weight) {
                            Some(count) => pair.count = count,
                            None => overflow = Some(pair.key),
                        }
                        if let Some(positions) = &mut pair.positions {
                            positions.push(position(at));
                            *listed += 4;
                            if *listed > room {
                                *listed -= positions.len() * 4;
                                pair.positions = None;
                            }
                        }
                    }
                }
            });
            if let Some(key) = overflow {
                return Err(self.named(Error::PairOverflow(key)));
            }
        }
        let Some(next) = self.given.pop() else {
            self.state = State::Compact;
            return Ok(());
        };
        if let Some(number) = self.pairs.number(next) {
            let pair = self.pairs.take(number);
            self.merge(pair, None);
        }
        Ok(())
    }

    /// Replaces a pair by its joined symbol and counts the new pairs that this makes.
    fn merge(&mut self, pair: Tracked, ties: Option<u64>) {
        let (left, right) = parts(pair.key);
        let joined = position(self.symbols.len());
        self.merges.push(Merge { left, right, frequency: pair.count, ties });
        self.symbols.push_joined(left, right);
        self.sequence.add_joined(left, right);
        let threads =
            if pair.positions.as_ref().is_some_and(|list| list.len() < MANY) { 1 } else { self.threads };
        let neighbours = &mut self.neighbours[..threads];
        neighbours.iter_mut().for_each(|part| part.start(self.symbols.len(), pair.positions.is_some()));
        let add =
            |part: &mut Neighbours, at, before, after, weight| part.add(joined, at, before, after, weight);
        if let Some(positions) = pair.positions {
            self.listed = self.listed.saturating_sub(positions.capacity() * 4);
            self.sequence.replace(&positions, (left, right, joined), neighbours, add);
        } else {
            let mut from = 0;
            while from < self.sequence.slots().len() {
                let (positions, next) = self.sequence.find((left, right), from, 1 << 16);
                self.sequence.replace(&positions, (left, right, joined), neighbours, add);
                from = next;
            }
        }
        if let [first, others @ ..] = neighbours {
            others.iter().for_each(|part| first.append(part));
        }
        self.keep_the_limit();

        let lower = |pairs: &mut Pairs, queue: &mut Queue, key: u64, weight: u64| {
            if let Some(number) = pairs.number(key) {
                let pair = pairs.get_mut(number);
                queue.lowered(pair.count);
                pair.count -= weight;
            }
        };
        let Neighbours { before, after, .. } = &self.neighbours[0];
        for &symbol in &before.touched {
            let weight = before.cells[symbol as usize].weight;
            lower(&mut self.pairs, &mut self.queue, key(symbol, left), weight);
        }
        for &symbol in &after.touched {
            let weight = after.cells[symbol as usize].weight;
            lower(&mut self.pairs, &mut self.queue, key(right, symbol), weight);
        }
        self.track_new(left, joined);
    }

    /// Where lists take too much memory, raises the threshold and gives up those of the pairs below.
    fn keep_the_limit(&mut self) {
        let room = self.room() / 4;
        while self.listed > room && self.threshold < self.queue.level() {
            self.threshold = self.threshold.saturating_mul(2).min(self.queue.level());
            self.pairs.drop_below(self.threshold);
            self.listed = self.pairs.memory_of_positions();
        }
    }

    /// Tracks the pairs with the new symbol that reach the threshold.
    fn track_new(&mut self, left: u32, joined: u32) {
        let room = self.room() / 4;
        let neighbours = &mut self.neighbours[0];
        let record = neighbours.are_recorded();
        let Neighbours { before, after, adjacent, seen, .. } = neighbours;
        // Where two occurrences were adjacent, the right neighbour of the first was the left part of the second.
        if adjacent.weight > 0 {
            let cell = &mut after.cells[left as usize];
            cell.weight -= adjacent.weight;
            cell.positions -= adjacent.positions;
        }
        let (pairs, queue, symbols, threshold) =
            (&mut self.pairs, &mut self.queue, &self.symbols, self.threshold);
        let repeating = !self.given.is_empty();
        // Bytes that new lists may take.
        let mut free = if record { room.saturating_sub(self.listed) } else { 0 };
        let (mut any, mut listed) = (false, 0);
        let mut track = |key, cell: &mut Cell| {
            if cell.weight >= threshold || repeating && cell.weight > 0 && pairs.number(key).is_some() {
                any = true;
                let bytes = cell.positions as usize * 4;
                let positions = (bytes <= free).then(|| Vec::with_capacity(cell.positions as usize));
                if positions.is_some() {
                    free -= bytes;
                    listed += bytes;
                }
                let number = pairs.add(Tracked { key, count: cell.weight, positions });
                queue.push(number, pairs, symbols);
                cell.tracked = number + 1;
            }
        };
        before.touched.iter().for_each(|&x| track(key(x, joined), &mut before.cells[x as usize]));
        after.touched.iter().for_each(|&y| track(key(joined, y), &mut after.cells[y as usize]));
        track(key(joined, joined), adjacent);
        if any {
            for &Seen { at, before: x, after: y } in &*seen {
                // The cells of the separator and, on this side, of the joined symbol stay empty.
                let tracked = before.cells[x as usize].tracked;
                if tracked > 0
                    && let Some(positions) = &mut self.pairs.get_mut(tracked - 1).positions
                {
                    positions.push(at - self.sequence.length(x));
                }
                let follower = if y == joined { &*adjacent } else { &after.cells[y as usize] };
                if follower.tracked > 0
                    && let Some(positions) = &mut self.pairs.get_mut(follower.tracked - 1).positions
                {
                    positions.push(at);
                }
            }
        }
        self.listed += listed;
    }
}

/// The keys of given merges, which must be such as training gives: each part is a character or the result of an
/// earlier merge, and no result comes twice.
fn keys_of(initial: &[(&[u8], &[u8])], symbols: &Symbols) -> Result<Vec<u64>, Error> {
    if initial.is_empty() {
        return Ok(Vec::new());
    }
    let ids = (0..symbols.len()).map(position);
    let mut ids: HashMap<Vec<u8>, u32> = ids.map(|id| (symbols.get(id).to_vec(), id)).collect();
    let mut keys = Vec::with_capacity(initial.len());
    for (index, (left, right)) in initial.iter().enumerate() {
        let id = |part: &[u8]| {
            ids.get(part).copied().filter(|&id| id != SEPARATOR).ok_or_else(|| {
                let part = String::from_utf8_lossy(part);
                let expected = "is neither a character nor the result of an earlier merge";
                Error::Invalid(format!("initial_merges[{index}]: {part:?} {expected}"))
            })
        };
        keys.push(key(id(left)?, id(right)?));
        let next = position(ids.len());
        if ids.insert([*left, *right].concat(), next).is_some() {
            let message = "an earlier merge gives the same symbol, so this is not a list that training gives";
            return Err(Error::Invalid(format!("initial_merges[{index}]: {message}")));
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Words<'a> = [(&'a str, u64)];

    fn learner(words: &Words<'_>, min_frequency: u64, max_merges: u64, threads: usize) -> Learner {
        let mut counts = WordCounts::default();
        words.iter().for_each(|(word, count)| counts.add(word.as_bytes(), *count).unwrap());
        let goal = Goal {
            vocab_size: u64::MAX,
            max_merges,
            min_frequency: Some(min_frequency),
            prefix: Vec::new(),
            memory_limit: u64::MAX,
        };
        Learner::new(&counts, &goal, &[], threads, &mut || Ok(())).unwrap()
    }

    fn finish(learner: &mut Learner) -> Stopped {
        loop {
            if let Some(stopped) = learner.step(Duration::ZERO).unwrap() {
                return stopped;
            }
        }
    }

    fn spelled(learner: &Learner) -> Vec<(String, String, u64, Option<u64>)> {
        let string = |id| String::from_utf8(learner.symbols().get(id).to_vec()).unwrap();
        let spell = |m: &Merge| (string(m.left), string(m.right), m.frequency, m.ties);
        learner.merges().iter().map(spell).collect()
    }

    /// The rules, word by word: count everything, merge one pair, and again.
    fn slow(
        words: &Words<'_>,
        min_frequency: u64,
        max_merges: usize,
    ) -> Vec<(String, String, u64, Option<u64>)> {
        let mut words: Vec<(Vec<String>, u64)> =
            words.iter().map(|(word, n)| (word.chars().map(String::from).collect(), *n)).collect();
        let mut merges = Vec::new();
        while merges.len() < max_merges {
            let mut counts: HashMap<(&str, &str), u64> = HashMap::new();
            for (word, n) in &words {
                word.windows(2).for_each(|pair| *counts.entry((&pair[0], &pair[1])).or_default() += n);
            }
            let highest = counts.values().max().copied().unwrap_or(0);
            if highest < min_frequency {
                break;
            }
            let equal = counts.iter().filter(|&(_, &n)| n == highest);
            let ties = equal.clone().count() as u64 - 1;
            let Some((&(left, right), _)) = equal.min() else { break };
            let (left, right) = (left.to_string(), right.to_string());
            for (word, _) in &mut words {
                let mut at = 0;
                while at + 1 < word.len() {
                    if word[at] == left && word[at + 1] == right {
                        let tail = word.remove(at + 1);
                        word[at] += &tail;
                    }
                    at += 1;
                }
            }
            merges.push((left, right, highest, Some(ties)));
        }
        merges
    }

    /// Words from a small alphabet, some long, without a library for random numbers.
    fn generated(seed: u64) -> Vec<(String, u64)> {
        let mut state = seed;
        let mut random = |below: u64| {
            state = crate::hash::mix(state ^ 0x9e37_79b9, 0xd1b5_4a32_d192_ed03).wrapping_add(1);
            state % below
        };
        let letters = 1 + random(5);
        (0..1 + random(12))
            .map(|_| {
                let longest = [4, 12, 60][usize::try_from(random(3)).unwrap()];
                let word = (0..random(longest))
                    .map(|_| char::from(b"abcde"[usize::try_from(random(letters)).unwrap()]));
                (word.collect(), 1 + random(4))
            })
            .collect::<HashMap<String, u64>>()
            .into_iter()
            .collect()
    }

    #[test]
    fn learning_follows_the_rules() {
        for seed in 0..2000 {
            let words = generated(seed);
            let words: Vec<_> = words.iter().map(|(word, n)| (word.as_str(), *n)).collect();
            for (min_frequency, max_merges) in [(1, 100), (3, 8)] {
                let mut learner = learner(&words, min_frequency, max_merges, 1);
                finish(&mut learner);
                let expected = slow(&words, min_frequency, usize::try_from(max_merges).unwrap());
                assert_eq!(spelled(&learner), expected, "{words:?}");
            }
        }
    }

    #[test]
    fn a_large_array_takes_the_filtered_road_on_any_number_of_threads() {
        let word: String = (0..40_000_u64)
            .map(|i| {
                char::from(
                    b'a' + u8::try_from(
                        crate::hash::mix(i ^ 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03) % 17,
                    )
                    .unwrap(),
                )
            })
            .collect();
        let words = [(word.as_str(), 3), ("abc", 7), ("c", 1)];
        let expected = slow(&words, 1, 60);
        for threads in 1..4 {
            let mut learner = learner(&words, 1, 60, threads);
            assert_eq!(finish(&mut learner), Stopped::VocabSize);
            assert_eq!(spelled(&learner), expected);
        }
    }

    #[test]
    fn a_memory_limit_changes_no_merge() {
        let letter = |i: u64| {
            b'a' + u8::try_from(crate::hash::mix(i ^ 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32) % 23).unwrap()
        };
        let mut counts = WordCounts::default();
        for word in 0..3000_u64 {
            let letters: Vec<u8> = (0..40).map(|i| letter(word * 1000 + i)).collect();
            counts.add(&letters, 1 + word % 3).unwrap();
        }
        counts.add(&[b'a'; 40_001], 2).unwrap();
        let learned = |memory_limit, threads| {
            let goal = Goal {
                vocab_size: 1500,
                max_merges: 2000,
                min_frequency: Some(1),
                prefix: Vec::new(),
                memory_limit,
            };
            let mut learner = Learner::new(&counts, &goal, &[], threads, &mut || Ok(()))?;
            finish(&mut learner);
            Ok(learner.merges().to_vec())
        };
        let Err(Error::Memory { needed, limit: 0 }) = learned(0, 1) else { panic!("no refusal") };
        let expected = learned(u64::MAX, 1).unwrap();
        for more in [0, 1 << 12, 1 << 16, 1 << 20, 1 << 22] {
            assert_eq!(learned(needed + more, 1 + usize::from(more > 1 << 16)).unwrap(), expected);
        }
    }

    #[test]
    fn continuing_equals_learning_at_once() {
        for seed in 0..300 {
            let words = generated(seed);
            let words: Vec<_> = words.iter().map(|(word, n)| (word.as_str(), *n)).collect();
            let mut whole = learner(&words, 1, 50, 1);
            finish(&mut whole);
            let mut counts = WordCounts::default();
            words.iter().for_each(|(word, count)| counts.add(word.as_bytes(), *count).unwrap());
            let goal = Goal {
                vocab_size: u64::MAX,
                max_merges: 50,
                min_frequency: Some(1),
                prefix: Vec::new(),
                memory_limit: u64::MAX,
            };
            for k in 0..=whole.merges().len() {
                let spelled = spelled(&whole);
                let initial: Vec<_> =
                    spelled[..k].iter().map(|(l, r, ..)| (l.as_bytes(), r.as_bytes())).collect();
                let mut continued = Learner::new(&counts, &goal, &initial, 1, &mut || Ok(())).unwrap();
                finish(&mut continued);
                let without_ties = |m: &Merge| (m.left, m.right, m.frequency);
                let pairs = |learner: &Learner| learner.merges().iter().map(without_ties).collect::<Vec<_>>();
                assert_eq!(pairs(&continued), pairs(&whole), "{words:?} {k}");
                assert_eq!(continued.merges()[k..], whole.merges()[k..]);
            }
        }
    }

    #[test]
    fn it_says_why_it_stopped() {
        assert_eq!(finish(&mut learner(&[("abab", 2)], 1, 1, 1)), Stopped::VocabSize);
        assert_eq!(finish(&mut learner(&[("abab", 2)], 1, 9, 1)), Stopped::NoPairs);
        assert_eq!(finish(&mut learner(&[("abab", 2)], 5, 9, 1)), Stopped::MinFrequency);
        assert_eq!(finish(&mut learner(&[("a", 2)], 5, 9, 1)), Stopped::NoPairs);
        assert_eq!(finish(&mut learner(&[], 0, 9, 1)), Stopped::NoPairs);
    }

    #[test]
    fn large_counts_are_exact_and_an_overflow_is_refused() {
        let mut large = learner(&[("ab", 3_000_000_000), ("cd", u64::MAX)], 1, 9, 1);
        finish(&mut large);
        let pair = |l: &str, r: &str, n| (l.to_string(), r.to_string(), n, Some(0));
        assert_eq!(spelled(&large), [pair("c", "d", u64::MAX), pair("a", "b", 3_000_000_000)]);
        let error = learner(&[("aaa", u64::MAX)], 1, 9, 1).step(Duration::MAX).unwrap_err();
        assert_eq!(error.to_string(), r#"the pair ("a", "a") occurs more than 2**64 - 1 times"#);
    }
}
