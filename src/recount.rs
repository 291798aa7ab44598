//! Counts all pairs of a compacted sequence, and keeps those that may be merged next.
//!
//! Only pairs near the highest count matter, a small part of all that occur. So a first pass adds up the weights of
//! pairs by a few hash bits, in an array that stays in the cache: a sum below the threshold rules out every pair in
//! it. A second pass counts what is left exactly, a third notes where the kept pairs stand. Each pass walks the
//! array in order, on several threads, and in steps of bounded length.

use crate::error::Error;
use crate::hash;
use crate::pairs::{Tracked, key};
use crate::sequence::{SEPARATOR, Sequence, position};
use std::ops::Range;

const BATCH: usize = 64;

/// Pairs are kept down to this part of the highest count. Lower costs memory, higher costs more recounts.
const KEPT: u64 = 8;

/// Arrays shorter than this are counted without the first pass: their pairs fit into the cache anyway.
const SMALL: usize = 1 << 14;

/// A recount under way.
#[derive(Debug)]
pub struct Recount {
    pass: Pass,
    workers: Vec<Worker>,
    filter: Filter,
    counts: Table,
    below: u64,
    min_frequency: u64,
    threshold: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pass {
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
    filter: Filter,
    counts: Table,
    positions: Vec<Vec<u32>>,
}

impl Recount {
    /// Prepares a recount; every pair is known to occur less than `below` times.
    pub fn new(sequence: &Sequence, below: u64, min_frequency: u64, threads: usize) -> Recount {
        let small = sequence.len() < SMALL;
        let mut recount = Recount {
            pass: if small { Pass::Count } else { Pass::Filter },
            workers: Vec::new(),
            filter: Filter::default(),
            counts: Table::default(),
            below,
            min_frequency,
            threshold: min_frequency,
        };
        let threads = if small { 1 } else { threads };
        recount.workers.resize_with(threads, Worker::default);
        if !small {
            let bits = filter_bits(sequence, below);
            recount.workers.iter_mut().for_each(|worker| worker.filter = Filter::new(bits));
        }
        recount.start_pass(sequence);
        recount
    }

    /// Works through at most `most` slots a thread; gives the result when all is done.
    pub fn advance(&mut self, sequence: &Sequence, most: usize) -> Result<Option<Found>, Error> {
        let (pass, filter, counts, threshold) = (self.pass, &self.filter, &self.counts, self.threshold);
        in_parallel(&mut self.workers, |worker| {
            let end = worker.range.end.min(worker.range.start.saturating_add(most));
            let step = std::mem::replace(&mut worker.range.start, end)..end;
            match pass {
                Pass::Filter => worker.filter.add_all(sequence, step),
                Pass::Count => worker.counts.count_all(sequence, step, filter, threshold)?,
                Pass::Positions => counts.note_positions(sequence, step, filter, &mut worker.positions),
            }
            Ok(())
        })?;
        if self.workers.iter().any(|worker| !worker.range.is_empty()) {
            return Ok(None);
        }
        self.finish_pass(sequence)
    }

    fn finish_pass(&mut self, sequence: &Sequence) -> Result<Option<Found>, Error> {
        match self.pass {
            Pass::Filter => {
                let filters = self.workers.iter_mut().map(|worker| std::mem::take(&mut worker.filter));
                self.filter = filters.reduce(Filter::plus).unwrap_or_default();
                self.below = self.below.min(self.filter.highest().saturating_add(1));
                self.lower_threshold();
                self.pass = Pass::Count;
            }
            Pass::Count => {
                self.counts = std::mem::take(&mut self.workers[0].counts);
                for worker in &mut self.workers[1..] {
                    self.counts.merge(std::mem::take(&mut worker.counts))?;
                }
                let highest = self.counts.highest();
                let nothing_left = self.threshold <= self.min_frequency;
                if highest < self.threshold && !nothing_left {
                    self.below = self.threshold;
                    self.lower_threshold();
                    self.counts = Table::default();
                } else {
                    if self.filter.is_empty() {
                        self.threshold = self.threshold.max(highest / KEPT);
                    }
                    let kept = self.counts.keep(self.threshold);
                    self.filter.keep_only(&kept);
                    let mut positions: Vec<_> =
                        kept.iter().map(|slot| Vec::with_capacity(slot.positions as usize)).collect();
                    for worker in &mut self.workers {
                        worker.positions = std::mem::replace(&mut positions, vec![Vec::new(); kept.len()]);
                    }
                    self.pass = Pass::Positions;
                }
            }
            Pass::Positions => {
                let mut positions = std::mem::take(&mut self.workers[0].positions);
                for worker in &mut self.workers[1..] {
                    positions.iter_mut().zip(&worker.positions).for_each(|(all, some)| all.extend(some));
                }
                let kept = self.counts.slots.iter().filter(|slot| slot.key > 0 && slot.count >= self.threshold);
                let pairs = kept.zip(positions);
                let pairs =
                    pairs.map(|(slot, positions)| Tracked { key: slot.key, count: slot.count, positions }).collect();
                return Ok(Some(Found { pairs, threshold: self.threshold }));
            }
        }
        self.start_pass(sequence);
        Ok(None)
    }

    /// All pairs occur less than `below` times: look at those that come near it.
    fn lower_threshold(&mut self) {
        self.threshold = (self.below.saturating_sub(1) / KEPT).max(self.min_frequency);
    }

    fn start_pass(&mut self, sequence: &Sequence) {
        // The last slot is a separator: no pair starts there.
        let (pairs, workers) = (sequence.len() - 1, self.workers.len());
        for (i, worker) in self.workers.iter_mut().enumerate() {
            worker.range = pairs * i / workers..pairs * (i + 1) / workers;
        }
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let one = |filter: &Filter, counts: &Table| size_of_val(&*filter.sums) + size_of_val(&*counts.slots);
        let workers = self.workers.iter().map(|worker| one(&worker.filter, &worker.counts));
        one(&self.filter, &self.counts) + workers.sum::<usize>()
    }
}

/// Runs `f` for each worker, the last one on this thread.
fn in_parallel<W: Send>(
    workers: &mut [W],
    f: impl Fn(&mut W) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let f = &f;
    std::thread::scope(|scope| {
        let Some((own, others)) = workers.split_last_mut() else { return Ok(()) };
        let others: Vec<_> = others.iter_mut().map(|worker| scope.spawn(move || f(worker))).collect();
        let result = f(own);
        others.into_iter().fold(result, |result, other| match other.join() {
            Ok(done) => result.and(done),
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Enough buckets that the average one stays well below the threshold, as far as that is affordable.
fn filter_bits(sequence: &Sequence, below: u64) -> u32 {
    let mut total = 0_u128;
    sequence.for_each_run(0..sequence.len(), |start, end, weight| {
        total += (end - start) as u128 * u128::from(weight);
    });
    let wanted = total * u128::from(4 * KEPT) / u128::from(below);
    let affordable = hash::bits_for(sequence.len()).min(22);
    (128 - wanted.leading_zeros()).clamp(16.min(affordable), affordable)
}

#[inline]
fn hash_of(key: u64) -> u64 {
    hash::number(hash::seed(), key)
}

/// Sums of weights by hash; a sum that would pass 2^32 - 1 stays there, and counts as any number above.
#[derive(Debug, Default)]
struct Filter {
    sums: Vec<u32>, // none: nothing is ruled out
    bits: u32,
}

impl Filter {
    fn new(bits: u32) -> Filter {
        Filter { sums: vec![0; 1 << bits], bits }
    }

    fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    fn add_all(&mut self, sequence: &Sequence, range: Range<usize>) {
        let seed = hash::seed();
        sequence.for_each_run(range, |start, end, weight| {
            let weight = u32::try_from(weight).unwrap_or(u32::MAX);
            for pair in sequence.slots()[start..=end].windows(2) {
                if pair[0] != SEPARATOR && pair[1] != SEPARATOR {
                    let sum = &mut self.sums[hash::slot(hash::number(seed, key(pair[0], pair[1])), self.bits)];
                    *sum = sum.saturating_add(weight);
                }
            }
        });
    }

    fn plus(mut self, other: Filter) -> Filter {
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        self
    }

    /// No pair occurs more often than this.
    fn highest(&self) -> u64 {
        match self.sums.iter().max() {
            Some(&u32::MAX) | None => u64::MAX,
            Some(&highest) => u64::from(highest),
        }
    }

    /// The least sum that does not rule out a pair with a count of `threshold`.
    fn least(threshold: u64) -> u32 {
        u32::try_from(threshold).unwrap_or(u32::MAX)
    }

    #[inline]
    fn may_reach(&self, hash: u64, least: u32) -> bool {
        self.is_empty() || self.sums[hash::slot(hash, self.bits)] >= least
    }

    /// From now on only the buckets of these pairs pass, with a `least` of 1.
    fn keep_only(&mut self, kept: &[Slot]) {
        if !self.is_empty() {
            self.sums.fill(0);
            kept.iter().for_each(|slot| self.sums[hash::slot(hash_of(slot.key), self.bits)] = 1);
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u64, // 0 marks an empty slot
    count: u64,
    positions: u32, // how many; after `keep` the place of the pair among the kept ones
}

/// Open addressing with linear probing, at most half full.
#[derive(Debug)]
struct Table {
    slots: Vec<Slot>,
    bits: u32,
    used: usize,
}

impl Default for Table {
    fn default() -> Table {
        Table { slots: vec![Slot::default(); 16], bits: 4, used: 0 }
    }
}

impl Table {
    fn count_all(
        &mut self,
        sequence: &Sequence,
        range: Range<usize>,
        filter: &Filter,
        threshold: u64,
    ) -> Result<(), Error> {
        let least = Filter::least(threshold);
        let seed = hash::seed();
        let mut result = Ok(());
        sequence.for_each_run(range, |start, end, weight| {
            let mut batch = [(0, 0); BATCH];
            let mut n = 0;
            for pair in sequence.slots()[start..=end].windows(2) {
                let key = key(pair[0], pair[1]);
                let hash = hash::number(seed, key);
                if pair[0] != SEPARATOR && pair[1] != SEPARATOR && filter.may_reach(hash, least) {
                    batch[n] = (key, hash);
                    n += 1;
                    if n == BATCH {
                        n = 0;
                        result = std::mem::replace(&mut result, Ok(())).and(self.add_batch(&batch, weight));
                    }
                }
            }
            result = std::mem::replace(&mut result, Ok(())).and(self.add_batch(&batch[..n], weight));
        });
        result
    }

    /// Looks at all slots first, so that the cache misses overlap.
    fn add_batch(&mut self, batch: &[(u64, u64)], weight: u64) -> Result<(), Error> {
        if self.used + batch.len() > self.slots.len() / 2 {
            self.grow();
        }
        let mut keys = [0; BATCH];
        for (there, (_, hash)) in keys.iter_mut().zip(batch) {
            *there = self.slots[hash::slot(*hash, self.bits)].key;
        }
        for (there, &(key, hash)) in keys.into_iter().zip(batch) {
            let home = hash::slot(hash, self.bits);
            let at = if there == key { home } else { self.find_or_add(home, key) };
            let slot = &mut self.slots[at];
            slot.positions += 1;
            slot.count = slot.count.checked_add(weight).ok_or(Error::PairOverflow(key))?;
        }
        Ok(())
    }

    fn find(&self, home: usize, key: u64) -> usize {
        let mut at = home;
        while self.slots[at].key != key && self.slots[at].key != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    fn find_or_add(&mut self, home: usize, key: u64) -> usize {
        let at = self.find(home, key);
        if self.slots[at].key == 0 {
            self.slots[at].key = key;
            self.used += 1;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        // Four times, but at least room for a batch.
        self.bits = (self.bits + 2).max(8);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); 1 << self.bits]);
        for slot in old.into_iter().filter(|slot| slot.key > 0) {
            let at = self.find(hash::slot(hash_of(slot.key), self.bits), slot.key);
            self.slots[at] = slot;
        }
    }

    fn merge(&mut self, other: Table) -> Result<(), Error> {
        for slot in other.slots.into_iter().filter(|slot| slot.key > 0) {
            if self.used * 2 >= self.slots.len() {
                self.grow();
            }
            let at = self.find_or_add(hash::slot(hash_of(slot.key), self.bits), slot.key);
            let sum = &mut self.slots[at];
            sum.positions += slot.positions;
            sum.count = sum.count.checked_add(slot.count).ok_or(Error::PairOverflow(slot.key))?;
        }
        Ok(())
    }

    fn highest(&self) -> u64 {
        self.slots.iter().map(|slot| slot.count).max().unwrap_or(0)
    }

    /// The pairs that reach the threshold; their `positions` become their places in the result.
    fn keep(&mut self, threshold: u64) -> Vec<Slot> {
        let mut kept = Vec::new();
        for slot in self.slots.iter_mut().filter(|slot| slot.key > 0) {
            if slot.count >= threshold {
                let place = position(kept.len());
                kept.push(*slot);
                slot.positions = place;
            } else {
                slot.positions = u32::MAX;
            }
        }
        kept
    }

    fn note_positions(
        &self,
        sequence: &Sequence,
        range: Range<usize>,
        filter: &Filter,
        positions: &mut [Vec<u32>],
    ) {
        let slots = sequence.slots();
        let seed = hash::seed();
        for (at, pair) in range.clone().zip(slots[range.start..=range.end].windows(2)) {
            let key = key(pair[0], pair[1]);
            let hash = hash::number(seed, key);
            if pair[0] != SEPARATOR && pair[1] != SEPARATOR && filter.may_reach(hash, 1) {
                let slot = &self.slots[self.find(hash::slot(hash, self.bits), key)];
                if slot.key == key
                    && let Some(list) = positions.get_mut(slot.positions as usize)
                {
                    list.push(position(at));
                }
            }
        }
    }
}
