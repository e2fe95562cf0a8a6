//! What the library says and computes, with values typed in or from integers and the standard
//! library.

mod flag_policies;
mod format_rules;
mod names_and_texts;
mod operations;
mod policies;
mod printed;
mod scalar_words;
