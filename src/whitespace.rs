//! The 29 whitespace code points of `str.split()`, and the words between them.
//!
//! Texts are bytes in *generalized UTF-8*: UTF-8 in which a lone surrogate takes three bytes like any other code
//! point of its size (Python's `surrogatepass`). Byte order is code point order.

/// 0: inside a word; 1: whitespace; 2: the first byte of a code point that may be whitespace.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let ascii = b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f ";
    let mut i = 0;
    while i < ascii.len() {
        class[ascii[i] as usize] = 1;
        i += 1;
    }
    class[0xC2] = 2;
    class[0xE1] = 2;
    class[0xE2] = 2;
    class[0xE3] = 2;
    class
};

/// The length in bytes of the whitespace code point that starts at `at`, or 0 if none does.
#[inline]
pub fn whitespace_len(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(&byte) => match CLASS[usize::from(byte)] {
            0 => 0,
            1 => 1,
            _ => wide_whitespace_len(&text[at..]),
        },
        None => 0,
    }
}

/// U+0085, U+00A0; U+1680; U+2000-200A, U+2028, U+2029, U+202F, U+205F; U+3000.
fn wide_whitespace_len(text: &[u8]) -> usize {
    match text {
        [0xC2, 0x85 | 0xA0, ..] => 2,
        [0xE1, 0x9A, 0x80, ..]
        | [0xE2, 0x80, 0x80..=0x8A | 0xA8 | 0xA9 | 0xAF, ..]
        | [0xE2, 0x81, 0x9F, ..]
        | [0xE3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

/// Where the word at or after `from` ends: the first whitespace, or the end of the text.
pub fn word_end(text: &[u8], from: usize) -> usize {
    (from..text.len()).find(|&at| whitespace_len(text, at) > 0).unwrap_or(text.len())
}

/// Which of 64 bytes may start whitespace, as bits.
#[inline]
fn candidates(block: &[u8; 64]) -> u64 {
    let mut found = [0; 64];
    for (found, &byte) in found.iter_mut().zip(block) {
        *found = u8::from(byte <= 0x20) | u8::from(byte == 0xC2) | u8::from(byte.wrapping_sub(0xE1) < 3);
    }
    // The product brings the lowest bits of eight bytes together in its top byte.
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    found.as_chunks().0.iter().rev().fold(0, |mask, eight| mask << 8 | bits(eight))
}

/// The same for the last bytes of a text, less than 64 of them, and its end.
#[inline]
fn last_candidates(text: &[u8], rest: &[u8]) -> u64 {
    let end = 1 << rest.len();
    if let Some(block) = text.last_chunk::<64>() {
        // Shifted by 64 where nothing is left.
        return end | candidates(block) >> (63 - rest.len()) >> 1;
    }
    let mut block = [b'x'; 64];
    block[..rest.len()].copy_from_slice(rest);
    end | candidates(&block)
}

/// Calls `f(start, end)` with the byte range of every word of `text`. Looks for whitespace 64 bytes at a time, so that
/// there is no branch to foresee at the end of each word.
#[inline(always)]
pub fn for_each_word(text: &[u8], mut f: impl FnMut(usize, usize)) {
    let (mut start, mut base) = (0, 0);
    while base <= text.len() {
        let rest = &text[base..];
        let mut candidates = rest.first_chunk().map_or_else(|| last_candidates(text, rest), candidates);
        while candidates > 0 {
            let at = base + candidates.trailing_zeros() as usize;
            candidates &= candidates - 1;
            let skip = match text.get(at) {
                Some(b' ') | None => 1,
                _ => whitespace_len(text, at),
            };
            if skip > 0 {
                if at > start {
                    f(start, at);
                }
                start = at + skip;
            }
        }
        base += 64;
    }
}

/// Cuts `text` at whitespace into `parts` pieces of about equal length; some may be empty.
pub fn cut(text: &[u8], parts: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::with_capacity(parts);
    let mut start = 0;
    for part in 1..=parts {
        let goal = if part == parts { text.len() } else { text.len() / parts * part };
        let end = word_end(text, goal.max(start));
        pieces.push(&text[start..end]);
        start = end;
    }
    pieces
}

/// Where the last whitespace code point of `text` starts, if there is one.
pub fn last_whitespace(text: &[u8]) -> Option<usize> {
    (0..text.len()).rev().find(|&at| whitespace_len(text, at) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for_each_word(text.as_bytes(), |start, end| words.push(&text[start..end]));
        words
    }

    #[test]
    fn exactly_29_code_points_are_whitespace() {
        let mut whitespace = Vec::new();
        for c in (0..=0x0010_FFFF).filter_map(char::from_u32) {
            let spelled = c.to_string();
            match whitespace_len(spelled.as_bytes(), 0) {
                0 => assert_eq!(words(&format!("x{c}y")), [format!("x{c}y")]),
                n => {
                    assert_eq!(n, spelled.len());
                    assert_eq!(words(&format!("x{c}y")), ["x", "y"]);
                    whitespace.push(c);
                }
            }
        }
        assert_eq!(whitespace.len(), 29);
        assert!(whitespace.iter().all(|c| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(c)));
    }

    #[test]
    fn words_are_found_across_blocks() {
        let parts =
            ["a", "bcd", " ", "\n\n", "\u{3000}", "\u{3042}", "é", "\u{85}", "\0", "\u{2028}x", "\u{200b}"];
        for start in 0..300_usize {
            let text: String = (0..start).map(|i| parts[(i * i + 7 * i / 3 + start) % parts.len()]).collect();
            let is_space = |c: char| c.is_whitespace();
            let expected: Vec<_> = text.split(is_space).filter(|word| !word.is_empty()).collect();
            assert_eq!(words(&text), expected);
        }
    }

    #[test]
    fn a_text_is_cut_only_at_whitespace() {
        let text = "one two\u{3000}three \u{2028} four five".as_bytes();
        for parts in 1..9 {
            let pieces = cut(text, parts);
            assert_eq!(pieces.len(), parts);
            assert_eq!(pieces.concat(), text);
            let mut words = Vec::new();
            for piece in pieces {
                for_each_word(piece, |start, end| words.push(piece[start..end].to_vec()));
            }
            assert_eq!(words.len(), 5);
        }
        assert_eq!(last_whitespace(text), Some(text.len() - 5));
        assert_eq!(last_whitespace(b"word"), None);
    }
}
