//! Brings texts and files to the tables of `count`: gathers small pieces, cuts at whitespace, uses the threads.

use crate::count::WordCounts;
use crate::error::Error;
use crate::whitespace::last_whitespace;

/// Work for one thread: large enough that starting a thread costs little, small enough for the cache.
const BLOCK: usize = 1 << 20;

/// Counts the words of texts and of streams of UTF-8, piece by piece.
#[derive(Debug)]
pub struct TextCounter {
    tables: Vec<WordCounts>, // one for each thread
    buffer: Vec<u8>,
    taken: usize,    // bytes of the present stream that are counted
    in_stream: bool, // and the buffer holds the word after them
}

impl TextCounter {
    /// A counter that works on so many threads.
    pub fn new(threads: usize) -> TextCounter {
        TextCounter {
            tables: vec![WordCounts::default(); threads.max(1)],
            buffer: Vec::new(),
            taken: 0,
            in_stream: false,
        }
    }

    /// How many bytes make a good step: some milliseconds of work.
    pub fn block(&self) -> usize {
        BLOCK * self.tables.len()
    }

    /// Counts a text in generalized UTF-8.
    pub fn add_text(&mut self, text: &[u8]) -> Result<(), Error> {
        self.buffer.extend(text);
        self.buffer.push(b'\n');
        if self.buffer.len() >= self.block() { self.count_up_to(self.buffer.len()) } else { Ok(()) }
    }

    /// Counts the next bytes of a stream; the word at their end waits for the rest of it.
    pub fn add_utf8(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.in_stream = true;
        let before = self.buffer.len();
        self.buffer.extend(bytes);
        match last_whitespace(&self.buffer[before.saturating_sub(2)..]) {
            Some(end) => self.count_utf8(before.saturating_sub(2) + end),
            None => Ok(()),
        }
    }

    /// Ends a stream.
    pub fn end_stream(&mut self) -> Result<(), Error> {
        let result = self.count_utf8(self.buffer.len());
        self.taken = 0;
        self.in_stream = false;
        result
    }

    /// Takes out the counts of all that was added; the word at the end of a stream's block stays.
    pub fn take(&mut self) -> Result<WordCounts, Error> {
        if !self.in_stream {
            self.count_up_to(self.buffer.len())?;
        }
        let tables = self.tables.iter_mut().map(std::mem::take).collect();
        WordCounts::merged(tables)
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.buffer.capacity() + self.tables.iter().map(WordCounts::memory).sum::<usize>()
    }

    fn count_utf8(&mut self, end: usize) -> Result<(), Error> {
        if let Err(error) = std::str::from_utf8(&self.buffer[..end]) {
            return Err(Error::NotUtf8(self.taken + error.valid_up_to()));
        }
        self.taken += end;
        self.count_up_to(end)
    }

    fn count_up_to(&mut self, end: usize) -> Result<(), Error> {
        let text = &self.buffer[..end];
        // Threads are worth their start only for a good part of a block each.
        let threads = (end / (BLOCK / 4)).clamp(1, self.tables.len());
        let result = WordCounts::add_text_parallel(&mut self.tables[..threads], text);
        self.buffer.drain(..end);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_may_be_cut_anywhere() {
        let text = "one two\u{3000}three \u{2028}fünf\n\u{1f600}\u{a0}one";
        let mut expected = WordCounts::default();
        expected.add_text(text.as_bytes()).unwrap();
        for step in 1..=text.len() {
            let mut counter = TextCounter::new(2);
            text.as_bytes().chunks(step).for_each(|piece| counter.add_utf8(piece).unwrap());
            counter.end_stream().unwrap();
            assert_eq!(counter.take().unwrap(), expected);
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused_where_they_are() {
        let mut counter = TextCounter::new(1);
        counter.add_utf8(b"a bc d").unwrap();
        assert_eq!(counter.add_utf8(b"e\xff f"), Err(Error::NotUtf8(7)));
        let mut counter = TextCounter::new(1);
        counter.add_utf8(b"a \xe4\xbd").unwrap();
        assert_eq!(counter.end_stream(), Err(Error::NotUtf8(2)));
    }
}
