//! Merges and text to tokens, by rounds: the pair of lowest rank, everywhere in the word, then look again.

use crate::chars::{self, CharMap, CharSet};
use crate::hash;
use crate::pairs::key;
use crate::seams::Seams;
use crate::sequence::position;
use crate::symbols::Symbols;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The mark of a character that no rule mentions; the other bits are its code point.
pub const UNKNOWN: u32 = 1 << 31;

/// Words of more characters take the road that costs more to start and less for each character.
pub const LONG: usize = 64;

const NONE: u32 = u32::MAX;

/// So many short words take turns.
const TOGETHER: usize = 8;

/// How many rules are looked up together.
const BATCH: usize = 32;

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
    rules: Vec<Rule>, // by rank
    ranks: RankTable,
    in_order: bool,
    seams: Seams,
}

/// Room to work in, used again from word to word.
#[derive(Debug, Default)]
pub struct Scratch {
    short: [Short; TOGETHER],
    long: Vec<u32>,
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
        let alphabet_size = names.symbols.len();
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
        let vocab_size = names.symbols.len();
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
        let ranks = RankTable::new(&rules);
        let is_new = |(rank, rule): (usize, &Rule)| {
            let joined = position(alphabet_size + rank);
            rule.joined == joined && rule.left < joined && rule.right < joined
        };
        let in_order = rules.iter().enumerate().all(is_new);
        Encoder { chars, names, alphabet_size, vocab_size, rules, ranks, in_order, seams }
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

    /// Whether each rule makes a new symbol, of characters of the alphabet or what rules before it made. Every trained list
    /// is so; then a merge makes no pair of a lower rank than its own.
    pub fn is_in_order(&self) -> bool {
        self.in_order
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
        self.encode_words(&[], &[word], scratch, out, |_| {});
    }

    /// Appends the tokens of several words, each with `prefix` before it, to `out`; calls `end` with its length after each.
    ///
    /// A merge waits for what the last one has made of the word, so several words take turns: then they wait together.
    pub fn encode_words(
        &self,
        prefix: &[u8],
        words: &[&[u8]],
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
        mut end: impl FnMut(usize),
    ) {
        for words in words.chunks(TOGETHER) {
            let mut waiting = [0; TOGETHER];
            let mut n = 0;
            for (number, (word, short)) in words.iter().zip(&mut scratch.short).enumerate() {
                if short.start(self, prefix, word) {
                    waiting[n] = number;
                    n += 1;
                }
            }
            while n > 0 {
                let mut next = 0;
                while next < n {
                    if scratch.short[waiting[next]].round(self) {
                        next += 1;
                    } else {
                        n -= 1;
                        waiting[next] = waiting[n];
                    }
                }
            }
            for (number, word) in words.iter().enumerate() {
                let short = &scratch.short[number];
                if short.is_too_long {
                    let long = &mut scratch.long;
                    long.clear();
                    let characters = [prefix, word].into_iter().flat_map(chars::code_points);
                    long.extend(characters.map(|code_point| self.symbol_of(code_point)));
                    self.merge_long(scratch);
                    out.extend(scratch.long.iter().filter(|&&symbol| symbol != NONE));
                } else {
                    let mut live = short.live;
                    while live > 0 {
                        out.push(short.symbols[place(live)]);
                        live &= live - 1;
                    }
                }
                end(out.len());
            }
        }
    }

    /// The symbol of the character that starts at `at`, and its length in bytes.
    #[inline]
    fn symbol_at(&self, word: &[u8], at: usize) -> (u32, usize) {
        let (code_point, length) =
            if word[at] < 0x80 { (u32::from(word[at]), 1) } else { chars::read(word, at) };
        (self.symbol_of(code_point), length)
    }

    #[inline]
    fn symbol_of(&self, code_point: u32) -> u32 {
        match self.chars.get(code_point) {
            0 => UNKNOWN | code_point,
            symbol => symbol - 1,
        }
    }

    #[inline]
    fn rank(&self, left: u32, right: u32) -> u32 {
        self.ranks.get(&self.rules, left, right)
    }

    /// The rule for long words: positions wait by rank, and each is looked at only when a neighbour changes. Takes
    /// O(n log n) for n characters. A symbol that has become part of the one before it is `NONE`.
    fn merge_long(&self, Scratch { long: symbols, before, after, waiting, queue, .. }: &mut Scratch) {
        let n = position(symbols.len());
        before.clear();
        before.extend((0..n).map(|at| at.wrapping_sub(1)));
        after.clear();
        after.extend(1..=n);
        waiting.resize_with(self.rules.len(), Vec::new);
        let look = |symbols: &[u32], waiting: &mut [Vec<u32>], queue: &mut Ranks, at: u32, next: u32| {
            let rank = self.rank(symbols[at as usize], symbols[next as usize]);
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

/// A short word under way: the rule itself, over two small arrays. Nothing is moved: bits tell which places still hold a
/// symbol.
#[derive(Clone, Debug)]
struct Short {
    symbols: [u32; LONG],
    keys: [u32; LONG], // `key_at` of the pair that starts there
    n: usize,
    live: u64,
    is_too_long: bool,
}

impl Default for Short {
    fn default() -> Short {
        Short { symbols: [0; LONG], keys: [NONE; LONG], n: 0, live: 0, is_too_long: false }
    }
}

/// With this many rules all words take the road of long ones: then a rank and a place do not fit into 32 bits.
const TOO_MANY: usize = 1 << 26;

/// The rank of a pair and the place where it starts as one number: the lowest one tells which pair is next, and where.
#[inline]
fn key_at(rank: u32, place: usize) -> u32 {
    if rank == NONE { NONE } else { rank << 6 | position(place) }
}

/// The lowest place of a set. All are below 64; the mask spares checks.
#[inline]
fn place(bits: u64) -> usize {
    bits.trailing_zeros() as usize & (LONG - 1)
}

impl Short {
    /// Takes up a word; says whether there is anything to merge.
    fn start(&mut self, encoder: &Encoder, prefix: &[u8], word: &[u8]) -> bool {
        self.n = 0;
        self.is_too_long = encoder.rules.len() >= TOO_MANY;
        for part in [prefix, word] {
            let mut at = 0;
            while at < part.len() {
                self.is_too_long |= self.n == LONG;
                if self.is_too_long {
                    return false;
                }
                let (symbol, length) = encoder.symbol_at(part, at);
                self.symbols[self.n] = symbol;
                self.n += 1;
                at += length;
            }
        }
        self.live = u64::MAX.checked_shr(64 - position(self.n)).unwrap_or(0);
        self.keys[..self.n.next_multiple_of(8)].fill(NONE);
        for (place, (key, pair)) in self.keys.iter_mut().zip(self.symbols[..self.n].windows(2)).enumerate() {
            *key = key_at(encoder.rank(pair[0], pair[1]), place);
        }
        true
    }

    /// The lowest key.
    #[inline]
    fn lowest(&self) -> u32 {
        // Eight at a time, so that no loop ends where it cannot be foreseen.
        let mut lowest = [NONE; 8];
        for eight in &self.keys.as_chunks::<8>().0[..self.n.div_ceil(8)] {
            lowest.iter_mut().zip(eight).for_each(|(lowest, &key)| *lowest = key.min(*lowest));
        }
        lowest.into_iter().fold(NONE, u32::min)
    }

    /// Takes the lowest rank and replaces its pair everywhere; says whether there was one.
    #[inline]
    fn round(&mut self, encoder: &Encoder) -> bool {
        let lowest = self.lowest();
        let rank = lowest >> 6;
        let Some(&Rule { joined, .. }) = encoder.rules.get(rank as usize) else { return false };
        let Short { symbols, keys, n, live, .. } = self;
        let mut at = lowest as usize & (LONG - 1);
        loop {
            let behind = *live & (u64::MAX << at << 1);
            let second = behind & behind.wrapping_neg();
            let third = behind & !second;
            let before = *live & !(u64::MAX << at);
            *live &= !second;
            symbols[at] = joined;
            keys[place(second)] = NONE;
            keys[at] =
                if third == 0 { NONE } else { key_at(encoder.rank(joined, symbols[place(third)]), at) };
            if before > 0 {
                let before = 63 - before.leading_zeros() as usize;
                keys[before] = key_at(encoder.rank(symbols[before], joined), before);
            }
            // Within a round a pair of lower rank may come into being. Where rules are in order none does, and the next
            // look finds what is left of this round.
            match if encoder.in_order { None } else { (at + 1..*n).find(|&next| keys[next] >> 6 == rank) } {
                Some(next) => at = next,
                None => return true,
            }
        }
    }
}

/// The left and the right part of each rule.
fn parts_of<'a>(rules: &[Pair<'a>]) -> impl Iterator<Item = &'a [u8]> + Clone {
    rules.iter().flat_map(|rule| [rule.0, rule.1])
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
    fn add(&mut self, string: &[u8]) -> u32 {
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
    fn add_all<'a>(&mut self, strings: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u32> {
        self.reserve(2 * BATCH);
        let hashes = self.touch(strings.clone());
        strings.zip(hashes).map(|(string, hash)| self.add_hashed(string, hash)).collect()
    }

    /// The numbers of strings, `NONE` where they have none.
    fn find_all<'a>(&self, strings: impl Iterator<Item = &'a [u8]> + Clone) -> impl Iterator<Item = u32> {
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
    fn reserve(&mut self, more: usize) {
        if (self.symbols.len() + more) * 2 <= self.index.len() {
            return;
        }
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

/// Ranks of pairs: open addressing with linear probing, at most half full. A slot holds 1 + the rank, 0 for none, and in
/// the bits that ranks leave free some of the pair's hash: a third of the memory of the pair itself, and the rule is looked
/// at only when these agree. Most pairs have no rank, and nearly all of those are sent away by a filter that stays in the
/// nearest caches.
#[derive(Debug)]
struct RankTable {
    slots: Vec<u32>,
    seed: u64,
    bits: u32,
    mask: u32,        // of the bits that ranks take
    filter: Vec<u64>, // a set of bits, by hash: eight bits a rule
}

impl RankTable {
    fn new(rules: &[Rule]) -> RankTable {
        let bits = hash::bits_for(rules.len() * 2 + 2);
        let mask = u32::MAX >> position(rules.len()).leading_zeros().min(31);
        let filter = vec![0; (1_usize << bits).div_ceil(16)];
        let mut table = RankTable { slots: vec![0; 1 << bits], seed: hash::seed(), bits, mask, filter };
        for (rank, rule) in (0..).zip(rules) {
            let hash = hash::number(table.seed, key(rule.left, rule.right));
            let at = table.find(rules, rule.left, rule.right, hash);
            if table.slots[at] == 0 {
                table.slots[at] = table.tag(hash) | (rank + 1); // else the pair has a lower one
            }
            let (word, bit) = table.filter_bit(hash);
            table.filter[word] |= bit;
        }
        table
    }

    /// The rank of a pair, or `NONE`.
    #[inline]
    fn get(&self, rules: &[Rule], left: u32, right: u32) -> u32 {
        let hash = hash::number(self.seed, key(left, right));
        let (word, bit) = self.filter_bit(hash);
        if self.filter[word] & bit == 0 {
            return NONE;
        }
        (self.slots[self.find(rules, left, right, hash)] & self.mask).wrapping_sub(1)
    }

    /// The slot of a pair, or the empty one where it belongs.
    #[inline]
    fn find(&self, rules: &[Rule], left: u32, right: u32, hash: u64) -> usize {
        let tag = self.tag(hash);
        let mut at = hash::slot(hash, self.bits);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return at;
            }
            if slot & !self.mask == tag {
                let rule = &rules[(slot & self.mask) as usize - 1];
                if (rule.left, rule.right) == (left, right) {
                    return at;
                }
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the low bits of the hash are wanted")]
    fn tag(&self, hash: u64) -> u32 {
        hash as u32 & !self.mask
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the low bits of the hash are wanted")]
    fn filter_bit(&self, hash: u64) -> (usize, u64) {
        ((hash >> 6) as usize & (self.filter.len() - 1), 1 << (hash & 63))
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
