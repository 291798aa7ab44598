//! The tokens of a long word: positions wait by rank, and each is looked at only when a neighbour changes. Takes
//! O(n log n) for n characters.

use crate::prefetch;
use crate::ranks::Rule;
use crate::sequence::position;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A word under way, and room that serves the next one again.
#[derive(Debug, Default)]
pub struct LongWord {
    slots: Vec<u32>, // one a character: a symbol in its first, its length, tagged, in its second and last one
    waiting: Vec<Vec<u32>>, // positions of pairs, by rank; empty between words
    queue: Queue,
    tokens: Vec<u32>,
}

type Queue = BinaryHeap<Reverse<u32>>;

/// Slots are asked for so many positions before they are needed.
const AHEAD: usize = 16;

/// The mark of slots that start no symbol. No symbol is as high.
const TAG: u32 = 3 << 30;

impl LongWord {
    /// Takes up a word of these symbols.
    pub fn start(&mut self, symbols: impl Iterator<Item = u32>) {
        self.slots.clear();
        self.slots.extend(symbols);
    }

    /// What the symbols have become.
    pub fn symbols(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().copied().filter(|&slot| slot < TAG)
    }

    /// The same in one row.
    pub fn tokens(&mut self) -> &[u32] {
        let mut tokens = std::mem::take(&mut self.tokens);
        tokens.clear();
        tokens.extend(self.symbols());
        self.tokens = tokens;
        &self.tokens
    }

    /// Merges what rules join; `rank` tells the place of a pair in `rules`, or a number behind them.
    pub fn merge(&mut self, rules: &[Rule], rank: impl Fn(u32, u32) -> u32) {
        let LongWord { slots, waiting, queue, .. } = self;
        waiting.resize_with(rules.len(), Vec::new);
        let look = |queue: &mut Queue, waiting: &mut [Vec<u32>], left, right, at| {
            let rank = rank(left, right);
            if let Some(positions) = waiting.get_mut(rank as usize) {
                if positions.is_empty() {
                    queue.push(Reverse(rank));
                }
                positions.push(position(at));
            }
        };
        for (at, pair) in slots.windows(2).enumerate() {
            look(queue, waiting, pair[0], pair[1], at);
        }
        while let Some(Reverse(rank)) = queue.pop() {
            let Rule { left, right, joined } = rules[rank as usize];
            let mut positions = std::mem::take(&mut waiting[rank as usize]);
            if !positions.is_sorted() {
                positions.sort_unstable();
            }
            for (i, &at) in positions.iter().enumerate() {
                if let Some(&later) = positions.get(i + AHEAD) {
                    prefetch::ahead(slots, later as usize);
                }
                let at = at as usize;
                let second = at + length(slots, at);
                if slots[at] != left || slots.get(second) != Some(&right) {
                    continue; // a neighbour was merged meanwhile
                }
                let end = second + length(slots, second);
                let tag = TAG | position(end - at);
                slots[at] = joined;
                slots[second] = tag;
                slots[at + 1] = tag;
                slots[end - 1] = tag;
                if let Some(&follower) = slots.get(end) {
                    look(queue, waiting, joined, follower, at);
                }
                if at > 0 {
                    let last = slots[at - 1];
                    let before = if last < TAG { at - 1 } else { at - (last & !TAG) as usize };
                    look(queue, waiting, slots[before], joined, before);
                }
            }
        }
    }
}

/// How many slots the symbol takes that starts at `at`.
#[inline]
fn length(slots: &[u32], at: usize) -> usize {
    match slots.get(at + 1) {
        Some(&slot) if slot >= TAG => (slot & !TAG) as usize,
        _ => 1,
    }
}
