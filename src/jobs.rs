//! Jobs for several threads, and their results in the order of the jobs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Jobs that wait, and results that wait for those before them.
#[derive(Debug)]
pub struct Jobs<J, R> {
    state: Mutex<State<J, R>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<J, R> {
    jobs: VecDeque<(usize, J)>,
    results: BTreeMap<usize, R>,
    added: usize,
    taken: usize, // results
    is_closed: bool,
}

/// Whoever waits looks up this often whether the others still live.
const PATIENCE: Duration = Duration::from_millis(100);

impl<J, R> Default for Jobs<J, R> {
    fn default() -> Jobs<J, R> {
        let state =
            State { jobs: VecDeque::new(), results: BTreeMap::new(), added: 0, taken: 0, is_closed: false };
        Jobs { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<J, R> Jobs<J, R> {
    fn state(&self) -> MutexGuard<'_, State<J, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job.
    pub fn add(&self, job: J) {
        let mut state = self.state();
        let number = state.added;
        state.added += 1;
        state.jobs.push_back((number, job));
        self.changed.notify_one();
    }

    /// How many jobs have been added whose results have not been taken.
    pub fn pending(&self) -> usize {
        let state = self.state();
        state.added - state.taken
    }

    /// How many jobs nobody has begun.
    pub fn waiting(&self) -> usize {
        self.state().jobs.len()
    }

    /// Does one job, if one waits; says whether one did.
    pub fn work(&self, f: impl FnOnce(J) -> R) -> bool {
        let Some((number, job)) = self.state().jobs.pop_front() else { return false };
        let result = f(job);
        self.state().results.insert(number, result);
        self.changed.notify_all();
        true
    }

    /// Does jobs until there will be no more.
    pub fn serve(&self, mut f: impl FnMut(J) -> R) {
        while !self.state().is_closed {
            if !self.work(&mut f) {
                let state = self.state();
                if state.jobs.is_empty() && !state.is_closed {
                    drop(self.changed.wait_timeout(state, PATIENCE));
                }
            }
        }
    }

    /// The result of the next job whose result was not taken yet, if it is there.
    pub fn take(&self) -> Option<R> {
        let mut state = self.state();
        let next = state.taken;
        let result = state.results.remove(&next)?;
        state.taken += 1;
        Some(result)
    }

    /// Waits until `take` may give something.
    pub fn wait(&self) {
        let state = self.state();
        if !state.results.contains_key(&state.taken) {
            drop(self.changed.wait_timeout(state, PATIENCE));
        }
    }

    /// Sends all home who serve.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        for threads in 0..4 {
            let jobs = Jobs::default();
            let work = |job: usize| {
                std::thread::sleep(Duration::from_micros(job as u64 * 7919 % 300));
                job * 2
            };
            let mut results = Vec::new();
            std::thread::scope(|scope| {
                (0..threads).for_each(|_| drop(scope.spawn(|| jobs.serve(work))));
                (0..20).for_each(|job| jobs.add(job));
                while jobs.pending() > 0 {
                    match jobs.take() {
                        Some(result) => results.push(result),
                        None if !jobs.work(work) => jobs.wait(),
                        None => {}
                    }
                }
                jobs.close();
            });
            assert_eq!(results, (0..40).step_by(2).collect::<Vec<_>>());
        }
    }
}
