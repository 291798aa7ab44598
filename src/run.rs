//! The tokens of a word, where it has no more than four: then four are copied, which is faster than as many as there are.

/// Up to four symbols, and `END` behind them.
pub type Run = [u32; RUN];

/// The symbols of a run.
pub const RUN: usize = 4;

/// No symbol is as high.
pub const END: u32 = u32::MAX;

/// Stands for more symbols than a run has.
pub const EMPTY: Run = [END; RUN];

/// These symbols as a run, or an empty run and all of them.
#[inline]
pub fn of(symbols: &[u32]) -> (Run, &[u32]) {
    if symbols.len() > RUN {
        return (EMPTY, symbols);
    }
    let mut run = EMPTY;
    run.iter_mut().zip(symbols).for_each(|(place, &symbol)| *place = symbol);
    (run, &[])
}

/// How many symbols it has.
#[inline(always)]
pub fn len(run: Run) -> usize {
    run.iter().map(|&symbol| usize::from(symbol != END)).sum()
}
