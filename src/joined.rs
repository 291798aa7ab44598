//! Pairs out of ranked strings, as programs have them that join two neighbours whenever the joined string has a rank.

use crate::chars;
use crate::encode::UNKNOWN;
use crate::hash::NumberMap;
use crate::long_word::LongWord;
use crate::pairs::key;
use crate::ranks::Rule;
use crate::sequence::position;

/// What makes each of some strings. Symbols are places of strings, or `UNKNOWN` characters.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The parts of each string, until one has other than two.
    pub pairs: Vec<(u32, u32)>,
    /// What the strings before it leave of that one.
    pub rest: Option<Vec<u32>>,
}

/// Recovers the pair of each string, generalized UTF-8, best rank first: the two parts that the strings before leave of it.
pub fn recovered(strings: &[&[u8]]) -> Recovered {
    let mut found = Recovered::default();
    let mut rules: Vec<Rule> = Vec::with_capacity(strings.len());
    let mut ranks: NumberMap<u32> = NumberMap::default();
    let mut word = LongWord::default();
    for (place, string) in strings.iter().enumerate() {
        word.start(chars::code_points(string).map(|code_point| UNKNOWN | code_point));
        word.merge(&rules, |left, right| ranks.get(&key(left, right)).copied().unwrap_or(u32::MAX));
        let mut rest = word.symbols();
        let (Some(left), Some(right), None) = (rest.next(), rest.next(), rest.next()) else {
            found.rest = Some(word.symbols().collect());
            break;
        };
        let joined = position(place);
        rules.push(Rule { left, right, joined });
        ranks.insert(key(left, right), joined);
        found.pairs.push((left, right));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_or_what_is_left() {
        let of = |strings: &[&str]| recovered(&strings.iter().map(|s| s.as_bytes()).collect::<Vec<_>>());
        let c = |c: char| UNKNOWN | u32::from(c);
        let good = of(&["bc", "abc", "éa", "éabc"]);
        assert_eq!(good.pairs, [(c('b'), c('c')), (c('a'), 0), (c('é'), c('a')), (c('é'), 1)]);
        assert!(good.rest.is_none());
        let bad = of(&["ab", "abab", "cab", "xy", "aabb"]);
        assert_eq!(bad.pairs, [(c('a'), c('b')), (0, 0), (c('c'), 0), (c('x'), c('y'))]);
        assert_eq!(bad.rest, Some(vec![c('a'), 0, c('b')]));
        assert_eq!(of(&["abc"]).rest, Some(vec![c('a'), c('b'), c('c')]));
        assert_eq!(of(&["a"]).rest, Some(vec![c('a')]));
    }
}
