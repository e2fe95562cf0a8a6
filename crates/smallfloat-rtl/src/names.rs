//! Names that SystemVerilog takes.

use crate::error::Error;

/// The keywords of IEEE 1800-2017, annex B.
const KEYWORDS: &str = "
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before
begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class
clocking cmos config const constraint context continue cover covergroup coverpoint cross deassign
default defparam design disable dist do edge else end endcase endchecker endclass endclocking
endconfig endfunction endgenerate endgroup endinterface endmodule endpackage endprimitive endprogram
endproperty endsequence endspecify endtable endtask enum event eventually expect export extends
extern final first_match for force foreach forever fork forkjoin function generate genvar global
highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include
initial inout input inside instance int integer interconnect interface intersect join join_any
join_none large let liblist library local localparam logic longint macromodule matches medium
modport module nand negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null or
output package packed parameter pmos posedge primitive priority program property protected pull0
pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence
rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal
showcancelled signed small soft solve specify specparam static string strong strong0 strong1 struct
super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union
unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait wait_order
wand weak weak0 weak1 while wildcard wire with within wor xnor xor";

/// Checks the name of a module, a port or a parameter.
///
/// # Errors
/// Other characters than letters, digits and underscores, a digit first, and keywords.
pub fn check_name(name: &str) -> Result<(), Error> {
    let refuse = |reason| Err(Error::Name { name: name.to_owned(), reason });
    let is_spelled = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_spelled {
        return refuse("write letters, digits and underscores, a letter first");
    }
    if KEYWORDS.split_ascii_whitespace().any(|keyword| keyword == name) {
        return refuse("it is a keyword");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{KEYWORDS, check_name};

    #[test]
    fn keywords_are_no_names() {
        for name in ["specification", "_8to4", "Module", "wires", "x"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "4to8", "a b", "ß", "x;y", "module", "soft", "wire"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        let error = check_name("always").expect_err("a keyword").to_string();
        assert_eq!(error, "`always` is no name in SystemVerilog: it is a keyword");
        let keywords: Vec<&str> = KEYWORDS.split_ascii_whitespace().collect();
        assert_eq!(keywords.len(), 248);
        assert!(keywords.is_sorted());
    }
}
