//! Counts all pairs of a compacted sequence, and keeps those that may be merged next.
//!
//! Only pairs near the highest count matter, a small part of all that occur. So a first pass adds up the weights of
//! pairs by a few hash bits, in an array that stays in the cache: a sum below the threshold rules out every pair in
//! it. A second pass counts what is left exactly, a third notes where the kept pairs stand. While there are few symbols
//! one pass counts all pairs instead of the first two. Each pass walks the array in order, on several threads, and in
//! steps of bounded length.

use crate::error::Error;
use crate::pair_counts::{Counted, Table};
use crate::pair_filter::{Filter, filter_bits};
use crate::pair_matrix::{MOST_SYMBOLS, Matrix};
use crate::pairs::Tracked;
use crate::parallel;
use crate::positions::{Kept, Positions, tracked};
use crate::sequence::Sequence;
use crate::sieve::{Part, Sieve};
use std::cmp::Reverse;
use std::ops::Range;

/// Pairs are kept down to this part of the highest count. Lower costs memory, higher costs more recounts.
const KEPT: u64 = 8;

/// In arrays shorter than this all pairs are tracked at once, which costs less than filtering and recounting.
const SMALL: usize = 1 << 14;

/// A recount under way.
#[derive(Debug)]
pub struct Recount {
    pass: Pass,
    workers: Vec<Worker>,
    filter: Filter,
    sieve: Sieve,
    part: Part,
    found: Vec<Counted>,
    kept: Kept,
    below: u64,
    min_frequency: u64,
    threshold: u64,
    merges: usize,
    room: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pass {
    Matrix,
    Filter,
    Count,
    Positions,
}

/// What a recount found.
#[derive(Debug)]
pub struct Found {
    /// All pairs that occur at least `threshold` times.
    pub pairs: Vec<Tracked>,
    /// No other pair occurs as often as this.
    pub threshold: u64,
}

#[derive(Debug, Default)]
struct Worker {
    range: Range<usize>,
    matrix: Matrix,
    filter: Filter,
    counts: Table,
    positions: Positions,
}

impl Recount {
    /// Prepares a recount; every pair is known to occur less than `below` times. It and what it finds shall take no
    /// more than `room` bytes; about `merges` merges will be made of it.
    pub fn new(
        sequence: &Sequence,
        below: u64,
        min_frequency: u64,
        merges: usize,
        threads: usize,
        room: usize,
    ) -> Recount {
        let (small, symbols) = (sequence.slots().len() < SMALL, sequence.symbols());
        let few = symbols <= MOST_SYMBOLS && Matrix::memory_for(symbols) <= room / 4 / threads;
        let mut recount = Recount {
            pass: if small {
                Pass::Count
            } else if few {
                Pass::Matrix
            } else {
                Pass::Filter
            },
            workers: Vec::new(),
            filter: Filter::default(),
            sieve: Sieve::default(),
            part: Part::WHOLE,
            found: Vec::new(),
            kept: Kept::default(),
            below,
            min_frequency,
            threshold: min_frequency,
            merges,
            room,
        };
        let threads = if small { 1 } else { threads };
        recount.workers.resize_with(threads, Worker::default);
        if recount.pass == Pass::Matrix {
            recount.workers.iter_mut().for_each(|worker| worker.matrix = Matrix::new(symbols));
        } else if recount.pass == Pass::Filter {
            let threshold = (below - 1) / KEPT;
            let bits = filter_bits(sequence, below, KEPT).min((room / 16 / threads).max(1 << 10).ilog2());
            recount.workers.iter_mut().for_each(|worker| worker.filter = Filter::new(bits, threshold));
        }
        recount.start_pass(sequence);
        recount
    }

    /// Works through at most `most` slots a thread; gives the result when all is done.
    pub fn advance(&mut self, sequence: &Sequence, most: usize) -> Result<Option<Found>, Error> {
        let (pass, sieve, kept, part) = (self.pass, &self.sieve, &self.kept, self.part);
        let done = parallel::run(&mut self.workers, |worker| {
            let end = worker.range.end.min(worker.range.start.saturating_add(most));
            let step = std::mem::replace(&mut worker.range.start, end)..end;
            match pass {
                Pass::Matrix => worker.matrix.count_all(sequence, step)?,
                Pass::Filter => worker.filter.add_all(sequence, step),
                Pass::Count => worker.counts.count_all(sequence, step, sieve, part)?,
                Pass::Positions => worker.positions.note_all(sequence, step, kept),
            }
            Ok(())
        });
        done.into_iter().collect::<Result<(), Error>>()?;
        if self.workers.iter().any(|worker| !worker.range.is_empty()) {
            return Ok(None);
        }
        self.finish_pass(sequence)
    }

    fn finish_pass(&mut self, sequence: &Sequence) -> Result<Option<Found>, Error> {
        match self.pass {
            Pass::Matrix => {
                let counts: Vec<_> =
                    self.workers.iter_mut().map(|worker| std::mem::take(&mut worker.matrix)).collect();
                self.found = Matrix::sum(&counts)?;
                let highest = self.found.iter().map(|pair| pair.count).max().unwrap_or(0);
                self.below = highest.saturating_add(1);
                self.lower_threshold();
                self.found.retain(|pair| pair.count >= self.threshold);
                self.raise_threshold();
                self.keep_found(Some(sequence.symbols()));
            }
            Pass::Filter => {
                let filters = self.workers.iter_mut().map(|worker| std::mem::take(&mut worker.filter));
                self.filter = filters.reduce(Filter::plus).unwrap_or_default();
                self.below = self.below.min(self.filter.highest().saturating_add(1));
                self.lower_threshold();
                self.aim_at_the_end();
                self.pass = Pass::Count;
            }
            Pass::Count => {
                if self.workers.iter().any(|worker| worker.counts.is_full) {
                    self.part = Part { number: 0, of: self.part.of * 2 };
                    self.found.clear();
                } else {
                    self.finish_part()?;
                }
            }
            Pass::Positions => {
                let found: Vec<_> =
                    self.workers.iter_mut().map(|worker| std::mem::take(&mut worker.positions)).collect();
                let pairs = tracked(&self.kept, found);
                return Ok(Some(Found { pairs, threshold: self.threshold }));
            }
        }
        self.start_pass(sequence);
        Ok(None)
    }

    fn finish_part(&mut self) -> Result<(), Error> {
        let mut tables = self.workers.iter_mut().map(|worker| std::mem::take(&mut worker.counts));
        let mut counts = tables.next().unwrap_or_default();
        tables.try_for_each(|table| counts.merge(table))?;
        self.found.extend(counts.reaching(self.threshold));
        self.raise_threshold();
        self.part.number += 1;
        if self.part.number < self.part.of {
            return Ok(());
        }
        self.part.number = 0;
        if self.found.is_empty() && self.threshold > self.min_frequency {
            self.below = self.threshold;
            self.lower_threshold();
        } else {
            self.keep_found(None);
        }
        Ok(())
    }

    fn keep_found(&mut self, symbols: Option<usize>) {
        self.leave_out_what_is_never_merged();
        self.filter = Filter::default();
        self.sieve = Sieve::default();
        self.kept = Kept::new(std::mem::take(&mut self.found), self.threshold, self.room / 2, symbols);
        self.pass = Pass::Positions;
    }

    /// Chooses the threshold so that no further recount is needed, if that is not far to go. Most pairs that are merged occur
    /// now, so some more of them than there are merges left suffice.
    fn aim_at_the_end(&mut self) {
        let enough = self.filter.nth(self.merges.saturating_add(self.merges / 6));
        if enough >= self.threshold / 2 {
            self.threshold = self.threshold.min(enough).max(self.min_frequency);
        }
        self.threshold = self.threshold.max(self.filter.nth(self.merges) / 2);
    }

    /// When n merges are left, pairs that occur far less often than the n-th will hardly be merged. (If one is in the end,
    /// there is another recount.) The filter has left out most of them, by a guess.
    fn leave_out_what_is_never_merged(&mut self) {
        if self.merges < self.found.len() {
            let (_, nth, _) = self.found.select_nth_unstable_by_key(self.merges, |slot| Reverse(slot.count));
            self.threshold = self.threshold.max(nth.count / 2);
        }
    }

    /// Leaves out the least frequent of the pairs found where they would take too much memory.
    fn raise_threshold(&mut self) {
        let room = self.room / 2;
        if self.found.iter().map(Counted::memory).fold(0, usize::saturating_add) <= room {
            return;
        }
        self.found.sort_unstable_by_key(|slot| Reverse(slot.count));
        let highest = self.found.first().map_or(0, |slot| slot.count);
        let mut memory = 0_usize;
        for slot in &self.found {
            memory = memory.saturating_add(slot.memory());
            if memory > room {
                self.threshold = (slot.count + 1).min(highest);
                break;
            }
        }
        let threshold = self.threshold;
        self.found.retain(|slot| slot.count >= threshold);
    }

    /// All pairs occur less than `below` times: look at those that come near it.
    fn lower_threshold(&mut self) {
        self.threshold = (self.below.saturating_sub(1) / KEPT).max(self.min_frequency);
    }

    fn start_pass(&mut self, sequence: &Sequence) {
        // The last slot is a separator: no pair starts there.
        let (pairs, workers) = (sequence.slots().len() - 1, self.workers.len());
        if self.pass == Pass::Count {
            self.sieve = self.filter.sieve(self.threshold);
        }
        for (i, worker) in self.workers.iter_mut().enumerate() {
            if self.pass == Pass::Count {
                worker.counts = Table::new(self.room / 8 / workers / size_of::<Counted>());
            } else if self.pass == Pass::Positions {
                worker.positions = Positions::new(&self.kept, if i == 0 { 1 } else { workers });
            }
            worker.range = pairs * i / workers..pairs * (i + 1) / workers;
        }
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let worker =
            |worker: &Worker| worker.matrix.memory() + worker.filter.memory() + worker.counts.memory();
        self.filter.memory() + self.sieve.memory() + self.workers.iter().map(worker).sum::<usize>()
    }
}
