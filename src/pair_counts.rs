//! Exact counts of the pairs that a sieve lets pass.

use crate::error::Error;
use crate::hash;
use crate::pairs::hash_of;
use crate::sequence::Sequence;
use crate::sieve::{BATCH, Candidate, Part, Sieve};
use std::ops::Range;

/// A pair and what was counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// The pair; 0 marks an empty slot.
    pub key: u64,
    /// How often it occurs.
    pub count: u64,
    /// At how many positions.
    pub positions: u32,
}

impl Counted {
    /// Bytes that the pair will take, with its positions twice while those of several threads are put together.
    pub fn memory(&self) -> usize {
        (self.positions as usize).saturating_mul(8) + 160
    }
}

/// Open addressing with linear probing, at most half full.
#[derive(Debug, Default)]
pub struct Table {
    slots: Vec<Counted>, // none at first
    bits: u32,
    used: usize,
    most: usize,
    /// Whether it had to give up.
    pub is_full: bool,
}

impl Table {
    /// A table that may not grow beyond `most` slots.
    pub fn new(most: usize) -> Table {
        Table { most, ..Table::default() }
    }

    /// The pairs that occur `threshold` times or more.
    pub fn reaching(self, threshold: u64) -> impl Iterator<Item = Counted> {
        self.slots.into_iter().filter(move |slot| slot.key > 0 && slot.count >= threshold)
    }

    /// Counts the pairs of a part that the sieve lets pass.
    pub fn count_all(
        &mut self,
        sequence: &Sequence,
        range: Range<usize>,
        sieve: &Sieve,
        part: Part,
    ) -> Result<(), Error> {
        let mut result = Ok(());
        sieve.for_each_batch(sequence, range, part, |batch, weight| {
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
            self.grow(batch.len());
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
    fn grow(&mut self, more: usize) {
        self.bits = (self.bits + 1).max(hash::bits_for(2 * (self.used + more)));
        let old = std::mem::replace(&mut self.slots, vec![Counted::default(); 1 << self.bits]);
        for slot in old.into_iter().filter(|slot| slot.key > 0) {
            let at = self.find(hash::slot(hash_of(slot.key), self.bits), slot.key);
            self.slots[at] = slot;
        }
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: Table) -> Result<(), Error> {
        for slot in other.slots.into_iter().filter(|slot| slot.key > 0) {
            if self.used * 2 >= self.slots.len() {
                self.grow(1);
            }
            let at = self.find_or_add(hash::slot(hash_of(slot.key), self.bits), slot.key);
            let sum = &mut self.slots[at];
            sum.positions += slot.positions;
            sum.count = sum.count.checked_add(slot.count).ok_or(Error::PairOverflow(slot.key))?;
        }
        Ok(())
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.slots)
    }
}
