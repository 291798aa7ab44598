//! Texts to ids, with what a user chooses beside the rules: unknown characters, a prefix, a cache of words.

use crate::chars;
use crate::encode::{Encoder, Scratch, UNKNOWN};
use crate::sequence::position;
use crate::whitespace;
use crate::word_cache::{END, Lookup, WordCache};

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

/// Instead of a run: it stands among the long words.
const ELSEWHERE: u32 = END - 1;

/// What one thread works with: room, and the words it has seen.
#[derive(Debug)]
pub struct Session {
    scratch: Scratch,
    cache: WordCache,
    new: Vec<u32>, // the tokens of words that are not in the cache
    ends: Vec<usize>,
    text_ends: Vec<usize>, // in words of a batch
}

/// Longer words, in bytes, are cut where that changes nothing.
const MOST_WHOLE: usize = 16;

/// How many words are looked up together, so that their cache misses overlap, and that new ones can take turns.
const BATCH: usize = 128;

/// So many where there is only a short text: room for more costs as much as the words.
const SMALL_BATCH: usize = 16;

/// A text shorter than this is short, in bytes.
const SHORT: usize = 1 << 10;

impl Tokenizer {
    /// A session for `encode`; it serves any number of texts.
    pub fn session(&self) -> Session {
        Session {
            scratch: Scratch::default(),
            cache: WordCache::new(self.cache_bytes),
            new: Vec::new(),
            ends: Vec::new(),
            text_ends: Vec::new(),
        }
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
        match texts {
            [text] if text.len() < SHORT => self.symbols_by::<SMALL_BATCH>(texts, session, out, end),
            _ => self.symbols_by::<BATCH>(texts, session, out, end),
        }
    }

    /// Does so, with `N` words in a batch.
    fn symbols_by<const N: usize>(
        &self,
        texts: &[&[u8]],
        session: &mut Session,
        out: &mut Vec<u32>,
        mut end: impl FnMut(usize),
    ) {
        let mut batch = [Lookup::default(); N];
        let mut n = 0;
        session.text_ends.clear();
        let seams = self.encoder.seams();
        for text in texts {
            let mut look_up = |start, stop| {
                batch[n] = session.cache.lookup(text, start, stop);
                session.cache.prefetch(&batch[n]);
                n += 1;
                if n == N {
                    n = 0;
                    self.resolve::<N>(&batch, session, out, &mut end);
                }
            };
            whitespace::for_each_word(text, |start, stop| {
                // Pieces of a word are words, but for the prefix.
                if stop - start > MOST_WHOLE && self.prefix.is_empty() {
                    seams.for_each_piece(text, start, stop, &mut look_up);
                } else {
                    look_up(start, stop);
                }
            });
            session.text_ends.push(n);
        }
        self.resolve::<N>(&batch[..n], session, out, &mut end);
    }

    fn resolve<const N: usize>(
        &self,
        batch: &[Lookup<'_>],
        session: &mut Session,
        out: &mut Vec<u32>,
        end: &mut impl FnMut(usize),
    ) {
        let Session { scratch, cache, new, ends, text_ends } = session;
        let mut found = [[END; 4]; N];
        let mut words = [&[][..]; N];
        let mut missing = 0;
        for (lookup, found) in batch.iter().zip(&mut found) {
            if let Some(run) = cache.get(lookup) {
                *found = *run;
            } else if cache.get_long(lookup).is_some() {
                found[0] = ELSEWHERE;
            } else {
                words[missing] = lookup.word;
                missing += 1;
            }
        }
        new.clear();
        ends.clear();
        self.encoder.encode_words(&self.prefix, &words[..missing], scratch, new, |end| ends.push(end));
        // Short runs are gathered four symbols at a time, which is faster than as many as there are.
        let mut gathered = [[0; 4]; N];
        let gathered = gathered.as_flattened_mut();
        let (mut n, mut start, mut next) = (0, 0, ends.iter());
        let mut text_ends = text_ends.drain(..).peekable();
        for (place, (lookup, found)) in batch.iter().zip(&found).enumerate() {
            while text_ends.next_if_eq(&place).is_some() {
                end(out.len() + n);
            }
            if found[0] < ELSEWHERE {
                gathered[n..n + 4].copy_from_slice(found);
                n += found.iter().map(|&symbol| usize::from(symbol != END)).sum::<usize>();
                continue;
            }
            out.extend_from_slice(&gathered[..n]);
            n = 0;
            if found[0] == ELSEWHERE {
                out.extend(
                    cache.get_long(lookup).into_iter().flatten().map(|&bytes| u32::from_ne_bytes(bytes)),
                );
            } else if let Some(&end) = next.next() {
                out.extend_from_slice(&new[start..end]);
                start = end;
            }
        }
        out.extend_from_slice(&gathered[..n]);
        text_ends.for_each(|_| end(out.len()));
        let missing = batch.iter().zip(&found).filter(|(_, found)| found[0] == END);
        let mut start = 0;
        for ((lookup, _), &end) in missing.zip(&*ends) {
            cache.put(lookup, &new[start..end]);
            start = end;
        }
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
