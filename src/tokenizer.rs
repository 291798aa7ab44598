//! Texts to ids, with what a user chooses beside the rules: unknown characters, a prefix, a cache of words.

use crate::chars;
use crate::encode::{Encoder, Scratch, UNKNOWN};
use crate::hash;
use crate::sequence::position;
use crate::whitespace;

/// What becomes of a character outside the alphabet where ids are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It is refused.
    Refuse,
    /// It gets this id.
    Token(u32),
    /// Each of its bytes gets an id: this one plus the byte.
    Bytes(u32),
}

/// Everything that decides the ids of a text.
#[derive(Debug)]
pub struct Tokenizer {
    /// The rules.
    pub encoder: Encoder,
    /// What becomes of characters outside the alphabet.
    pub unknown: Unknown,
    /// Put before every word.
    pub prefix: Vec<u8>,
    /// Bytes that the cache of one session may take.
    pub cache_bytes: usize,
}

/// What one thread works with: room, and the words it has seen.
#[derive(Debug)]
pub struct Session {
    scratch: Scratch,
    cache: Cache,
    word: Vec<u8>,
    run: Vec<u32>,
}

/// How many words are looked up together, so that their cache misses overlap.
const BATCH: usize = 32;

impl Tokenizer {
    /// A session for `encode`; it serves any number of texts.
    pub fn session(&self) -> Session {
        Session {
            scratch: Scratch::default(),
            cache: Cache::new(self.cache_bytes),
            word: Vec::new(),
            run: Vec::new(),
        }
    }

    /// Appends the tokens of `text` to `out`, as symbols of the encoder or `UNKNOWN` characters.
    pub fn symbols(&self, text: &[u8], session: &mut Session, out: &mut Vec<u32>) {
        let mut batch = [Lookup::default(); BATCH];
        let mut n = 0;
        whitespace::for_each_word(text, |start, end| {
            batch[n] = session.cache.lookup(text, start, end);
            n += 1;
            if n == BATCH {
                n = 0;
                self.resolve(text, &batch, session, out);
            }
        });
        self.resolve(text, &batch[..n], session, out);
    }

    fn resolve(&self, text: &[u8], batch: &[Lookup], session: &mut Session, out: &mut Vec<u32>) {
        let Session { scratch, cache, word, run } = session;
        // Touch all slots first, so that their cache misses overlap.
        let touched =
            batch.iter().filter_map(|lookup| cache.slots.get(lookup.slot)).map(|slots| slots[0].key[0]);
        std::hint::black_box(touched.fold(0, |sum, key| sum ^ key));
        for lookup in batch {
            if let Some(run) = cache.get(lookup) {
                let len = run.iter().filter(|&&symbol| symbol != END).count();
                out.extend_from_slice(&run[..len]);
                continue;
            }
            let bytes = &text[lookup.start..lookup.end];
            run.clear();
            if self.prefix.is_empty() {
                self.encoder.encode_word(bytes, scratch, run);
            } else {
                word.clear();
                word.extend(&self.prefix);
                word.extend(bytes);
                self.encoder.encode_word(word, scratch, run);
            }
            cache.put(lookup, run);
            out.extend(&*run);
        }
    }

    /// Turns the symbols from `start` on into ids; says whether all have one. If not, `first_unknown` tells more.
    pub fn ids(&self, symbols: &mut Vec<u32>, start: usize) -> bool {
        let known = position(self.encoder.vocab_size());
        if symbols[start..].iter().all(|&symbol| symbol < known) {
            return true;
        }
        let rest = symbols.split_off(start);
        let mut spelled = Vec::with_capacity(4);
        for symbol in rest {
            match self.unknown {
                _ if symbol < known => symbols.push(symbol),
                Unknown::Refuse => return false,
                Unknown::Token(id) => symbols.push(id),
                Unknown::Bytes(id) => {
                    spelled.clear();
                    chars::push(&mut spelled, self.code_point(symbol));
                    symbols.extend(spelled.iter().map(|&byte| id + u32::from(byte)));
                }
            }
        }
        true
    }

    /// The first character of `text` that has no id, and its place in characters; `None` for one of the prefix.
    pub fn first_unknown(&self, text: &[u8]) -> Option<(u32, Option<usize>)> {
        let known = position(self.encoder.vocab_size());
        let prefix = chars::count(&self.prefix);
        let mut session = Tokenizer::session(self);
        let mut first = None;
        whitespace::for_each_word(text, |start, end| {
            let mut run = Vec::new();
            if first.is_none() {
                self.symbols(&text[start..end], &mut session, &mut run);
            }
            let mut at = 0;
            for symbol in run {
                if symbol >= known && first.is_none() {
                    let place = (at + chars::count(&text[..start])).checked_sub(prefix);
                    first = Some((self.code_point(symbol), place.filter(|_| at >= prefix)));
                }
                at +=
                    if symbol & UNKNOWN == 0 { chars::count(self.encoder.symbols().get(symbol)) } else { 1 };
            }
        });
        first
    }

    /// How many ids a text has.
    pub fn count(&self, symbols: &[u32]) -> usize {
        match self.unknown {
            Unknown::Bytes(_) => {
                let known = position(self.encoder.vocab_size());
                let bytes = |&symbol: &u32| match self.code_point(symbol) {
                    0..0x80 => 1,
                    0x80..0x800 => 2,
                    0x800..0x1_0000 => 3,
                    _ => 4,
                };
                symbols.iter().map(|symbol| if *symbol < known { 1 } else { bytes(symbol) }).sum()
            }
            Unknown::Refuse | Unknown::Token(_) => symbols.len(),
        }
    }

    /// The character that a symbol outside the vocabulary is.
    fn code_point(&self, symbol: u32) -> u32 {
        if symbol & UNKNOWN == 0 {
            chars::read(self.encoder.symbols().get(symbol), 0).0
        } else {
            symbol & !UNKNOWN
        }
    }
}

const END: u32 = u32::MAX;

/// A word of the text, where it would stand in the cache, and what stands there.
#[derive(Clone, Copy, Debug, Default)]
struct Lookup {
    start: usize,
    end: usize,
    key: [u64; 2], // [0, 0] for a word that is not cached
    slot: usize,
}

/// Words of up to 16 bytes that have at most four tokens. A word may stand in either of two slots, which share a cache
/// line. It comes into the second one, and goes on to the first when it is met again: words that occur once, most of
/// all, push out only each other.
#[derive(Debug)]
struct Cache {
    slots: Vec<[Slot; 2]>,
    bits: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: [u64; 2],
    run: [u32; 4], // padded with `END`
}

impl Cache {
    fn new(bytes: usize) -> Cache {
        let bits = (bytes / size_of::<[Slot; 2]>()).checked_ilog2().unwrap_or(0).min(32);
        let empty = Slot { key: [0; 2], run: [0; 4] };
        Cache { slots: vec![[empty; 2]; if bits > 0 { 1 << bits } else { 0 }], bits }
    }

    #[inline]
    fn lookup(&self, text: &[u8], start: usize, end: usize) -> Lookup {
        let len = end - start;
        // A NUL at the end of a word would look like no byte at all.
        if len > 16 || text[end - 1] == 0 || self.bits == 0 {
            return Lookup { start, end, ..Lookup::default() };
        }
        let key = key_of(text, start, len);
        let slot = hash::slot(hash::mix(key[0] ^ hash::seed(), key[1] ^ 0x9e37_79b9_7f4a_7c15), self.bits);
        Lookup { start, end, key, slot }
    }

    #[inline]
    fn get(&mut self, lookup: &Lookup) -> Option<&[u32; 4]> {
        let slots = self.slots.get_mut(lookup.slot)?;
        if lookup.key[0] == 0 {
            return None;
        }
        if slots[0].key != lookup.key {
            if slots[1].key != lookup.key {
                return None;
            }
            slots.swap(0, 1);
        }
        Some(&slots[0].run)
    }

    fn put(&mut self, lookup: &Lookup, run: &[u32]) {
        if lookup.key[0] != 0 && run.len() <= 4 {
            let slot = &mut self.slots[lookup.slot][1];
            *slot = Slot { key: lookup.key, run: [END; 4] };
            slot.run[..run.len()].copy_from_slice(run);
        }
    }
}

/// Up to 16 bytes as two numbers.
#[inline]
fn key_of(text: &[u8], start: usize, len: usize) -> [u64; 2] {
    if let Some((bytes, _)) = text[start..].split_first_chunk::<16>() {
        let all = u128::from_le_bytes(*bytes) & (u128::MAX >> (128 - 8 * len));
        return halves(all);
    }
    let mut bytes = [0; 16];
    bytes[..len].copy_from_slice(&text[start..start + len]);
    halves(u128::from_le_bytes(bytes))
}

#[allow(clippy::cast_possible_truncation, reason = "the two halves of a u128 are wanted")]
fn halves(all: u128) -> [u64; 2] {
    [all as u64, (all >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer(cache_bytes: usize, prefix: &str, unknown: Unknown) -> Tokenizer {
        let rules = [("a", "b"), ("c", "ab"), ("ab", "ab")];
        let rules = rules.map(|(left, right)| (left.as_bytes(), right.as_bytes()));
        let encoder = Encoder::new(&rules, None);
        Tokenizer { encoder, unknown, prefix: prefix.into(), cache_bytes }
    }

    #[test]
    fn the_cache_changes_nothing() {
        let mut text = String::new();
        for i in 0..500_usize {
            text += &"cab\0é"[..3 + i % 2].repeat(1 + i % 7);
            text += ["a", "\0", "x", "ab"][i % 4];
            text += ["\u{3000}", " "][i % 2];
        }
        let mut results = Vec::new();
        for cache_bytes in [0, 1, 64, 1 << 10, 1 << 20] {
            let tokenizer = tokenizer(cache_bytes, "", Unknown::Refuse);
            let mut session = tokenizer.session();
            let mut out = Vec::new();
            tokenizer.symbols(text.as_bytes(), &mut session, &mut out);
            tokenizer.symbols(text.as_bytes(), &mut session, &mut out);
            let mut plain = Vec::new();
            for word in text.split_whitespace() {
                tokenizer.encoder.encode_word(word.as_bytes(), &mut Scratch::default(), &mut plain);
            }
            assert_eq!(out, [&plain[..], &plain].concat());
            results.push(out);
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn unknown_characters_go_as_they_should() {
        // Ids: a 0, b 1, c 2, ab 3, cab 4, abab 5.
        let ids = |unknown| {
            let tokenizer = tokenizer(1 << 10, "c", unknown);
            let mut out = Vec::new();
            tokenizer.symbols("ab\u{1f600} é".as_bytes(), &mut tokenizer.session(), &mut out);
            let count = tokenizer.count(&out);
            tokenizer.ids(&mut out, 0).then(|| {
                assert_eq!(out.len(), count);
                out
            })
        };
        assert_eq!(ids(Unknown::Token(6)), Some(vec![4, 6, 2, 6]));
        let bytes = [0xF0, 0x9F, 0x98, 0x80, 0xC3, 0xA9].map(|byte| 6 + byte);
        assert_eq!(ids(Unknown::Bytes(6)), Some([&[4], &bytes[..4], &[2], &bytes[4..]].concat()));
        assert_eq!(ids(Unknown::Refuse), None);
        let first = |prefix, text: &str| tokenizer(0, prefix, Unknown::Refuse).first_unknown(text.as_bytes());
        assert_eq!(first("c", "ab ab\u{1f600} é"), Some((0x1_F600, Some(5))));
        assert_eq!(first("x", " ab"), Some((u32::from('x'), None)));
        assert_eq!(first("", " ab"), None);
    }
}
