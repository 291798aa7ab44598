//! Characters: reading them from generalized UTF-8, and a map from them to numbers.

/// Reads the character that starts at `at`; gives its code point and its length in bytes.
///
/// The text must be generalized UTF-8 (see `whitespace.rs`); whoever brings bytes in has checked that.
#[inline]
pub fn read(text: &[u8], at: usize) -> (u32, usize) {
    let byte = |k: usize| text.get(at + k).map_or(0, |&b| u32::from(b));
    let first = byte(0);
    match first {
        0..0x80 => (first, 1),
        0x80..0xE0 => ((first & 0x1F) << 6 | byte(1) & 0x3F, 2),
        0xE0..0xF0 => ((first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | byte(2) & 0x3F, 3),
        _ => ((first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | byte(3) & 0x3F, 4),
    }
}

/// The code points of a text.
#[inline]
pub fn code_points(text: &[u8]) -> impl Iterator<Item = u32> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= text.len() {
            return None;
        }
        let (code_point, len) = read(text, at);
        at += len;
        Some(code_point)
    })
}

/// How many characters a text has.
#[inline]
pub fn count(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

/// Whether a text is generalized UTF-8.
pub fn are_valid(text: &[u8]) -> bool {
    if std::str::from_utf8(text).is_ok() {
        return true;
    }
    let mut spelled = Vec::with_capacity(text.len());
    code_points(text).filter(|&code_point| code_point <= 0x0010_FFFF).for_each(|c| push(&mut spelled, c));
    spelled == text
}

/// Appends a code point in generalized UTF-8.
pub fn push(text: &mut Vec<u8>, code_point: u32) {
    // Masked to a byte, so `to_le_bytes` loses nothing.
    let tail = |shift: u32| 0x80 | (code_point >> shift & 0x3F).to_le_bytes()[0];
    let head = |mark: u8, shift: u32| mark | (code_point >> shift).to_le_bytes()[0];
    match code_point {
        0..0x80 => text.push(head(0, 0)),
        0x80..0x800 => text.extend([head(0xC0, 6), tail(0)]),
        0x800..0x1_0000 => text.extend([head(0xE0, 12), tail(6), tail(0)]),
        _ => text.extend([head(0xF0, 18), tail(12), tail(6), tail(0)]),
    }
}

const PAGE: usize = 256;

/// A map from code points to numbers above zero: a table of pages, made as they are needed but for the first.
#[derive(Clone, Debug)]
pub struct CharMap {
    pages: Vec<u16>, // the page's place in `values`, by code point / PAGE, up to the highest there is
    values: Vec<u32>,
}

impl Default for CharMap {
    fn default() -> CharMap {
        // Page 0 of `values` belongs to all code points that have no page of their own; it stays zero. Page 1 is that of
        // the first 256, ASCII among them, which are found without `pages`.
        CharMap { pages: vec![1], values: vec![0; 2 * PAGE] }
    }
}

impl CharMap {
    /// The number of a code point, 0 if it has none.
    #[inline]
    pub fn get(&self, code_point: u32) -> u32 {
        let at = code_point as usize;
        if at < PAGE {
            return self.values[PAGE + at];
        }
        let page = self.pages.get(at / PAGE).map_or(0, |&page| usize::from(page));
        self.values[page * PAGE + at % PAGE]
    }

    /// Gives a code point its number.
    pub fn set(&mut self, code_point: u32, value: u32) {
        let at = code_point as usize;
        if self.pages.len() <= at / PAGE {
            self.pages.resize(at / PAGE + 1, 0);
        }
        let page = &mut self.pages[at / PAGE];
        if *page == 0 {
            // At most 0x1100 pages exist, so the number of the next one fits.
            *page = u16::try_from(self.values.len() / PAGE).unwrap_or(0);
            self.values.resize(self.values.len() + PAGE, 0);
        }
        self.values[usize::from(*page) * PAGE + at % PAGE] = value;
    }
}

/// A set of characters, with a short way for ASCII.
#[derive(Clone, Debug)]
pub struct CharSet {
    ascii: [bool; 128],
    others: Vec<u64>, // a bit for each code point, up to the highest there is
}

impl Default for CharSet {
    fn default() -> CharSet {
        CharSet { ascii: [false; 128], others: Vec::new() }
    }
}

impl CharSet {
    /// Puts a character into the set.
    #[inline]
    pub fn insert(&mut self, code_point: u32) {
        let (at, bit) = (code_point as usize / 64, 1 << (code_point % 64));
        match self.ascii.get_mut(code_point as usize) {
            Some(held) => *held = true,
            None if self.others.get(at).is_some_and(|bits| bits & bit > 0) => {}
            None => {
                self.others.resize(self.others.len().max(at + 1), 0);
                self.others[at] |= bit;
            }
        }
    }

    /// Puts all characters of another set into this one.
    pub fn extend(&mut self, other: &CharSet) {
        self.ascii.iter_mut().zip(other.ascii).for_each(|(held, too)| *held |= too);
        self.others.resize(self.others.len().max(other.others.len()), 0);
        self.others.iter_mut().zip(&other.others).for_each(|(bits, more)| *bits |= more);
    }

    /// The characters, in order.
    pub fn code_points(&self) -> Vec<u32> {
        let ascii = (0..).zip(self.ascii).filter(|&(_, held)| held).map(|(code_point, _)| code_point);
        let held = |(first, bits): (u32, &u64)| {
            let bits = *bits;
            (first..first + 64).filter(move |code_point| bits >> (code_point % 64) & 1 > 0)
        };
        let others = (0..).step_by(64).zip(&self.others).filter(|&(_, &bits)| bits > 0).flat_map(held);
        ascii.chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_point_is_written_and_read() {
        for code_point in 0..=0x0010_FFFF {
            let mut text = Vec::new();
            push(&mut text, code_point);
            assert_eq!(read(&text, 0), (code_point, text.len()));
            assert_eq!(count(&text), 1);
            assert!(are_valid(&text));
            if let Some(c) = char::from_u32(code_point) {
                assert_eq!(text, c.to_string().as_bytes());
            }
        }
    }

    #[test]
    fn what_no_code_point_gives_is_not_valid() {
        let wrong: [&[u8]; 6] =
            [b"\xff", b"a\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xf4\x90\x80\x80", b"\xed\xa0"];
        assert!(wrong.iter().all(|text| !are_valid(text)));
    }

    #[test]
    fn a_map_holds_what_was_set_and_a_set_what_was_put_in() {
        let (mut map, mut set) = (CharMap::default(), CharSet::default());
        assert_eq!(map.get(0x10_FFFF), 0);
        for c in [0x4E00, 0, 97, 0x10_FFFF, 127, 128, 97, 0xD800] {
            map.set(c, c + 1);
            set.insert(c);
        }
        assert_eq!(set.code_points(), [0, 97, 127, 128, 0x4E00, 0xD800, 0x10_FFFF]);
        assert!(set.code_points().into_iter().all(|c| map.get(c) == c + 1));
        assert_eq!([map.get(98), map.get(0x4E01), map.get(0xFFFF)], [0; 3]);
    }
}
