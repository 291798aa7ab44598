//! Every way a kernel can refuse. `python.rs` turns each into one Python exception.

use std::fmt;

/// Why a kernel could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A count passes 2^64 - 1. The text names what was counted.
    Overflow(String),
    /// The count of a pair passes 2^64 - 1; the pair as `pairs::key` gives it, for whoever knows its strings.
    PairOverflow(u64),
    /// A value that cannot be used; the message says which, where, and what was expected.
    Invalid(String),
    /// The bytes at this offset are not UTF-8.
    NotUtf8(usize),
    /// What the system said of a file.
    Io(String),
    /// The caller asked to stop.
    Interrupted,
    /// The work needs more memory than it was allowed.
    Memory {
        /// Bytes needed at least.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
}

impl Error {
    /// The count of a word passes 2^64 - 1.
    pub fn word_overflow(word: &[u8]) -> Error {
        Error::Overflow(format!("the word {:?}", String::from_utf8_lossy(word)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Overflow(what) => write!(f, "{what} occurs more than 2**64 - 1 times"),
            Error::PairOverflow(_) => write!(f, "a pair occurs more than 2**64 - 1 times"),
            Error::Invalid(message) | Error::Io(message) => f.write_str(message),
            Error::Interrupted => f.write_str("interrupted"),
            Error::NotUtf8(offset) => write!(f, "not valid UTF-8 at byte {offset}"),
            Error::Memory { needed, limit } => {
                write!(f, "memory_limit is {limit} bytes, but learning needs at least {needed}")
            }
        }
    }
}

impl std::error::Error for Error {}
