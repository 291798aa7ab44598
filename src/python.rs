//! The whole boundary between the kernels and Python; nothing else names pyo3.
//!
//! Everything that takes longer than a few microseconds runs without the GIL, and no lock is waited for while it is
//! held. Loops that may take long belong to Python: a step here lasts some ten milliseconds.

use crate::count::WordCounts;
use crate::encode::{Encoder, Scratch, UNKNOWN};
use crate::error::Error;
use crate::learn::{Goal, Learner, Stopped};
use crate::text_counter::TextCounter;
use crate::{chars, whitespace};
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyIterator, PyList, PyString, PyTuple};
use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Texts shorter than this are encoded with the GIL held: letting it go would cost more.
const SHORT_TEXT: usize = 4096;

/// Long texts are encoded in pieces of this size; Ctrl-C is obeyed between them.
const PIECE: usize = 1 << 20;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::{PyEncoder, PyLearner, PyTextCounter, PyWordCounts};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

// ------------------------------------------------------------------------------------------ strings and errors

/// The bytes of a `str` in generalized UTF-8.
fn bytes<'a>(string: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(utf8) = string.to_str() {
        return Ok(Cow::Borrowed(utf8.as_bytes()));
    }
    let encoded = string.call_method1("encode", ("utf-8", "surrogatepass"))?;
    Ok(Cow::Owned(encoded.cast::<PyBytes>()?.as_bytes().to_vec()))
}

/// A `str` from generalized UTF-8.
fn string<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if let Ok(utf8) = std::str::from_utf8(bytes) {
        return Ok(PyString::new(py, utf8));
    }
    let decoded = PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "surrogatepass"))?;
    Ok(decoded.cast_into::<PyString>()?)
}

fn char_string(py: Python<'_>, code_point: u32) -> PyResult<Bound<'_, PyString>> {
    let mut spelled = Vec::new();
    chars::push(&mut spelled, code_point);
    string(py, &spelled)
}

/// Refusals of arguments are worded in one place, `exactbpe.reference`.
fn reference(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static REFERENCE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(REFERENCE.get_or_try_init(py, || py.import("exactbpe.reference").map(Bound::unbind))?.bind(py))
}

fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Overflow(_) | Error::PairOverflow(_) => PyOverflowError::new_err(message),
        Error::Memory { .. } => PyMemoryError::new_err(message),
        Error::Invalid(_) | Error::NotUtf8(_) => match reference(py).and_then(|module| module.getattr("BPEError")) {
            Ok(class) => match class.call1((message,)) {
                Ok(instance) => PyErr::from_value(instance),
                Err(error) => error,
            },
            Err(error) => error,
        },
    }
}

/// Runs `f` without the GIL.
fn detached<T: Send>(py: Python<'_>, f: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    py.detach(f).map_err(|error| exception(py, &error))
}

/// What a panic may have left behind a lock is still valid: every step replaces it as a whole or not at all.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// ------------------------------------------------------------------------------------------------- counting

#[pyclass(frozen, name = "WordCounts", module = "exactbpe._core")]
struct PyWordCounts(Mutex<WordCounts>);

#[pymethods]
impl PyWordCounts {
    #[new]
    fn new() -> PyWordCounts {
        PyWordCounts(Mutex::default())
    }

    fn add_words(&self, py: Python<'_>, words: &Bound<'_, PyIterator>, name: &str) -> PyResult<()> {
        for_each_string(words, name, |word| {
            lock(&self.0).add(word, 1).map_err(|error| exception(py, &error))
        })
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| lock(&self.0).len())
    }

    #[getter]
    fn total(&self, py: Python<'_>) -> u128 {
        py.detach(|| lock(&self.0).total())
    }
}

/// Calls `f` with the bytes of every string; obeys Ctrl-C.
fn for_each_string(
    strings: &Bound<'_, PyIterator>,
    name: &str,
    mut f: impl FnMut(&[u8]) -> PyResult<()>,
) -> PyResult<()> {
    let py = strings.py();
    for (index, item) in strings.clone().enumerate() {
        let item = item?;
        let Ok(text) = item.cast::<PyString>() else {
            let refusal = reference(py)?.call_method1("not_a_str", (format!("{name}[{index}]"), item))?;
            return Err(PyErr::from_value(refusal));
        };
        f(&bytes(text)?)?;
        if index % 1024 == 1023 {
            py.check_signals()?;
        }
    }
    Ok(())
}

#[pyclass(frozen, name = "TextCounter", module = "exactbpe._core")]
struct PyTextCounter(Mutex<Option<TextCounter>>);

impl PyTextCounter {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut TextCounter) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let result = py.detach(|| lock(&self.0).as_mut().map(f));
        let result = result.ok_or_else(|| PyRuntimeError::new_err("the counter is finished"))?;
        result.map_err(|error| exception(py, &error))
    }
}

#[pymethods]
impl PyTextCounter {
    #[new]
    fn new(threads: usize) -> PyTextCounter {
        PyTextCounter(Mutex::new(Some(TextCounter::new(threads))))
    }

    fn add_texts(&self, py: Python<'_>, texts: &Bound<'_, PyIterator>, name: &str) -> PyResult<()> {
        for_each_string(texts, name, |text| {
            if text.len() < SHORT_TEXT {
                let mut counter = lock(&self.0);
                let counter = counter.as_mut().ok_or_else(|| PyRuntimeError::new_err("the counter is finished"))?;
                return counter.add_text(text).map_err(|error| exception(py, &error));
            }
            for piece in whitespace::cut(text, text.len().div_ceil(PIECE)) {
                self.with(py, |counter| counter.add_text(piece))?;
                py.check_signals()?;
            }
            Ok(())
        })
    }

    fn add_utf8(&self, py: Python<'_>, block: &[u8]) -> PyResult<Option<usize>> {
        self.with(py, |counter| offset_of_error(counter.add_utf8(block)))
    }

    fn end_stream(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        self.with(py, |counter| offset_of_error(counter.end_stream()))
    }

    #[getter]
    fn block(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |counter| Ok(counter.block()))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<PyWordCounts> {
        let counter = py.detach(|| lock(&self.0).take());
        let counter = counter.ok_or_else(|| PyRuntimeError::new_err("the counter is finished"))?;
        detached(py, || counter.finish()).map(|counts| PyWordCounts(Mutex::new(counts)))
    }
}

/// Python knows the file's name, so it words the refusal.
fn offset_of_error(result: Result<(), Error>) -> Result<Option<usize>, Error> {
    match result {
        Ok(()) => Ok(None),
        Err(Error::NotUtf8(offset)) => Ok(Some(offset)),
        Err(error) => Err(error),
    }
}

// ------------------------------------------------------------------------------------------------- learning

#[pyclass(frozen, name = "Learner", module = "exactbpe._core")]
struct PyLearner(Mutex<Learner>);

#[pymethods]
impl PyLearner {
    #[new]
    fn new(
        py: Python<'_>,
        counts: &PyWordCounts,
        vocab_size: u64,
        max_merges: u64,
        min_frequency: u64,
        threads: usize,
    ) -> PyResult<PyLearner> {
        let goal = Goal { vocab_size, max_merges, min_frequency };
        let learner = detached(py, || Learner::new(&lock(&counts.0), &goal, &[], threads))?;
        Ok(PyLearner(Mutex::new(learner)))
    }

    fn step(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<&'static str>> {
        let budget = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let stopped = detached(py, || lock(&self.0).step(budget))?;
        Ok(stopped.map(|stopped| match stopped {
            Stopped::VocabSize => "vocab_size",
            Stopped::MinFrequency => "min_frequency",
            Stopped::NoPairs => "no_pairs",
        }))
    }

    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        // Copied, because making objects may run other Python code, which must not find the lock taken.
        let (symbols, merges) = py.detach(|| {
            let learner = lock(&self.0);
            (learner.symbols().clone(), learner.merges().to_vec())
        });
        let strings = symbols.iter().map(|symbol| string(py, symbol)).collect::<PyResult<Vec<_>>>()?;
        let part = |id: u32| &strings[id as usize];
        let pairs = merges.iter().map(|merge| PyList::new(py, [part(merge.left), part(merge.right)]));
        PyList::new(py, pairs.collect::<PyResult<Vec<_>>>()?)
    }

    fn alphabet<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyString>>> {
        let alphabet = py.detach(|| lock(&self.0).alphabet().to_vec());
        alphabet.into_iter().map(|code_point| char_string(py, code_point)).collect()
    }

    fn frequencies(&self, py: Python<'_>) -> Vec<u64> {
        py.detach(|| lock(&self.0).merges().iter().map(|merge| merge.frequency).collect())
    }

    fn ties(&self, py: Python<'_>) -> Vec<Option<u64>> {
        py.detach(|| lock(&self.0).merges().iter().map(|merge| merge.ties).collect())
    }
}

// ------------------------------------------------------------------------------------------------- encoding

#[pyclass(frozen, name = "Encoder", module = "exactbpe._core")]
struct PyEncoder {
    encoder: Encoder,
    strings: Vec<PyOnceLock<Py<PyString>>>, // by symbol: one shared `str` each, made when first needed
    scratches: Mutex<Vec<Scratch>>,
}

#[pymethods]
impl PyEncoder {
    #[new]
    fn new(py: Python<'_>, merges: &Bound<'_, PyList>) -> PyResult<PyEncoder> {
        let Some(rules) = merges.iter().map(|rule| parts(&rule)).collect::<Option<Vec<_>>>() else {
            // Let the one who knows the words refuse it.
            reference(py)?.call_method1("rules", (merges,))?.try_iter()?.try_for_each(|rule| rule.map(drop))?;
            return Err(PyTypeError::new_err("merges must be a list of pairs of strings"));
        };
        let rules = rules.iter().map(|(left, right)| Ok((bytes(left)?, bytes(right)?))).collect::<PyResult<Vec<_>>>()?;
        let rules: Vec<(&[u8], &[u8])> = rules.iter().map(|(left, right)| (&**left, &**right)).collect();
        let encoder = py.detach(|| Encoder::new(&rules, None));
        let strings = std::iter::repeat_with(PyOnceLock::new).take(encoder.symbols().len()).collect();
        Ok(PyEncoder { encoder, strings, scratches: Mutex::default() })
    }

    fn tokenize<'py>(&self, py: Python<'py>, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyList>> {
        let text = bytes(text)?;
        let mut symbols = Vec::new();
        let mut scratch = self.scratches.try_lock().ok().and_then(|mut free| free.pop()).unwrap_or_default();
        if text.len() < SHORT_TEXT {
            self.encoder.encode(&text, &mut scratch, &mut symbols);
        } else {
            for piece in whitespace::cut(&text, text.len().div_ceil(PIECE)) {
                py.detach(|| self.encoder.encode(piece, &mut scratch, &mut symbols));
                py.check_signals()?;
            }
        }
        // Where another thread holds the lock, dropping the scratch is cheaper than waiting.
        if let Ok(mut free) = self.scratches.try_lock() {
            free.push(scratch);
        }
        let tokens = symbols.into_iter().map(|symbol| self.token(py, symbol)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, tokens)
    }
}

impl PyEncoder {
    fn token<'py>(&self, py: Python<'py>, symbol: u32) -> PyResult<Bound<'py, PyString>> {
        if symbol & UNKNOWN != 0 {
            return char_string(py, symbol & !UNKNOWN);
        }
        let make = || string(py, self.encoder.symbols().get(symbol)).map(Bound::unbind);
        Ok(self.strings[symbol as usize].get_or_try_init(py, make)?.bind(py).clone())
    }
}

/// The two parts of a rule, if it is a rule.
fn parts<'py>(rule: &Bound<'py, PyAny>) -> Option<(Bound<'py, PyString>, Bound<'py, PyString>)> {
    let (left, right) = if let Ok(list) = rule.cast::<PyList>() {
        if list.len() != 2 {
            return None;
        }
        (list.get_item(0).ok()?, list.get_item(1).ok()?)
    } else {
        let tuple = rule.cast::<PyTuple>().ok()?;
        if tuple.len() != 2 {
            return None;
        }
        (tuple.get_item(0).ok()?, tuple.get_item(1).ok()?)
    };
    let part = |part: Bound<'py, PyAny>| {
        part.cast_into::<PyString>().ok().filter(|part| part.len().is_ok_and(|len| len > 0))
    };
    Some((part(left)?, part(right)?))
}
