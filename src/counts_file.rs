//! Counts in a file: words in order, each as what it adds to the one before, with a checksum.
//!
//! ```text
//! "exactbpe counts1"                                          16 bytes
//! shared length, length of the rest, the rest, count          a word; numbers in LEB128
//! 0, 0, 0                                                     the end
//! number of words, checksum of all bytes before it            8 bytes each, little-endian
//! ```
//!
//! The same counts always give the same bytes. Words are generalized UTF-8 (see `whitespace.rs`).

use crate::count::WordCounts;
use crate::error::Error;
use crate::{chars, hash, whitespace};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Write};

const MAGIC: &[u8; 16] = b"exactbpe counts1";
const BLOCK: usize = 1 << 18;

/// Words between two calls of `go_on`.
const GO_ON: u64 = 1 << 16;

/// What goes wrong with a file.
#[derive(Debug)]
pub enum FileError {
    /// The system's word.
    Io(io::Error),
    /// What is wrong with the content, and the offset of the byte where it shows.
    Content(String, u64),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> FileError {
        FileError::Io(error)
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Error {
        match error {
            FileError::Io(error) => Error::Io(error.to_string()),
            FileError::Content(what, offset) => Error::Invalid(format!("{what} at byte {offset}")),
        }
    }
}

/// A running checksum: equal for equal bytes, however they are cut.
#[derive(Debug, Default)]
struct Checksum {
    state: u64,
    rest: Vec<u8>,
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        self.rest.extend(bytes);
        let whole = self.rest.len() / 64 * 64;
        for chunk in self.rest[..whole].chunks_exact(64) {
            self.state = hash::bytes(self.state, chunk);
        }
        self.rest.drain(..whole);
    }

    fn value(&self) -> u64 {
        hash::bytes(self.state, &self.rest)
    }
}

/// Writes counts, word by word in ascending order.
#[derive(Debug)]
pub struct Writer<W: Write> {
    file: W,
    block: Vec<u8>,
    checksum: Checksum,
    last: Vec<u8>,
    words: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a file.
    pub fn new(file: W) -> Writer<W> {
        Writer { file, block: MAGIC.to_vec(), checksum: Checksum::default(), last: Vec::new(), words: 0 }
    }

    /// Adds a word, greater than the one before, with a count above zero.
    pub fn add(&mut self, word: &[u8], count: u64) -> io::Result<()> {
        let shared = self.last.iter().zip(word).take_while(|(a, b)| a == b).count();
        push_number(&mut self.block, shared as u64);
        push_number(&mut self.block, (word.len() - shared) as u64);
        self.block.extend(&word[shared..]);
        push_number(&mut self.block, count);
        self.last.truncate(shared);
        self.last.extend(&word[shared..]);
        self.words += 1;
        if self.block.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.block.extend([0; 3]);
        self.block.extend(self.words.to_le_bytes());
        self.flush()?;
        self.file.write_all(&self.checksum.value().to_le_bytes())?;
        self.file.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.checksum.add(&self.block);
        self.file.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }
}

/// Reads counts, word by word; the last call has verified the whole file.
#[derive(Debug)]
pub struct Reader<R: Read> {
    file: R,
    block: Vec<u8>,
    at: usize,
    before: u64, // bytes of the file before `block`
    checksum: Checksum,
    word: Vec<u8>,
    words: u64,
}

impl<R: Read> Reader<R> {
    /// Opens a file.
    pub fn new(file: R) -> Result<Reader<R>, FileError> {
        let mut reader = Reader {
            file,
            block: Vec::new(),
            at: 0,
            before: 0,
            checksum: Checksum::default(),
            word: Vec::new(),
            words: 0,
        };
        if reader.take(16).ok().is_none_or(|magic| magic != MAGIC) {
            return Err(FileError::Content("not a file of word counts".into(), 0));
        }
        Ok(reader)
    }

    /// The next word and its count, in ascending order of words; `None` after the last.
    pub fn next_word(&mut self) -> Result<Option<(&[u8], u64)>, FileError> {
        let start = self.offset();
        let shared = self.number()?;
        let rest = self.number()?;
        if shared > self.word.len() as u64 {
            return Err(FileError::Content("words out of order".into(), start));
        }
        let shared = usize::try_from(shared).unwrap_or(0);
        let last = self.word.split_off(shared);
        self.read_rest(rest)?;
        let count = self.number()?;
        if count == 0 {
            self.end(shared == 0 && rest == 0, start)?;
            return Ok(None);
        }
        if self.words > 0 && self.word[shared..] <= last[..] {
            return Err(FileError::Content("words out of order".into(), start));
        }
        if self.word.is_empty()
            || whitespace::word_end(&self.word, 0) < self.word.len()
            || !chars::are_valid(&self.word)
        {
            return Err(FileError::Content("what is no word".into(), start));
        }
        self.words += 1;
        Ok(Some((&self.word, count)))
    }

    /// Bytes read so far.
    pub fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    fn end(&mut self, is_end: bool, start: u64) -> Result<(), FileError> {
        let wrong = |what: &str| Err(FileError::Content(what.into(), start));
        if !is_end {
            return wrong("a word with the count 0");
        }
        let words = self.words.to_le_bytes();
        if self.take(8)? != words {
            return wrong("another number of words than was written");
        }
        let done = std::mem::take(&mut self.at);
        self.checksum.add(&self.block[..done]);
        self.block.drain(..done);
        self.before += done as u64;
        let checksum = self.checksum.value().to_le_bytes();
        if self.take(8)? != checksum {
            return wrong("the checksum does not fit the content");
        }
        if self.fill(1)? {
            return Err(FileError::Content("more bytes after the end".into(), self.offset()));
        }
        Ok(())
    }

    /// Makes `n` bytes available, if the file has as many.
    fn fill(&mut self, n: usize) -> Result<bool, FileError> {
        while self.block.len() - self.at < n {
            if self.at >= BLOCK {
                self.checksum.add(&self.block[..self.at]);
                self.block.drain(..self.at);
                self.before += self.at as u64;
                self.at = 0;
            }
            let have = self.block.len();
            self.block.resize(have + BLOCK, 0);
            let read = self.file.read(&mut self.block[have..]);
            self.block.truncate(have + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take(&mut self, n: usize) -> Result<&[u8], FileError> {
        if !self.fill(n)? {
            return Err(FileError::Content(
                "the file ends too early".into(),
                self.before + self.block.len() as u64,
            ));
        }
        self.at += n;
        Ok(&self.block[self.at - n..self.at])
    }

    /// Appends `n` bytes to the word, a block at a time: a wrong length must not claim memory.
    fn read_rest(&mut self, mut n: u64) -> Result<(), FileError> {
        while n > 0 {
            let part = usize::try_from(n).unwrap_or(BLOCK).min(BLOCK);
            let bytes = self.take(part)?.to_vec();
            self.word.extend(bytes);
            n -= part as u64;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<u64, FileError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(FileError::Content("a number that is not written as it should be".into(), self.offset() - 1))
    }
}

fn push_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Adds up several files of counts into one; calls `go_on` now and then. An error names the reader it comes from.
pub fn merge<R: Read, W: Write>(
    readers: &mut [Reader<R>],
    writer: &mut Writer<W>,
    go_on: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<(), (Option<usize>, Error)> {
    let mut heap = BinaryHeap::with_capacity(readers.len()); // the next word of every reader that has one
    for reader in 0..readers.len() {
        advance(readers, reader, &mut heap)?;
    }
    let mut written = 0_u64;
    while let Some(Reverse((word, reader, mut count))) = heap.pop() {
        advance(readers, reader, &mut heap)?;
        while heap.peek().is_some_and(|Reverse((other, ..))| *other == word) {
            if let Some(Reverse((_, reader, more))) = heap.pop() {
                count = count.checked_add(more).ok_or_else(|| (Some(reader), Error::word_overflow(&word)))?;
                advance(readers, reader, &mut heap)?;
            }
        }
        writer.add(&word, count).map_err(|error| (None, FileError::Io(error).into()))?;
        written += 1;
        if written.is_multiple_of(GO_ON) {
            go_on().map_err(|error| (None, error))?;
        }
    }
    Ok(())
}

type Heap = BinaryHeap<Reverse<(Vec<u8>, usize, u64)>>;

fn advance<R: Read>(
    readers: &mut [Reader<R>],
    reader: usize,
    heap: &mut Heap,
) -> Result<(), (Option<usize>, Error)> {
    let word = readers[reader].next_word().map_err(|error| (Some(reader), error.into()))?;
    heap.extend(word.map(|(word, count)| Reverse((word.to_vec(), reader, count))));
    Ok(())
}

/// Writes all counts; calls `go_on` now and then.
pub fn save(
    counts: &WordCounts,
    file: impl Write,
    go_on: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    let mut writer = Writer::new(file);
    for (i, (word, count)) in counts.sorted_by_word().into_iter().enumerate() {
        writer.add(&word, count).map_err(FileError::Io)?;
        if (i as u64).is_multiple_of(GO_ON) {
            go_on()?;
        }
    }
    writer.finish().map_err(FileError::Io)?;
    Ok(())
}

/// Reads all counts; calls `go_on` now and then.
pub fn load(file: impl Read, go_on: &mut dyn FnMut() -> Result<(), Error>) -> Result<WordCounts, Error> {
    let mut reader = Reader::new(file)?;
    let mut counts = WordCounts::default();
    while let Some((word, count)) = reader.next_word()? {
        counts.add(word, count)?;
        if (counts.len() as u64).is_multiple_of(GO_ON) {
            go_on()?;
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(words: &[(&str, u64)]) -> WordCounts {
        let mut counts = WordCounts::default();
        words.iter().for_each(|(word, count)| counts.add(word.as_bytes(), *count).unwrap());
        counts
    }

    fn saved(counts: &WordCounts) -> Vec<u8> {
        let mut file = Vec::new();
        save(counts, &mut file, &mut || Ok(())).unwrap();
        file
    }

    fn loaded(file: &[u8]) -> Result<WordCounts, Error> {
        load(file, &mut || Ok(()))
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let long = "long".repeat(200_000);
        let all = counts(&[("a", 2), ("ab", u64::MAX), ("abc\0", 300), ("é", 7), (&long, 9)]);
        assert_eq!(loaded(&saved(&all)).unwrap(), all);
        assert_eq!(saved(&loaded(&saved(&all)).unwrap()), saved(&all));
        assert_eq!(loaded(&saved(&counts(&[]))).unwrap(), counts(&[]));
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let file = saved(&counts(&[("abc", 2), ("abd", 1000), ("b", 3)]));
        for len in 0..file.len() {
            assert!(loaded(&file[..len]).is_err());
        }
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[at] ^= 1 << bit;
                assert!(loaded(&damaged).is_err(), "{at} {bit}");
            }
        }
        assert!(loaded(&[&file[..], b"x"].concat()).is_err());
        for word in ["", "a b", "\u{3000}"] {
            assert!(loaded(&saved(&counts(&[(word, 1)]))).is_err());
        }
        // A length of 2^60 must be refused, not allocated.
        let mut huge = MAGIC.to_vec();
        push_number(&mut huge, 0);
        push_number(&mut huge, 1 << 60);
        assert!(loaded(&huge).is_err());
    }

    #[test]
    fn files_are_added_up() {
        let parts = [counts(&[("a", 1), ("c", 2)]), counts(&[]), counts(&[("a", 5), ("b", 1)])];
        let files = parts.each_ref().map(saved);
        let mut readers: Vec<_> = files.iter().map(|file| Reader::new(&file[..]).unwrap()).collect();
        let mut sum = Vec::new();
        let mut writer = Writer::new(&mut sum);
        merge(&mut readers, &mut writer, &mut || Ok(())).unwrap();
        writer.finish().unwrap();
        assert_eq!(sum, saved(&counts(&[("a", 6), ("b", 1), ("c", 2)])));
    }
}
