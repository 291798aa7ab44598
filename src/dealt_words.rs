//! The words of a text, dealt by the table in which they are counted.

use crate::error::Error;
use crate::hash;
use crate::whitespace;
use crate::word::Key;
use crate::word_slots::{self, TABLES};
use crate::word_table::WordTable;

/// The words of a text, by table.
#[derive(Debug, Default)]
pub struct DealtWords {
    hands: [Hand; TABLES],
}

/// The words for one table.
#[derive(Debug, Default)]
struct Hand {
    short: Vec<u64>,
    middle: Vec<[u64; 2]>,
    long: Vec<LongWord>,
}

/// A long word, where it stands in the text.
#[derive(Clone, Copy, Debug)]
struct LongWord {
    hash: u64,
    start: usize,
    end: usize,
}

impl DealtWords {
    /// Deals the words of a text, generalized UTF-8, in place of those before.
    pub fn deal(&mut self, text: &[u8]) {
        for hand in &mut self.hands {
            hand.short.clear();
            hand.middle.clear();
            hand.long.clear();
        }
        let seed = hash::seed();
        whitespace::for_each_word(text, |start, end| {
            let key = Key::new(seed, text, start, end);
            let hand = &mut self.hands[word_slots::table(key.hash(seed))];
            match key {
                Key::Short(word) => hand.short.push(word),
                Key::Middle(word) => hand.middle.push(word),
                Key::Long(hash) => hand.long.push(LongWord { hash, start, end }),
            }
        });
    }

    /// Counts those for one table; `text` is the one they were dealt from.
    pub fn count(&self, text: &[u8], number: usize, table: &mut WordTable) -> Result<(), Error> {
        let hand = &self.hands[number];
        table.add_short(&hand.short)?;
        table.add_middle(&hand.middle)?;
        table.add_long(hand.long.iter().map(|word| (word.hash, &text[word.start..word.end])))
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let bytes = |hand: &Hand| {
            let packed = hand.short.capacity() * 8 + hand.middle.capacity() * 16;
            packed + hand.long.capacity() * size_of::<LongWord>()
        };
        self.hands.iter().map(bytes).sum()
    }
}
