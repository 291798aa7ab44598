//! What stands around the occurrences of the pair that is being merged.

use crate::sequence::SEPARATOR;

/// The symbols before and after the occurrences of one pair, with how often each is met.
#[derive(Debug, Default)]
pub struct Neighbours {
    /// The symbols before, but for the joined one.
    pub before: Side,
    /// The symbols behind.
    pub after: Side,
    /// Occurrences directly behind another one.
    pub adjacent: Cell,
    /// All occurrences, if they are to be recorded: where memory is short they are not.
    pub seen: Vec<Seen>,
    record: bool,
}

/// One occurrence.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its position.
    pub at: u32,
    /// The symbol before.
    pub before: u32,
    /// The symbol behind.
    pub after: u32,
}

/// Sums by neighbour: an array indexed by symbol, so that only distinct neighbours cost a look at a table of pairs.
#[derive(Debug, Default)]
pub struct Side {
    /// By symbol.
    pub cells: Vec<Cell>,
    /// The symbols whose cells are not empty.
    pub touched: Vec<u32>,
}

/// What is known of one neighbour.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    /// How often it was met, by the weights of the words.
    pub weight: u64,
    /// At how many positions.
    pub positions: u32,
    /// 1 + the number of the pair of this neighbour and the joined symbol, 0 if it is not tracked.
    pub tracked: u32,
}

impl Neighbours {
    /// Clears what the last merge left; there are `symbols` symbols now.
    pub fn start(&mut self, symbols: usize, record: bool) {
        self.record = record;
        self.before.start(symbols);
        self.after.start(symbols);
        self.adjacent = Cell::default();
        self.seen.clear();
    }

    /// Adds an occurrence that has become `joined`; positions ascend.
    #[inline]
    pub fn add(&mut self, joined: u32, at: u32, before: u32, after: u32, weight: u64) {
        if before == joined {
            self.adjacent.add(weight, 1);
            if let Some(last) = self.seen.last_mut() {
                last.after = joined;
            }
        } else if before != SEPARATOR {
            self.before.add(before, weight, 1);
        }
        if after != SEPARATOR {
            self.after.add(after, weight, 1);
        }
        if self.record {
            self.seen.push(Seen { at, before, after });
        }
    }

    /// Adds what was seen further on.
    pub fn append(&mut self, other: &Neighbours) {
        self.before.append(&other.before);
        self.after.append(&other.after);
        self.adjacent.add(other.adjacent.weight, other.adjacent.positions);
        self.seen.extend(&other.seen);
    }

    /// Whether the occurrences are recorded.
    pub fn are_recorded(&self) -> bool {
        self.record
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        (self.before.cells.capacity() + self.after.cells.capacity()) * size_of::<Cell>()
            + self.seen.capacity() * size_of::<Seen>()
    }
}

impl Side {
    #[inline]
    fn add(&mut self, symbol: u32, weight: u64, positions: u32) {
        let cell = &mut self.cells[symbol as usize];
        if cell.positions == 0 {
            self.touched.push(symbol);
        }
        cell.add(weight, positions);
    }

    fn append(&mut self, other: &Side) {
        for &symbol in &other.touched {
            let cell = &other.cells[symbol as usize];
            self.add(symbol, cell.weight, cell.positions);
        }
    }

    fn start(&mut self, symbols: usize) {
        for symbol in self.touched.drain(..) {
            self.cells[symbol as usize] = Cell::default();
        }
        self.cells.resize(symbols, Cell::default());
    }
}

impl Cell {
    #[inline]
    fn add(&mut self, weight: u64, positions: u32) {
        self.weight += weight;
        self.positions += positions;
    }
}
