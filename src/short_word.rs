//! The tokens of a short word: the rule itself, over two small arrays. Nothing is moved.

use crate::chars;
use crate::ranks::{Lookup, NONE, Ranks};
use crate::sequence::position;

/// Words of more characters take the road that costs more to start and less for each character.
pub const LONG: usize = 64;

/// A word under way. Behind the places of its characters is one for what stands beyond its ends.
#[derive(Clone, Debug)]
pub struct ShortWord {
    symbols: [u32; LONG + 1],
    keys: [i32; LONG + 1], // of the pair that starts there
    first: [Lookup; LONG], // of that pair, before any merge
    n: usize,
    live: u64, // bits that tell which places still hold a symbol
    rank: u32, // of the last merge, and its place
    at: usize,
    before: usize,    // the place before it
    new: [Lookup; 2], // the pairs that it made at both places
}

/// Beyond the ends of a word. It is no symbol, so it makes no pair with one.
const BEYOND: usize = LONG;
const NOTHING: u32 = u32::MAX;

impl Default for ShortWord {
    fn default() -> ShortWord {
        ShortWord {
            symbols: [NOTHING; LONG + 1],
            keys: [NO_PAIR; LONG + 1],
            first: [Lookup::default(); LONG],
            n: 0,
            live: 0,
            rank: NONE,
            at: BEYOND,
            before: BEYOND,
            new: [Lookup::default(); 2],
        }
    }
}

/// With this many rules all words take the road of long ones: then a rank and a place do not fit into 32 bits.
const TOO_MANY: usize = 1 << 26;

/// The rank of a pair and the place where it starts as one number: the lowest one tells which pair is next, and where. Signed
/// numbers are compared several at once on every processor.
#[inline]
fn key(rank: u32, place: usize) -> i32 {
    (rank << PLACE_BITS | position(place)).cast_signed() ^ i32::MIN
}

/// The rank that a key holds.
#[inline]
fn rank(key: i32) -> u32 {
    (key ^ i32::MIN).cast_unsigned() >> PLACE_BITS
}

/// The bits of a place.
const PLACE_BITS: u32 = LONG.trailing_zeros();

/// Where no pair starts.
const NO_PAIR: i32 = i32::MAX;

/// The rank that keys hold where a pair has none.
const NO_RANK: u32 = NONE >> PLACE_BITS;

/// The lowest place of a set, or `BEYOND`.
#[inline]
fn lowest_place(places: u64) -> usize {
    places.trailing_zeros() as usize
}

/// The highest place of a set, or `BEYOND`.
#[inline]
fn highest_place(places: u64) -> usize {
    63_usize.wrapping_sub(places.leading_zeros() as usize).min(BEYOND)
}

impl ShortWord {
    /// Takes up a word, in parts, and the symbols of its characters; says whether it is short enough. Then `look_at_all` has to
    /// follow: till then what it needs is on its way.
    pub fn start(&mut self, parts: [&[u8]; 2], symbol_of: impl Fn(u32) -> u32, ranks: &Ranks) -> bool {
        (self.n, self.at) = (0, BEYOND);
        if ranks.rules().len() >= TOO_MANY {
            return false;
        }
        for part in parts {
            let mut at = 0;
            while at < part.len() {
                if self.n == LONG {
                    return false;
                }
                let (code_point, length) = chars::read(part, at);
                self.symbols[self.n] = symbol_of(code_point);
                self.n += 1;
                at += length;
            }
        }
        self.live = u64::MAX.checked_shr(64 - position(self.n)).unwrap_or(0);
        for (lookup, pair) in self.first.iter_mut().zip(self.symbols[..self.n].windows(2)) {
            *lookup = ranks.look_up(pair[0], pair[1]);
        }
        true
    }

    /// Looks at all pairs of the word.
    pub fn look_at_all(&mut self, ranks: &Ranks) {
        self.keys[..self.n.next_multiple_of(8)].fill(NO_PAIR);
        let pairs = self.n.saturating_sub(1);
        for (place, (own, &lookup)) in self.keys.iter_mut().zip(&self.first[..pairs]).enumerate() {
            *own = key(ranks.found(lookup), place);
        }
    }

    /// What the symbols have become.
    #[inline]
    pub fn symbols(&self) -> impl Iterator<Item = u32> {
        let mut live = self.live;
        std::iter::from_fn(move || {
            let symbol = (live > 0).then(|| self.symbols[lowest_place(live)]);
            live &= live.wrapping_sub(1);
            symbol
        })
    }

    /// The lowest key.
    #[inline]
    fn lowest(&self) -> i32 {
        // Eight at a time, so that no loop ends where it cannot be foreseen.
        let mut lowest = [NO_PAIR; 8];
        for eight in &self.keys.as_chunks::<8>().0[..self.n.div_ceil(8)] {
            lowest.iter_mut().zip(eight).for_each(|(lowest, &key)| *lowest = key.min(*lowest));
        }
        lowest.into_iter().fold(NO_PAIR, i32::min)
    }

    /// Replaces the pair of lowest rank where it stands first; says whether there was one. `look` has to follow: till then what
    /// it needs is on its way.
    #[inline]
    pub fn merge(&mut self, ranks: &Ranks) -> bool {
        // Within a round a pair of lower rank may come into being. Where rules are in order none does, and the lowest rank is
        // that of the round as long as its pair is left.
        let rest = if ranks.is_in_order() { None } else { self.rest_of_round() };
        let at = if let Some(at) = rest {
            at
        } else {
            let lowest = self.lowest();
            self.rank = rank(lowest);
            if self.rank == NO_RANK {
                return false;
            }
            lowest.cast_unsigned() as usize & (LONG - 1)
        };
        let behind = self.live & (u64::MAX << at << 1);
        let second = behind & behind.wrapping_neg();
        let third = lowest_place(behind & !second);
        let before = highest_place(self.live & !(u64::MAX << at));
        let joined = ranks.joined(self.rank);
        self.live &= !second;
        self.keys[lowest_place(second)] = NO_PAIR;
        self.symbols[at] = joined;
        // No branch for the ends of the word: the lookup of what is beyond them finds nothing.
        self.new = [ranks.look_up(joined, self.symbols[third]), ranks.look_up(self.symbols[before], joined)];
        (self.at, self.before) = (at, before);
        true
    }

    /// Where the pair of the last merge stands next.
    fn rest_of_round(&self) -> Option<usize> {
        (self.at + 1..self.n).find(|&next| rank(self.keys[next]) == self.rank)
    }

    /// Looks at the pairs that the last merge made.
    #[inline]
    pub fn look(&mut self, ranks: &Ranks) {
        let [here, before] = self.new.map(|lookup| ranks.found(lookup));
        self.keys[self.at] = key(here, self.at);
        self.keys[self.before] = key(before, self.before);
    }
}
