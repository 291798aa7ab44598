//! The tokens of a short word: the rule itself, over two small arrays. Nothing is moved.

use crate::chars;
use crate::ranks::{NONE, Ranks, Rule};
use crate::sequence::position;

/// Words of more characters take the road that costs more to start and less for each character.
pub const LONG: usize = 64;

/// A word under way.
#[derive(Clone, Debug)]
pub struct ShortWord {
    symbols: [u32; LONG],
    keys: [u32; LONG], // `key_at` of the pair that starts there
    n: usize,
    live: u64, // bits that tell which places still hold a symbol
}

impl Default for ShortWord {
    fn default() -> ShortWord {
        ShortWord { symbols: [0; LONG], keys: [NONE; LONG], n: 0, live: 0 }
    }
}

/// With this many rules all words take the road of long ones: then a rank and a place do not fit into 32 bits.
const TOO_MANY: usize = 1 << 26;

/// The rank of a pair and the place where it starts as one number: the lowest one tells which pair is next, and where.
#[inline]
fn key_at(rank: u32, place: usize) -> u32 {
    if rank == NONE { NONE } else { rank << 6 | position(place) }
}

/// The lowest place of a set. All are below 64; the mask spares checks.
#[inline]
fn place(bits: u64) -> usize {
    bits.trailing_zeros() as usize & (LONG - 1)
}

impl ShortWord {
    /// Takes up a word, in parts, and the symbols of its characters; says whether it is short enough.
    pub fn start(&mut self, parts: [&[u8]; 2], symbol_of: impl Fn(u32) -> u32, ranks: &Ranks) -> bool {
        self.n = 0;
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
        self.keys[..self.n.next_multiple_of(8)].fill(NONE);
        for (place, (key, pair)) in self.keys.iter_mut().zip(self.symbols[..self.n].windows(2)).enumerate() {
            *key = key_at(ranks.get(pair[0], pair[1]), place);
        }
        true
    }

    /// What the symbols have become.
    #[inline]
    pub fn symbols(&self) -> impl Iterator<Item = u32> {
        let mut live = self.live;
        std::iter::from_fn(move || {
            let symbol = (live > 0).then(|| self.symbols[place(live)]);
            live &= live.wrapping_sub(1);
            symbol
        })
    }

    /// The lowest key.
    #[inline]
    fn lowest(&self) -> u32 {
        // Eight at a time, so that no loop ends where it cannot be foreseen.
        let mut lowest = [NONE; 8];
        for eight in &self.keys.as_chunks::<8>().0[..self.n.div_ceil(8)] {
            lowest.iter_mut().zip(eight).for_each(|(lowest, &key)| *lowest = key.min(*lowest));
        }
        lowest.into_iter().fold(NONE, u32::min)
    }

    /// Takes the lowest rank and replaces its pair everywhere; says whether there was one.
    #[inline]
    pub fn round(&mut self, ranks: &Ranks, in_order: bool) -> bool {
        let lowest = self.lowest();
        let rank = lowest >> 6;
        let Some(&Rule { joined, .. }) = ranks.rules().get(rank as usize) else { return false };
        let ShortWord { symbols, keys, n, live } = self;
        let mut at = lowest as usize & (LONG - 1);
        loop {
            let behind = *live & (u64::MAX << at << 1);
            let second = behind & behind.wrapping_neg();
            let third = behind & !second;
            let before = *live & !(u64::MAX << at);
            *live &= !second;
            symbols[at] = joined;
            keys[place(second)] = NONE;
            keys[at] = if third == 0 { NONE } else { key_at(ranks.get(joined, symbols[place(third)]), at) };
            if before > 0 {
                let before = 63 - before.leading_zeros() as usize;
                keys[before] = key_at(ranks.get(symbols[before], joined), before);
            }
            // Within a round a pair of lower rank may come into being. Where rules are in order none does, and the next
            // look finds what is left of this round.
            match if in_order { None } else { (at + 1..*n).find(|&next| keys[next] >> 6 == rank) } {
                Some(next) => at = next,
                None => return true,
            }
        }
    }
}
