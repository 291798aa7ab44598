//! The vocabulary and the merges of a file, straight from its bytes: a general reader would make an object of every
//! string.
//!
//! Only what training and this package write is understood, one way for one thing; for all else there is the general
//! reader, whose answer is the same.

use crate::chars;
use crate::encode::{Encoder, Pair};
use std::borrow::Cow;

/// Tokens of more bytes are left to the general reader, which knows how to refuse them.
const MOST: usize = 1 << 20;

/// A model whose vocabulary is what its merges make.
#[derive(Debug)]
pub struct Model {
    /// The merges, compiled; the alphabet are the single characters that come first in the vocabulary.
    pub encoder: Encoder,
    /// The tokens of the vocabulary behind those; each has the next id.
    pub others: Vec<String>,
    /// What else a document says: it, with an empty vocabulary and no merges.
    pub rest: Vec<u8>,
}

/// Reads a `tokenizer.json`; `None` leaves it to the general reader, as for the others.
pub fn read_document(document: &[u8]) -> Option<Model> {
    std::str::from_utf8(document).ok()?;
    let (mut vocab, mut merges, mut models) = (None, None, 0);
    let mut reader = Reader { text: document, at: 0 };
    reader.members(|reader, key| {
        if key != b"model" {
            return reader.skip();
        }
        models += 1;
        reader.members(|reader, key| {
            let start = reader.at;
            match key {
                b"vocab" if vocab.is_none() => vocab = Some((reader.vocab()?, start..reader.at)),
                b"merges" if merges.is_none() => merges = Some((reader.merges()?, start..reader.at)),
                b"vocab" | b"merges" => return None,
                _ => reader.skip()?,
            }
            Some(())
        })
    })?;
    reader.space();
    let (Some((vocab, vocab_range)), Some((merges, merges_range))) = (vocab, merges) else { return None };
    if reader.at < document.len() || merges.is_empty() || models > 1 {
        return None;
    }
    let rules: Vec<Pair<'_>> = merges.iter().map(|[left, right]| (&**left, &**right)).collect();
    let (encoder, others) = compiled(&vocab, &rules)?;
    let mut cuts = [(vocab_range, &b"{}"[..]), (merges_range, b"[]")];
    cuts.sort_by_key(|(range, _)| range.start);
    let [(first, for_first), (second, for_second)] = cuts;
    let rest = [
        &document[..first.start],
        for_first,
        &document[first.end..second.start],
        for_second,
        &document[second.end..],
    ];
    Some(Model { encoder, others, rest: rest.concat() })
}

/// Reads a `merges.txt` and the `vocab.json` beside it.
pub fn read_merges(merges: &[u8], vocab: &[u8]) -> Option<Model> {
    std::str::from_utf8(vocab).ok()?;
    let mut reader = Reader { text: vocab, at: 0 };
    let tokens = reader.vocab()?;
    reader.space();
    let (encoder, others) = compiled(&tokens, &rule_lines(merges, false)?)?;
    (reader.at == vocab.len()).then_some(Model { encoder, others, rest: Vec::new() })
}

/// Reads codes in which every rule comes twice, first for the inside and then, with `</w>` behind it, for the end of words.
/// With `counted` there is a count behind each and no header.
pub fn read_codes(codes: &[u8], counted: bool) -> Option<Model> {
    let lines = rule_lines(codes, counted)?;
    let (pairs, []) = lines.as_chunks() else { return None };
    let rules = pairs.iter().map(|[inside, at_end]| {
        let is_same = inside.0 == at_end.0 && at_end.1.strip_suffix(b"</w>") == Some(inside.1);
        let ends = [inside.0, inside.1, &[inside.0, inside.1].concat()].map(looks_like_an_end);
        (is_same && !ends.contains(&true)).then_some(*inside)
    });
    let encoder = Encoder::new(&rules.collect::<Option<Vec<_>>>()?, None);
    encoder.is_in_order().then_some(Model { encoder, others: Vec::new(), rest: Vec::new() })
}

/// Whether a symbol would be taken for another one at the end of a word.
fn looks_like_an_end(symbol: &[u8]) -> bool {
    symbol.len() > 4 && symbol.ends_with(b"</w>")
}

/// The rules of a text, one a line.
fn rule_lines(text: &[u8], counted: bool) -> Option<Vec<Pair<'_>>> {
    std::str::from_utf8(text).ok()?;
    let mut lines = text.strip_suffix(b"\n").unwrap_or(text).split(|&byte| byte == b'\n').peekable();
    if !counted && lines.peek()?.starts_with(b"#version: ") {
        lines.next_if_eq(&&b"#version: 0.2"[..])?;
    }
    let rules = lines.map(|line| {
        let mut fields = line.split(|&byte| byte == b' ');
        let rule = (fields.next()?, fields.next()?);
        let fits = |part: &[u8]| (1..=MOST).contains(&part.len());
        let is_count = |count: &[u8]| fits(count) && count.iter().all(u8::is_ascii_digit);
        let is_rule = fits(rule.0) && fits(rule.1) && (!counted || is_count(fields.next()?));
        (is_rule && fields.next().is_none()).then_some(rule)
    });
    rules.collect()
}

/// The rules, if the vocabulary starts with an alphabet in order and then what they make; and the rest of it.
fn compiled(vocab: &[Cow<'_, [u8]>], rules: &[Pair<'_>]) -> Option<(Encoder, Vec<String>)> {
    let single = |token: &&Cow<'_, [u8]>| !token.is_empty() && chars::count(token) == 1;
    let alphabet: Vec<u32> = vocab.iter().take_while(single).map(|token| chars::read(token, 0).0).collect();
    if !alphabet.is_sorted_by(|a, b| a < b) || rules.iter().any(|rule| rule.0.is_empty() || rule.1.is_empty())
    {
        return None;
    }
    let encoder = Encoder::new(rules, Some(&alphabet));
    let is_made = {
        let mut made = encoder.symbols().iter().take(encoder.vocab_size()).zip(vocab);
        vocab.len() >= encoder.vocab_size() && made.all(|(ours, theirs)| ours == &**theirs)
    };
    let others = vocab.iter().skip(encoder.vocab_size()).map(|token| String::from_utf8(token.to_vec()).ok());
    let others = others.collect::<Option<_>>()?;
    (is_made && encoder.is_in_order()).then_some((encoder, others))
}

/// Reads JSON that is known to be UTF-8. `None` is given for what is not JSON, and for what is not expected.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Goes behind a byte, and the space before it, if it comes next.
    fn has(&mut self, byte: u8) -> bool {
        self.space();
        let has = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(has);
        has
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.has(byte).then_some(())
    }

    /// Calls `f` at each value of an object, with its key.
    fn members(&mut self, mut f: impl FnMut(&mut Self, &[u8]) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        if self.has(b'}') {
            return Some(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':')?;
            self.space();
            f(self, &key)?;
            if self.has(b'}') {
                return Some(());
            }
            self.expect(b',')?;
        }
    }

    /// The tokens of a vocabulary whose ids are 0, 1, 2, ... in this order.
    fn vocab(&mut self) -> Option<Vec<Cow<'a, [u8]>>> {
        let mut tokens = Vec::new();
        self.expect(b'{')?;
        if self.has(b'}') {
            return Some(tokens);
        }
        loop {
            let token = self.string()?;
            self.expect(b':')?;
            self.space();
            let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let id = std::str::from_utf8(&self.text[self.at..self.at + digits]).ok()?;
            let is_next = id.parse() == Ok(tokens.len()) && (digits == 1 || !id.starts_with('0'));
            self.at += digits;
            tokens.push(token);
            if !is_next {
                return None;
            }
            if self.has(b'}') {
                return Some(tokens);
            }
            self.expect(b',')?;
        }
    }

    /// The merges, pairs of strings.
    fn merges(&mut self) -> Option<Vec<[Cow<'a, [u8]>; 2]>> {
        let mut merges = Vec::new();
        self.expect(b'[')?;
        if self.has(b']') {
            return Some(merges);
        }
        loop {
            self.expect(b'[')?;
            let left = self.string()?;
            self.expect(b',')?;
            merges.push([left, self.string()?]);
            self.expect(b']')?;
            if self.has(b']') {
                return Some(merges);
            }
            self.expect(b',')?;
        }
    }

    /// A string of moderate length.
    fn string(&mut self) -> Option<Cow<'a, [u8]>> {
        self.expect(b'"')?;
        let start = self.at;
        let length =
            self.text[start..].iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20)?;
        self.at += length + 1;
        if length > MOST {
            return None;
        }
        let plain = &self.text[start..start + length];
        match self.text[start + length] {
            b'"' => Some(Cow::Borrowed(plain)),
            b'\\' => self.escaped(plain.to_vec()).map(Cow::Owned),
            _ => None,
        }
    }

    /// The rest of a string, behind its first backslash.
    fn escaped(&mut self, mut string: Vec<u8>) -> Option<Vec<u8>> {
        loop {
            let code_point = match self.next()? {
                byte @ (b'"' | b'\\' | b'/') => u32::from(byte),
                b'b' => 8,
                b't' => 9,
                b'n' => 10,
                b'f' => 12,
                b'r' => 13,
                b'u' => {
                    let digits = self.text.get(self.at..self.at + 4)?;
                    self.at += 4;
                    let all_digits = digits.iter().all(u8::is_ascii_hexdigit);
                    u32::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| all_digits)?, 16).ok()?
                }
                _ => return None,
            };
            // Half of a character is for the general reader.
            chars::push(&mut string, char::from_u32(code_point)?.into());
            loop {
                match self.next()? {
                    b'"' => return Some(string),
                    b'\\' => break,
                    0..0x20 => return None,
                    byte => string.push(byte),
                }
            }
            if string.len() > MOST {
                return None;
            }
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.text.get(self.at).copied();
        self.at += 1;
        byte
    }

    /// Goes behind a value of any kind; the general reader looks at it later.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            self.space();
            match self.text.get(self.at)? {
                b'"' => drop(self.string()?),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            self.space();
            if depth == 0 && matches!(self.text.get(self.at), Some(b',' | b'}' | b']')) {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"version": "1.0", "a": [1, {"model": "}"}, "\"]"],
        "model": {"type": "BPE", "vocab": {"\"": 0, "a": 1, "\u00e9": 2, "a\"": 3, "éa\"": 4, "<unk>": 5},
        "x": {}, "merges": [["a", "\""], [ "é" ,"a\""]], "y": null}}
    "#;

    #[test]
    fn a_vocabulary_that_the_merges_make_is_read() {
        let model = read_document(DOCUMENT.as_bytes()).unwrap();
        assert_eq!(model.others, ["<unk>"]);
        assert_eq!(model.encoder.vocab_size(), 5);
        assert_eq!(model.encoder.symbols().get(4), "éa\"".as_bytes());
        let rest = String::from_utf8(model.rest).unwrap();
        assert!(rest.contains(r#""vocab": {},"#) && rest.contains(r#""merges": [], "y": null}}"#), "{rest}");
    }

    #[test]
    fn all_else_is_left_to_the_general_reader() {
        let changes = [
            ("\"a\": 1", "\"a\": 2"),
            ("\"a\": 1", "\"a\": 01"),
            ("\"a\": 1", "\"a\": 1.0"),
            ("\"a\": 1", "\"b\": 1"),
            ("[\"a\", \"\\\"\"]", "[\"a\", \"\\\"\", \"a\"]"),
            ("[\"a\", \"\\\"\"]", "\"a \\\"\""),
            ("\"merges\"", "\"vocab\": {}, \"merges\""),
            ("\"x\": {}", "\"x\": }"),
            ("\"model\": {", "\"model\": [{"),
            ("null}}", "null}, \"model\": {}}"),
            ("null}}", "null}} x"),
            ("null}}", "null}"),
            ("\\u00e9", "\\ud800"),
            ("\\u00e9", "\\u+0e9"),
            ("\"é\"", "\"\""),
            ("\"merges\"", "\"Merges\""),
        ];
        for (old, new) in changes {
            assert!(DOCUMENT.contains(old), "{old}");
            assert!(read_document(DOCUMENT.replacen(old, new, 1).as_bytes()).is_none(), "{old} -> {new}");
        }
        for length in 0..DOCUMENT.trim_end().len() {
            assert!(read_document(&DOCUMENT.as_bytes()[..length]).is_none());
        }
    }
}
