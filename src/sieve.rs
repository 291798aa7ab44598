//! Which pairs are worth a look: one bit for each value of a few bits of the hash, so small that it stays in the near
//! caches.

use crate::hash;
use crate::pairs::{is_pair, key};
use crate::sequence::{Sequence, position};
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

impl Part {
    /// All of it.
    pub const WHOLE: Part = Part { number: 0, of: 1 };
}

/// A pair that the sieve lets pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Candidate {
    /// The pair.
    pub key: u64,
    /// Its hash.
    pub hash: u64,
    /// Where it stands.
    pub at: u32,
}

/// The bits.
#[derive(Debug)]
pub struct Sieve {
    words: Vec<u64>,
    bits: u32,
}

impl Default for Sieve {
    /// Lets everything pass.
    fn default() -> Sieve {
        Sieve { words: vec![u64::MAX], bits: 6 }
    }
}

impl Sieve {
    /// Lets the pairs pass whose `bits` bits of the hash (6 at least) are among `slots`.
    pub fn new(bits: u32, slots: impl IntoIterator<Item = usize>) -> Sieve {
        let mut words = vec![0; 1 << (bits - 6)];
        slots.into_iter().for_each(|slot| words[slot / 64] |= 1 << (slot % 64));
        Sieve { words, bits }
    }

    /// Calls `f(batch, weight)` with all pairs of a part that may pass, in order.
    pub fn for_each_batch(
        &self,
        sequence: &Sequence,
        range: Range<usize>,
        part: Part,
        mut f: impl FnMut(&[Candidate], u64),
    ) {
        let seed = hash::seed();
        let slots = sequence.slots();
        let mut pass = |positions: &[u32], weight| {
            let mut batch = [Candidate::default(); BATCH];
            for (candidate, &at) in batch.iter_mut().zip(positions) {
                let key = key(slots[at as usize], slots[at as usize + 1]);
                *candidate = Candidate { key, hash: hash::number(seed, key), at };
            }
            f(&batch[..positions.len()], weight);
        };
        sequence.for_each_run(range, |start, end, weight| {
            let mut batch = [0; BATCH];
            let mut n = 0;
            for (at, pair) in (start..).zip(slots[start..=end].windows(2)) {
                let hash = hash::number(seed, key(pair[0], pair[1]));
                let slot = hash::slot(hash, self.bits);
                // No branch here: which pairs pass cannot be foreseen. And the position alone is stored: what waits to be
                // stored limits how many cache misses overlap.
                batch[n] = position(at);
                let passes = self.words[slot / 64] >> (slot % 64) & 1 > 0;
                n += usize::from(is_pair(pair) & passes & (hash & (part.of - 1) == part.number));
                if n == BATCH {
                    n = 0;
                    pass(&batch, weight);
                }
            }
            pass(&batch[..n], weight);
        });
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.words)
    }
}
