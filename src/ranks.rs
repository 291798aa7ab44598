//! Rules, and which pairs have one.

use crate::hash;
use crate::pairs::key;
use crate::prefetch;
use crate::sequence::position;
use std::hint::select_unpredictable;

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
#[derive(Debug)]
pub struct Ranks {
    rules: Vec<Rule>, // by rank
    buckets: Vec<Bucket>,
    seed: u64,
    bits: u32,
    first_joined: Option<u32>, // what the first rule makes, where rules are in order
}

/// Some pairs and their ranks. Slots are filled from the first one on; what finds no room goes to the next bucket.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    pairs: [u64; SLOTS],
    ranks: [u32; SLOTS],
}

const SLOTS: usize = 4;

/// No symbol is as high, so no pair is.
const EMPTY: Bucket = Bucket { pairs: [u64::MAX; SLOTS], ranks: [NONE; SLOTS] };

/// Buckets are asked for so many rules before they are needed.
const AHEAD: usize = 16;

/// A pair that is looked up, and its bucket.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookup {
    pair: u64,
    bucket: usize,
}

impl Ranks {
    /// A table of rules, by rank; `alphabet_size` symbols are characters.
    pub fn new(rules: Vec<Rule>, alphabet_size: usize) -> Ranks {
        let first_joined = position(alphabet_size);
        let is_new =
            |(joined, rule): (u32, &Rule)| rule.joined == joined && rule.left < joined && rule.right < joined;
        let in_order = (first_joined..).zip(&rules).all(is_new);
        let bits = hash::bits_for(rules.len() / 2 + 1);
        let mut table = Ranks {
            rules: Vec::new(),
            buckets: vec![EMPTY; 1 << bits],
            seed: hash::seed(),
            bits,
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
        let Lookup { pair, mut bucket } = self.place(rule.left, rule.right);
        loop {
            let Bucket { pairs, ranks } = &mut self.buckets[bucket];
            for (other, place) in pairs.iter_mut().zip(ranks) {
                if *other == pair {
                    return;
                }
                if *place == NONE {
                    (*other, *place) = (pair, rank);
                    return;
                }
            }
            bucket = self.next(bucket);
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
        prefetch::ahead(&self.buckets, lookup.bucket);
        lookup
    }

    /// The rank of the pair, or `NONE`.
    #[inline]
    pub fn found(&self, Lookup { pair, mut bucket }: Lookup) -> u32 {
        loop {
            let Bucket { pairs, ranks } = &self.buckets[bucket];
            let mut rank = NONE;
            for (&other, &here) in pairs.iter().zip(ranks) {
                rank = select_unpredictable(other == pair, here, rank);
            }
            let is_full = ranks[SLOTS - 1] != NONE;
            if (rank != NONE) | !is_full {
                return rank;
            }
            bucket = self.next(bucket);
        }
    }

    #[inline]
    fn place(&self, left: u32, right: u32) -> Lookup {
        let pair = key(left, right);
        Lookup { pair, bucket: hash::slot(hash::number(self.seed, pair), self.bits) }
    }

    #[inline]
    fn next(&self, bucket: usize) -> usize {
        (bucket + 1) & (self.buckets.len() - 1)
    }
}
