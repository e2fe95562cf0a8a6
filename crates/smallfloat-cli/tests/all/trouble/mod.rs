//! The command in trouble: calls that fail, kills, signals, limits.

mod faults;
mod interrupted;
