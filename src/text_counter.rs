//! Brings texts and files to the tables of `count`: gathers small pieces, cuts at whitespace, uses the threads.

use crate::count::WordCounts;
use crate::dealt_words::DealtWords;
use crate::error::Error;
use crate::parallel;
use crate::whitespace::{self, last_whitespace};
use std::fs::File;
use std::io;

/// Work for one thread: large enough that starting a thread costs little, small enough for the caches.
const BLOCK: usize = if cfg!(test) { 1 << 16 } else { 1 << 22 };

/// So many distinct words are counted apart from those before, in tables that a cache can hold, and then join them.
const RECENT: usize = if cfg!(test) { 1 << 8 } else { 1 << 19 };

/// Counts the words of texts and of streams of UTF-8, piece by piece.
#[derive(Debug)]
pub struct TextCounter {
    counts: WordCounts,
    recent: WordCounts, // not among `counts` yet
    threads: usize,
    dealt: Vec<DealtWords>, // one for each thread that was needed
    buffer: Vec<u8>,
    taken: usize,    // bytes of the present stream that are counted
    in_stream: bool, // and the buffer holds the word after them
}

impl TextCounter {
    /// A counter that works on so many threads.
    pub fn new(threads: usize) -> TextCounter {
        TextCounter {
            counts: WordCounts::default(),
            recent: WordCounts::default(),
            threads: threads.max(1),
            dealt: Vec::new(),
            buffer: Vec::new(),
            taken: 0,
            in_stream: false,
        }
    }

    /// How many bytes make a good step: some milliseconds of work.
    pub fn block(&self) -> usize {
        BLOCK * self.threads
    }

    /// Counts a text in generalized UTF-8.
    pub fn add_text(&mut self, text: &[u8]) -> Result<(), Error> {
        self.buffer.reserve(text.len() + 1);
        self.buffer.extend(text);
        self.buffer.push(b'\n');
        if self.buffer.len() >= self.block() { self.count_up_to(self.buffer.len()) } else { Ok(()) }
    }

    /// Counts the next bytes of a stream; the word at their end waits for the rest of it.
    pub fn add_utf8(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.in_stream = true;
        let before = self.buffer.len();
        self.buffer.extend(bytes);
        self.count_whole_words(before)
    }

    /// Counts the next bytes of a stream, those of a file from `offset` on, which all threads read; gives their number,
    /// 0 at the end.
    pub fn add_block_of(&mut self, file: &File, offset: u64) -> Result<usize, Error> {
        self.in_stream = true;
        let before = self.buffer.len();
        self.buffer.resize(before + self.block(), 0);
        let lengths = std::iter::repeat_n(BLOCK, self.threads);
        let offsets = (offset..).step_by(BLOCK);
        let mut work: Vec<_> = parallel::pieces(&mut self.buffer[before..], lengths).zip(offsets).collect();
        let mut size = 0;
        for (number, read) in
            parallel::run(&mut work, |(piece, at)| read_at(file, piece, *at)).into_iter().enumerate()
        {
            // What is behind a piece that ended early is for the next call.
            if size == number * BLOCK {
                size += read.map_err(|error| Error::Io(error.to_string()))?;
            }
        }
        self.buffer.truncate(before + size);
        self.count_whole_words(before)?;
        Ok(size)
    }

    /// Counts all words but the last; there is no whitespace before `before`.
    fn count_whole_words(&mut self, before: usize) -> Result<(), Error> {
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
        self.gather()?;
        self.recent = WordCounts::default();
        Ok(std::mem::take(&mut self.counts))
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let dealt: usize = self.dealt.iter().map(DealtWords::memory).sum();
        self.buffer.capacity() + dealt + self.counts.memory() + self.recent.memory()
    }

    fn count_utf8(&mut self, end: usize) -> Result<(), Error> {
        let starts_at = self.taken;
        self.taken += end;
        self.count(end, |offset, piece| match std::str::from_utf8(piece) {
            Err(error) => Err(Error::NotUtf8(starts_at + offset + error.valid_up_to())),
            Ok(_) => Ok(()),
        })
    }

    fn count_up_to(&mut self, end: usize) -> Result<(), Error> {
        self.count(end, |_, _| Ok(()))
    }

    /// Counts the first `end` bytes of the buffer and takes them out; before a thread looks at its piece, it checks it
    /// with `check(offset, piece)`.
    fn count(
        &mut self,
        end: usize,
        check: impl Fn(usize, &[u8]) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        // Threads are worth their start only for a good part of a block each.
        let threads = (end / (BLOCK / 4)).clamp(1, self.threads);
        if self.dealt.len() < threads {
            self.dealt.resize_with(threads, DealtWords::default);
        }
        let mut offset = 0;
        let pieces = whitespace::cut(&self.buffer[..end], threads).into_iter().map(|piece| {
            offset += piece.len();
            (offset - piece.len(), piece)
        });
        let mut work: Vec<_> = self.dealt.iter_mut().zip(pieces).collect();
        let checked = parallel::run(&mut work, |(words, (offset, piece))| {
            check(*offset, piece)?;
            words.deal(piece);
            Ok(())
        });
        let dealt: Vec<_> = work.into_iter().map(|(words, (_, piece))| (piece, &*words)).collect();
        let done =
            checked.into_iter().collect::<Result<(), Error>>().and_then(|()| self.recent.add_dealt(&dealt));
        self.buffer.drain(..end);
        done?;
        if self.recent.len() > RECENT { self.gather() } else { Ok(()) }
    }

    /// Brings the recent counts to the others.
    fn gather(&mut self) -> Result<(), Error> {
        if self.counts.is_empty() {
            std::mem::swap(&mut self.counts, &mut self.recent);
            return Ok(());
        }
        self.counts.add_all(&self.recent, self.threads)?;
        self.recent.clear();
        Ok(())
    }
}

/// Fills a buffer from a place in a file, as far as the file goes; gives the number of bytes.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    #[cfg(unix)]
    use std::os::unix::fs::FileExt;
    #[cfg(windows)]
    use std::os::windows::fs::FileExt;
    let mut size = 0;
    while size < buffer.len() {
        let (rest, at) = (&mut buffer[size..], offset + size as u64);
        #[cfg(unix)]
        let read = file.read_at(rest, at);
        #[cfg(windows)]
        let read = file.seek_read(rest, at);
        match read {
            Ok(0) => break,
            Ok(more) => size += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(size)
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
    fn a_file_is_read_by_all_threads() {
        let text: String = (0..500_000_u32).map(|i| format!("{} \u{3000}é{} ", i % 977, i % 1013)).collect();
        let mut expected = WordCounts::default();
        expected.add_text(text.as_bytes()).unwrap();
        let path = std::env::temp_dir().join(format!("exactbpe-test-{}", std::process::id()));
        std::fs::write(&path, &text).unwrap();
        let file = File::open(&path).unwrap();
        for threads in 1..4 {
            let mut counter = TextCounter::new(threads);
            let mut offset = 0;
            loop {
                let size = counter.add_block_of(&file, offset).unwrap();
                if size == 0 {
                    break;
                }
                offset += size as u64;
            }
            assert_eq!(offset, text.len() as u64);
            counter.end_stream().unwrap();
            assert_eq!(counter.take().unwrap(), expected);
        }
        std::fs::remove_file(path).unwrap();
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
