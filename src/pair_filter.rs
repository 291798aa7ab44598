//! Rules out most pairs before they are counted: weights added up by a few bits of the hash.

use crate::hash;
use crate::pairs::key;
use crate::sequence::{SEPARATOR, Sequence, position};
use std::ops::Range;

/// So many pairs are looked at together, so that their cache misses overlap.
pub const BATCH: usize = 64;

/// Where memory is short, pairs are counted in several parts, by hash.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Which one.
    pub number: u64,
    /// How many there are, a power of two.
    pub of: u64,
}

/// Sums of weights by hash; a sum that would pass 2^32 - 1 stays there, and counts as any number above.
#[derive(Debug)]
pub struct Filter {
    sums: Vec<u32>,
    bits: u32,
}

/// A pair that the filter lets pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Candidate {
    /// The pair.
    pub key: u64,
    /// Its hash.
    pub hash: u64,
    /// Where it stands.
    pub at: u32,
}

impl Default for Filter {
    /// Rules nothing out.
    fn default() -> Filter {
        Filter { sums: vec![u32::MAX; 2], bits: 1 }
    }
}

impl Filter {
    /// Sums by so many bits of the hash.
    pub fn new(bits: u32) -> Filter {
        Filter { sums: vec![0; 1 << bits], bits }
    }

    /// Adds the pairs that start in a range.
    pub fn add_all(&mut self, sequence: &Sequence, range: Range<usize>) {
        let seed = hash::seed();
        sequence.for_each_run(range, |start, end, weight| {
            let weight = u32::try_from(weight).unwrap_or(u32::MAX);
            for pair in sequence.slots()[start..=end].windows(2) {
                let sum = &mut self.sums[hash::slot(hash::number(seed, key(pair[0], pair[1])), self.bits)];
                *sum = sum.saturating_add(if is_pair(pair) { weight } else { 0 });
            }
        });
    }

    /// Calls `f(batch, weight)` with all pairs of a part that the filter lets pass.
    pub fn for_each_batch(
        &self,
        sequence: &Sequence,
        range: Range<usize>,
        part: Part,
        least: u32,
        mut f: impl FnMut(&[Candidate], u64),
    ) {
        let seed = hash::seed();
        sequence.for_each_run(range, |start, end, weight| {
            let mut batch = [Candidate::default(); BATCH];
            let mut n = 0;
            for (at, pair) in (start..).zip(sequence.slots()[start..=end].windows(2)) {
                let key = key(pair[0], pair[1]);
                let hash = hash::number(seed, key);
                batch[n] = Candidate { key, hash, at: position(at) };
                // No branch here: which pairs pass cannot be foreseen.
                let may_reach = self.sums[hash::slot(hash, self.bits)] >= least;
                n += usize::from(is_pair(pair) & may_reach & (hash & (part.of - 1) == part.number));
                if n == BATCH {
                    n = 0;
                    f(&batch, weight);
                }
            }
            f(&batch[..n], weight);
        });
    }

    /// Adds what was seen elsewhere.
    pub fn plus(mut self, other: Filter) -> Filter {
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        self
    }

    /// No pair occurs more often than this.
    pub fn highest(&self) -> u64 {
        match self.sums.iter().max() {
            Some(&u32::MAX) | None => u64::MAX,
            Some(&highest) => u64::from(highest),
        }
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.sums)
    }
}

/// Whether neither part is a separator.
#[inline]
pub fn is_pair(pair: &[u32]) -> bool {
    (pair[0] != SEPARATOR) & (pair[1] != SEPARATOR)
}

/// Enough buckets that the average one stays well below the threshold, the part `kept` of `below`, as far as that is
/// affordable.
pub fn filter_bits(sequence: &Sequence, below: u64, kept: u64) -> u32 {
    let mut total = 0_u128;
    sequence.for_each_run(0..sequence.slots().len(), |start, end, weight| {
        total += (end - start) as u128 * u128::from(weight);
    });
    let wanted = total * u128::from(2 * kept) / u128::from(below);
    let affordable = hash::bits_for(sequence.slots().len()).min(20);
    (128 - wanted.leading_zeros()).clamp(16.min(affordable), affordable)
}

/// The hash of a pair.
#[inline]
pub fn hash_of(key: u64) -> u64 {
    hash::number(hash::seed(), key)
}
