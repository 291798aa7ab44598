//! Rules, and which pairs have one.

use crate::hash;
use crate::pairs::key;
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

/// Rules, and the rank of each pair: open addressing with linear probing, at most half full. A slot holds 1 + the rank, 0 for none, and in
/// the bits that ranks leave free some of the pair's hash: a third of the memory of the pair itself, and the rule is looked
/// at only when these agree. Most pairs have no rank, and nearly all of those are sent away by a filter that stays in the
/// nearest caches.
#[derive(Debug)]
pub struct Ranks {
    rules: Vec<Rule>, // by rank
    slots: Vec<u32>,
    seed: u64,
    bits: u32,
    mask: u32,        // of the bits that ranks take
    filter: Vec<u64>, // a set of bits, by hash: eight bits a rule
}

impl Ranks {
    /// A table of rules, by rank.
    pub fn new(rules: Vec<Rule>) -> Ranks {
        let bits = hash::bits_for(rules.len() * 2 + 2);
        let mask = u32::MAX >> position(rules.len()).leading_zeros().min(31);
        let filter = vec![0; (1_usize << bits).div_ceil(16)];
        let mut table = Ranks { rules, slots: vec![0; 1 << bits], seed: hash::seed(), bits, mask, filter };
        for rank in 0..table.rules.len() {
            let rule = table.rules[rank];
            let hash = hash::number(table.seed, key(rule.left, rule.right));
            let at = table.find(rule.left, rule.right, hash);
            if table.slots[at] == 0 {
                table.slots[at] = table.tag(hash) | position(rank + 1); // else the pair has a lower one
            }
            let (word, bit) = table.filter_bit(hash);
            table.filter[word] |= bit;
        }
        table
    }

    /// The rules, by rank.
    #[inline]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rank of a pair, or `NONE`.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> u32 {
        let hash = hash::number(self.seed, key(left, right));
        let (word, bit) = self.filter_bit(hash);
        if self.filter[word] & bit == 0 {
            return NONE;
        }
        (self.slots[self.find(left, right, hash)] & self.mask).wrapping_sub(1)
    }

    /// The slot of a pair, or the empty one where it belongs.
    #[inline]
    fn find(&self, left: u32, right: u32, hash: u64) -> usize {
        let tag = self.tag(hash);
        let mut at = hash::slot(hash, self.bits);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return at;
            }
            if slot & !self.mask == tag {
                let rule = &self.rules[(slot & self.mask) as usize - 1];
                if (rule.left, rule.right) == (left, right) {
                    return at;
                }
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the low bits of the hash are wanted")]
    fn tag(&self, hash: u64) -> u32 {
        hash as u32 & !self.mask
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the low bits of the hash are wanted")]
    fn filter_bit(&self, hash: u64) -> (usize, u64) {
        ((hash >> 6) as usize & (self.filter.len() - 1), 1 << (hash & 63))
    }
}
