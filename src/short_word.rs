//! The tokens of a short word: the rule itself, over small arrays. Nothing is moved.

use crate::chars::{self, CharMap};
use crate::encode::UNKNOWN;
use crate::ranks::{Lookup, Ranks};
use crate::run::{self, END, RUN, Run};
use crate::width::{PLACES, Width};

/// Words of more characters take the road that costs more to start and less for each character. Before and behind the
/// places of the characters is one for what stands beyond the ends of the word.
pub const LONG: usize = PLACES - 2;

/// A word under way, but for the keys of its pairs, which are told by the places where they start.
#[derive(Clone, Debug)]
pub struct ShortWord {
    symbols: [u32; PLACES], // `nothing` for a character that is not known
    unknown: [u32; PLACES], // such characters, where they stand
    has_unknown: bool,
    next: [u8; PLACES],     // where the symbol behind starts
    previous: [u8; PLACES], // and the one before
    length: usize,          // in characters
    tokens: usize,
    rank: u32, // of the last merge, and its place
    at: usize,
    before: usize,    // the place before it
    new: [Lookup; 2], // the pairs that it made at both places
}

/// `next` and `previous` of a word before any merge.
const NEIGHBOURS: [[u8; PLACES]; 2] = {
    let mut neighbours = [[0; PLACES]; 2];
    let mut at = 1;
    while at < PLACES {
        neighbours[0][at - 1] = byte(at);
        neighbours[1][at] = byte(at - 1);
        at += 1;
    }
    neighbours
};

#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "places are few")]
const fn byte(place: usize) -> u8 {
    place as u8
}

/// The place that a byte holds; it needs no check of bounds.
#[inline(always)]
fn place_of(byte: u8) -> usize {
    usize::from(byte) % PLACES
}

impl Default for ShortWord {
    fn default() -> ShortWord {
        ShortWord {
            symbols: [0; PLACES],
            unknown: [0; PLACES],
            has_unknown: false,
            next: NEIGHBOURS[0],
            previous: NEIGHBOURS[1],
            length: 0,
            tokens: 0,
            rank: 0,
            at: 0,
            before: 0,
            new: [Lookup::default(); 2],
        }
    }
}

impl ShortWord {
    /// Takes up a word, in parts, and calls `pair` for each pair of its characters and the place where it starts; what is needed
    /// to look at it is on its way then. Says whether the word is short.
    #[inline]
    pub fn start<N: Width>(
        &mut self,
        parts: [&[u8]; 2],
        chars: &CharMap,
        ranks: &Ranks<N>,
        mut pair: impl FnMut(usize, Lookup),
    ) -> bool {
        let (mut length, mut last, mut has_unknown) = (0, ranks.nothing(), false);
        for part in parts {
            let mut at = 0;
            while at < part.len() {
                let (code_point, bytes) = chars::read(part, at);
                if length == LONG {
                    return false;
                }
                let symbol = match chars.get(code_point) {
                    0 => {
                        self.unknown[length + 1] = code_point;
                        has_unknown = true;
                        ranks.nothing()
                    }
                    number => number - 1,
                };
                pair(length, ranks.look_up(last, symbol));
                last = symbol;
                length += 1;
                self.symbols[length] = symbol;
                at += bytes;
            }
        }
        (self.symbols[0], self.symbols[length + 1]) = (ranks.nothing(), ranks.nothing());
        [self.next, self.previous] = NEIGHBOURS;
        (self.length, self.tokens, self.at, self.has_unknown) = (length, length, 0, has_unknown);
        true
    }

    /// The tokens: a run, or an empty run and all of them.
    #[inline]
    pub fn tokens<'a>(&self, out: &'a mut [u32; PLACES]) -> (Run, &'a [u32]) {
        let mut at = 0;
        let mut token = || {
            at = place_of(self.next[at]);
            self.symbols[at]
        };
        if self.tokens > RUN || self.has_unknown {
            out[..self.tokens].iter_mut().for_each(|place| *place = token());
            if self.has_unknown {
                self.name_unknown(out);
            }
            return run::of(&out[..self.tokens]);
        }
        // Four in any case: how many there are cannot be foreseen.
        let run: Run = std::array::from_fn(|_| token());
        (std::array::from_fn(|number| if number < self.tokens { run[number] } else { END }), &[])
    }

    /// Puts the characters that are not known into a row of all tokens.
    #[cold]
    fn name_unknown(&self, tokens: &mut [u32; PLACES]) {
        let (nothing, mut at) = (self.symbols[0], 0);
        for token in &mut tokens[..self.tokens] {
            at = place_of(self.next[at]);
            if *token == nothing {
                *token = UNKNOWN | self.unknown[at];
            }
        }
    }

    /// Replaces the pair of lowest rank where it stands first; says whether there was one. `look` has to follow: till then what
    /// it needs is on its way.
    #[inline]
    pub fn merge<N: Width>(&mut self, keys: &mut [N::Key; PLACES], ranks: &Ranks<N>) -> bool {
        // Within a round a pair of lower rank may come into being. Where rules are in order none does, and the lowest rank is
        // that of the round as long as its pair is left.
        let rest = if ranks.is_in_order() { None } else { self.rest_of_round::<N>(keys) };
        let at = if let Some(at) = rest {
            at
        } else {
            let Some((rank, at)) = N::lowest(keys, self.length) else { return false };
            self.rank = rank;
            at
        };
        // No branch for the ends of the word: the pair with what is beyond them is looked up, too, and has no rank.
        let second = place_of(self.next[at]);
        let third = place_of(self.next[second]);
        let before = place_of(self.previous[at]);
        let joined = ranks.joined(self.rank);
        self.next[at] = byte(third);
        self.previous[third] = byte(at);
        self.symbols[at] = joined;
        self.tokens -= 1;
        keys[second] = N::NO_PAIR;
        self.new = [ranks.look_up(joined, self.symbols[third]), ranks.look_up(self.symbols[before], joined)];
        (self.at, self.before) = (at, before);
        true
    }

    /// Where the pair of the last merge stands next.
    fn rest_of_round<N: Width>(&self, keys: &[N::Key; PLACES]) -> Option<usize> {
        let is_first = self.tokens == self.length;
        (self.at + 1..self.length).find(|&next| !is_first && N::rank_of(keys[next]) == self.rank)
    }

    /// Looks at the pairs that the last merge made.
    #[inline]
    pub fn look<N: Width>(&mut self, keys: &mut [N::Key; PLACES], ranks: &Ranks<N>) {
        for (place, lookup) in [self.at, self.before].into_iter().zip(self.new) {
            keys[place % PLACES] = ranks.found(lookup).key(place);
        }
    }
}
