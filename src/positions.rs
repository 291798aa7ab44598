//! Where the pairs stand that will be tracked.

use crate::hash;
use crate::pair_counts::Counted;
use crate::pair_matrix::cell;
use crate::pairs::{Tracked, hash_of, parts};
use crate::sequence::{Sequence, position};
use crate::sieve::{BATCH, Part, Sieve};
use std::ops::Range;

/// The pairs that reach the threshold, with an index.
#[derive(Debug, Default)]
pub struct Kept {
    pairs: Vec<Counted>,
    index: Vec<u32>, // 1 + the place in `pairs`, 0 for none
    by: By,
    sieve: Sieve, // where the index is used by hash
}

/// How the index is used.
#[derive(Clone, Copy, Debug)]
enum By {
    /// So many bits of the hash, with linear probing; so sparse that most lookups end at the first entry.
    Hash(u32),
    /// The cell of the pair, where there are so many symbols.
    Cell(usize),
}

impl Default for By {
    fn default() -> By {
        By::Hash(1)
    }
}

impl Kept {
    /// Keeps what reaches the threshold. Positions are noted as far as they fit into `room`. If there is a number of
    /// symbols, the index has a cell for every pair there could be.
    pub fn new(mut pairs: Vec<Counted>, threshold: u64, room: usize, symbols: Option<usize>) -> Kept {
        pairs.retain(|pair| pair.count >= threshold);
        let (by, size) = match symbols {
            Some(symbols) => (By::Cell(symbols), symbols * symbols),
            None => {
                let bits = hash::bits_for(pairs.len() * 4);
                (By::Hash(bits), 1 << bits)
            }
        };
        let mut index = vec![0; size];
        let mut memory = 0_usize;
        for (place, pair) in (1..).zip(&mut pairs) {
            memory = memory.saturating_add(pair.memory());
            if memory > room {
                memory -= pair.memory();
                pair.positions = UNLISTED;
                continue;
            }
            let at = match by {
                By::Cell(symbols) => {
                    let (left, right) = parts(pair.key);
                    cell(symbols, left, right)
                }
                By::Hash(bits) => {
                    let mut at = hash::slot(hash_of(pair.key), bits);
                    while index[at] > 0 {
                        at = (at + 1) & (size - 1);
                    }
                    at
                }
            };
            index[at] = place;
        }
        let sieve = match by {
            By::Cell(_) => Sieve::default(),
            By::Hash(_) => {
                let bits = hash::bits_for(pairs.len() * 16).max(6);
                Sieve::new(bits, pairs.iter().map(|pair| hash::slot(hash_of(pair.key), bits)))
            }
        };
        Kept { pairs, index, by, sieve }
    }
}

/// Where the kept pairs stand in one thread's part of the array.
#[derive(Debug, Default)]
pub struct Positions {
    lists: Vec<Vec<u32>>, // by the place of the pair in `Kept`
}

impl Positions {
    /// Room for all positions of the kept pairs, or for one of so many `parts` of them.
    pub fn new(kept: &Kept, parts: usize) -> Positions {
        Positions { lists: kept.pairs.iter().map(|pair| Vec::with_capacity(listed(pair) / parts)).collect() }
    }

    /// Notes the kept pairs that start in a range.
    pub fn note_all(&mut self, sequence: &Sequence, range: Range<usize>, kept: &Kept) {
        match kept.by {
            By::Hash(bits) => self.note_by_hash(sequence, range, kept, bits),
            By::Cell(symbols) => self.note_by_cell(sequence, range, kept, symbols),
        }
    }

    fn note_by_cell(&mut self, sequence: &Sequence, range: Range<usize>, kept: &Kept, symbols: usize) {
        let slots = sequence.slots();
        let mut batch = [(0, 0); BATCH];
        let mut n = 0;
        let mut note = |batch: &[(u32, u32)]| {
            batch.iter().for_each(|&(place, at)| self.lists[place as usize - 1].push(at));
        };
        for (at, pair) in (range.start..).zip(slots[range.start..=range.end].windows(2)) {
            // No branch here: which pairs are kept cannot be foreseen. Separators are part of no kept pair, so nothing is
            // asked of them.
            let place = kept.index[cell(symbols, pair[0], pair[1])];
            batch[n] = (place, position(at));
            n += usize::from(place > 0);
            if n == BATCH {
                n = 0;
                note(&batch);
            }
        }
        note(&batch[..n]);
    }

    fn note_by_hash(&mut self, sequence: &Sequence, range: Range<usize>, kept: &Kept, bits: u32) {
        let mask = kept.index.len() - 1;
        kept.sieve.for_each_batch(sequence, range, Part::WHOLE, |batch, _| {
            // Looking at all entries first lets the cache misses overlap.
            let mut entries = [0; BATCH];
            for (entry, pair) in entries.iter_mut().zip(batch) {
                *entry = kept.index[hash::slot(pair.hash, bits)];
            }
            for (mut place, pair) in entries.into_iter().zip(batch) {
                let mut slot = hash::slot(pair.hash, bits);
                while place > 0 {
                    if kept.pairs[place as usize - 1].key == pair.key {
                        self.lists[place as usize - 1].push(pair.at);
                        break;
                    }
                    slot = (slot + 1) & mask;
                    place = kept.index[slot];
                }
            }
        });
    }
}

/// Instead of the number of positions: there is no room for them.
const UNLISTED: u32 = u32::MAX;

/// How many positions of a pair are listed.
fn listed(pair: &Counted) -> usize {
    if pair.positions == UNLISTED { 0 } else { pair.positions as usize }
}

/// The kept pairs with their positions, as the threads have noted them one after the other.
pub fn tracked(kept: &Kept, parts: Vec<Positions>) -> Vec<Tracked> {
    let mut parts = parts.into_iter().map(|part| part.lists);
    let mut lists = parts.next().unwrap_or_default();
    for part in parts {
        lists.iter_mut().zip(part).for_each(|(list, more)| list.extend(more));
    }
    let track = |(pair, list): (&Counted, Vec<u32>)| Tracked {
        key: pair.key,
        count: pair.count,
        positions: (pair.positions != UNLISTED).then_some(list),
    };
    kept.pairs.iter().zip(lists).map(track).collect()
}
