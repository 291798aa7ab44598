//! Merges and text to tokens, by rounds: the pair of lowest rank, everywhere in the word, then look again.

use crate::chars::{self, CharMap};
use crate::hash;
use crate::pairs::key;
use crate::sequence::position;
use crate::symbols::Symbols;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The mark of a character that no rule mentions; the other bits are its code point.
pub const UNKNOWN: u32 = 1 << 31;

/// Words of more characters take the road that costs more to start and less for each character.
pub const LONG: usize = 64;

const NONE: u32 = u32::MAX;

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
    rules: Vec<Rule>, // by rank
    ranks: RankTable,
}

/// Room to work in, used again from word to word.
#[derive(Debug, Default)]
pub struct Scratch {
    symbols: Vec<u32>,
    ranks: Vec<u32>,
    before: Vec<u32>,
    after: Vec<u32>,
    waiting: Vec<Vec<u32>>, // positions of pairs, by rank; empty between words
    queue: Ranks,
}

type Ranks = BinaryHeap<Reverse<u32>>;

/// A rule in symbols.
#[derive(Clone, Copy, Debug)]
struct Rule {
    left: u32,
    right: u32,
    joined: u32,
}

impl Encoder {
    /// Compiles rules, pairs of non-empty strings in generalized UTF-8. The alphabet is `alphabet`, or the
    /// characters that the rules mention.
    pub fn new<'a>(rules: &[(&'a [u8], &'a [u8])], alphabet: Option<&[u32]>) -> Encoder {
        let mut mentioned = CharMap::default();
        for code_point in rules.iter().flat_map(|rule| [rule.0, rule.1]).flat_map(chars::code_points) {
            mentioned.set(code_point, 1);
        }
        let mentioned = mentioned.code_points();
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
        alphabet.unwrap_or(&mentioned).iter().for_each(|&code_point| add_char(code_point, &mut names));
        let alphabet_size = names.symbols.len();
        let mut joined = Vec::with_capacity(rules.len());
        let mut whole = Vec::new();
        for (left, right) in rules {
            whole.clear();
            whole.extend(*left);
            whole.extend(*right);
            joined.push(names.add(&whole));
        }
        let vocab_size = names.symbols.len();
        mentioned.iter().for_each(|&code_point| add_char(code_point, &mut names));
        let rule = |(&(left, right), joined)| Rule { left: names.add(left), right: names.add(right), joined };
        let rules: Vec<Rule> = rules.iter().zip(joined).map(rule).collect();
        let ranks = RankTable::new(&rules);
        Encoder { chars, names, alphabet_size, vocab_size, rules, ranks }
    }

    /// The symbols, by number.
    pub fn symbols(&self) -> &Symbols {
        &self.names.symbols
    }

    /// The number of a string that is a symbol.
    pub fn symbol(&self, string: &[u8]) -> Option<u32> {
        self.names.find(string).ok()
    }

    /// The rules, in symbols.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.rules.iter().map(|rule| (rule.left, rule.right))
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
        scratch.symbols.clear();
        scratch.symbols.extend(chars::code_points(word).map(|code_point| match self.chars.get(code_point) {
            0 => UNKNOWN | code_point,
            symbol => symbol - 1,
        }));
        if scratch.symbols.len() <= LONG {
            self.merge_short(scratch);
            out.extend(&scratch.symbols);
        } else {
            self.merge_long(scratch);
            out.extend(scratch.symbols.iter().filter(|&&symbol| symbol != NONE));
        }
    }

    /// The rule itself, over two small arrays: symbols, and ranks of each with the next.
    fn merge_short(&self, Scratch { symbols, ranks, .. }: &mut Scratch) {
        ranks.clear();
        ranks.extend(symbols.windows(2).map(|pair| self.ranks.get(&self.rules, pair[0], pair[1])));
        while let Some(&lowest) = ranks.iter().min()
            && lowest != NONE
        {
            let joined = self.rules[lowest as usize].joined;
            let (mut read, mut written, mut is_new) = (0, 0, false);
            while read < symbols.len() {
                let was_new = is_new;
                is_new = ranks.get(read) == Some(&lowest);
                let symbol = if is_new { joined } else { symbols[read] };
                if written > 0 {
                    let touched = was_new || is_new;
                    ranks[written - 1] = if touched {
                        self.ranks.get(&self.rules, symbols[written - 1], symbol)
                    } else {
                        ranks[read - 1]
                    };
                }
                symbols[written] = symbol;
                written += 1;
                read += if is_new { 2 } else { 1 };
            }
            symbols.truncate(written);
            ranks.truncate(written - 1);
        }
    }

    /// The same for long words: positions wait by rank, and each is looked at only when a neighbour changes. Takes
    /// O(n log n) for n characters. A symbol that has become part of the one before it is `NONE`.
    fn merge_long(&self, Scratch { symbols, before, after, waiting, queue, .. }: &mut Scratch) {
        let n = position(symbols.len());
        before.clear();
        before.extend((0..n).map(|at| at.wrapping_sub(1)));
        after.clear();
        after.extend(1..=n);
        waiting.resize_with(self.rules.len(), Vec::new);
        let look = |symbols: &[u32], waiting: &mut [Vec<u32>], queue: &mut Ranks, at: u32, next: u32| {
            let rank = self.ranks.get(&self.rules, symbols[at as usize], symbols[next as usize]);
            if let Some(positions) = waiting.get_mut(rank as usize) {
                if positions.is_empty() {
                    queue.push(Reverse(rank));
                }
                positions.push(at);
            }
        };
        (1..n).for_each(|at| look(symbols, waiting, queue, at - 1, at));
        while let Some(Reverse(rank)) = queue.pop() {
            let Rule { left, right, joined } = self.rules[rank as usize];
            let mut positions = std::mem::take(&mut waiting[rank as usize]);
            if !positions.is_sorted() {
                positions.sort_unstable();
            }
            for at in positions {
                let next = after[at as usize];
                if symbols[at as usize] != left || symbols.get(next as usize) != Some(&right) {
                    continue; // a neighbour was merged meanwhile
                }
                symbols[at as usize] = joined;
                symbols[next as usize] = NONE;
                let follower = after[next as usize];
                after[at as usize] = follower;
                if let Some(before) = before.get_mut(follower as usize) {
                    *before = at;
                    look(symbols, waiting, queue, at, follower);
                }
                if at > 0 {
                    look(symbols, waiting, queue, before[at as usize], at);
                }
            }
        }
    }
}

/// Strings and their numbers.
#[derive(Debug, Default)]
struct Names {
    symbols: Symbols,
    index: Vec<u32>, // 1 + the number, 0 for none; linear probing, at most half full
    bits: u32,
}

impl Names {
    /// The number of a string, or the place in the index where it belongs.
    fn find(&self, string: &[u8]) -> Result<u32, usize> {
        if self.index.is_empty() {
            return Err(0);
        }
        let mut at = hash::slot(hash::bytes(hash::seed(), string), self.bits);
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
    fn add(&mut self, string: &[u8]) -> u32 {
        if self.symbols.len() * 2 >= self.index.len() {
            self.grow();
        }
        self.find(string).unwrap_or_else(|at| {
            let number = position(self.symbols.len());
            self.symbols.push(string);
            self.index[at] = number + 1;
            number
        })
    }

    fn grow(&mut self) {
        self.bits = (self.bits + 2).max(6);
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

/// Ranks of pairs: open addressing with linear probing, at most half full. A slot holds some bits of the pair's hash
/// and 1 + its rank, 0 for none: half the memory of the pair itself, and the rule is looked at only when the bits agree.
#[derive(Debug)]
struct RankTable {
    slots: Vec<(u32, u32)>,
    bits: u32,
}

impl RankTable {
    fn new(rules: &[Rule]) -> RankTable {
        let bits = hash::bits_for(rules.len() * 2 + 2);
        let mut table = RankTable { slots: vec![(0, 0); 1 << bits], bits };
        for (rank, rule) in (0..).zip(rules) {
            let (at, found) = table.find(rules, rule.left, rule.right);
            if found == NONE {
                table.slots[at].1 = rank + 1; // else the pair has a lower one
            }
        }
        table
    }

    /// The rank of a pair or `NONE`, and the slot where that shows.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the low bits of the hash are wanted")]
    fn find(&mut self, rules: &[Rule], left: u32, right: u32) -> (usize, u32) {
        let hash = hash::number(hash::seed(), key(left, right));
        let at = self.probe(rules, left, right, hash);
        let slot = &mut self.slots[at];
        if slot.1 == 0 {
            slot.0 = hash as u32;
        }
        (at, slot.1.wrapping_sub(1))
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the low bits of the hash are wanted")]
    fn probe(&self, rules: &[Rule], left: u32, right: u32, hash: u64) -> usize {
        let mut at = hash::slot(hash, self.bits);
        loop {
            let (tag, rank) = self.slots[at];
            if rank == 0 {
                return at;
            }
            if tag == hash as u32 {
                let rule = &rules[rank as usize - 1];
                if (rule.left, rule.right) == (left, right) {
                    return at;
                }
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// The rank of a pair, or `NONE`.
    #[inline]
    fn get(&self, rules: &[Rule], left: u32, right: u32) -> u32 {
        let hash = hash::number(hash::seed(), key(left, right));
        self.slots[self.probe(rules, left, right, hash)].1.wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whitespace;
    use std::collections::HashMap;

    fn encoder(rules: &[(&str, &str)]) -> Encoder {
        let rules: Vec<_> = rules.iter().map(|(left, right)| (left.as_bytes(), right.as_bytes())).collect();
        Encoder::new(&rules, None)
    }

    fn tokens(encoder: &Encoder, text: &str) -> Vec<String> {
        let (mut out, mut scratch) = (Vec::new(), Scratch::default());
        whitespace::for_each_word(text.as_bytes(), |start, end| {
            encoder.encode_word(&text.as_bytes()[start..end], &mut scratch, &mut out);
        });
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
            assert_eq!(tokens(&encoder(rules), text), expected);
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
            let length = [random(12), LONG - 1 + random(3), 3 * LONG][random(3)];
            let word: String = (0..length).map(|_| ["a", "b", "c"][random(letters)]).collect();
            assert_eq!(tokens(&encoder(&rules), &word), slow(&rules, &word), "{rules:?} {word}");
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
