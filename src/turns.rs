//! Short words that take turns: a merge waits for what the last one has made of the word, and several words wait together.

use crate::chars::CharMap;
use crate::ranks::{Lookup, Ranks};
use crate::run::Run;
use crate::short_word::ShortWord;
use crate::width::{PLACES, Width};

/// So many words take turns.
pub const TOGETHER: usize = 16;

/// The places of them all.
const ALL: usize = TOGETHER * PLACES;

/// Words under way.
#[derive(Debug)]
pub struct Turns<N: Width> {
    words: [ShortWord; TOGETHER],
    keys: [[N::Key; PLACES]; TOGETHER],
    // Pairs of characters in one row, with no end at each word that cannot be foreseen, and where they start.
    pairs: [Lookup; ALL],
    places: [u16; ALL],
    tokens: [u32; PLACES],
}

impl<N: Width> Default for Turns<N> {
    fn default() -> Turns<N> {
        Turns {
            words: std::array::from_fn(|_| ShortWord::default()),
            keys: [[N::NO_PAIR; PLACES]; TOGETHER],
            pairs: [Lookup::default(); ALL],
            places: [0; ALL],
            tokens: [0; PLACES],
        }
    }
}

impl<N: Width> Turns<N> {
    /// Encodes up to `TOGETHER` words, each with `prefix` before it; says which ones were not short.
    pub fn encode(
        &mut self,
        prefix: &[u8],
        words: &[&[u8]],
        chars: &CharMap,
        ranks: &Ranks<N>,
    ) -> [bool; TOGETHER] {
        let mut is_long = [false; TOGETHER];
        let (mut waiting, mut n, mut pairs) = ([0; TOGETHER], 0, 0);
        for (number, word) in words.iter().enumerate().take(TOGETHER) {
            let mut end = pairs;
            let is_taken = self.words[number].start([prefix, word], chars, ranks, |place, pair| {
                (self.pairs[end], self.places[end]) = (pair, place_in_row(number, place));
                // What starts before the word is no pair, and the next one takes its place.
                end += usize::from(place > 0);
            });
            is_long[number] = !is_taken;
            if is_taken {
                self.keys[number] = [N::NO_PAIR; PLACES];
                pairs = end;
                waiting[n] = number;
                n += 1;
            }
        }
        let keys = self.keys.as_flattened_mut();
        for (&place, &pair) in self.places.iter().zip(&self.pairs[..pairs]) {
            let place = usize::from(place);
            keys[place % ALL] = ranks.found(pair).key(place % PLACES);
        }
        while n > 0 {
            let mut next = 0;
            while next < n {
                let number = waiting[next];
                if self.words[number].merge(&mut self.keys[number], ranks) {
                    next += 1;
                } else {
                    n -= 1;
                    waiting[next] = waiting[n];
                }
            }
            for &number in &waiting[..n] {
                self.words[number].look(&mut self.keys[number], ranks);
            }
        }
        is_long
    }

    /// The tokens of one of the words, as `ShortWord` gives them.
    #[inline]
    pub fn tokens(&mut self, number: usize) -> (Run, &[u32]) {
        self.words[number].tokens(&mut self.tokens)
    }
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "there are few places")]
fn place_in_row(number: usize, place: usize) -> u16 {
    (number * PLACES + place) as u16
}
