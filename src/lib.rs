//! The kernels of exactbpe. They know nothing of Python, but for `python`.
//!
//! ```text
//! texts -> words -> WordCounts -> Learner -> merges -> Encoder -> tokens
//!     whitespace   count      learn              encode
//! ```
//!
//! `chars` and `symbols` are the alphabets of the two ends, characters and strings. Inside `learn`, `sequence` is the
//! array of all words that `layout` makes, `recount` finds the pairs worth tracking by `pair_matrix` or by `pair_filter` and
//! `pair_counts`, and their `positions`; `pairs` says which comes next.

pub mod chars;
pub mod compaction;
pub mod count;
pub mod counts_file;
pub mod encode;
pub mod error;
pub mod hash;
pub mod layout;
pub mod learn;
pub mod model_text;
pub mod neighbours;
pub mod pair_counts;
pub mod pair_filter;
pub mod pair_matrix;
pub mod pairs;
pub mod parallel;
pub mod positions;
pub mod recount;
pub mod seams;
pub mod sequence;
pub mod symbols;
pub mod text_counter;
pub mod tokenizer;
pub mod whitespace;

#[cfg(feature = "python")]
mod python;
