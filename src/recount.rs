//! Counts all pairs of a compacted sequence, and keeps those that may be merged next.
//!
//! Only pairs near the highest count matter, a small part of all that occur. So a first pass adds up the weights of
//! pairs by a few hash bits, in an array that stays in the cache: a sum below the threshold rules out every pair in
//! it. A second pass counts what is left exactly, a third notes where the kept pairs stand. Each pass walks the
//! array in order, on several threads, and in steps of bounded length.

use crate::error::Error;
use crate::hash;
use crate::pairs::{Tracked, key};
use crate::parallel;
use crate::sequence::{SEPARATOR, Sequence, position};
use std::cmp::Reverse;
use std::ops::Range;

const BATCH: usize = 64;

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
    part: Part,
    found: Vec<Slot>,
    kept: Kept,
    below: u64,
    min_frequency: u64,
    threshold: u64,
    merges: usize,
    room: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pass {
    Filter,
    Count,
    Positions,
}

/// Where memory is short, pairs are counted in several parts, by hash.
#[derive(Clone, Copy, Debug)]
struct Part {
    number: u64,
    of: u64, // a power of two
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
        let small = sequence.slots().len() < SMALL;
        let mut recount = Recount {
            pass: if small { Pass::Count } else { Pass::Filter },
            workers: Vec::new(),
            filter: Filter::default(),
            part: Part { number: 0, of: 1 },
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
        if !small {
            let bits = filter_bits(sequence, below).min((room / 16 / threads).max(1 << 10).ilog2());
            recount.workers.iter_mut().for_each(|worker| worker.filter = Filter::new(bits));
        }
        recount.start_pass(sequence);
        recount
    }

    /// Works through at most `most` slots a thread; gives the result when all is done.
    pub fn advance(&mut self, sequence: &Sequence, most: usize) -> Result<Option<Found>, Error> {
        let (pass, filter, kept, part, threshold) =
            (self.pass, &self.filter, &self.kept, self.part, self.threshold);
        let done = parallel::run(&mut self.workers, |worker| {
            let end = worker.range.end.min(worker.range.start.saturating_add(most));
            let step = std::mem::replace(&mut worker.range.start, end)..end;
            match pass {
                Pass::Filter => worker.filter.add_all(sequence, step),
                Pass::Count => worker.counts.count_all(sequence, step, filter, part, threshold)?,
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
            Pass::Filter => {
                let filters = self.workers.iter_mut().map(|worker| std::mem::take(&mut worker.filter));
                self.filter = filters.reduce(Filter::plus).unwrap_or_default();
                self.below = self.below.min(self.filter.highest().saturating_add(1));
                self.lower_threshold();
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
                let pairs = lists(&self.kept, &mut self.workers);
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
        let reaches = |slot: &Slot| slot.key > 0 && slot.count >= self.threshold;
        self.found.extend(counts.slots.into_iter().filter(reaches));
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
            self.leave_out_what_is_never_merged();
            self.filter = Filter::default();
            self.kept = Kept::new(std::mem::take(&mut self.found), self.threshold, self.room / 2);
            self.pass = Pass::Positions;
        }
        Ok(())
    }

    /// When n merges are left, pairs that occur far less often than the n-th will hardly be merged. (If one is in the end,
    /// there is another recount.)
    fn leave_out_what_is_never_merged(&mut self) {
        if self.merges < self.found.len() {
            let (_, nth, _) = self.found.select_nth_unstable_by_key(self.merges, |slot| Reverse(slot.count));
            self.threshold = self.threshold.max(nth.count / 2);
        }
    }

    /// Leaves out the least frequent of the pairs found where they would take too much memory.
    fn raise_threshold(&mut self) {
        let room = self.room / 2;
        if self.found.iter().map(Slot::memory).fold(0, usize::saturating_add) <= room {
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
        for (i, worker) in self.workers.iter_mut().enumerate() {
            if self.pass == Pass::Count {
                worker.counts =
                    Table { most: self.room / 8 / workers / size_of::<Slot>(), ..Table::default() };
            }
            worker.range = pairs * i / workers..pairs * (i + 1) / workers;
        }
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let worker = |worker: &Worker| worker.filter.memory() + worker.counts.memory();
        self.filter.memory() + self.workers.iter().map(worker).sum::<usize>()
    }
}

/// Enough buckets that the average one stays well below the threshold, as far as that is affordable.
fn filter_bits(sequence: &Sequence, below: u64) -> u32 {
    let mut total = 0_u128;
    sequence.for_each_run(0..sequence.slots().len(), |start, end, weight| {
        total += (end - start) as u128 * u128::from(weight);
    });
    let wanted = total * u128::from(2 * KEPT) / u128::from(below);
    let affordable = hash::bits_for(sequence.slots().len()).min(20);
    (128 - wanted.leading_zeros()).clamp(16.min(affordable), affordable)
}

#[inline]
fn hash_of(key: u64) -> u64 {
    hash::number(hash::seed(), key)
}

/// Sums of weights by hash; a sum that would pass 2^32 - 1 stays there, and counts as any number above.
#[derive(Debug)]
struct Filter {
    sums: Vec<u32>,
    bits: u32,
}

/// A pair that the filter lets pass.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    key: u64,
    hash: u64,
    at: u32,
}

impl Default for Filter {
    /// Rules nothing out.
    fn default() -> Filter {
        Filter { sums: vec![u32::MAX; 2], bits: 1 }
    }
}

impl Filter {
    fn new(bits: u32) -> Filter {
        Filter { sums: vec![0; 1 << bits], bits }
    }

    fn add_all(&mut self, sequence: &Sequence, range: Range<usize>) {
        let seed = hash::seed();
        sequence.for_each_run(range, |start, end, weight| {
            let weight = u32::try_from(weight).unwrap_or(u32::MAX);
            for pair in sequence.slots()[start..=end].windows(2) {
                let sum = &mut self.sums[hash::slot(hash::number(seed, key(pair[0], pair[1])), self.bits)];
                *sum = sum.saturating_add(if is_pair(pair) { weight } else { 0 });
            }
        });
    }

    /// Calls `f(batch, weight)` with all pairs of a part that the filter lets pass.
    fn for_each_batch(
        &self,
        sequence: &Sequence,
        range: Range<usize>,
        part: Part,
        least: u32,
        mut f: impl FnMut(&[Candidate], u64),
    ) {
        let seed = hash::seed();
        sequence.for_each_run(range, |start, end, weight| {
            let mut batch = [Candidate::default(); BATCH];
            let mut n = 0;
            for (at, pair) in (start..).zip(sequence.slots()[start..=end].windows(2)) {
                let key = key(pair[0], pair[1]);
                let hash = hash::number(seed, key);
                batch[n] = Candidate { key, hash, at: position(at) };
                // No branch here: which pairs pass cannot be foreseen.
                let may_reach = self.sums[hash::slot(hash, self.bits)] >= least;
                n += usize::from(is_pair(pair) & may_reach & (hash & (part.of - 1) == part.number));
                if n == BATCH {
                    n = 0;
                    f(&batch, weight);
                }
            }
            f(&batch[..n], weight);
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

    fn memory(&self) -> usize {
        size_of_val(&*self.sums)
    }
}

#[inline]
fn is_pair(pair: &[u32]) -> bool {
    (pair[0] != SEPARATOR) & (pair[1] != SEPARATOR)
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u64, // 0 marks an empty slot
    count: u64,
    positions: u32, // how many
}

/// Instead of the number of positions: there is no room for them.
const UNLISTED: u32 = u32::MAX;

impl Slot {
    /// Bytes that the pair will take: while its positions are found and sorted, and as a `Tracked` pair.
    fn memory(&self) -> usize {
        (self.positions as usize).saturating_mul(16) + 160
    }

    /// How many positions are listed.
    fn listed(&self) -> usize {
        if self.positions == UNLISTED { 0 } else { self.positions as usize }
    }
}

/// Open addressing with linear probing, at most half full.
#[derive(Debug)]
struct Table {
    slots: Vec<Slot>,
    bits: u32,
    used: usize,
    most: usize,   // it may not grow beyond so many slots,
    is_full: bool, // and gives up when it would
}

impl Default for Table {
    fn default() -> Table {
        Table { slots: vec![Slot::default(); 16], bits: 4, used: 0, most: usize::MAX, is_full: false }
    }
}

impl Table {
    fn count_all(
        &mut self,
        sequence: &Sequence,
        range: Range<usize>,
        filter: &Filter,
        part: Part,
        threshold: u64,
    ) -> Result<(), Error> {
        let least = u32::try_from(threshold).unwrap_or(u32::MAX);
        let mut result = Ok(());
        filter.for_each_batch(sequence, range, part, least, |batch, weight| {
            result = std::mem::replace(&mut result, Ok(())).and_then(|()| self.add_batch(batch, weight));
        });
        result
    }

    /// Looks at all slots first, so that the cache misses overlap.
    fn add_batch(&mut self, batch: &[Candidate], weight: u64) -> Result<(), Error> {
        if self.used + batch.len() > self.slots.len() / 2 {
            // However little memory there is, some thousand pairs must fit.
            self.is_full |= self.slots.len() >= self.most.max(1 << 12);
            if self.is_full {
                return Ok(());
            }
            self.grow();
        }
        let mut keys = [0; BATCH];
        for (there, pair) in keys.iter_mut().zip(batch) {
            *there = self.slots[hash::slot(pair.hash, self.bits)].key;
        }
        for (there, pair) in keys.into_iter().zip(batch) {
            let home = hash::slot(pair.hash, self.bits);
            let at = if there == pair.key { home } else { self.find_or_add(home, pair.key) };
            let slot = &mut self.slots[at];
            slot.positions += 1;
            slot.count = slot.count.checked_add(weight).ok_or(Error::PairOverflow(pair.key))?;
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
        self.bits = (self.bits + 1).max(8); // at least room for a batch
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

    fn memory(&self) -> usize {
        size_of_val(&*self.slots)
    }
}

/// The pairs that reach the threshold, with an index so sparse that most lookups end at the first entry.
#[derive(Debug, Default)]
struct Kept {
    slots: Vec<Slot>,
    index: Vec<u32>, // 1 + the place in `slots`, 0 for none; linear probing
    bits: u32,
}

impl Kept {
    /// Keeps what reaches the threshold. Positions are noted as far as they fit into `room`.
    fn new(mut slots: Vec<Slot>, threshold: u64, room: usize) -> Kept {
        slots.retain(|slot| slot.count >= threshold);
        let bits = hash::bits_for(slots.len() * 8);
        let mut index = vec![0; 1 << bits];
        let mut memory = 0_usize;
        for (place, slot) in (1..).zip(&mut slots) {
            memory = memory.saturating_add(slot.memory());
            if memory > room {
                memory -= slot.memory();
                slot.positions = UNLISTED;
                continue;
            }
            let mut at = hash::slot(hash_of(slot.key), bits);
            while index[at] > 0 {
                at = (at + 1) & (index.len() - 1);
            }
            index[at] = place;
        }
        Kept { slots, index, bits }
    }
}

/// Where the kept pairs stand in one worker's part of the array.
#[derive(Debug, Default)]
struct Positions {
    found: Vec<(u32, u32)>, // the place of the pair in `Kept`, the position
}

impl Positions {
    fn note_all(&mut self, sequence: &Sequence, range: Range<usize>, kept: &Kept) {
        let seed = hash::seed();
        let slots = sequence.slots();
        let mut batch = [Candidate::default(); BATCH];
        let mut n = 0;
        for (at, pair) in (range.start..).zip(slots[range.start..=range.end].windows(2)) {
            let key = key(pair[0], pair[1]);
            let hash = hash::number(seed, key);
            batch[n] = Candidate { key, hash, at: position(at) };
            // Separators are part of no kept pair, so nothing is asked of them here.
            n += usize::from(kept.index[hash::slot(hash, kept.bits)] > 0);
            if n == BATCH {
                n = 0;
                self.note_batch(&batch, kept);
            }
        }
        self.note_batch(&batch[..n], kept);
    }

    fn note_batch(&mut self, batch: &[Candidate], kept: &Kept) {
        for pair in batch {
            let mut at = hash::slot(pair.hash, kept.bits);
            while kept.index[at] > 0 {
                let place = kept.index[at] - 1;
                if kept.slots[place as usize].key == pair.key {
                    self.found.push((place, pair.at));
                    break;
                }
                at = (at + 1) & (kept.index.len() - 1);
            }
        }
    }
}

/// The positions of each kept pair, in ascending order. Each thread looks at all that was found, and takes the pairs of
/// its share.
fn lists(kept: &Kept, workers: &mut [Worker]) -> Vec<Tracked> {
    let found: Vec<_> =
        workers.iter_mut().map(|worker| std::mem::take(&mut worker.positions.found)).collect();
    let total: usize = kept.slots.iter().map(Slot::listed).sum();
    let mut shares = Vec::with_capacity(workers.len());
    let (mut end, mut listed) = (0, 0);
    for number in 1..=workers.len() {
        let start = end;
        while end < kept.slots.len() && (listed < total / workers.len() * number || number == workers.len()) {
            listed += kept.slots[end].listed();
            end += 1;
        }
        shares.push(start..end);
    }
    let lists = parallel::run(&mut shares, |share| {
        let list = |slot: &Slot| {
            let positions = (slot.positions != UNLISTED).then(|| Vec::with_capacity(slot.listed()));
            Tracked { key: slot.key, count: slot.count, positions }
        };
        let mut pairs: Vec<Tracked> = kept.slots[share.clone()].iter().map(list).collect();
        for &(place, position) in found.iter().flatten() {
            let pair = (place as usize).checked_sub(share.start).and_then(|place| pairs.get_mut(place));
            if let Some(positions) = pair.and_then(|pair| pair.positions.as_mut()) {
                positions.push(position);
            }
        }
        pairs
    });
    lists.into_iter().flatten().collect()
}
