//! Hashing for the tables of this crate: one folded multiplication a step, seeded once a process so that nobody
//! can prepare words that collide. No result depends on the seed.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::OnceLock;

// Digits of pi; any odd number with well-mixed bits serves.
const K: u64 = 0x243f_6a88_85a3_08d3;

/// The seed of this process.
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(0_u8))
}

/// Mixes two numbers: the two halves of their product, folded.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the two halves of a u128 are wanted")]
pub fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Hashes one number.
#[inline]
pub fn number(seed: u64, value: u64) -> u64 {
    mix(value ^ seed, K)
}

/// Hashes bytes, eight at a time.
#[inline]
pub fn bytes(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(K);
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        hash = mix(u64::from_le_bytes(*chunk) ^ hash, K);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(u64::from_le_bytes(last) ^ hash, K)
}

/// The top `bits` (1 to 32) of a hash: a place in a table of `2^bits` slots.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "at most 32 bits are left")]
pub fn slot(hash: u64, bits: u32) -> usize {
    (hash >> (64 - bits)) as usize
}

/// The number of bits that hold `n` slots at least, for `slot`.
pub fn bits_for(n: usize) -> u32 {
    n.next_power_of_two().trailing_zeros().clamp(1, 32)
}

/// A hasher for the standard maps with keys of one number.
#[derive(Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = self::bytes(self.0 ^ seed(), bytes);
    }
    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = number(self.0 ^ seed(), value);
    }
}

/// A standard map with keys of one number.
pub type NumberMap<V> = std::collections::HashMap<u64, V, BuildHasherDefault<NumberHasher>>;
