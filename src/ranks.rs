//! Rules, and which pairs have one.

use crate::hash::{self, NumberMap};
use crate::prefetch;
use crate::sequence::position;
use crate::width::{SLOTS, Width};

/// A rule in symbols.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The left part.
    pub left: u32,
    /// The right part.
    pub right: u32,
    /// What they make.
    pub joined: u32,
}

/// Rules, and the rank of each pair, in buckets of half a cache line or a whole one. All slots of a bucket are compared without a
/// branch: whether a pair has a rank cannot be foreseen.
///
/// A pair is a number below the square of that of the symbols, and its hash another one of as many bits, made by a
/// multiplication that can be undone. Its highest bits are the bucket, so the slot only has to hold the others.
#[derive(Debug)]
pub struct Ranks<N> {
    rules: Vec<Rule>, // by rank
    buckets: Vec<Bucket<N>>,
    overflow: NumberMap<N>,    // of pairs whose bucket is full, by their hashes
    factors: [u64; 2],         // of the symbols of a pair, whose sum is the hash
    mask: u64,                 // the bits of a hash
    nothing: u32,              // no character of the alphabet and no symbol of a rule
    first_joined: Option<u32>, // what the first rule makes, where rules are in order
}

/// Some pairs and their ranks. Slots are filled from the first one on.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Bucket<N> {
    rests: [N; SLOTS],
    ranks: [N; SLOTS],
}

/// So many pairs a bucket should hold at most: then few are full, which cannot be foreseen either.
const HELD: usize = 2;

/// Buckets are asked for so many rules before they are needed.
const AHEAD: usize = 16;

/// The hash of a pair that is looked up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookup(u64);

impl<N: Width> Ranks<N> {
    /// A table of rules, by rank; `alphabet_size` symbols are characters.
    pub fn new(rules: Vec<Rule>, alphabet_size: usize) -> Ranks<N> {
        let first_joined = position(alphabet_size);
        let is_new =
            |(joined, rule): (u32, &Rule)| rule.joined == joined && rule.left < joined && rule.right < joined;
        let in_order = (first_joined..).zip(&rules).all(is_new);
        let nothing = nothing(&rules, alphabet_size);
        let (factor, symbols) = (hash::seed() | 1, u64::from(nothing) + 1);
        let hash_bits = hash_bits::<N>(rules.len(), symbols);
        let empty = Bucket { rests: [N::default(); SLOTS], ranks: [N::NONE; SLOTS] };
        let mut table = Ranks {
            rules: Vec::new(),
            buckets: vec![empty; 1 << (hash_bits - N::BITS)],
            overflow: NumberMap::default(),
            factors: [factor.wrapping_mul(symbols), factor],
            mask: u64::MAX >> (u64::BITS - hash_bits),
            nothing,
            first_joined: in_order.then_some(first_joined),
        };
        for (rank, rule) in rules.iter().enumerate() {
            if let Some(later) = rules.get(rank + AHEAD) {
                table.look_up(later.left, later.right);
            }
            table.add(rule, N::of(position(rank)));
        }
        table.rules = rules;
        table
    }

    /// Whether numbers of this width can hold such rules.
    pub fn can_hold(rules: &[Rule], alphabet_size: usize) -> bool {
        let symbols = || u64::from(nothing(rules, alphabet_size)) + 1;
        rules.len() < N::TOO_MANY && hash_bits::<N>(rules.len(), symbols()) <= 2 * N::BITS
    }

    /// Adds a rule, if its pair has no lower rank.
    fn add(&mut self, rule: &Rule, rank: N) {
        let lookup = self.place(rule.left, rule.right);
        if self.found(lookup) != N::NONE {
            return;
        }
        let Bucket { rests, ranks } = &mut self.buckets[lookup.bucket::<N>()];
        match ranks.iter().position(|&rank| rank == N::NONE) {
            Some(free) => (rests[free], ranks[free]) = (N::lowest_bits(lookup.0), rank),
            None => drop(self.overflow.insert(lookup.0, rank)),
        }
    }

    /// The rules, by rank.
    #[inline]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether each rule makes a new symbol, of characters of the alphabet or what rules before it made.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.first_joined.is_some()
    }

    /// What the rule of a rank makes.
    #[inline]
    pub fn joined(&self, rank: u32) -> u32 {
        match self.first_joined {
            Some(first) => first + rank,
            None => self.rules[rank as usize].joined,
        }
    }

    /// A number that is no character of the alphabet and no symbol of a rule.
    #[inline]
    pub fn nothing(&self) -> u32 {
        self.nothing
    }

    /// The rank of a pair of any symbols, or a number above those of all rules.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> u32 {
        self.found(self.place(left.min(self.nothing), right.min(self.nothing))).rank()
    }

    /// Asks for the rank of a pair, some time before it is needed. It is of characters of the alphabet, symbols of rules,
    /// or `nothing`.
    #[inline(always)]
    pub fn look_up(&self, left: u32, right: u32) -> Lookup {
        let lookup = self.place(left, right);
        prefetch::ahead(&self.buckets, lookup.bucket::<N>());
        lookup
    }

    /// The rank of the pair, or `NONE`.
    #[inline(always)]
    pub fn found(&self, lookup: Lookup) -> N {
        let Bucket { rests, ranks } = &self.buckets[lookup.bucket::<N>()];
        if ranks[SLOTS - 1] == N::NONE {
            N::beside(N::lowest_bits(lookup.0), rests, ranks)
        } else {
            self.found_in_full(lookup)
        }
    }

    #[cold]
    #[inline(never)]
    fn found_in_full(&self, lookup: Lookup) -> N {
        let Bucket { rests, ranks } = &self.buckets[lookup.bucket::<N>()];
        match rests.iter().position(|&rest| rest == N::lowest_bits(lookup.0)) {
            Some(slot) => ranks[slot],
            None => self.overflow.get(&lookup.0).copied().unwrap_or(N::NONE),
        }
    }

    #[inline(always)]
    fn place(&self, left: u32, right: u32) -> Lookup {
        let [of_left, of_right] = self.factors;
        let left = u64::from(left).wrapping_mul(of_left);
        Lookup(left.wrapping_add(u64::from(right).wrapping_mul(of_right)) & self.mask)
    }
}

/// A number above all characters of the alphabet and symbols of rules.
fn nothing(rules: &[Rule], alphabet_size: usize) -> u32 {
    let above = |rule: &Rule| rule.left.max(rule.right).max(rule.joined) + 1;
    rules.iter().map(above).fold(position(alphabet_size), u32::max)
}

/// The bits of a hash: as many as numbers of pairs have, and enough for all the buckets.
fn hash_bits<N: Width>(rules: usize, symbols: u64) -> u32 {
    let pair_bits = u64::BITS - (symbols * symbols - 1).leading_zeros();
    pair_bits.max(N::BITS + hash::bits_for(rules / HELD + 1))
}

impl Lookup {
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "tables that fit into memory have no more buckets")]
    fn bucket<N: Width>(self) -> usize {
        (self.0 >> N::BITS) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_pair_has_its_lowest_rank_and_no_other_has_one() {
        // Of 65,534 rules among 16,000 symbols, some do not fit into their buckets.
        for (rules, symbols) in [(0, 1), (1, 1), (40, 3), (3_000, 90), (65_534, 16_000), (20_000, 1 << 23)] {
            let mut state = 1_u64;
            let mut random = || {
                state = hash::mix(state ^ 0x9e37_79b9, 0xd1b5_4a32_d192_ed03).wrapping_add(1);
                u32::try_from(state % symbols).unwrap()
            };
            let rules: Vec<Rule> =
                (0..rules).map(|_| Rule { left: random(), right: random(), joined: 0 }).collect();
            let mut expected = HashMap::new();
            for (rank, rule) in (0..).zip(&rules) {
                expected.entry((rule.left, rule.right)).or_insert(rank);
            }
            let others: Vec<_> = (0..20_000).map(|_| (random(), random())).collect();
            let unknown = [(u32::MAX, 0), (0, u32::MAX), (1 << 31, 1 << 31)];
            let is_narrow = Ranks::<u16>::can_hold(&rules, 1);
            assert_eq!(is_narrow, symbols < 1 << 16);
            let narrow = is_narrow.then(|| Ranks::<u16>::new(rules.clone(), 1));
            let wide = Ranks::<u32>::new(rules, 1);
            for pair in expected.keys().chain(&others).chain(&unknown) {
                let rank = expected.get(pair).copied();
                let of = |rank: u32| Some(rank).filter(|&rank| (rank as usize) < wide.rules().len());
                assert_eq!(of(wide.get(pair.0, pair.1)), rank, "{pair:?} of {symbols}");
                if let Some(narrow) = &narrow {
                    assert_eq!(of(narrow.get(pair.0, pair.1)), rank, "{pair:?} of {symbols}");
                }
            }
        }
    }
}
