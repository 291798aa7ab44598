//! What one thread works with to turn texts into symbols: room, and the words it has seen. Words are looked up many at a
//! time, and those that are new are encoded together.

use crate::encode::{Encoder, Scratch};
use crate::prefetch::{self, LINE};
use crate::run::{self, END, RUN, Run};
use crate::sequence::position;
use crate::whitespace;
use crate::word_cache::{Lookup, WordCache};
use std::ops::Range;

/// Room to work in, and words that were met before.
#[derive(Debug)]
pub struct Session {
    scratch: Scratch,
    cache: WordCache,
    more: Vec<u32>,        // the tokens of words that have no run
    text_ends: Vec<usize>, // in words of a batch
}

/// Instead of a run: where the tokens stand in `Session::more`, and how many there are.
#[allow(clippy::cast_possible_truncation, reason = "the two halves of a number are wanted")]
fn elsewhere(start: usize, length: usize) -> Run {
    [END, position(length), start as u32, (start as u64 >> u32::BITS) as u32]
}

/// The same of what is instead of a run.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "what was put together is taken apart")]
fn tokens_elsewhere([_, length, low, high]: Run) -> Range<usize> {
    let start = (u64::from(high) << u32::BITS | u64::from(low)) as usize;
    start..start + length as usize
}

/// Longer words, in bytes, are cut where that changes nothing.
const MOST_WHOLE: usize = 16;

/// How many words are looked up together, so that their cache misses overlap, and that new ones can take turns.
const BATCH: usize = 128;

/// So many where there is only a short text: room for more costs as much as the words.
const SMALL_BATCH: usize = 16;

/// The first bytes of a text are asked for so many texts before they are needed.
const AHEAD: usize = 2;

/// So many bytes, by lines of the cache.
const ASKED: usize = 3 * LINE;

/// A text shorter than this is short, in bytes.
const SHORT: usize = 1 << 10;

impl Session {
    /// A session whose words take up to so many bytes.
    pub fn new(cache_bytes: usize) -> Session {
        Session {
            scratch: Scratch::default(),
            cache: WordCache::new(cache_bytes),
            more: Vec::new(),
            text_ends: Vec::new(),
        }
    }

    /// Appends the tokens of texts to `out`, as symbols of the encoder or `UNKNOWN` characters; calls `end` with its length
    /// after each text. A session serves one encoder and one prefix.
    pub fn symbols(
        &mut self,
        encoder: &Encoder,
        prefix: &[u8],
        texts: &[&[u8]],
        out: &mut Vec<u32>,
        end: impl FnMut(usize),
    ) {
        match texts {
            [text] if text.len() < SHORT => {
                Batch::<_, SMALL_BATCH>::new(encoder, prefix, self, out, end).run(texts)
            }
            _ => Batch::<_, BATCH>::new(encoder, prefix, self, out, end).run(texts),
        }
    }
}

/// Words that are looked up together.
struct Batch<'a, 't, F, const N: usize> {
    encoder: &'a Encoder,
    prefix: &'a [u8],
    session: &'a mut Session,
    out: &'a mut Vec<u32>,
    end: F,
    lookups: [Lookup<'t>; N],
    n: usize,
    found: [Run; N],     // the tokens of words, or where they are
    missing: [usize; N], // the places of words that are not in the cache
}

impl<'a, 't, F: FnMut(usize), const N: usize> Batch<'a, 't, F, N> {
    fn new(
        encoder: &'a Encoder,
        prefix: &'a [u8],
        session: &'a mut Session,
        out: &'a mut Vec<u32>,
        end: F,
    ) -> Batch<'a, 't, F, N> {
        let (lookups, found, missing) = ([Lookup::default(); N], [run::EMPTY; N], [0; N]);
        Batch { encoder, prefix, session, out, end, lookups, n: 0, found, missing }
    }

    /// Appends the tokens of texts.
    fn run(mut self, texts: &[&'t [u8]]) {
        self.session.text_ends.clear();
        for (number, text) in texts.iter().enumerate() {
            // Each text stands somewhere else in memory, where no processor foresees it.
            if let Some(later) = texts.get(number + AHEAD) {
                (0..ASKED).step_by(LINE).for_each(|at| prefetch::object(later.as_ptr().wrapping_add(at)));
            }
            whitespace::for_each_word(text, |start, stop| {
                // Pieces of a word are words, but for the prefix.
                if stop - start <= MOST_WHOLE || !self.prefix.is_empty() {
                    self.add(text, start, stop);
                } else {
                    self.add_pieces(text, start, stop);
                }
            });
            self.session.text_ends.push(self.n);
        }
        self.resolve();
    }

    /// Adds the word `text[start..end]`.
    #[inline(always)]
    fn add(&mut self, text: &'t [u8], start: usize, end: usize) {
        self.lookups[self.n] = self.session.cache.look_up(text, start, end);
        self.n += 1;
        if self.n == N {
            self.resolve();
        }
    }

    /// Adds the pieces of that word.
    #[inline(never)]
    fn add_pieces(&mut self, text: &'t [u8], start: usize, end: usize) {
        self.encoder.seams().for_each_piece(text, start, end, |start, end| self.add(text, start, end));
    }

    /// Appends the tokens of the words that were added.
    #[inline(never)]
    fn resolve(&mut self) {
        let lookups = &self.lookups[..std::mem::take(&mut self.n)];
        let Session { scratch, cache, more, text_ends } = &mut *self.session;
        let mut missing = 0;
        more.clear();
        for (place, (lookup, found)) in lookups.iter().zip(&mut self.found).enumerate() {
            if let Some(run) = cache.get(lookup) {
                *found = run;
            } else if let Some(tokens) = cache.get_long(lookup) {
                *found = elsewhere(more.len(), tokens.len());
                more.extend(tokens.iter().map(|&symbol| u32::from_ne_bytes(symbol)));
            } else {
                self.missing[missing] = place;
                missing += 1;
            }
        }
        let mut missing = self.missing[..missing].iter().map(|&place| (&lookups[place], place));
        let words = missing.clone().map(|(lookup, _)| lookup.word);
        self.encoder.encode_words(self.prefix, words, scratch, |run, tokens| {
            let Some((lookup, place)) = missing.next() else { return };
            if tokens.is_empty() {
                self.found[place] = run;
                cache.put(lookup, run);
            } else {
                self.found[place] = elsewhere(more.len(), tokens.len());
                more.extend_from_slice(tokens);
                cache.put_long(lookup, tokens);
            }
        });
        let before = self.out.len();
        self.out.resize(before + RUN * lookups.len() + more.len(), 0);
        let out = &mut self.out[before..];
        let (mut at, mut done) = (0, 0);
        text_ends.push(lookups.len());
        let last = text_ends.len() - 1;
        for (number, stop) in text_ends.drain(..).enumerate() {
            for &found in &self.found[done..stop] {
                if found[0] == END {
                    let tokens = &more[tokens_elsewhere(found)];
                    out[at..at + tokens.len()].copy_from_slice(tokens);
                    at += tokens.len();
                } else {
                    out[at..at + RUN].copy_from_slice(&found);
                    at += run::len(found);
                }
            }
            done = stop;
            if number < last {
                (self.end)(before + at);
            }
        }
        self.out.truncate(before + at);
        cache.make_room();
    }
}
