//! Symbols: strings, named by numbers.

use std::cmp::Ordering;

/// The strings of symbols 0, 1, 2, ... in generalized UTF-8, where byte order is code point order.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    prefixes: Vec<u64>, // the first eight bytes, so that most comparisons need no look at `bytes`
}

impl Symbols {
    /// Makes room for more symbols.
    pub fn reserve(&mut self, more: usize) {
        self.ends.reserve(more);
        self.prefixes.reserve(more);
    }

    /// Adds a symbol.
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend(string);
        self.close();
    }

    /// Adds the symbol that joins two others.
    pub fn push_joined(&mut self, left: u32, right: u32) {
        for id in [left, right] {
            let (start, end) = self.range(id);
            self.bytes.extend_from_within(start..end);
        }
        self.close();
    }

    fn close(&mut self) {
        self.ends.push(self.bytes.len());
        let string = &self.bytes[self.ends.iter().nth_back(1).copied().unwrap_or(0)..];
        let mut prefix = [0; 8];
        let len = string.len().min(8);
        prefix[..len].copy_from_slice(&string[..len]);
        self.prefixes.push(u64::from_be_bytes(prefix));
    }

    fn range(&self, id: u32) -> (usize, usize) {
        let id = id as usize;
        (if id == 0 { 0 } else { self.ends[id - 1] }, self.ends[id])
    }

    /// The string of a symbol.
    pub fn get(&self, id: u32) -> &[u8] {
        let (start, end) = self.range(id);
        &self.bytes[start..end]
    }

    /// The strings of all symbols, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// How many symbols there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The first eight bytes of a symbol as a big-endian number, padded with zeros: where two differ, the strings
    /// compare as they do.
    #[inline]
    pub fn prefix(&self, id: u32) -> u64 {
        self.prefixes[id as usize]
    }

    /// Compares two symbols by their strings.
    #[inline]
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        self.prefix(a).cmp(&self.prefix(b)).then_with(|| self.get(a).cmp(self.get(b)))
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + size_of_val(&*self.ends) + size_of_val(&*self.prefixes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_compare_as_their_strings() {
        let strings = ["", "a", "a\0", "a\0b", "aaaaaaaa", "aaaaaaaab", "ab", "b", "\u{ff5e}", "\u{1f600}"];
        let mut symbols = Symbols::default();
        strings.iter().for_each(|string| symbols.push(string.as_bytes()));
        for a in 0..10 {
            for b in 0..10 {
                assert_eq!(symbols.compare(a, b), a.cmp(&b));
            }
        }
        symbols.push_joined(7, 3);
        assert_eq!(symbols.get(10), b"ba\0b");
        assert_eq!(symbols.len(), 11);
    }
}
