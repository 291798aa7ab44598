//! Where a word can be cut without changing its tokens.
//!
//! A rule that joins two symbols brings two characters together: the last one of its left part and the first one of its
//! right part. Between two characters that no rule brings together every symbol ends, so what stands on either side has
//! the tokens that it has alone: a round replaces a pair of lowest rank on each side, or nothing there. Long words of
//! scripts without spaces come apart into short pieces that are met again and again.

use crate::chars;
use crate::encode::Pair;
use crate::hash;
use crate::pairs::key;

/// So many places to cut are found before the pieces are looked at.
const CUTS: usize = 32;

/// The pairs of characters that rules bring together, as bits of a hash: some other pairs look the same, and are not cut.
#[derive(Debug)]
pub struct Seams {
    bits: Vec<u64>,
    seed: u64,
}

impl Seams {
    /// The seams of rules.
    pub fn new(rules: &[Pair<'_>]) -> Seams {
        let mut seams =
            Seams { bits: vec![0; rules.len().div_ceil(4).next_power_of_two()], seed: hash::seed() };
        for (left, right) in rules {
            let last = left.iter().rposition(|&byte| byte & 0xC0 != 0x80).unwrap_or(0);
            let (place, bit) = seams.place(chars::read(left, last).0, chars::read(right, 0).0);
            seams.bits[place] |= bit;
        }
        seams
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "some bits of the hash are wanted")]
    fn place(&self, last: u32, first: u32) -> (usize, u64) {
        let hash = hash::number(self.seed, key(last, first));
        ((hash >> 6) as usize & (self.bits.len() - 1), 1 << (hash & 63))
    }

    /// Calls `f(start, end)` for the pieces of the word `text[start..end]`.
    #[inline]
    pub fn for_each_piece(&self, text: &[u8], start: usize, end: usize, mut f: impl FnMut(usize, usize)) {
        let (mut last, length) = chars::read(text, start);
        let (mut piece, mut at) = (start, start + length);
        let mut cuts = [0; CUTS];
        while at < end {
            // No branch here: which characters meet in a rule cannot be foreseen.
            let mut n = 0;
            while at < end && n < CUTS {
                let (next, length) = chars::read(text, at);
                let (place, bit) = self.place(last, next);
                cuts[n] = at;
                n += usize::from(self.bits[place] & bit == 0);
                last = next;
                at += length;
            }
            for &cut in &cuts[..n] {
                f(piece, cut);
                piece = cut;
            }
        }
        f(piece, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_where_no_rule_joins() {
        let rules = [("a", "b"), ("ab", "é"), ("x", "xé")].map(|(l, r)| (l.as_bytes(), r.as_bytes()));
        let pieces = |word: &str| {
            let mut pieces = Vec::new();
            let seams = Seams::new(&rules);
            seams.for_each_piece(word.as_bytes(), 0, word.len(), |start, end| pieces.push(&word[start..end]));
            assert_eq!(pieces.concat(), word);
            pieces.len()
        };
        assert_eq!(pieces("abéxxé"), 3); // é x and x é meet in no rule, unless a hash looks the same
    }
}
