//! Rules out most pairs before they are counted: weights added up by a few bits of the hash.

use crate::hash;
use crate::pairs::{is_pair, key};
use crate::sequence::Sequence;
use crate::sieve::Sieve;
use std::ops::Range;

/// Sums of weights by hash. A sum that would pass the highest number stays there, and counts as any number above.
#[derive(Debug)]
pub struct Filter {
    sums: Sums,
    bits: u32,
}

/// In bytes where they suffice, so that more of them stay in the caches.
#[derive(Debug)]
enum Sums {
    Narrow(Vec<u8>),
    Wide(Vec<u32>),
}

/// Thresholds up to here need no wide sums.
const NARROW: u64 = 127;

trait Sum: Copy + Into<u32> + TryFrom<u64> {
    const HIGHEST: Self;
    fn plus(self, weight: Self) -> Self;
    fn from_weight(weight: u64) -> Self {
        Self::try_from(weight).unwrap_or(Self::HIGHEST)
    }
}

impl Sum for u8 {
    const HIGHEST: u8 = u8::MAX;
    #[inline]
    fn plus(self, weight: u8) -> u8 {
        self.saturating_add(weight)
    }
}

impl Sum for u32 {
    const HIGHEST: u32 = u32::MAX;
    #[inline]
    fn plus(self, weight: u32) -> u32 {
        self.saturating_add(weight)
    }
}

impl Default for Filter {
    /// Rules nothing out.
    fn default() -> Filter {
        Filter { sums: Sums::Narrow(vec![u8::MAX; 64]), bits: 6 }
    }
}

impl Filter {
    /// Sums by so many bits of the hash, to be compared with about `threshold`.
    pub fn new(bits: u32, threshold: u64) -> Filter {
        let sums = if threshold <= NARROW {
            Sums::Narrow(vec![0; 1 << bits])
        } else {
            Sums::Wide(vec![0; 1 << bits])
        };
        Filter { sums, bits }
    }

    /// Adds the pairs that start in a range.
    pub fn add_all(&mut self, sequence: &Sequence, range: Range<usize>) {
        match &mut self.sums {
            Sums::Narrow(sums) => add_all(sums, self.bits, sequence, range),
            Sums::Wide(sums) => add_all(sums, self.bits, sequence, range),
        }
    }

    /// Lets those pairs pass that may occur `least` times.
    pub fn sieve(&self, least: u64) -> Sieve {
        fn sieve<S: Sum + Ord>(sums: &[S], bits: u32, least: u64) -> Sieve {
            let least = S::from_weight(least);
            Sieve::new(bits, (0..sums.len()).filter(|&slot| sums[slot] >= least))
        }
        match &self.sums {
            Sums::Narrow(sums) => sieve(sums, self.bits, least),
            Sums::Wide(sums) => sieve(sums, self.bits, least),
        }
    }

    /// Adds what was seen elsewhere, with sums of the same kind.
    pub fn plus(mut self, other: Filter) -> Filter {
        fn add<S: Sum>(sums: &mut [S], more: Vec<S>) {
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.plus(more));
        }
        match (&mut self.sums, other.sums) {
            (Sums::Narrow(sums), Sums::Narrow(more)) => add(sums, more),
            (Sums::Wide(sums), Sums::Wide(more)) => add(sums, more),
            _ => unreachable!("the filters of one pass are made alike"),
        }
        self
    }

    /// No pair occurs more often than this.
    pub fn highest(&self) -> u64 {
        fn highest<S: Sum + Ord>(sums: &[S]) -> u64 {
            match sums.iter().max() {
                None => 0,
                Some(&highest) if highest == S::HIGHEST => u64::MAX,
                Some(&highest) => u64::from(highest.into()),
            }
        }
        match &self.sums {
            Sums::Narrow(sums) => highest(sums),
            Sums::Wide(sums) => highest(sums),
        }
    }

    /// A guess at how often the n-th most frequent pair occurs; 0 if there are fewer sums. High sums are those of one
    /// frequent pair and of what falls on it by chance: about the average.
    pub fn nth(&self, n: usize) -> u64 {
        fn nth<S: Sum + Ord>(sums: &[S], n: usize) -> u64 {
            if n >= sums.len() {
                return 0;
            }
            let number = |sum: S| u64::from(sum.into());
            let average = sums.iter().map(|&sum| number(sum)).sum::<u64>() / sums.len() as u64;
            let mut sums = sums.to_vec();
            let (_, nth, _) = sums.select_nth_unstable_by(n, |a, b| b.cmp(a));
            number(*nth).saturating_sub(average)
        }
        match &self.sums {
            Sums::Narrow(sums) => nth(sums, n),
            Sums::Wide(sums) => nth(sums, n),
        }
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        match &self.sums {
            Sums::Narrow(sums) => size_of_val(&**sums),
            Sums::Wide(sums) => size_of_val(&**sums),
        }
    }
}

fn add_all<S: Sum>(sums: &mut [S], bits: u32, sequence: &Sequence, range: Range<usize>) {
    let (seed, nothing) = (hash::seed(), S::from_weight(0));
    sequence.for_each_run(range, |start, end, weight| {
        let weight = S::from_weight(weight);
        for pair in sequence.slots()[start..=end].windows(2) {
            let sum = &mut sums[hash::slot(hash::number(seed, key(pair[0], pair[1])), bits)];
            *sum = sum.plus(if is_pair(pair) { weight } else { nothing });
        }
    });
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
