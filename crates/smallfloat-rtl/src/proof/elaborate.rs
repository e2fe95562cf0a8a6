//! What a design is, as Yosys reads it: its ports, and whether it has registers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde_json::Value;

use super::{Bound, Design};
use crate::error::Error;
use crate::specification::{Port, Specification, takes_bias};
use crate::tools::YOSYS;

/// A design's ports by their names: whether an input, and how wide.
type Ports = BTreeMap<String, (bool, u32)>;

/// Reading a design takes no longer than this.
const LIMIT: Duration = Duration::from_secs(300);

/// A path in a script of Yosys.
pub(super) fn quoted(path: &Path) -> Result<String, Error> {
    let wrong = || Error::Path { path: path.to_owned() };
    let text = path.to_str().ok_or_else(wrong)?;
    if text.contains(|c: char| c == '"' || c == '\\' || c.is_control()) {
        return Err(wrong());
    }
    Ok(format!("\"{text}\""))
}

impl Design {
    /// The files as they can be named from any folder.
    pub(super) fn absolute_files(&self) -> Result<Vec<PathBuf>, Error> {
        let absolute = |path: &PathBuf| {
            let is_folder = || io::Error::new(io::ErrorKind::IsADirectory, "it is a folder");
            let found = fs::canonicalize(path).and_then(|found| {
                if found.is_dir() { Err(is_folder()) } else { fs::File::open(&found).map(|_| found) }
            });
            found.map_err(|cause| Error::File { path: path.clone(), cause })
        };
        self.files.iter().map(absolute).collect()
    }

    /// The command with which Yosys reads the files.
    pub(super) fn read_command(&self) -> Result<String, Error> {
        let mut command = "read_verilog -sv".to_owned();
        for folder in &self.includes {
            let found =
                fs::canonicalize(folder).map_err(|cause| Error::File { path: folder.clone(), cause })?;
            quoted(&found)?;
            command += " \"-I";
            command += &found.display().to_string();
            command.push('"');
        }
        for file in self.absolute_files()? {
            command += " ";
            command += &quoted(&file)?;
        }
        Ok(command)
    }

    /// Reads the design and binds its ports to those of the specification.
    pub(super) fn bind(&self, specification: &Specification, folder: &Path) -> Result<Bound, Error> {
        let parameters: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!(" -chparam {name} {value}")).collect();
        // `ls` lists the modules before one of them has to be there.
        let script = format!(
            "{}\ntee -q -o modules.txt ls\nhierarchy -check -top {}{}\nproc\nflatten\nopt_clean\nwrite_json design.json\n",
            self.read_command()?,
            self.top,
            parameters.concat()
        );
        write(&folder.join("design.ys"), &script)?;
        let arguments = ["-q", "-s", "design.ys"].map(str::to_owned);
        let run = YOSYS.run(folder, &arguments, Some(LIMIT))?;
        if !run.succeeded {
            if let Ok(modules) = fs::read_to_string(folder.join("modules.txt")) {
                self.check_top(&modules)?;
            }
            return Err(self.refused(YOSYS.name, &run.error()));
        }
        let path = folder.join("design.json");
        let text = fs::read_to_string(&path).map_err(|cause| Error::File { path, cause })?;
        let json: Value = serde_json::from_str(&text).map_err(|_| not_understood())?;
        let modules = json["modules"].as_object().ok_or_else(not_understood)?;
        let is_top =
            |module: &&Value| module["attributes"]["top"].as_str().is_some_and(|text| text.ends_with('1'));
        let module = modules.values().find(is_top).ok_or_else(not_understood)?;
        self.check_registers(module)?;
        self.connect(specification, &ports(module)?)
    }

    /// A tool's refusal: files as they were named, with the line that it names, and what would be
    /// right where that is known.
    pub(super) fn refused(&self, tool: &'static str, message: &str) -> Error {
        let quoted = message.split('`').nth(1);
        if let Some(name) = quoted.filter(|_| message.contains("Can't find object for defparam")) {
            return Error::Parameter { top: self.top.clone(), name: name.to_owned() };
        }
        let mut message = message.to_owned();
        for file in &self.files {
            let Ok(absolute) = fs::canonicalize(file) else { continue };
            let Some(at) = message.find(&format!("{}:", absolute.display())) else { continue };
            let name = absolute.display().to_string();
            message.replace_range(at..at + name.len(), &file.display().to_string());
            let after = &message[at + file.display().to_string().len() + 1..];
            let number: String = after.chars().take_while(char::is_ascii_digit).collect();
            let text = fs::read(file).unwrap_or_default();
            let line = number.parse::<usize>().ok().and_then(|number| {
                String::from_utf8_lossy(&text).lines().nth(number.checked_sub(1)?).map(str::to_owned)
            });
            if let Some(line) = line {
                message = format!("{message}\n  {number} | {line}");
            }
            break;
        }
        if message.contains("is not part of the design") {
            message.truncate(message.trim_end_matches('.').len());
            message += "; --dut takes more than one file";
        }
        Error::Refused { tool, message }
    }

    fn check_top(&self, listed: &str) -> Result<(), Error> {
        let modules: Vec<&str> =
            listed.lines().filter_map(|line| line.strip_prefix("  ")).map(str::trim).collect();
        if modules.is_empty() || modules.contains(&self.top.as_str()) {
            return Ok(());
        }
        Err(Error::Top { top: self.top.clone(), modules: modules.join(", ") })
    }

    /// Solver and evaluation take every register at every step, whatever clocks it: so registers
    /// must have one clock and one edge.
    fn check_registers(&self, module: &Value) -> Result<(), Error> {
        let name = self.ports.name("clock");
        let clock = &module["ports"][name]["bits"][0];
        let (mut registers, mut rising, mut falling, mut others) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut latches = Vec::new();
        for cell in module["cells"].as_object().ok_or_else(not_understood)?.values() {
            let kind = cell["type"].as_str().ok_or_else(not_understood)?;
            let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| kind.starts_with(prefix));
            let source = || {
                let place = cell["attributes"]["src"].as_str().unwrap_or(kind);
                let place = place.split('|').next().unwrap_or(place);
                place.rsplit('/').next().unwrap_or(place).to_owned()
            };
            // A memory that is written is registers; one that is only read is a table.
            let is_written = kind.starts_with("$memwr");
            if is(&["$dff", "$adff", "$sdff", "$aldff", "$ff"]) || is_written {
                registers.push(source());
                let is_rising = cell["parameters"]["CLK_POLARITY"].as_str().map(|text| text.ends_with('1'));
                match is_rising.filter(|_| cell["connections"]["CLK"][0] == *clock) {
                    Some(true) => rising.push(source()),
                    Some(false) => falling.push(source()),
                    None => others.push(source()),
                }
            } else if is(&["$dlatch", "$adlatch", "$sr"]) {
                latches.push(source());
            }
        }
        let some = |mut places: Vec<String>| {
            places.sort_unstable();
            places.dedup();
            places.truncate(3);
            places.join(", ")
        };
        if !latches.is_empty() {
            return Err(Error::Latch { top: self.top.clone(), latches: some(latches) });
        }
        if self.latency == 0 && !registers.is_empty() {
            return Err(Error::Sequential { top: self.top.clone(), registers: some(registers) });
        }
        if others.is_empty() && !rising.is_empty() {
            others = falling;
        }
        // Without the port there is another error to name.
        if !others.is_empty() && !clock.is_null() {
            let (top, clock) = (self.top.clone(), name.to_owned());
            return Err(Error::Clocks { top, registers: some(others), clock });
        }
        Ok(())
    }

    fn connect(&self, specification: &Specification, ports: &Ports) -> Result<Bound, Error> {
        let top = || self.top.clone();
        let of_direction = |is_input: bool| {
            let names: Vec<&str> =
                ports.iter().filter(|(_, port)| port.0 == is_input).map(|(name, _)| name.as_str()).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let (inputs, outputs) = (specification.inputs(), specification.outputs());
        let mut known: Vec<&str> = inputs.iter().chain(&outputs).map(|port| port.name.as_str()).collect();
        known.extend(["bias", "flags"].into_iter().filter(|name| !known.contains(name)).collect::<Vec<_>>());
        if self.latency > 0 {
            known.push("clock");
        }
        for (port, _) in self.ports.renamed() {
            if !known.contains(&port) {
                return Err(Error::UnknownPort { port: port.to_owned(), known: known.join(", ") });
            }
        }
        let width = |port: &Port, given: u32, is_output: bool| {
            let wider = is_output && port.name == "flags" && given > port.bits;
            if given == port.bits || wider {
                return Ok(());
            }
            let what = match port.name.as_str() {
                "random" | "bias" | "flags" => format!("`{}`", port.name),
                name => format!("`{name}` of {}", specification.unit().operation()),
            };
            let name = self.ports.name(&port.name).to_owned();
            Err(Error::PortWidth { top: top(), name, given, what, expected: port.bits })
        };
        let mut bound = Bound::default();
        let find = |port: &Port, is_input: bool| {
            let name = self.ports.name(&port.name);
            match ports.get(name) {
                Some((direction, bits)) if *direction == is_input => {
                    width(port, *bits, !is_input)?;
                    Ok((name.to_owned(), *bits))
                }
                _ => Err(Error::MissingPort {
                    top: top(),
                    direction: if is_input { "input" } else { "output" },
                    name: name.to_owned(),
                    port: port.name.clone(),
                    known: of_direction(is_input),
                }),
            }
        };
        for port in &inputs {
            let (name, _) = find(port, true)?;
            bound.connections.push((name, port.name.clone()));
        }
        for port in &outputs {
            let flags = self.ports.name("flags");
            if port.name == "flags" && flags == "flags" && !ports.contains_key(flags) {
                continue;
            }
            let (name, bits) = find(port, false)?;
            if port.name == "flags" {
                bound.flag_bits = Some(bits);
            }
            bound.connections.push((name, format!("given_{}", port.name)));
        }
        if self.latency > 0 {
            let (clock, _) = find(&Port { name: "clock".into(), bits: 1 }, true)?;
            bound.connections.push((clock, "clock".into()));
        }
        for (name, value) in &self.ties {
            let tie = |problem: String| Error::Tie { name: name.clone(), value: *value, problem };
            let Some((true, bits)) = ports.get(name) else {
                return Err(tie(format!(
                    "module {} has no such input; it has {}",
                    self.top,
                    of_direction(true)
                )));
            };
            if *bits < 64 && value >> bits != 0 {
                return Err(tie(too_wide(*bits)));
            }
            if bound.connections.iter().any(|(connected, _)| connected == name) {
                return Err(tie("the input is the specification's".into()));
            }
            bound.connections.push((name.clone(), format!("{bits}'h{value:x}")));
        }
        self.tie_bias(specification, ports, &mut bound)?;
        for (name, (is_input, _)) in ports {
            if *is_input && !bound.connections.iter().any(|(connected, _)| connected == name) {
                return Err(Error::FreeInput { top: top(), name: name.clone() });
            }
        }
        Ok(bound)
    }

    /// A port `bias` of a design whose bias is a constant of the specification has this constant.
    fn tie_bias(&self, specification: &Specification, ports: &Ports, bound: &mut Bound) -> Result<(), Error> {
        let name = self.ports.name("bias");
        if specification.has_bias_port() || bound.connections.iter().any(|(connected, _)| connected == name) {
            return Ok(());
        }
        let Some((true, bits)) = ports.get(name) else { return Ok(()) };
        let formats = specification.unit().operation().formats();
        let mut biases: Vec<i32> =
            formats.iter().filter(|format| takes_bias(format)).map(smallfloat::Format::bias).collect();
        biases.dedup();
        if let [bias] = biases[..] {
            let value = bias.cast_unsigned();
            if bias < 0 || *bits < 32 && value >> bits != 0 {
                let problem = too_wide(*bits);
                return Err(Error::Tie { name: name.to_owned(), value: u64::from(value), problem });
            }
            bound.connections.push((name.to_owned(), format!("{bits}'d{bias}")));
        }
        Ok(())
    }
}

/// What is wrong with a constant for a port of fewer bits.
fn too_wide(bits: u32) -> String {
    format!(
        "the largest value of {bits} bit{} is {}",
        if bits == 1 { "" } else { "s" },
        u64::MAX >> (64 - bits)
    )
}

fn ports(module: &Value) -> Result<Ports, Error> {
    let port = |(name, port): (&String, &Value)| {
        let bits = port["bits"].as_array().and_then(|bits| u32::try_from(bits.len()).ok())?;
        Some((name.clone(), (port["direction"] == "input", bits)))
    };
    let ports = module["ports"].as_object().and_then(|ports| ports.iter().map(port).collect());
    ports.ok_or_else(not_understood)
}

/// Yosys' description of the design lacks what it always has.
fn not_understood() -> Error {
    Error::NoAnswer { tool: YOSYS.name, message: "design.json is not understood".into() }
}

/// Writes a file of ours.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|cause| Error::File { path: path.to_owned(), cause })
}
