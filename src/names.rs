//! Numbers for strings: each string has one.

use crate::hash;
use crate::sequence::position;
use crate::symbols::Symbols;

/// Instead of the number of a string that has none.
pub const NONE: u32 = u32::MAX;

/// So many strings are best looked up together, so that the cache misses of large vocabularies overlap.
pub const BATCH: usize = 32;

/// Strings and their numbers.
#[derive(Debug, Default)]
pub struct Names {
    symbols: Symbols,
    index: Vec<u32>, // 1 + the number, 0 for none; linear probing, at most half full
    bits: u32,
}

impl Names {
    /// The strings, by number.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The number of a string, or the place in the index where it belongs.
    pub fn find(&self, string: &[u8]) -> Result<u32, usize> {
        self.find_hashed(string, hash::bytes(hash::seed(), string))
    }

    fn find_hashed(&self, string: &[u8], hash: u64) -> Result<u32, usize> {
        if self.index.is_empty() {
            return Err(0);
        }
        let mut at = hash::slot(hash, self.bits);
        while self.index[at] > 0 {
            let number = self.index[at] - 1;
            if self.symbols.get(number) == string {
                return Ok(number);
            }
            at = (at + 1) & (self.index.len() - 1);
        }
        Err(at)
    }

    /// The number of a string, a new one if it had none.
    pub fn add(&mut self, string: &[u8]) -> u32 {
        self.add_hashed(string, hash::bytes(hash::seed(), string))
    }

    fn add_hashed(&mut self, string: &[u8], hash: u64) -> u32 {
        self.reserve(1);
        self.find_hashed(string, hash).unwrap_or_else(|at| {
            let number = position(self.symbols.len());
            self.symbols.push(string);
            self.index[at] = number + 1;
            number
        })
    }

    /// The numbers of strings, new ones where they had none.
    pub fn add_all<'a>(&mut self, strings: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u32> {
        self.reserve(2 * BATCH);
        let hashes = self.touch(strings.clone());
        strings.zip(hashes).map(|(string, hash)| self.add_hashed(string, hash)).collect()
    }

    /// The numbers of strings, `NONE` where they have none.
    pub fn find_all<'a>(&self, strings: impl Iterator<Item = &'a [u8]> + Clone) -> impl Iterator<Item = u32> {
        let hashes = self.touch(strings.clone());
        strings.zip(hashes).map(|(string, hash)| self.find_hashed(string, hash).unwrap_or(NONE))
    }

    /// The hashes of strings. What they will be compared with is touched.
    fn touch<'a>(&self, strings: impl Iterator<Item = &'a [u8]>) -> Vec<u64> {
        let seed = hash::seed();
        let hashes: Vec<u64> = strings.map(|string| hash::bytes(seed, string)).collect();
        if !self.index.is_empty() {
            let numbers: Vec<u32> =
                hashes.iter().map(|&hash| self.index[hash::slot(hash, self.bits)]).collect();
            let known = numbers.iter().filter(|&&number| number > 0);
            let bytes = known
                .map(|number| self.symbols.get(number - 1).first())
                .fold(0, |sum, byte| sum ^ byte.copied().unwrap_or(0));
            std::hint::black_box(bytes);
        }
        hashes
    }

    /// Makes room for more strings.
    pub fn reserve(&mut self, more: usize) {
        if (self.symbols.len() + more) * 2 <= self.index.len() {
            return;
        }
        self.symbols.reserve(more);
        self.bits = hash::bits_for((self.symbols.len() + more) * 2).max(self.bits + 1).max(6);
        self.index = vec![0; 1 << self.bits];
        for number in (0..self.symbols.len()).map(position) {
            let mut at = hash::slot(hash::bytes(hash::seed(), self.symbols.get(number)), self.bits);
            while self.index[at] > 0 {
                at = (at + 1) & (self.index.len() - 1);
            }
            self.index[at] = number + 1;
        }
    }
}
