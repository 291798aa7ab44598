//! The whole boundary between the kernels and Python; nothing else names pyo3.
//!
//! Everything that takes longer than a few microseconds runs without the GIL, and no lock is waited for while it is
//! held. Loops that may take long belong to Python: a step here lasts some ten milliseconds.

use crate::count::WordCounts;
use crate::encode::{Encoder, Pair, UNKNOWN};
use crate::error::Error;
use crate::jobs::Jobs;
use crate::joined;
use crate::learn::{Goal, Learner, Stopped};
use crate::model_text::{self, Model};
use crate::session::Session;
use crate::text_counter::TextCounter;
use crate::tokenizer::{Tokenizer, Unknown};
use crate::word::Word;
use crate::{chars, counts_file, prefetch, whitespace};
use pyo3::exceptions::{PyMemoryError, PyOSError, PyOverflowError, PyTypeError, PyUnicodeDecodeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyString, PyTuple};
use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Texts shorter than this are encoded with the GIL held: letting it go would cost more.
const SHORT_TEXT: usize = 4096;

/// Long texts are encoded in pieces of this size; Ctrl-C is obeyed between them.
const PIECE: usize = 1 << 20;

/// Python's strings are asked for so many before they are needed.
const AHEAD: usize = 16;

/// The threads of a batch take texts of this size together, again and again.
const GROUP: usize = 1 << 18;

/// For each thread so many of them are made ready.
const GROUPS: usize = 8;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::{
        PyArray, PyLearner, PyModel, PyTextCounter, PyTokenizer, PyWordCounts, merge_counts_files,
        recovered_pairs,
    };

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

fn bpe_error(py: Python<'_>, message: String) -> PyErr {
    match reference(py).and_then(|module| module.getattr("BPEError")?.call1((message,))) {
        Ok(instance) => PyErr::from_value(instance),
        Err(error) => error,
    }
}

fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Overflow(_) | Error::PairOverflow(_) => PyOverflowError::new_err(message),
        Error::Memory { .. } => PyMemoryError::new_err(message),
        Error::Io(_) => PyOSError::new_err(message),
        Error::Invalid(_) | Error::NotUtf8(_) | Error::Interrupted => bpe_error(py, message),
    }
}

/// Runs `f` without the GIL.
fn detached<T: Send>(py: Python<'_>, f: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    py.detach(f).map_err(|error| exception(py, &error))
}

/// Runs `f` without the GIL; what it is given tells whether to go on, and obeys Ctrl-C.
fn interruptible<T: Send>(
    py: Python<'_>,
    f: impl FnOnce(&mut dyn FnMut() -> Result<(), Error>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let mut signal = None;
    let result = py.detach(|| {
        f(&mut || match Python::attach(|py| py.check_signals()) {
            Ok(()) => Ok(()),
            Err(raised) => {
                signal = Some(raised);
                Err(Error::Interrupted)
            }
        })
    });
    result.map_err(|error| signal.unwrap_or_else(|| exception(py, &error)))
}

/// What a panic may have left behind a lock is still valid: every step replaces it as a whole or not at all.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// ------------------------------------------------------------------------------------------------- counting

#[pyclass(frozen, name = "WordCounts", module = "exactbpe._core")]
struct PyWordCounts(Mutex<Arc<WordCounts>>);

impl PyWordCounts {
    fn wrap(counts: WordCounts) -> PyWordCounts {
        PyWordCounts(Mutex::new(Arc::new(counts)))
    }

    /// The counts as they are now; what is added later does not change them.
    fn snapshot(&self) -> Arc<WordCounts> {
        lock(&self.0).clone()
    }

    fn change(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut WordCounts) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        detached(py, || f(Arc::make_mut(&mut lock(&self.0))))
    }
}

#[pymethods]
impl PyWordCounts {
    #[new]
    fn new() -> PyWordCounts {
        PyWordCounts::wrap(WordCounts::default())
    }

    fn add_words(&self, py: Python<'_>, words: &Bound<'_, PyIterator>, name: &str) -> PyResult<()> {
        let mut counts = WordCounts::default();
        for_each_string(words, name, |word| counts.add(word, 1).map_err(|error| exception(py, &error)))?;
        self.change(py, move |all| all.merge(&counts))
    }

    fn add_word(&self, py: Python<'_>, word: &Bound<'_, PyString>, count: u64) -> PyResult<()> {
        let word = bytes(word)?;
        self.change(py, |all| all.add(&word, count))
    }

    fn merge(&self, py: Python<'_>, other: &PyWordCounts) -> PyResult<()> {
        let other = other.snapshot();
        detached(py, || {
            let mut own = lock(&self.0);
            if own.is_empty() {
                *own = other;
                return Ok(());
            }
            Arc::make_mut(&mut own).merge(&other)
        })
    }

    fn get(&self, word: &Bound<'_, PyString>) -> PyResult<u64> {
        Ok(self.snapshot().get(&bytes(word)?))
    }

    fn __len__(&self) -> usize {
        self.snapshot().len()
    }

    #[getter]
    fn total(&self, py: Python<'_>) -> u128 {
        let counts = self.snapshot();
        py.detach(|| counts.total())
    }

    fn equals(&self, py: Python<'_>, other: &PyWordCounts) -> bool {
        let (a, b) = (self.snapshot(), other.snapshot());
        py.detach(|| *a == *b)
    }

    fn most_common<'py>(&self, py: Python<'py>, n: usize) -> PyResult<Vec<(Bound<'py, PyString>, u64)>> {
        let counts = self.snapshot();
        let mut sorted: Vec<(Word<'_>, u64)> = py.detach(|| counts.sorted_by_count());
        sorted.truncate(n);
        sorted.into_iter().map(|(word, count)| Ok((string(py, &word)?, count))).collect()
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let counts = self.snapshot();
        let file = BufWriter::new(File::create(path)?);
        interruptible(py, |go_on| counts_file::save(&counts, file, go_on))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<PyWordCounts> {
        let file = File::open(path)?;
        interruptible(py, |go_on| counts_file::load(file, go_on)).map(PyWordCounts::wrap)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let counts = self.snapshot();
        let mut file = Vec::new();
        interruptible(py, |go_on| counts_file::save(&counts, &mut file, go_on))?;
        Ok(PyBytes::new(py, &file))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, file: &[u8]) -> PyResult<PyWordCounts> {
        interruptible(py, |go_on| counts_file::load(file, go_on)).map(PyWordCounts::wrap)
    }
}

/// Adds up files of counts into one. What is wrong with a file comes with its name.
#[pyfunction]
fn merge_counts_files(py: Python<'_>, paths: Vec<PathBuf>, output: PathBuf) -> PyResult<()> {
    let named = |reader: usize, error: Error| match error {
        Error::Invalid(message) => Error::Invalid(format!("{}: {message}", paths[reader].display())),
        other => other,
    };
    let mut readers = Vec::with_capacity(paths.len());
    for (i, path) in paths.iter().enumerate() {
        let file = File::open(path)?;
        readers
            .push(detached(py, || counts_file::Reader::new(file).map_err(|error| named(i, error.into())))?);
    }
    let file = File::create(output)?;
    interruptible(py, |go_on| {
        let mut writer = counts_file::Writer::new(file);
        counts_file::merge(&mut readers, &mut writer, go_on).map_err(|(reader, error)| match reader {
            Some(reader) => named(reader, error),
            None => error,
        })?;
        writer.finish().map_err(|error| counts_file::FileError::Io(error).into())
    })
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
struct PyTextCounter(Mutex<TextCounter>);

impl PyTextCounter {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut TextCounter) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        detached(py, || f(&mut lock(&self.0)))
    }
}

#[pymethods]
impl PyTextCounter {
    #[new]
    fn new(threads: usize) -> PyTextCounter {
        PyTextCounter(Mutex::new(TextCounter::new(threads)))
    }

    fn add_texts(&self, py: Python<'_>, texts: &Bound<'_, PyIterator>, name: &str) -> PyResult<()> {
        for_each_string(texts, name, |text| {
            if text.len() < SHORT_TEXT {
                return lock(&self.0).add_text(text).map_err(|error| exception(py, &error));
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

    fn add_block_of(&self, py: Python<'_>, path: PathBuf, offset: u64) -> PyResult<(usize, Option<usize>)> {
        let file = File::open(path)?;
        self.with(py, |counter| match counter.add_block_of(&file, offset) {
            Ok(size) => Ok((size, None)),
            Err(Error::NotUtf8(offset)) => Ok((0, Some(offset))),
            Err(error) => Err(error),
        })
    }

    fn end_stream(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        self.with(py, |counter| offset_of_error(counter.end_stream()))
    }

    #[getter]
    fn block(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |counter| Ok(counter.block()))
    }

    #[getter]
    fn memory(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |counter| Ok(counter.memory()))
    }

    fn take(&self, py: Python<'_>) -> PyResult<PyWordCounts> {
        self.with(py, TextCounter::take).map(PyWordCounts::wrap)
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
    #[allow(clippy::too_many_arguments, reason = "Python's side has a keyword for each")]
    fn new(
        py: Python<'_>,
        counts: &PyWordCounts,
        vocab_size: u64,
        max_merges: u64,
        min_frequency: Option<u64>,
        word_prefix: &Bound<'_, PyString>,
        initial_merges: &Bound<'_, PyList>,
        threads: usize,
        memory_limit: u64,
    ) -> PyResult<PyLearner> {
        let prefix = bytes(word_prefix)?.into_owned();
        let goal = Goal { vocab_size, max_merges, min_frequency, prefix, memory_limit };
        let initial = Rules::of(initial_merges, "initial_merges")?;
        let initial = initial.pairs();
        let counts = counts.snapshot();
        let learner = interruptible(py, |go_on| Learner::new(&counts, &goal, &initial, threads, go_on))?;
        Ok(PyLearner(Mutex::new(learner)))
    }

    #[getter]
    fn learned(&self, py: Python<'_>) -> usize {
        py.detach(|| lock(&self.0).merges().len())
    }

    #[getter]
    fn max_merges(&self, py: Python<'_>) -> usize {
        py.detach(|| lock(&self.0).max_merges())
    }

    #[getter]
    fn memory(&self, py: Python<'_>) -> usize {
        py.detach(|| lock(&self.0).memory())
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

#[pyclass(frozen, name = "Tokenizer", module = "exactbpe._core")]
struct PyTokenizer {
    tokenizer: Tokenizer,
    strings: PyOnceLock<Vec<Py<PyString>>>, // by symbol: one shared `str` each, made when first needed
    sessions: Mutex<Vec<Session>>,          // those that no call uses at the moment
}

#[pymethods]
impl PyTokenizer {
    #[new]
    fn new(
        py: Python<'_>,
        merges: &Bound<'_, PyList>,
        alphabet: Option<Vec<u32>>,
        unknown: &str,
        word_prefix: &Bound<'_, PyString>,
        cache_bytes: usize,
    ) -> PyResult<PyTokenizer> {
        let rules = Rules::of(merges, "merges")?;
        let encoder = py.detach(|| Encoder::new(&rules.pairs(), alphabet.as_deref()));
        PyTokenizer::of(encoder, unknown, word_prefix, cache_bytes)
    }

    /// The strings of the alphabet and of all that rules make, by id.
    fn vocabulary<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyString>>> {
        let known = crate::sequence::position(self.tokenizer.encoder.vocab_size());
        (0..known).map(|symbol| self.token(py, symbol)).collect()
    }

    /// The characters of the alphabet, in order.
    fn alphabet<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyString>>> {
        let size = crate::sequence::position(self.tokenizer.encoder.alphabet_size());
        (0..size).map(|symbol| self.token(py, symbol)).collect()
    }

    /// Whether the rules are as training gives them.
    #[getter]
    fn in_order(&self) -> bool {
        self.tokenizer.encoder.is_in_order()
    }

    /// The rules, as they were given.
    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rules = self.tokenizer.encoder.rules();
        let pairs =
            rules.map(|(left, right)| PyList::new(py, [self.token(py, left)?, self.token(py, right)?]));
        PyList::new(py, pairs.collect::<PyResult<Vec<_>>>()?)
    }

    fn token_to_id(&self, token: &Bound<'_, PyString>) -> PyResult<Option<u32>> {
        let known = crate::sequence::position(self.tokenizer.encoder.vocab_size());
        Ok(self.tokenizer.encoder.symbol(&bytes(token)?).filter(|&symbol| symbol < known))
    }

    fn tokenize<'py>(&self, py: Python<'py>, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let symbols = self.symbols(py, text_of(text)?)?;
        self.tokens(py, &symbols, 0..symbols.len(), self.strings(py)?)
    }

    fn tokenize_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyList>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let strings = self.strings(py)?;
        let all = PyList::empty(py);
        let collector = py.import("gc")?;
        let work = |texts: &[&[u8]], session: &mut Session| Ok(self.symbols_of_all(texts, session));
        self.batch(py, texts_of(texts), &nth_text, threads, &work, |(symbols, ends)| {
            let mut start = 0;
            uncollected(&collector, || {
                ends.into_iter().try_for_each(|end| {
                    let of_text = std::mem::replace(&mut start, end)..end;
                    all.append(self.tokens(py, &symbols, of_text, strings)?)
                })
            })
        })?;
        Ok(all)
    }

    fn encode(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let text = text_of(text)?;
        let symbols = self.symbols(py, text)?;
        self.tokenizer
            .ids_of(symbols)
            .ok_or_else(|| bytes(text).map_or_else(|error| error, |text| self.unknown(py, &text)))
    }

    fn count(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<usize> {
        let symbols = self.symbols(py, text_of(text)?)?;
        Ok(self.tokenizer.count(&symbols))
    }

    /// Ids of all texts, and where those of each begin and the last end.
    fn encode_batch(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyList>,
        threads: usize,
    ) -> PyResult<(PyArray, PyArray)> {
        self.encode_all(py, texts_of(texts), &nth_text, threads)
    }

    /// The same for the lines of a block of UTF-8, of which each ends with a line feed; `name` and `first_line` stand
    /// for the block in messages.
    fn encode_lines(
        &self,
        py: Python<'_>,
        block: &[u8],
        threads: usize,
        name: &str,
        first_line: usize,
    ) -> PyResult<(PyArray, PyArray)> {
        if let Err(error) = std::str::from_utf8(block) {
            return Err(PyUnicodeDecodeError::new_err_from_utf8(py, block, error));
        }
        let lines = block.split_inclusive(|&byte| byte == b'\n');
        let lines = lines.map(|line| Ok(line.strip_suffix(b"\n").unwrap_or(line)));
        let nth_line = |index| format!("{name}, line {}", first_line + index);
        self.encode_all(py, lines, &nth_line, threads)
    }

    fn count_batch(&self, py: Python<'_>, texts: &Bound<'_, PyList>, threads: usize) -> PyResult<Vec<usize>> {
        let mut counts = Vec::with_capacity(texts.len());
        let count = |texts: &[&[u8]], session: &mut Session| {
            let (symbols, ends) = self.symbols_of_all(texts, session);
            let mut start = 0;
            let one = |end| self.tokenizer.count(&symbols[std::mem::replace(&mut start, end)..end]);
            Ok(ends.into_iter().map(one).collect::<Vec<_>>())
        };
        self.batch(py, texts_of(texts), &nth_text, threads, &count, |made| {
            counts.extend(made);
            Ok(())
        })?;
        Ok(counts)
    }
}

#[pyclass(frozen, name = "Model", module = "exactbpe._core")]
struct PyModel(Mutex<Option<Model>>);

#[pymethods]
impl PyModel {
    #[staticmethod]
    fn of_document(py: Python<'_>, document: &[u8]) -> Option<PyModel> {
        PyModel::of(py.detach(|| model_text::read_document(document)))
    }

    #[staticmethod]
    fn of_merges(py: Python<'_>, merges: &[u8], vocab: &[u8]) -> Option<PyModel> {
        PyModel::of(py.detach(|| model_text::read_merges(merges, vocab)))
    }

    #[staticmethod]
    fn of_codes(py: Python<'_>, codes: &[u8], counted: bool) -> Option<PyModel> {
        PyModel::of(py.detach(|| model_text::read_codes(codes, counted)))
    }

    #[getter]
    fn rest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, lock(&self.0).as_ref().map_or(b"", |model| &model.rest))
    }

    #[getter]
    fn others(&self) -> Vec<String> {
        lock(&self.0).as_ref().map_or_else(Vec::new, |model| model.others.clone())
    }

    fn tokenizer(
        &self,
        unknown: &str,
        word_prefix: &Bound<'_, PyString>,
        cache_bytes: usize,
    ) -> PyResult<PyTokenizer> {
        let model = lock(&self.0).take();
        let model = model.ok_or_else(|| PyTypeError::new_err("the tokenizer was already taken out"))?;
        PyTokenizer::of(model.encoder, unknown, word_prefix, cache_bytes)
    }
}

impl PyModel {
    fn of(model: Option<Model>) -> Option<PyModel> {
        model.map(|model| PyModel(Mutex::new(Some(model))))
    }
}

/// The pair that makes each string, best rank first; and, if there is none for a string, what is left of it.
#[pyfunction]
fn recovered_pairs<'py>(py: Python<'py>, strings: &Bound<'py, PyList>) -> PyResult<Recovered<'py>> {
    let strings = strings.iter().map(|string| Ok(string.cast_into()?)).collect::<PyResult<Vec<_>>>()?;
    let bytes = strings.iter().map(bytes).collect::<PyResult<Vec<_>>>()?;
    let bytes: Vec<&[u8]> = bytes.iter().map(|string| &**string).collect();
    let found = py.detach(|| joined::recovered(&bytes));
    let string = |symbol: u32| match symbol & UNKNOWN {
        0 => Ok(strings[symbol as usize].clone()),
        _ => char_string(py, symbol & !UNKNOWN),
    };
    let pairs = found.pairs.into_iter().map(|(left, right)| Ok((string(left)?, string(right)?)));
    let rest = found.rest.map(|rest| rest.into_iter().map(string).collect::<PyResult<_>>());
    Ok((pairs.collect::<PyResult<_>>()?, rest.transpose()?))
}

type Recovered<'py> = (Vec<(Bound<'py, PyString>, Bound<'py, PyString>)>, Option<Vec<Bound<'py, PyString>>>);

/// Numbers that NumPy takes as they are, by its array interface
/// (https://numpy.org/doc/stable/reference/arrays.interface.html); they live as long as this object does.
#[pyclass(frozen, name = "Array", module = "exactbpe._core")]
struct PyArray(Mutex<Numbers>);

enum Numbers {
    Ids(Vec<u32>),
    Offsets(Vec<i64>),
}

#[pymethods]
impl PyArray {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (kind, address, length) = match &mut *lock(&self.0) {
            Numbers::Ids(ids) => ("u4", ids.as_mut_ptr().expose_provenance(), ids.len()),
            Numbers::Offsets(offsets) => ("i8", offsets.as_mut_ptr().expose_provenance(), offsets.len()),
        };
        let order = if cfg!(target_endian = "little") { "<" } else { ">" };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (length,))?;
        interface.set_item("typestr", format!("{order}{kind}"))?;
        interface.set_item("data", (address, false))?;
        Ok(interface)
    }
}

/// What one thread makes of some texts; `Err` is the index of a text that is refused.
type Work<'a, R> = dyn Fn(&[&[u8]], &mut Session) -> Result<R, usize> + Sync + 'a;

impl PyTokenizer {
    fn of(
        encoder: Encoder,
        unknown: &str,
        word_prefix: &Bound<'_, PyString>,
        cache_bytes: usize,
    ) -> PyResult<PyTokenizer> {
        let next_id = crate::sequence::position(encoder.vocab_size());
        let unknown = match unknown {
            "error" => Unknown::Refuse,
            "bytes" => Unknown::Bytes(next_id),
            _ => Unknown::Token(next_id),
        };
        let prefix = bytes(word_prefix)?.into_owned();
        let tokenizer = Tokenizer { encoder, unknown, prefix, cache_bytes };
        Ok(PyTokenizer { tokenizer, strings: PyOnceLock::new(), sessions: Mutex::default() })
    }

    fn token<'py>(&self, py: Python<'py>, symbol: u32) -> PyResult<Bound<'py, PyString>> {
        if symbol & UNKNOWN != 0 {
            return char_string(py, symbol & !UNKNOWN);
        }
        Ok(self.strings(py)?[symbol as usize].bind(py).clone())
    }

    fn strings(&self, py: Python<'_>) -> PyResult<&[Py<PyString>]> {
        let symbols = self.tokenizer.encoder.symbols();
        let make = || symbols.iter().map(|symbol| string(py, symbol).map(Bound::unbind)).collect();
        self.strings.get_or_try_init(py, make).map(|strings| &strings[..])
    }

    /// Works with a session that no other call uses. Nobody waits: where the lock is taken, a new one is made.
    fn with_session<T>(&self, f: impl FnOnce(&mut Session) -> T) -> T {
        let free = self.sessions.try_lock().ok().and_then(|mut sessions| sessions.pop());
        let mut session = free.unwrap_or_else(|| self.tokenizer.session());
        let result = f(&mut session);
        if let Ok(mut sessions) = self.sessions.try_lock() {
            sessions.push(session);
        }
        result
    }

    fn symbols(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Vec<u32>> {
        let text = bytes(text)?;
        let mut symbols = Vec::with_capacity(text.len().min(SHORT_TEXT) / 2 + 1);
        self.with_session(|session| {
            if text.len() < SHORT_TEXT {
                self.tokenizer.symbols(&[&text], session, &mut symbols, |_| {});
                return Ok(());
            }
            for piece in whitespace::cut(&text, text.len().div_ceil(PIECE)) {
                py.detach(|| self.tokenizer.symbols(&[piece], session, &mut symbols, |_| {}));
                py.check_signals()?;
            }
            Ok::<(), PyErr>(())
        })?;
        Ok(symbols)
    }

    /// The strings of a range of symbols; `strings` are those of the encoder's. A string counts who holds it, so each is
    /// asked for some time before its turn.
    fn tokens<'py>(
        &self,
        py: Python<'py>,
        symbols: &[u32],
        range: Range<usize>,
        strings: &[Py<PyString>],
    ) -> PyResult<Bound<'py, PyList>> {
        if symbols[range.clone()].iter().all(|&symbol| symbol & UNKNOWN == 0) {
            let string = |at: usize| {
                if let Some(later) = symbols.get(at + AHEAD).and_then(|&symbol| strings.get(symbol as usize))
                {
                    prefetch::object(later.as_ptr());
                }
                strings[symbols[at] as usize].bind(py)
            };
            return PyList::new(py, range.map(string));
        }
        let tokens = symbols[range].iter().map(|&symbol| self.token(py, symbol));
        PyList::new(py, tokens.collect::<PyResult<Vec<_>>>()?)
    }

    /// The symbols of texts, and where those of each end.
    fn symbols_of_all(&self, texts: &[&[u8]], session: &mut Session) -> (Vec<u32>, Vec<usize>) {
        let (mut symbols, mut ends) = (Vec::new(), Vec::with_capacity(texts.len()));
        self.tokenizer.symbols(texts, session, &mut symbols, |end| ends.push(end));
        (symbols, ends)
    }

    /// The ids of all texts, and where those of each begin and the last end.
    fn encode_all<T: AsRef<[u8]> + Send>(
        &self,
        py: Python<'_>,
        texts: impl Iterator<Item = PyResult<T>>,
        name: &dyn Fn(usize) -> String,
        threads: usize,
    ) -> PyResult<(PyArray, PyArray)> {
        let (mut all, known) = (Vec::new(), texts.size_hint().0);
        let mut offsets = Vec::with_capacity(known + 1);
        offsets.push(0);
        // What one thread has filled and another has emptied would come as fresh memory the next time.
        let spare = Mutex::new(Vec::<(Vec<u32>, Vec<usize>)>::new());
        let encode = |texts: &[&[u8]], session: &mut Session| {
            let (mut ids, mut ends) = lock(&spare).pop().unwrap_or_default();
            ids.clear();
            ends.clear();
            ids.reserve(texts.iter().map(|text| text.len()).sum::<usize>() / 4);
            ends.reserve(texts.len());
            self.tokenizer.encode(texts, session, &mut ids, &mut ends)?;
            Ok((ids, ends))
        };
        self.batch(py, texts, name, threads, &encode, |(ids, ends)| {
            let start = all.len();
            offsets.extend(ends.iter().map(|&end| i64::try_from(start + end).unwrap_or(i64::MAX)));
            reserve(&mut all, ids.len(), offsets.len() - 1, known);
            all.extend_from_slice(&ids);
            lock(&spare).push((ids, ends));
            Ok(())
        })?;
        all.shrink_to_fit();
        Ok((PyArray(Mutex::new(Numbers::Ids(all))), PyArray(Mutex::new(Numbers::Offsets(offsets)))))
    }

    /// Encodes texts on several threads, some megabytes at a time. `work` is for some texts; `each` gets what it gives, in
    /// order. A refusal begins with the `name` of its text.
    fn batch<T: AsRef<[u8]> + Send, R: Send>(
        &self,
        py: Python<'_>,
        mut texts: impl Iterator<Item = PyResult<T>>,
        name: &dyn Fn(usize) -> String,
        threads: usize,
        work: &Work<'_, R>,
        mut each: impl FnMut(R) -> PyResult<()>,
    ) -> PyResult<()> {
        let jobs = Jobs::default();
        let work = |session: &mut Session, group: Vec<T>| {
            let result = work(&group.iter().map(AsRef::as_ref).collect::<Vec<_>>(), session);
            (group, result)
        };
        std::thread::scope(|scope| {
            let mut others = Vec::new();
            let mut feed = || {
                let (mut refused, mut done) = (None, 0);
                loop {
                    // What is wrong with a text is said when those before it are done.
                    while refused.is_none() && jobs.pending() < threads * GROUPS {
                        let (group, error) = group_of(&mut texts);
                        refused = error;
                        if group.is_empty() {
                            break;
                        }
                        jobs.add(group);
                        if others.len() + 1 < threads && others.len() + 1 < jobs.waiting() {
                            others.push(scope.spawn(|| {
                                self.with_session(|session| jobs.serve(|group| work(session, group)));
                            }));
                        }
                    }
                    if jobs.pending() == 0 {
                        return refused.map_or(Ok(()), Err);
                    }
                    py.detach(|| {
                        self.with_session(|session| jobs.work(|group| work(session, group))) || {
                            jobs.wait();
                            true
                        }
                    });
                    while let Some((group, result)) = jobs.take() {
                        match result {
                            Ok(result) => each(result)?,
                            Err(index) => {
                                let (error, name) =
                                    (self.unknown(py, group[index].as_ref()), name(done + index));
                                return Err(bpe_error(py, format!("{name}: {}", error.value(py))));
                            }
                        }
                        done += group.len();
                    }
                    py.check_signals()?;
                    if others.iter().any(|other| other.is_finished()) {
                        return Ok(()); // it panicked, and the scope says so
                    }
                }
            };
            let result = feed();
            jobs.close();
            result
        })
    }

    /// The refusal of a text with a character that has no id.
    fn unknown(&self, py: Python<'_>, text: &[u8]) -> PyErr {
        let (code_point, place) = self.tokenizer.first_unknown(text).unwrap_or_default();
        let place = place.map_or("in word_prefix".to_string(), |at| format!("at position {at}"));
        let name = char_string(py, code_point).and_then(|character| Ok(character.repr()?.to_string()));
        let name = name.unwrap_or_default();
        let remedy = "give the tokenizer unknown=\"<unk>\" or unknown=\"bytes\", or a larger alphabet";
        bpe_error(py, format!("the character {name} (U+{code_point:04X}) {place} has no id: {remedy}"))
    }
}

/// Calls `f`, which must not let go of the GIL, with Python's garbage collector at rest. It would run each time some hundred
/// lists are made, look at all of them over and over, and find nothing: they hold only strings. Its module is imported
/// beforehand: to import it makes objects, and so lets the collector run between two calls.
fn uncollected<T>(collector: &Bound<'_, PyModule>, f: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    if !collector.call_method0("isenabled")?.extract::<bool>()? {
        return f();
    }
    collector.call_method0("disable")?;
    let result = f();
    collector.call_method0("enable")?;
    result
}

/// An argument that must be a string; all else is refused in the words of the reference.
fn string_of<'a, 'py>(
    value: &'a Bound<'py, PyAny>,
    name: impl FnOnce() -> String,
) -> PyResult<&'a Bound<'py, PyString>> {
    match value.cast() {
        Ok(string) => Ok(string),
        Err(_) => Err(PyErr::from_value(reference(value.py())?.call_method1("not_a_str", (name(), value))?)),
    }
}

/// The argument `text`.
fn text_of<'a, 'py>(text: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyString>> {
    string_of(text, || "text".to_string())
}

/// A text of a list. It is held, so it stays whatever becomes of the list.
enum Text {
    Utf8(PyBackedStr),
    Spelled(Vec<u8>),
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        match self {
            Text::Utf8(text) => text.as_bytes(),
            Text::Spelled(text) => text,
        }
    }
}

/// The texts of a list, each looked at when it is its turn.
fn texts_of(texts: &Bound<'_, PyList>) -> impl ExactSizeIterator<Item = PyResult<Text>> {
    texts.iter().enumerate().map(|(index, text)| {
        let text = string_of(&text, || nth_text(index))?;
        match PyBackedStr::try_from(text.clone()) {
            Ok(utf8) => Ok(Text::Utf8(utf8)),
            Err(_) => Ok(Text::Spelled(bytes(text)?.into_owned())),
        }
    })
}

/// The next texts, enough for a thread to work on at a time; and what is wrong with the one behind them, if it is that
/// which ends them.
fn group_of<T: AsRef<[u8]>>(texts: &mut impl Iterator<Item = PyResult<T>>) -> (Vec<T>, Option<PyErr>) {
    let (mut group, mut size) = (Vec::new(), 0);
    while size < GROUP {
        match texts.next() {
            Some(Ok(text)) => {
                size += text.as_ref().len() + 16;
                group.push(text);
            }
            Some(Err(error)) => return (group, Some(error)),
            None => break,
        }
    }
    (group, None)
}

/// Makes room for `more` ids, and for those of the texts to come, if these have as many as the `done` of `known` texts: to grow
/// step by step means to copy, and to have fresh memory again and again. What is not used costs nothing.
fn reserve(ids: &mut Vec<u32>, more: usize, done: usize, known: usize) {
    let size = ids.len() + more;
    if size > ids.capacity() {
        let expected = (size + size / 16).saturating_mul(known) / done.max(1);
        // Where so much is refused, room is made step by step.
        let _ = ids.try_reserve_exact(expected.clamp(2 * size, 16 * size) - ids.len());
    }
}

/// What a text is called in messages.
fn nth_text(index: usize) -> String {
    format!("texts[{index}]")
}

/// The strings of rules in generalized UTF-8, one behind the other.
struct Rules {
    bytes: Vec<u8>,
    ends: Vec<usize>, // of left and right parts in turn
}

impl Rules {
    /// The rules of a list; what is no rule is refused in the words of the reference. Each object is looked at once: with
    /// many rules, to find it in memory takes longest.
    fn of(merges: &Bound<'_, PyList>, name: &str) -> PyResult<Rules> {
        let mut rules = Rules { bytes: Vec::new(), ends: Vec::with_capacity(2 * merges.len()) };
        for rule in merges.iter() {
            let Some(parts) = parts(&rule) else { return Err(Rules::refusal(merges, name)) };
            for part in &parts {
                let bytes = bytes(part)?;
                if bytes.is_empty() {
                    return Err(Rules::refusal(merges, name));
                }
                rules.bytes.extend_from_slice(&bytes);
                rules.ends.push(rules.bytes.len());
            }
        }
        Ok(rules)
    }

    fn refusal(merges: &Bound<'_, PyList>, name: &str) -> PyErr {
        let refused = reference(merges.py())
            .and_then(|reference| reference.call_method1("rules", (merges, name)))
            .and_then(|rules| rules.try_iter()?.try_for_each(|rule| rule.map(drop)));
        refused
            .err()
            .unwrap_or_else(|| PyTypeError::new_err(format!("{name} must be a list of pairs of strings")))
    }

    fn pairs(&self) -> Vec<Pair<'_>> {
        let mut start = 0;
        let pair = |&[middle, end]: &[usize; 2]| {
            let pair = (&self.bytes[start..middle], &self.bytes[middle..end]);
            start = end;
            pair
        };
        self.ends.as_chunks().0.iter().map(pair).collect()
    }
}

/// The two parts of a rule, if it is a list or a tuple of two strings.
fn parts<'py>(rule: &Bound<'py, PyAny>) -> Option<[Bound<'py, PyString>; 2]> {
    let [left, right] = if let Ok(list) = rule.cast::<PyList>() {
        if list.len() != 2 {
            return None;
        }
        [list.get_item(0).ok()?, list.get_item(1).ok()?]
    } else {
        let tuple = rule.cast::<PyTuple>().ok()?;
        if tuple.len() != 2 {
            return None;
        }
        [tuple.get_item(0).ok()?, tuple.get_item(1).ok()?]
    };
    Some([left.cast_into().ok()?, right.cast_into().ok()?])
}
