//! The slots of words that are counted, and how they are found: open addressing with linear probing.

use crate::error::Error;
use crate::hash;
use crate::prefetch;
use std::ops::Range;

/// So many words are looked up together, so that their cache misses overlap.
pub const BATCH: usize = 64;

/// The top bits of a hash say which of so many tables a word stands in.
const TABLE_BITS: u32 = 4;

/// Into how many tables words are dealt.
pub const TABLES: usize = 1 << TABLE_BITS;

/// Which of the `TABLES` the word of a hash belongs to.
#[inline]
pub fn table(hash: u64) -> usize {
    hash::slot(hash, TABLE_BITS)
}

/// A word and its count.
pub trait Slot: Copy + Default {
    /// Whether no word stands here.
    fn is_empty(&self) -> bool;
    /// The hash of the word.
    fn hash(&self) -> u64;
    /// How often the word occurs.
    fn count(&self) -> u64;
}

/// Open addressing with linear probing, at most three quarters full.
#[derive(Clone, Debug, Default)]
pub struct Table<S> {
    slots: Vec<S>,
    bits: u32,
    used: usize,
}

impl<S: Slot> Table<S> {
    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// How many hold a word.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.slots)
    }

    /// Empties all slots; they stay.
    pub fn clear(&mut self) {
        self.slots.fill(S::default());
        self.used = 0;
    }

    /// Those in a range that hold a word.
    pub fn with_words(&self, slots: Range<usize>) -> impl Iterator<Item = &S> {
        self.slots[slots].iter().filter(|slot| !slot.is_empty())
    }

    /// Where the slot of a hash would be, if no other took it. All words of a table agree in the top bits.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        hash::slot(hash << TABLE_BITS, self.bits)
    }

    /// Asks for it, some time before it is needed.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch::ahead(&self.slots, self.home(hash));
    }

    /// What stands there, in a table with room.
    #[inline]
    pub fn at_home(&self, hash: u64) -> &S {
        &self.slots[self.home(hash)]
    }

    /// The count of the word whose slot `is_it`.
    pub fn count(&self, hash: u64, is_it: impl Fn(&S) -> bool) -> u64 {
        if self.used == 0 {
            return 0;
        }
        self.find(hash, is_it).map_or(0, |at| self.slots[at].count())
    }

    /// The slot that `is_it`; if there is none, `new` is put into the empty one where it belongs.
    #[inline]
    pub fn find_or_add(&mut self, hash: u64, is_it: impl Fn(&S) -> bool, new: S) -> &mut S {
        let at = match self.find(hash, is_it) {
            Ok(at) => at,
            Err(at) => {
                self.used += 1;
                self.slots[at] = new;
                at
            }
        };
        &mut self.slots[at]
    }

    /// The slot that `is_it`, or the empty one where it belongs.
    #[inline]
    fn find(&self, hash: u64, is_it: impl Fn(&S) -> bool) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(hash);
        loop {
            let slot = &self.slots[at];
            if slot.is_empty() {
                return Err(at);
            }
            if is_it(slot) {
                return Ok(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// Makes room for `more` words.
    #[inline]
    pub fn reserve(&mut self, more: usize) {
        if self.used + more > self.slots.len() / 4 * 3 {
            self.grow(self.used + more);
        }
    }

    #[cold]
    fn grow(&mut self, least: usize) {
        self.bits = hash::bits_for(least / 3 * 4 + 4).max(self.bits + 1);
        let old = std::mem::replace(&mut self.slots, vec![S::default(); 1 << self.bits]);
        for slot in old.into_iter().filter(|slot| !slot.is_empty()) {
            if let Err(at) = self.find(slot.hash(), |_| false) {
                self.slots[at] = slot;
            }
        }
    }
}

/// Calls `f` with all items, some at a time.
pub fn in_batches<T>(
    mut items: impl Iterator<Item = T>,
    mut f: impl FnMut(&[T]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut batch = Vec::new(); // without room: often there are no items
    loop {
        batch.clear();
        batch.extend(items.by_ref().take(BATCH));
        if batch.is_empty() {
            return Ok(());
        }
        f(&batch)?;
    }
}
