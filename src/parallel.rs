//! Work on several threads. They live for one call, so a fork finds nothing to break.

/// Calls `f` with each worker at the same time, the last one on this thread; gives the results in order.
pub fn run<W: Send, R: Send>(workers: &mut [W], f: impl Fn(&mut W) -> R + Sync) -> Vec<R> {
    let f = &f;
    match workers {
        [] => Vec::new(),
        [only] => vec![f(only)],
        [others @ .., own] => std::thread::scope(|scope| {
            let others: Vec<_> = others.iter_mut().map(|worker| scope.spawn(move || f(worker))).collect();
            let own = f(own);
            let done = others.into_iter().map(|other| match other.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            done.collect::<Vec<_>>().into_iter().chain([own]).collect()
        }),
    }
}

/// Cuts a slice into pieces of these lengths, to be changed by different threads; what is left over is left out.
pub fn pieces<T>(
    slice: &mut [T],
    lengths: impl IntoIterator<Item = usize>,
) -> impl Iterator<Item = &mut [T]> {
    let mut rest = slice;
    lengths.into_iter().map(move |length| {
        let (piece, others) = std::mem::take(&mut rest).split_at_mut(length);
        rest = others;
        piece
    })
}
