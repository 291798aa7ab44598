//! Merges and text to tokens, by rounds: the pair of lowest rank, everywhere in the word, then look again.

use crate::chars::{self, CharMap, CharSet};
use crate::long_word::LongWord;
use crate::names::{BATCH, NONE, Names};
use crate::ranks::{Ranks, Rule};
use crate::run::{self, Run};
use crate::seams::Seams;
use crate::symbols::Symbols;
use crate::turns::{TOGETHER, Turns};
use crate::width::Width;

/// The mark of a character that no rule mentions; the other bits are its code point.
pub const UNKNOWN: u32 = 1 << 31;

/// A rule as it is given: two strings that are not empty, in generalized UTF-8.
pub type Pair<'a> = (&'a [u8], &'a [u8]);

/// Compiled rules.
///
/// Symbols are numbered: first the alphabet in code point order, then what rules make, in their order, each string
/// once; last the strings that rules mention but nothing makes.
#[derive(Debug)]
pub struct Encoder {
    chars: CharMap, // 1 + the symbol
    names: Names,
    alphabet_size: usize,
    vocab_size: usize,
    ranks: Table,
    seams: Seams,
}

/// Ranks in the narrower numbers that hold them.
#[derive(Debug)]
enum Table {
    Narrow(Ranks<u16>),
    Wide(Ranks<u32>),
}

/// Room to work in, used again from word to word; for short words it is made when there is one.
#[derive(Debug, Default)]
pub struct Scratch {
    narrow: Option<Box<Turns<u16>>>,
    wide: Option<Box<Turns<u32>>>,
    long: LongWord,
}

impl Encoder {
    /// Compiles rules. The alphabet is `alphabet`, or the characters that the rules mention.
    pub fn new<'a>(rules: &[Pair<'a>], alphabet: Option<&[u32]>) -> Encoder {
        let mentioned = || {
            let mut mentioned = CharSet::default();
            parts_of(rules).flat_map(chars::code_points).for_each(|code_point| mentioned.insert(code_point));
            mentioned.code_points()
        };
        let mut chars = CharMap::default();
        let mut names = Names::default();
        let mut spelled = Vec::new();
        let mut add_char = |code_point, names: &mut Names| {
            if chars.get(code_point) == 0 {
                spelled.clear();
                chars::push(&mut spelled, code_point);
                chars.set(code_point, 1 + names.add(&spelled));
            }
        };
        let alphabet = alphabet.map_or_else(mentioned, <[u32]>::to_vec);
        alphabet.into_iter().for_each(|code_point| add_char(code_point, &mut names));
        let alphabet_size = names.symbols().len();
        let seams = Seams::new(rules);
        // In batches, so that the cache misses of large vocabularies overlap.
        names.reserve(rules.len());
        let mut joined = Vec::with_capacity(rules.len());
        let mut wholes = vec![Vec::new(); BATCH];
        for batch in rules.chunks(BATCH) {
            for (whole, (left, right)) in wholes.iter_mut().zip(batch) {
                whole.clear();
                whole.extend_from_slice(left);
                whole.extend_from_slice(right);
            }
            joined.extend(names.add_all(wholes[..batch.len()].iter().map(Vec::as_slice)));
        }
        let vocab_size = names.symbols().len();
        let mut parts = Vec::with_capacity(rules.len() * 2);
        for batch in rules.chunks(BATCH) {
            parts.extend(names.find_all(parts_of(batch)));
        }
        // What trained rules mention is in the alphabet or made by a rule.
        if parts.contains(&NONE) {
            mentioned().into_iter().for_each(|code_point| add_char(code_point, &mut names));
            parts.clear();
            for batch in rules.chunks(BATCH) {
                parts.extend(names.add_all(parts_of(batch)));
            }
        }
        let rule = |(parts, joined): (&[u32; 2], u32)| Rule { left: parts[0], right: parts[1], joined };
        let rules: Vec<Rule> = parts.as_chunks().0.iter().zip(joined).map(rule).collect();
        let ranks = if Ranks::<u16>::can_hold(&rules, alphabet_size) {
            Table::Narrow(Ranks::new(rules, alphabet_size))
        } else {
            Table::Wide(Ranks::new(rules, alphabet_size))
        };
        Encoder { chars, names, alphabet_size, vocab_size, ranks, seams }
    }

    /// The symbols, by number.
    pub fn symbols(&self) -> &Symbols {
        self.names.symbols()
    }

    /// The number of a string that is a symbol.
    pub fn symbol(&self, string: &[u8]) -> Option<u32> {
        self.names.find(string).ok()
    }

    /// The rules, in symbols.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        let rules = match &self.ranks {
            Table::Narrow(ranks) => ranks.rules(),
            Table::Wide(ranks) => ranks.rules(),
        };
        rules.iter().map(|rule| (rule.left, rule.right))
    }

    /// Whether each rule makes a new symbol, of characters of the alphabet or what rules before it made. Every trained list
    /// is so; then a merge makes no pair of a lower rank than its own.
    pub fn is_in_order(&self) -> bool {
        match &self.ranks {
            Table::Narrow(ranks) => ranks.is_in_order(),
            Table::Wide(ranks) => ranks.is_in_order(),
        }
    }

    /// Where words can be cut.
    pub fn seams(&self) -> &Seams {
        &self.seams
    }

    /// How many symbols are characters of the alphabet.
    pub fn alphabet_size(&self) -> usize {
        self.alphabet_size
    }

    /// How many symbols are characters of the alphabet or made by a rule.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// Appends the tokens of one word, taken as it is, to `out`: symbols, or `UNKNOWN` characters.
    pub fn encode_word(&self, word: &[u8], scratch: &mut Scratch, out: &mut Vec<u32>) {
        self.encode_words(&[], [word].into_iter(), scratch, |run, tokens| {
            out.extend_from_slice(&run[..run::len(run)]);
            out.extend_from_slice(tokens);
        });
    }

    /// Encodes several words, each with `prefix` before it. Calls `each` with the tokens of every one: a run if it has no more
    /// than that, or an empty run and all of them.
    pub fn encode_words<'a>(
        &self,
        prefix: &[u8],
        words: impl Iterator<Item = &'a [u8]>,
        scratch: &mut Scratch,
        each: impl FnMut(Run, &[u32]),
    ) {
        let Scratch { narrow, wide, long } = scratch;
        match &self.ranks {
            Table::Narrow(ranks) => {
                self.encode_with(ranks, narrow.get_or_insert_default(), long, prefix, words, each);
            }
            Table::Wide(ranks) => {
                self.encode_with(ranks, wide.get_or_insert_default(), long, prefix, words, each);
            }
        }
    }

    fn encode_with<'a, N: Width>(
        &self,
        ranks: &Ranks<N>,
        turns: &mut Turns<N>,
        long: &mut LongWord,
        prefix: &[u8],
        mut words: impl Iterator<Item = &'a [u8]>,
        mut each: impl FnMut(Run, &[u32]),
    ) {
        let mut together = [&[][..]; TOGETHER];
        loop {
            let taken = together.iter_mut().zip(&mut words).map(|(place, word)| *place = word).count();
            if taken == 0 {
                return;
            }
            let words = &together[..taken];
            let is_long = if ranks.rules().len() < N::TOO_MANY {
                turns.encode(prefix, words, &self.chars, ranks)
            } else {
                [true; TOGETHER]
            };
            for (number, word) in words.iter().enumerate() {
                let (run, tokens) = if is_long[number] {
                    let characters = [prefix, word].into_iter().flat_map(chars::code_points);
                    long.start(characters.map(|code_point| self.symbol_of(code_point)));
                    long.merge(ranks.rules(), |left, right| ranks.get(left, right));
                    run::of(long.tokens())
                } else {
                    turns.tokens(number)
                };
                each(run, tokens);
            }
        }
    }

    #[inline]
    fn symbol_of(&self, code_point: u32) -> u32 {
        match self.chars.get(code_point) {
            0 => UNKNOWN | code_point,
            symbol => symbol - 1,
        }
    }
}

/// The left and the right part of each rule.
fn parts_of<'a>(rules: &[Pair<'a>]) -> impl Iterator<Item = &'a [u8]> + Clone {
    rules.iter().flat_map(|rule| [rule.0, rule.1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;
    use crate::short_word::LONG;
    use crate::whitespace;
    use std::collections::HashMap;

    fn encoder(rules: &[(&str, &str)]) -> Encoder {
        let rules: Vec<_> = rules.iter().map(|(left, right)| (left.as_bytes(), right.as_bytes())).collect();
        Encoder::new(&rules, None)
    }

    /// The same with ranks in wide numbers.
    fn widened(mut encoder: Encoder) -> Encoder {
        if let Table::Narrow(ranks) = &encoder.ranks {
            encoder.ranks = Table::Wide(Ranks::new(ranks.rules().to_vec(), encoder.alphabet_size));
        }
        encoder
    }

    fn symbols(encoder: &Encoder, text: &str) -> Vec<u32> {
        let (mut out, mut scratch) = (Vec::new(), Scratch::default());
        whitespace::for_each_word(text.as_bytes(), |start, end| {
            encoder.encode_word(&text.as_bytes()[start..end], &mut scratch, &mut out);
        });
        out
    }

    fn tokens(rules: &[(&str, &str)], text: &str) -> Vec<String> {
        let encoder = encoder(rules);
        assert!(matches!(encoder.ranks, Table::Narrow(_)));
        let out = symbols(&encoder, text);
        let encoder = widened(encoder);
        assert_eq!(symbols(&encoder, text), out, "{rules:?} {text}");
        let spelled = |&id: &u32| match id & UNKNOWN {
            0 => String::from_utf8(encoder.symbols().get(id).to_vec()).unwrap(),
            _ => char::from_u32(id & !UNKNOWN).unwrap().to_string(),
        };
        out.iter().map(spelled).collect()
    }

    /// The rules as written, for one word.
    fn slow(rules: &[(&str, &str)], word: &str) -> Vec<String> {
        let mut ranks = HashMap::new();
        for (rank, rule) in rules.iter().enumerate() {
            ranks.entry(*rule).or_insert(rank);
        }
        let mut symbols: Vec<String> = word.chars().map(String::from).collect();
        while let Some(lowest) =
            symbols.windows(2).filter_map(|pair| ranks.get(&(&*pair[0], &*pair[1]))).min()
        {
            let (left, right) = rules[*lowest];
            let mut at = 0;
            while at + 1 < symbols.len() {
                if symbols[at] == left && symbols[at + 1] == right {
                    let tail = symbols.remove(at + 1);
                    symbols[at] += &tail;
                }
                at += 1;
            }
        }
        symbols
    }

    #[test]
    fn worked_examples() {
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a [&'a str]);
        let cases: [Case<'_>; 6] = [
            (&[("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w")], "lowest", &["low", "est"]),
            (&[("x", "ab"), ("a", "b")], "xab", &["xab"]),
            (&[("ab", "a"), ("a", "b")], "abab", &["ab", "ab"]),
            (&[("a", "b"), ("b", "c"), ("a", "bc")], "abc", &["ab", "c"]),
            (&[("a", "a")], "aaaaa", &["aa", "aa", "a"]),
            (&[("a", "b")], " a\u{200b}b\u{1c}c\u{3000}ab ", &["a", "\u{200b}", "b", "c", "ab"]),
        ];
        for (rules, text, expected) in cases {
            assert_eq!(tokens(rules, text), expected);
        }
    }

    #[test]
    fn short_and_long_words_go_by_rounds() {
        let parts = ["a", "b", "c", "aa", "ab", "ba", "bc", "abc", "aaa", "bab", "aab"];
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = hash::mix(state ^ 0x9e37_79b9, 0xd1b5_4a32_d192_ed03).wrapping_add(1);
            usize::try_from(state % below as u64).unwrap()
        };
        for _ in 0..3000 {
            let rules: Vec<_> = (0..random(12)).map(|_| (parts[random(11)], parts[random(11)])).collect();
            let letters = 1 + random(3);
            let length = [random(12), 12 + random(40), LONG - 1 + random(3), 3 * LONG][random(4)];
            let word: String = (0..length).map(|_| ["a", "b", "c"][random(letters)]).collect();
            assert_eq!(tokens(&rules, &word), slow(&rules, &word), "{rules:?} {word}");
        }
    }

    #[test]
    fn symbols_are_numbered_alphabet_first_and_each_string_once() {
        let encoder = encoder(&[("b", "ca"), ("bc", "a"), ("b", "c"), ("b", "ca")]);
        let strings: Vec<_> = (0..6).map(|id| encoder.symbols().get(id)).collect();
        assert_eq!(strings, [&b"a"[..], b"b", b"c", b"bca", b"bc", b"ca"]);
        assert_eq!(encoder.vocab_size(), 5);
    }
}
