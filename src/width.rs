//! The two widths of numbers in which ranks are kept while words are encoded. Those of most tokenizers fit into 16 bits,
//! in half the memory, and twice as many are compared at once.

use crate::lanes;
use std::fmt::Debug;

/// The slots of a bucket of ranks.
pub const SLOTS: usize = 8;

/// The places of a short word.
pub const PLACES: usize = 64;

/// Numbers of one width.
pub trait Width: Copy + Debug + Default + Eq {
    /// Their bits.
    const BITS: u32;

    /// Instead of a rank.
    const NONE: Self;

    /// With this many rules keys cannot tell all ranks apart.
    const TOO_MANY: usize;

    /// A rank, or `NONE` for what is higher.
    fn of(rank: u32) -> Self;

    /// The rank; a higher number than that of any rule for `NONE`.
    fn rank(self) -> u32;

    /// The lowest bits of a number.
    fn lowest_bits(number: u64) -> Self;

    /// What stands in `ranks` where `rest` stands in `rests`; `NONE` if it stands nowhere and the last rank is `NONE`.
    fn beside(rest: Self, rests: &[Self; SLOTS], ranks: &[Self; SLOTS]) -> Self;

    /// Tells which of the pairs of a word is next: a lower rank has a lower key. Keys are signed, since signed numbers are
    /// compared several at once on every processor.
    type Key: Copy + Debug + Ord;

    /// The key where no pair starts.
    const NO_PAIR: Self::Key;

    /// The key of a rank at a place.
    fn key(self, place: usize) -> Self::Key;

    /// The rank that a key holds.
    fn rank_of(key: Self::Key) -> u32;

    /// The lowest rank among the first `n` keys, and its first place.
    fn lowest(keys: &[Self::Key; PLACES], n: usize) -> Option<(u32, usize)>;
}

impl Width for u16 {
    const BITS: u32 = u16::BITS;
    const NONE: u16 = u16::MAX;
    const TOO_MANY: usize = u16::MAX as usize + 1;

    fn of(rank: u32) -> u16 {
        u16::try_from(rank).unwrap_or(Self::NONE)
    }

    #[inline(always)]
    fn rank(self) -> u32 {
        u32::from(self)
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the lowest bits are wanted")]
    fn lowest_bits(number: u64) -> u16 {
        number as u16
    }

    #[inline(always)]
    fn beside(rest: u16, rests: &[u16; SLOTS], ranks: &[u16; SLOTS]) -> u16 {
        ranks[lanes::find(rest, rests)]
    }

    type Key = i16;
    const NO_PAIR: i16 = i16::MAX;

    #[inline(always)]
    fn key(self, _place: usize) -> i16 {
        self.cast_signed() ^ i16::MIN
    }

    #[inline(always)]
    fn rank_of(key: i16) -> u32 {
        u32::from((key ^ i16::MIN).cast_unsigned())
    }

    #[inline(always)]
    fn lowest(keys: &[i16; PLACES], n: usize) -> Option<(u32, usize)> {
        let (chunks, _) = keys.as_chunks::<16>();
        let (mut lowest, mut at) = lanes::lowest(&chunks[0]);
        for (number, chunk) in chunks.iter().enumerate().take(n.div_ceil(16)).skip(1) {
            let (key, place) = lanes::lowest(chunk);
            if key < lowest {
                (lowest, at) = (key, 16 * number + place);
            }
        }
        (lowest != Self::NO_PAIR).then(|| (Self::rank_of(lowest), at))
    }
}

/// The bits of a place.
const PLACE_BITS: u32 = PLACES.trailing_zeros();

/// Keys hold the place, too: the lowest one tells both.
impl Width for u32 {
    const BITS: u32 = u32::BITS;
    const NONE: u32 = u32::MAX;
    const TOO_MANY: usize = 1 << (u32::BITS - PLACE_BITS);

    fn of(rank: u32) -> u32 {
        rank
    }

    #[inline(always)]
    fn rank(self) -> u32 {
        self
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the lowest bits are wanted")]
    fn lowest_bits(number: u64) -> u32 {
        number as u32
    }

    #[inline(always)]
    fn beside(rest: u32, rests: &[u32; SLOTS], ranks: &[u32; SLOTS]) -> u32 {
        let slots = rests.iter().zip(ranks);
        slots.fold(Self::NONE, |rank, (&other, &here)| rank & if other == rest { here } else { Self::NONE })
    }

    type Key = i32;
    const NO_PAIR: i32 = i32::MAX;

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "a place has few bits")]
    fn key(self, place: usize) -> i32 {
        (self << PLACE_BITS | place as u32).cast_signed() ^ i32::MIN
    }

    #[inline(always)]
    fn rank_of(key: i32) -> u32 {
        (key ^ i32::MIN).cast_unsigned() >> PLACE_BITS
    }

    #[inline(always)]
    fn lowest(keys: &[i32; PLACES], n: usize) -> Option<(u32, usize)> {
        // Eight at a time, so that no loop ends where it cannot be foreseen.
        let mut lowest = [Self::NO_PAIR; 8];
        for eight in &keys.as_chunks::<8>().0[..n.div_ceil(8)] {
            lowest.iter_mut().zip(eight).for_each(|(lowest, &key)| *lowest = key.min(*lowest));
        }
        let lowest = lowest.into_iter().fold(Self::NO_PAIR, i32::min);
        let rank = Self::rank_of(lowest);
        (rank != Self::NONE >> PLACE_BITS).then(|| (rank, lowest.cast_unsigned() as usize & (PLACES - 1)))
    }
}
