//! Texts to ids, with what a user chooses beside the rules: unknown characters, a prefix, a cache of words.

use crate::chars;
use crate::encode::{Encoder, UNKNOWN};
use crate::sequence::position;
use crate::session::Session;
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

impl Tokenizer {
    /// A session for `encode`; it serves any number of texts.
    pub fn session(&self) -> Session {
        Session::new(self.cache_bytes)
    }

    /// Appends the ids of texts to `ids`, and where those of each end to `ends`. `Err` is the index of a text that holds a
    /// character without an id, where such texts are refused; `first_unknown` tells more.
    pub fn encode(
        &self,
        texts: &[&[u8]],
        session: &mut Session,
        ids: &mut Vec<u32>,
        ends: &mut Vec<usize>,
    ) -> Result<(), usize> {
        let (mut start, first) = (ids.len(), ends.len());
        self.symbols(texts, session, ids, |end| ends.push(end));
        if self.are_known(&ids[start..]) {
            return Ok(());
        }
        let (symbols, offset) = (ids.split_off(start), start);
        for (index, end) in ends[first..].iter_mut().enumerate() {
            let of_text = start - offset..*end - offset;
            start = *end;
            self.ids(&symbols[of_text], ids).ok_or(index)?;
            *end = ids.len();
        }
        Ok(())
    }

    /// Appends the tokens of texts to `out`, as symbols of the encoder or `UNKNOWN` characters; calls `end` with its length
    /// after each text.
    pub fn symbols(
        &self,
        texts: &[&[u8]],
        session: &mut Session,
        out: &mut Vec<u32>,
        end: impl FnMut(usize),
    ) {
        session.symbols(&self.encoder, &self.prefix, texts, out, end);
    }

    /// The ids of symbols; `None` if one has none.
    pub fn ids_of(&self, symbols: Vec<u32>) -> Option<Vec<u32>> {
        if self.are_known(&symbols) {
            return Some(symbols);
        }
        let mut ids = Vec::with_capacity(symbols.len());
        self.ids(&symbols, &mut ids).map(|()| ids)
    }

    fn are_known(&self, symbols: &[u32]) -> bool {
        let known = position(self.encoder.vocab_size());
        // The highest one, and no end at the first: several are compared at once.
        symbols.iter().fold(0, |highest, &symbol| highest.max(symbol)) < known || symbols.is_empty()
    }

    /// Appends the ids of symbols to `ids`; `None` if one has none.
    fn ids(&self, symbols: &[u32], ids: &mut Vec<u32>) -> Option<()> {
        let known = position(self.encoder.vocab_size());
        let mut spelled = Vec::with_capacity(4);
        for &symbol in symbols {
            match self.unknown {
                _ if symbol < known => ids.push(symbol),
                Unknown::Refuse => return None,
                Unknown::Token(id) => ids.push(id),
                Unknown::Bytes(id) => {
                    spelled.clear();
                    chars::push(&mut spelled, self.code_point(symbol));
                    ids.extend(spelled.iter().map(|&byte| id + u32::from(byte)));
                }
            }
        }
        Some(())
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
                self.symbols(&[&text[start..end]], &mut session, &mut run, |_| {});
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Scratch;

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
            tokenizer.symbols(&[text.as_bytes()], &mut session, &mut out, |_| {});
            tokenizer.symbols(&[text.as_bytes()], &mut session, &mut out, |_| {});
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
            let (mut out, mut ends) = (Vec::new(), Vec::new());
            let texts = ["ab\u{1f600}".as_bytes(), b"", "é".as_bytes()];
            let mut symbols = Vec::new();
            tokenizer.symbols(&texts, &mut tokenizer.session(), &mut symbols, |_| {});
            let encoded = tokenizer.encode(&texts, &mut tokenizer.session(), &mut out, &mut ends);
            encoded.is_ok().then(|| {
                assert_eq!(out.len(), tokenizer.count(&symbols));
                assert_eq!((ends[0], ends[2]), (ends[1], out.len()));
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
