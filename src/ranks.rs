//! Rules, and which pairs have one.

use crate::hash::{self, NumberMap};
use crate::prefetch;
use crate::sequence::position;

/// Instead of the rank of a pair that has none.
pub const NONE: u32 = u32::MAX;

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

/// Rules, and the rank of each pair, in buckets of one cache line. All slots of a bucket are compared without a branch:
/// whether a pair has a rank cannot be foreseen.
///
/// A pair is a number of as many bits as two symbols have, and its hash another one, made by a multiplication that
/// can be undone. Its highest bits are the bucket, so the slot only has to hold the others, which are 32 at most.
#[derive(Debug)]
pub struct Ranks {
    rules: Vec<Rule>, // by rank
    buckets: Vec<Bucket>,
    overflow: NumberMap<u32>, // of pairs whose bucket is full, by their hashes
    bits: u32,
    symbol_bits: u32,
    highest: u32, // stands for what is in no rule
    factor: u64,
    first_joined: Option<u32>, // what the first rule makes, where rules are in order
}

/// Some pairs and their ranks. Slots are filled from the first one on.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    rests: [u32; SLOTS],
    ranks: [u32; SLOTS],
}

const SLOTS: usize = 8;

const EMPTY: Bucket = Bucket { rests: [0; SLOTS], ranks: [NONE; SLOTS] };

/// Buckets are asked for so many rules before they are needed.
const AHEAD: usize = 16;

/// The hash of a pair that is looked up, from the highest bit on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookup(u64);

impl Ranks {
    /// A table of rules, by rank; `alphabet_size` symbols are characters.
    pub fn new(rules: Vec<Rule>, alphabet_size: usize) -> Ranks {
        let first_joined = position(alphabet_size);
        let is_new =
            |(joined, rule): (u32, &Rule)| rule.joined == joined && rule.left < joined && rule.right < joined;
        let in_order = (first_joined..).zip(&rules).all(is_new);
        let mentioned = rules.iter().map(|rule| rule.left.max(rule.right)).max().unwrap_or(0);
        let symbol_bits = u32::BITS - (mentioned + 1).leading_zeros();
        let bits =
            hash::bits_for(rules.len() / (SLOTS / 2) + 1).max((2 * symbol_bits).saturating_sub(u32::BITS));
        let mut table = Ranks {
            rules: Vec::new(),
            buckets: vec![EMPTY; 1 << bits],
            overflow: NumberMap::default(),
            bits,
            symbol_bits,
            highest: (1 << symbol_bits) - 1,
            factor: (hash::seed() | 1) << (u64::BITS - 2 * symbol_bits),
            first_joined: in_order.then_some(first_joined),
        };
        for (rank, rule) in rules.iter().enumerate() {
            if let Some(later) = rules.get(rank + AHEAD) {
                table.look_up(later.left, later.right);
            }
            table.add(rule, position(rank));
        }
        table.rules = rules;
        table
    }

    /// Adds a rule, if its pair has no lower rank.
    fn add(&mut self, rule: &Rule, rank: u32) {
        let lookup = self.place(rule.left, rule.right);
        if self.found(lookup) != NONE {
            return;
        }
        let (bucket, rest) = self.bucket(lookup);
        let Bucket { rests, ranks } = &mut self.buckets[bucket];
        match ranks.iter().position(|&rank| rank == NONE) {
            Some(free) => (rests[free], ranks[free]) = (rest, rank),
            None => drop(self.overflow.insert(lookup.0, rank)),
        }
    }

    /// The rules, by rank.
    #[inline]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether each rule makes a new symbol, of characters of the alphabet or what rules before it made.
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

    /// The rank of a pair, or `NONE`.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> u32 {
        self.found(self.place(left, right))
    }

    /// Asks for the rank of a pair, some time before it is needed.
    #[inline]
    pub fn look_up(&self, left: u32, right: u32) -> Lookup {
        let lookup = self.place(left, right);
        prefetch::ahead(&self.buckets, self.bucket(lookup).0);
        lookup
    }

    /// The rank of the pair, or `NONE`.
    #[inline]
    pub fn found(&self, lookup: Lookup) -> u32 {
        let (bucket, rest) = self.bucket(lookup);
        let Bucket { rests, ranks } = &self.buckets[bucket];
        let slots = rests.iter().zip(ranks);
        let rank = slots.fold(NONE, |rank, (&other, &here)| rank & if other == rest { here } else { NONE });
        if (rank == NONE) & (ranks[SLOTS - 1] != NONE) {
            return self.overflow.get(&lookup.0).copied().unwrap_or(NONE);
        }
        rank
    }

    #[inline]
    fn place(&self, left: u32, right: u32) -> Lookup {
        let (left, right) = (u64::from(left.min(self.highest)), u64::from(right.min(self.highest)));
        Lookup((left << self.symbol_bits | right).wrapping_mul(self.factor))
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "no bits are left above")]
    fn bucket(&self, Lookup(hash): Lookup) -> (usize, u32) {
        (hash::slot(hash, self.bits), (hash << self.bits >> u32::BITS) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_pair_has_its_lowest_rank_and_no_other_has_one() {
        for (rules, symbols) in [(0, 1), (1, 1), (40, 3), (3_000, 90), (20_000, 70_000), (20_000, 1 << 23)] {
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
            let ranks = Ranks::new(rules, 1);
            for pair in expected.keys().chain(&others).chain(&unknown) {
                let rank = expected.get(pair).copied().unwrap_or(NONE);
                assert_eq!(ranks.get(pair.0, pair.1), rank, "{pair:?} of {symbols}");
            }
        }
    }
}
