//! The server of the explorer's page.
//!
//! | module | what |
//! | --- | --- |
//! | `server` | connections: how many, how long, how large |
//! | `patience` | peers that take no answer |
//! | `guard` | who may ask: this machine's own page and nobody else |
//! | `routes` | which path answers what |
//! | `assets` | the page, embedded |
//!
//! Answers come from [`smallfloat_lab::explorer`]; here nothing is computed and nothing is
//! remembered between requests.

mod assets;
mod guard;
mod patience;
mod routes;
mod server;

pub(crate) use server::serve;
