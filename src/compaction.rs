//! Closing the gaps that merging leaves in the array of words.

use crate::sequence::{Run, SEPARATOR, TAG, position};

/// Whole words of the array, compacted by one thread in steps.
#[derive(Debug)]
pub struct Part {
    /// Where it starts; its first word stands there.
    pub start: usize,
    end: usize,
    read: usize,
    /// Where what is left of it ends.
    pub written: usize,
    word: usize, // where the word that is being written starts
    run: usize,
    /// The runs of what is left.
    pub runs: Vec<Run>,
}

/// Cuts an array between words into about equal parts.
pub fn parts(slots: &[u32], runs: &[Run], parts: usize) -> Vec<Part> {
    let mut start = 1;
    let part = |number: usize| {
        let goal = (slots.len() / parts * number).clamp(start, slots.len());
        let end = if number == parts { slots.len() } else { end_of_word(slots, goal) };
        let run = runs.partition_point(|run| run.end as usize <= start);
        let part = Part { start, end, read: start, written: start, word: start, run, runs: Vec::new() };
        start = end;
        part
    };
    (1..=parts).map(part).collect()
}

/// Where the word around a position has ended, its separator included.
pub fn end_of_word(slots: &[u32], at: usize) -> usize {
    slots[at..].iter().position(|&slot| slot == SEPARATOR).map_or(slots.len(), |more| at + more + 1)
}

impl Part {
    /// How many slots it takes.
    pub fn slots(&self) -> usize {
        self.end - self.start
    }

    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.read == self.end
    }

    /// Works through `most` slots of the part, all of which are given.
    pub fn advance(&mut self, slots: &mut [u32], runs: &[Run], most: usize) {
        let stop = self.read.saturating_add(most).min(self.end);
        let Part { start, mut read, mut written, mut word, .. } = *self;
        while read < stop {
            let run = runs[self.run];
            let end = stop.min(run.end as usize);
            for at in read..end {
                let slot = slots[at - start];
                // No branch here: which slots hold a symbol cannot be foreseen.
                slots[written - start] = slot;
                written += usize::from(slot & TAG == 0);
                if slot == SEPARATOR {
                    // A word of one symbol holds no pair.
                    if written - word <= 2 {
                        written = word;
                    }
                    word = written;
                }
            }
            read = end;
            if read == run.end as usize || read == self.end {
                if self.runs.last().map_or(start, |last| last.end as usize) < written {
                    self.runs.push(Run { end: position(written), weight: run.weight });
                }
                self.run += 1;
            }
        }
        (self.read, self.written, self.word) = (read, written, word);
    }
}
