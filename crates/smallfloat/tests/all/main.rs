//! What the library says and computes, with values typed in or from integers and the standard
//! library: one program, so that it is linked once.

#[cfg(feature = "math")]
mod blocks;
mod codebooks;
mod custom_formats;
mod flag_policies;
mod format_rules;
mod host;
mod names_and_texts;
mod operations;
mod policies;
mod printed;
mod scalar_arithmetic;
mod scalar_features;
mod scalar_regressions;
mod scalar_words;
#[cfg(feature = "math")]
mod specializations;
mod vocabulary;
