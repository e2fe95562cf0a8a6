//! `smallfloat explore`: formats to look at, in a page that the command itself serves.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::Result;

use crate::explore;
use crate::render::output::{Message, Output, message};

const AFTER_HELP: &str = "\
Examples:
  smallfloat explore                       opens the page in the browser
  smallfloat explore --port 8080 --no-open the same at a known address
  ssh -L 8080:127.0.0.1:8080 HOST smallfloat explore --port 8080 --no-open

The page is served to this machine only, at 127.0.0.1. It loads nothing from elsewhere,
and files dropped on it are read in memory. Ctrl-C ends it.";

/// Look at formats in a local web page: lines, codes, rounding.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The port at 127.0.0.1 [default: 0, a free one]
    #[arg(long, value_name = "N")]
    port: Option<u16>,

    /// Print the address and do not open a browser
    #[arg(long)]
    no_open: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    explore::serve(args.port, |address| announce(args, address, out))
}

fn announce(args: &Args, address: SocketAddr, out: &mut Output) -> Result<()> {
    let url = format!("http://{address}/");
    let shown = out.bold(&url);
    writeln!(out, "The explorer is at {shown} (Ctrl-C ends it)")?;
    out.flush()?;
    if !args.no_open
        && let Err(error) = open::that_detached(&url)
    {
        message(Message::Note, &format!("no browser could be opened ({error}); open {url} yourself"));
    }
    Ok(())
}
