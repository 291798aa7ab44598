//! The kernels of exactbpe. They know nothing of Python, but for `python`.
//!
//! ```text
//! texts -> words -> WordCounts -> Learner -> merges -> Encoder -> tokens
//!     whitespace   count      learn              encode
//! ```
//!
//! `chars` and `symbols` are the alphabets of the two ends, characters and strings. Inside `count` words are dealt
//! (`dealt_words`) into tables (`word_table`): a `packed_word` goes to `packed_words`, another `word` to `arena_words`, both in
//! `word_slots`. Inside `learn`, `sequence` is the array of all words that `layout` makes, `recount` finds the pairs worth
//! tracking by `pair_matrix` or by `pair_filter`, `sieve` and `pair_counts`, and their `positions`; `pairs` says which comes
//! next.
//! Inside `encode`, `names` and `ranks`, kept in numbers of one `width` or another, are the compiled rules. `short_word` and
//! `long_word` are the two roads of a word; short ones take `turns`, and most words have no more tokens than a `run`. The
//! `session` of a `tokenizer` cuts words at `seams` and remembers them in a `word_cache`. `model_text` reads files of trained
//! merges, `joined` makes pairs of ranked strings.
//!
//! `parallel` and `jobs` put threads to work, `prefetch` and `large_pages` ask for memory, `lanes` looks at several
//! numbers at once.

pub mod arena_words;
pub mod chars;
pub mod compaction;
pub mod count;
pub mod counts_file;
pub mod dealt_words;
pub mod encode;
pub mod error;
pub mod hash;
pub mod jobs;
pub mod joined;
pub mod lanes;
pub mod large_pages;
pub mod layout;
pub mod learn;
pub mod long_word;
pub mod model_text;
pub mod names;
pub mod neighbours;
pub mod packed_word;
pub mod packed_words;
pub mod pair_counts;
pub mod pair_filter;
pub mod pair_matrix;
pub mod pairs;
pub mod parallel;
pub mod positions;
pub mod prefetch;
pub mod ranks;
pub mod recount;
pub mod run;
pub mod seams;
pub mod sequence;
pub mod session;
pub mod short_word;
pub mod sieve;
pub mod symbols;
pub mod text_counter;
pub mod tokenizer;
pub mod turns;
pub mod whitespace;
pub mod width;
pub mod word;
pub mod word_cache;
pub mod word_slots;
pub mod word_table;

#[cfg(feature = "python")]
mod python;
