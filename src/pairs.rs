//! Pairs of symbols: what is known of each, and the queue that says which is merged next.

use crate::hash::{self, NumberMap};
use crate::sequence::SEPARATOR;
use crate::symbols::Symbols;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A pair as one number, never zero for pairs of symbols above zero.
#[inline]
pub fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// The parts of a pair.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
pub fn parts(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// The hash of a pair.
#[inline]
pub fn hash_of(key: u64) -> u64 {
    hash::number(hash::seed(), key)
}

/// Whether neither of two neighbours is a separator.
#[inline]
pub fn is_pair(neighbours: &[u32]) -> bool {
    (neighbours[0] != SEPARATOR) & (neighbours[1] != SEPARATOR)
}

/// A pair whose occurrences are known.
#[derive(Clone, Debug, Default)]
pub struct Tracked {
    /// The pair, as `key` gives it.
    pub key: u64,
    /// How often it occurs now.
    pub count: u64,
    /// Where it occurred when it was found or since then came into being, in ascending order; an entry whose pair
    /// has gone meanwhile stays. `None` where memory is short: then the whole array is searched.
    pub positions: Option<Vec<u32>>,
}

/// The tracked pairs, by number and by pair.
#[derive(Debug, Default)]
pub struct Pairs {
    all: Vec<Tracked>,
    numbers: NumberMap<u32>,
}

impl Pairs {
    /// Makes room for more pairs.
    pub fn reserve(&mut self, more: usize) {
        self.all.reserve(more);
        self.numbers.reserve(more);
    }

    /// Tracks a pair, and gives its number.
    pub fn add(&mut self, pair: Tracked) -> u32 {
        let number = crate::sequence::position(self.all.len());
        self.numbers.insert(pair.key, number);
        self.all.push(pair);
        number
    }

    /// Takes a pair out, to merge it: from now on its count is zero.
    pub fn take(&mut self, number: u32) -> Tracked {
        let pair = std::mem::take(&mut self.all[number as usize]);
        self.numbers.remove(&pair.key);
        pair
    }

    /// The number of a tracked pair.
    #[inline]
    pub fn number(&self, key: u64) -> Option<u32> {
        self.numbers.get(&key).copied()
    }

    /// A tracked pair.
    #[inline]
    pub fn get(&self, number: u32) -> &Tracked {
        &self.all[number as usize]
    }

    /// A tracked pair, to change it.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> &mut Tracked {
        &mut self.all[number as usize]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Gives up the positions of pairs that occur less than `least` times; they will not be merged before the next
    /// recount.
    pub fn drop_below(&mut self, least: u64) {
        self.all.iter_mut().filter(|pair| pair.count < least).for_each(|pair| pair.positions = None);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.all.clear();
        self.numbers.clear();
    }

    /// Bytes of memory that lists of positions take.
    pub fn memory_of_positions(&self) -> usize {
        self.all.iter().flat_map(|pair| &pair.positions).map(|positions| positions.capacity() * 4).sum()
    }

    /// Bytes of memory in use, without the positions.
    pub fn memory(&self) -> usize {
        self.all.capacity() * size_of::<Tracked>() + self.numbers.capacity() * 16
    }
}

/// Gives the most frequent pair, the smallest first among equals.
///
/// The highest count never rises: a new pair occurs at most as often as the one whose merge made it. So the pairs
/// of the highest count (the *level*) stand in a heap by string, all others in a heap by count. Counts fall behind
/// the queue's back; a pair whose count has fallen is put where it belongs when it comes up.
#[derive(Debug, Default)]
pub struct Queue {
    level: u64,
    on_level: Vec<Entry>, // a binary heap, the smallest pair first
    on_level_now: u64,    // how many pairs have exactly this count at the moment
    below: BinaryHeap<(u64, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    left: u64, // the first eight bytes of the left part
    right: u64,
    number: u32,
}

impl Queue {
    /// Enters a pair.
    pub fn push(&mut self, number: u32, pairs: &Pairs, symbols: &Symbols) {
        let pair = pairs.get(number);
        if pair.count == self.level {
            self.push_on_level(number, pairs, symbols);
        } else {
            self.below.push((pair.count, number));
        }
    }

    /// To be told when a count falls, with the count before.
    #[inline]
    pub fn lowered(&mut self, before: u64) {
        self.on_level_now -= u64::from(before == self.level);
    }

    /// Takes the next pair with a count of `least` or more; gives its number and how many others have the same count.
    pub fn pop(&mut self, least: u64, pairs: &Pairs, symbols: &Symbols) -> Option<(u32, u64)> {
        loop {
            while let Some(number) = self.pop_on_level(pairs, symbols) {
                let count = pairs.get(number).count;
                if count == self.level && count >= least {
                    self.on_level_now -= 1;
                    return Some((number, self.on_level_now));
                }
                if count >= least {
                    self.below.push((count, number));
                }
            }
            (self.level, self.on_level_now) = (0, 0);
            while let Some(&(count, number)) = self.below.peek() {
                if count < self.level {
                    break;
                }
                self.below.pop();
                let count_now = pairs.get(number).count;
                if count_now == count {
                    self.level = count;
                    self.push_on_level(number, pairs, symbols);
                } else if count_now >= least {
                    self.below.push((count_now, number));
                }
            }
            if self.on_level.is_empty() {
                return None;
            }
        }
    }

    /// The highest count.
    pub fn level(&self) -> u64 {
        self.level
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Queue::default();
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.on_level.capacity() * size_of::<Entry>() + self.below.capacity() * 16
    }

    fn push_on_level(&mut self, number: u32, pairs: &Pairs, symbols: &Symbols) {
        let (left, right) = parts(pairs.get(number).key);
        let entry = Entry { left: symbols.prefix(left), right: symbols.prefix(right), number };
        self.on_level_now += 1;
        let heap = &mut self.on_level;
        heap.push(entry);
        let mut at = heap.len() - 1;
        while at > 0 && comes_before(&entry, &heap[(at - 1) / 2], pairs, symbols) {
            heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn pop_on_level(&mut self, pairs: &Pairs, symbols: &Symbols) -> Option<u32> {
        let heap = &mut self.on_level;
        let last = heap.len().checked_sub(1)?;
        heap.swap(0, last);
        let first = heap.pop()?;
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child + 1 < heap.len() && comes_before(&heap[child + 1], &heap[child], pairs, symbols) {
                child += 1;
            }
            if child >= heap.len() || comes_before(&heap[at], &heap[child], pairs, symbols) {
                return Some(first.number);
            }
            heap.swap(at, child);
            at = child;
        }
    }
}

fn comes_before(a: &Entry, b: &Entry, pairs: &Pairs, symbols: &Symbols) -> bool {
    if a.left != b.left {
        return a.left < b.left;
    }
    let ((a_left, a_right), (b_left, b_right)) =
        (parts(pairs.get(a.number).key), parts(pairs.get(b.number).key));
    if a_left != b_left {
        return symbols.get(a_left) < symbols.get(b_left);
    }
    a.right.cmp(&b.right).then_with(|| symbols.get(a_right).cmp(symbols.get(b_right))) == Ordering::Less
}
