//! Counts to merges.
//!
//! The rules say: merge the most frequent pair, everywhere, and look again. What makes it fast: the count of a pair
//! never rises after the merge that made its younger part. So only pairs that reach a threshold are tracked, with
//! their counts and positions; a pair below it can be forgotten until the highest count has fallen that far.
//! Then a `Recount` finds the next ones.

use crate::chars;
use crate::count::WordCounts;
use crate::error::Error;
use crate::pairs::{Pairs, Queue, Tracked, key, parts};
use crate::recount::Recount;
use crate::sequence::{SEPARATOR, Sequence, Survey, position};
use crate::symbols::Symbols;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How many slots are looked at between two looks at the clock.
const SLOTS_A_STEP: usize = 1 << 22;

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
    /// The least count of a pair that is merged; 0 means 1.
    pub min_frequency: u64,
    /// Put before every word.
    pub prefix: Vec<u8>,
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
    threads: usize,
    state: State,
    given: Vec<u64>, // keys of the merges to repeat before learning, the next one last
    pairs: Pairs,
    queue: Queue,
    threshold: u64, // every pair that occurs as often is tracked
    neighbours: Neighbours,
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
        initial: &[(Vec<u8>, Vec<u8>)],
        threads: usize,
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Learner, Error> {
        let mut survey = Survey::new(counts, &goal.prefix, go_on)?;
        for code_point in
            initial.iter().flat_map(|(left, right)| [left, right]).flat_map(|part| chars::code_points(part))
        {
            survey.alphabet.set(code_point, 1);
        }
        let alphabet = survey.alphabet.code_points();
        let mut symbols = Symbols::default();
        symbols.push(b""); // the separator
        let mut spelled = Vec::new();
        for (id, &code_point) in (1..).zip(&alphabet) {
            survey.alphabet.set(code_point, id);
            spelled.clear();
            chars::push(&mut spelled, code_point);
            symbols.push(&spelled);
        }
        let room = goal.vocab_size.saturating_sub(alphabet.len() as u64);
        let max_merges = usize::try_from(room.min(goal.max_merges)).unwrap_or(usize::MAX);
        let mut given = keys_of(initial, &symbols)?;
        given.truncate(max_merges);
        given.reverse();
        Ok(Learner {
            sequence: Sequence::new(counts, &survey, &symbols, go_on)?,
            neighbours: Neighbours::new(symbols.len()),
            symbols,
            alphabet,
            merges: Vec::new(),
            max_merges,
            min_frequency: goal.min_frequency.max(1),
            threads: threads.max(1),
            state: if given.is_empty() { State::Compact } else { State::Repeat },
            given,
            pairs: Pairs::default(),
            queue: Queue::default(),
            threshold: u64::MAX,
        })
    }

    /// Works for about as long as `budget`, at least a little; says why learning has ended once it has.
    pub fn step(&mut self, budget: Duration) -> Result<Option<Stopped>, Error> {
        let start = Instant::now();
        loop {
            match &mut self.state {
                State::Stopped(stopped) => return Ok(Some(*stopped)),
                State::Repeat => self.repeat(),
                _ if self.merges.len() >= self.max_merges => self.stop(Stopped::VocabSize),
                State::Compact => {
                    if self.sequence.compact(SLOTS_A_STEP) {
                        self.pairs.clear();
                        self.queue.clear();
                        let recount =
                            Recount::new(&self.sequence, self.threshold, self.min_frequency, self.threads);
                        self.state = State::Recount(Box::new(recount));
                    }
                }
                State::Recount(recount) => {
                    let found = recount.advance(&self.sequence, SLOTS_A_STEP);
                    if let Some(found) = found.map_err(|error| self.named(error))? {
                        self.threshold = found.threshold;
                        for pair in found.pairs {
                            let number = self.pairs.add(pair);
                            self.queue.push(number, &self.pairs, &self.symbols);
                        }
                        self.state = State::Merge;
                    }
                }
                State::Merge => match self.queue.pop(self.threshold, &self.pairs, &self.symbols) {
                    Some((number, ties)) => {
                        let pair = self.pairs.take(number);
                        self.merge(pair, Some(ties));
                    }
                    None if self.threshold > self.min_frequency => self.state = State::Compact,
                    None => {
                        let is_pair = |(_, left, right)| left != SEPARATOR && right != SEPARATOR;
                        let any = self.min_frequency > 1 && self.sequence.pairs().any(is_pair);
                        self.stop(if any { Stopped::MinFrequency } else { Stopped::NoPairs });
                    }
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
    fn repeat(&mut self) {
        if self.merges.is_empty() && self.pairs.is_empty() {
            for &key in &self.given {
                self.pairs.add(Tracked { key, ..Tracked::default() });
            }
            let pairs = &mut self.pairs;
            let slots = self.sequence.slots();
            self.sequence.for_each_run(0..slots.len() - 1, |start, end, weight| {
                for at in start..end {
                    if let Some(number) = pairs.number(key(slots[at], slots[at + 1])) {
                        let pair = pairs.get_mut(number);
                        pair.count = pair.count.saturating_add(weight);
                        pair.positions.push(position(at));
                    }
                }
            });
        }
        let Some(next) = self.given.pop() else {
            self.state = State::Compact;
            return;
        };
        if let Some(number) = self.pairs.number(next) {
            let pair = self.pairs.take(number);
            self.merge(pair, None);
        }
    }

    /// Replaces a pair by its joined symbol and counts the new pairs that this makes.
    fn merge(&mut self, pair: Tracked, ties: Option<u64>) {
        let (left, right) = parts(pair.key);
        let joined = position(self.symbols.len());
        self.merges.push(Merge { left, right, frequency: pair.count, ties });
        self.symbols.push_joined(left, right);
        self.sequence.add_joined(left, right);
        let neighbours = &mut self.neighbours;
        neighbours.start();
        self.sequence.replace(pair.positions, (left, right, joined), |at, before, after, weight| {
            neighbours.add(joined, at, before, after, weight);
        });

        let lower = |pairs: &mut Pairs, queue: &mut Queue, key: u64, weight: u64| {
            if let Some(number) = pairs.number(key) {
                let pair = pairs.get_mut(number);
                queue.lowered(pair.count);
                pair.count -= weight;
            }
        };
        for &before in &self.neighbours.before.touched {
            let weight = self.neighbours.before.cells[before as usize].weight;
            lower(&mut self.pairs, &mut self.queue, key(before, left), weight);
        }
        for &after in &self.neighbours.after.touched {
            let weight = self.neighbours.after.cells[after as usize].weight;
            lower(&mut self.pairs, &mut self.queue, key(right, after), weight);
        }
        self.track_new(left, joined);
    }

    /// Tracks the pairs with the new symbol that reach the threshold.
    fn track_new(&mut self, left: u32, joined: u32) {
        let Neighbours { before, after, adjacent, seen } = &mut self.neighbours;
        // Where two occurrences were adjacent, the right neighbour of the first was the left part of the second.
        if adjacent.weight > 0 {
            let cell = &mut after.cells[left as usize];
            cell.weight -= adjacent.weight;
            cell.positions -= adjacent.positions;
        }
        let (pairs, queue, symbols, threshold) =
            (&mut self.pairs, &mut self.queue, &self.symbols, self.threshold);
        let repeating = !self.given.is_empty();
        let mut any = false;
        let mut track = |key, cell: &mut Cell| {
            if cell.weight >= threshold || repeating && cell.weight > 0 && pairs.number(key).is_some() {
                any = true;
                let positions = Vec::with_capacity(cell.positions as usize);
                let number = pairs.add(Tracked { key, count: cell.weight, positions });
                queue.push(number, pairs, symbols);
                cell.number = Some(number);
            }
        };
        before.touched.iter().for_each(|&x| track(key(x, joined), &mut before.cells[x as usize]));
        after.touched.iter().for_each(|&y| track(key(joined, y), &mut after.cells[y as usize]));
        track(key(joined, joined), adjacent);
        if any {
            for &Seen { at, before: x, after: y } in &*seen {
                if x != SEPARATOR
                    && x != joined
                    && let Some(number) = before.cells[x as usize].number
                {
                    self.pairs.get_mut(number).positions.push(at - self.sequence.length(x));
                }
                let follower = if y == joined { &*adjacent } else { &after.cells[y as usize] };
                if let Some(number) = follower.number {
                    self.pairs.get_mut(number).positions.push(at);
                }
            }
        }
    }
}

/// The keys of given merges, which must be such as training gives: each part is a character or the result of an
/// earlier merge, and no result comes twice.
fn keys_of(initial: &[(Vec<u8>, Vec<u8>)], symbols: &Symbols) -> Result<Vec<u64>, Error> {
    let ids = (0..symbols.len()).map(position);
    let mut ids: HashMap<Vec<u8>, u32> = ids.map(|id| (symbols.get(id).to_vec(), id)).collect();
    let mut keys = Vec::with_capacity(initial.len());
    for (index, (left, right)) in initial.iter().enumerate() {
        let id = |part: &Vec<u8>| {
            ids.get(part).copied().filter(|&id| id != SEPARATOR).ok_or_else(|| {
                let part = String::from_utf8_lossy(part);
                let expected = "is neither a character nor the result of an earlier merge";
                Error::Invalid(format!("initial_merges[{index}]: {part:?} {expected}"))
            })
        };
        keys.push(key(id(left)?, id(right)?));
        let next = position(ids.len());
        if ids.insert([&left[..], right].concat(), next).is_some() {
            let message = "an earlier merge gives the same symbol, so this is not a list that training gives";
            return Err(Error::Invalid(format!("initial_merges[{index}]: {message}")));
        }
    }
    Ok(keys)
}

/// What stood around the occurrences of the pair that is being merged.
#[derive(Debug, Default)]
struct Neighbours {
    before: Side,
    after: Side,
    adjacent: Cell, // occurrences directly after another
    seen: Vec<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: u32,
    before: u32,
    after: u32,
}

/// Sums by neighbour: an array indexed by symbol, so that only distinct neighbours cost a look at a table of pairs.
#[derive(Debug, Default)]
struct Side {
    cells: Vec<Cell>,
    touched: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    weight: u64,
    positions: u32,
    number: Option<u32>, // the tracked pair of this neighbour and the joined symbol
}

impl Neighbours {
    fn new(symbols: usize) -> Neighbours {
        let side = || Side { cells: vec![Cell::default(); symbols], touched: Vec::new() };
        Neighbours { before: side(), after: side(), ..Neighbours::default() }
    }

    /// Clears what the last merge left and makes room for the new symbol.
    fn start(&mut self) {
        self.before.clear();
        self.after.clear();
        self.adjacent = Cell::default();
        self.seen.clear();
    }

    #[inline]
    fn add(&mut self, joined: u32, at: u32, before: u32, after: u32, weight: u64) {
        if before == joined {
            self.adjacent.add(weight);
            if let Some(last) = self.seen.last_mut() {
                last.after = joined;
            }
        } else if before != SEPARATOR {
            self.before.add(before, weight);
        }
        if after != SEPARATOR {
            self.after.add(after, weight);
        }
        self.seen.push(Seen { at, before, after });
    }
}

impl Side {
    #[inline]
    fn add(&mut self, symbol: u32, weight: u64) {
        let cell = &mut self.cells[symbol as usize];
        if cell.positions == 0 {
            self.touched.push(symbol);
        }
        cell.add(weight);
    }

    fn clear(&mut self) {
        for symbol in self.touched.drain(..) {
            self.cells[symbol as usize] = Cell::default();
        }
        self.cells.push(Cell::default());
    }
}

impl Cell {
    #[inline]
    fn add(&mut self, weight: u64) {
        self.weight += weight;
        self.positions += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Words<'a> = [(&'a str, u64)];

    fn learner(words: &Words<'_>, min_frequency: u64, max_merges: u64, threads: usize) -> Learner {
        let mut counts = WordCounts::default();
        words.iter().for_each(|(word, count)| counts.add(word.as_bytes(), *count).unwrap());
        let goal = Goal { vocab_size: u64::MAX, max_merges, min_frequency, prefix: Vec::new() };
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
    fn continuing_equals_learning_at_once() {
        for seed in 0..300 {
            let words = generated(seed);
            let words: Vec<_> = words.iter().map(|(word, n)| (word.as_str(), *n)).collect();
            let mut whole = learner(&words, 1, 50, 1);
            finish(&mut whole);
            let mut counts = WordCounts::default();
            words.iter().for_each(|(word, count)| counts.add(word.as_bytes(), *count).unwrap());
            let goal = Goal { vocab_size: u64::MAX, max_merges: 50, min_frequency: 1, prefix: Vec::new() };
            for k in 0..=whole.merges().len() {
                let spelled = spelled(&whole);
                let initial: Vec<_> = spelled[..k]
                    .iter()
                    .map(|(l, r, ..)| (l.clone().into_bytes(), r.clone().into_bytes()))
                    .collect();
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
