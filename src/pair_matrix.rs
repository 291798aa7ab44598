//! Exact counts of all pairs where there are few symbols: a cell for every pair there could be.

use crate::error::Error;
use crate::large_pages;
use crate::pair_counts::Counted;
use crate::pairs::{is_pair, key};
use crate::sequence::{Sequence, position};
use std::ops::Range;

/// With more symbols too few of the cells stay in the caches: with 1,202 learning takes 1 to 8 % less than by hash, with 1,582
/// it takes 5 % more.
pub const MOST_SYMBOLS: usize = 5 << 8;

/// Where the pair stands in an array with a cell for every pair of so many symbols.
#[inline]
pub fn cell(symbols: usize, left: u32, right: u32) -> usize {
    left as usize * symbols + right as usize
}

/// What is known of each pair.
#[derive(Debug, Default)]
pub struct Matrix {
    symbols: usize,
    cells: Vec<Cell>,
}

/// How often, and at how many positions. Not a struct: memory for arrays comes zeroed from the system.
type Cell = [u64; 2];

impl Matrix {
    /// Room for the pairs of so many symbols.
    pub fn new(symbols: usize) -> Matrix {
        let cells = vec![[0; 2]; symbols * symbols];
        large_pages::ask(&cells);
        Matrix { symbols, cells }
    }

    /// Bytes that a matrix for so many symbols takes.
    pub fn memory_for(symbols: usize) -> usize {
        symbols * symbols * size_of::<Cell>()
    }

    /// Counts the pairs that start in a range.
    pub fn count_all(&mut self, sequence: &Sequence, range: Range<usize>) -> Result<(), Error> {
        let mut result = Ok(());
        sequence.for_each_run(range, |start, end, weight| {
            for pair in sequence.slots()[start..=end].windows(2) {
                let [count, positions] = &mut self.cells[cell(self.symbols, pair[0], pair[1])];
                *positions += 1;
                match count.checked_add(weight) {
                    Some(sum) => *count = sum,
                    // What stands beside separators is counted too, since that is quicker, but never used.
                    None if is_pair(pair) => result = Err(Error::PairOverflow(key(pair[0], pair[1]))),
                    None => {}
                }
            }
        });
        result
    }

    /// The pairs that occur, as all of these have counted them.
    pub fn sum(parts: &[Matrix]) -> Result<Vec<Counted>, Error> {
        let Some(&Matrix { symbols, .. }) = parts.first() else { return Ok(Vec::new()) };
        let mut pairs = Vec::new();
        for left in 1..position(symbols) {
            for right in 1..position(symbols) {
                let key = key(left, right);
                let (mut count, mut positions) = (0_u64, 0);
                for part in parts {
                    let [more, more_positions] = part.cells[cell(symbols, left, right)];
                    count = count.checked_add(more).ok_or(Error::PairOverflow(key))?;
                    positions += more_positions;
                }
                if positions > 0 {
                    let positions = u32::try_from(positions).unwrap_or(u32::MAX);
                    pairs.push(Counted { key, count, positions });
                }
            }
        }
        Ok(pairs)
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.cells)
    }
}
