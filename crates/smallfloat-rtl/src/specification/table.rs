//! Everything whose operands have few bits together: a row of the core's answers for each.

use dashu_int::UBig;

use super::Specification;
use super::operand::line;
use super::text::{declare, literal};

/// The most bits that the operands have together.
const MAX_BITS: u32 = 16;

/// How many bits an inner table has at most.
const LOW: u32 = 8;

/// The body of the module; or why there is none.
pub(super) fn body(specification: &Specification) -> Result<String, String> {
    let unit = specification.unit();
    let bits: u32 = unit.operands().iter().map(|field| field.bits).sum();
    if bits > MAX_BITS {
        return Err(format!(
            "its operands have {bits} bits together; other operations than Convert, Add, Subtract, Multiply, FMA, \
             FAA and BlockDotProduct are specified up to {MAX_BITS}"
        ));
    }
    let outputs = specification.outputs();
    let result_bits = outputs[0].bits;
    let flag_bits = outputs.get(1).map_or(0, |port| port.bits);
    let row_bits = result_bits + flag_bits;
    let mut rows = Vec::new();
    for packed in 0..1_u64 << bits {
        let mut operands = vec![0; unit.operands().len()];
        let mut rest = packed;
        for (operand, field) in operands.iter_mut().zip(unit.operands()).rev() {
            *operand = rest & field.max();
            rest >>= field.bits;
        }
        let outcome = unit.evaluate(&operands).map_err(|error| error.to_string())?;
        let flags = u64::from((outcome.flags & specification.flags()).bits_in(specification.order()));
        rows.push(outcome.results()[0] << flag_bits | flags);
    }
    let names: Vec<String> = specification.inputs().into_iter().map(|port| port.name).collect();
    let mut text = format!(
        "    // One row for all operands: {}, the result{} in hexadecimal.\n",
        names.join(", "),
        if flag_bits > 0 { " and below it the flags" } else { "" }
    );
    let range = |bits: u32| if bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) };
    let operands = if names.len() == 1 { names[0].clone() } else { format!("{{{}}}", names.join(", ")) };
    declare(&mut text, bits, "operands", &operands);
    line(&mut text, &format!("    reg {}row;", range(row_bits)));
    line(&mut text, "    always @* begin");
    let value = |row: u64| literal(row_bits, &UBig::from(row));
    // A table of tables, which all tools read in time that grows as the rows do.
    let low = bits.min(LOW);
    let inner = |text: &mut String, margin: &str, rows: &[u64]| {
        let below = if bits > low { format!("operands[{}:0]", low - 1) } else { "operands".into() };
        line(text, &format!("{margin}case ({below})"));
        for (key, row) in (0_u64..).zip(rows) {
            line(text, &format!("{margin}    {}: row = {};", literal(low, &UBig::from(key)), value(*row)));
        }
        line(text, &format!("{margin}    default: row = {};\n{margin}endcase", value(0)));
    };
    if bits > low {
        line(&mut text, &format!("        case (operands[{}:{low}])", bits - 1));
        for (key, rows) in (0_u64..).zip(rows.chunks(1 << low)) {
            line(&mut text, &format!("            {}:", literal(bits - low, &UBig::from(key))));
            inner(&mut text, "                ", rows);
        }
        line(&mut text, &format!("            default: row = {};\n        endcase", value(0)));
    } else {
        inner(&mut text, "        ", &rows);
    }
    line(&mut text, "    end");
    let part = |high: u32, low: u32| {
        if row_bits == 1 {
            String::new()
        } else if high == low {
            format!("[{high}]")
        } else {
            format!("[{high}:{low}]")
        }
    };
    line(&mut text, &format!("    assign result = row{};", part(row_bits - 1, flag_bits)));
    if flag_bits > 0 {
        line(&mut text, &format!("    assign flags = row{};", part(flag_bits - 1, 0)));
    }
    Ok(text)
}
