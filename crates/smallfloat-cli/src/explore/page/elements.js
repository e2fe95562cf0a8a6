// Elements, questions, and small helpers that all views share.

import { post } from "./answers.js";

// el("p.note", { title: "…" }, "text", child)
export function el(what, attributes = {}, ...children) {
  return made(document.createElement(what.split(".")[0]), what, attributes, children);
}

export function svg(what, attributes = {}, ...children) {
  return made(document.createElementNS("http://www.w3.org/2000/svg", what.split(".")[0]), what, attributes, children);
}

function made(node, what, attributes, children) {
  const classes = what.split(".").slice(1);
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, v] of Object.entries(value)) node.style.setProperty(`--${key}`, v);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const $ = (id) => document.getElementById(id);

export function ask(question, signal) {
  return post("/ask", "application/json", JSON.stringify(question), signal);
}

// Sends a file after a line of JSON.
export function send(about, file, signal) {
  return post("/tensor", "application/octet-stream", new Blob([`${JSON.stringify(about)}\n`, file]), signal);
}

let pending = 0;

// The page says when answers are on their way.
function busy(by) {
  pending += by;
  document.body.setAttribute("aria-busy", String(pending > 0));
}

// A function that runs `work(signal)` and drops answers that a later call has overtaken. Calls within a frame are one.
export function latest(work, failed) {
  let controller = null;
  let waiting = 0;
  const run = async () => {
    waiting = 0;
    controller?.abort();
    const mine = new AbortController();
    controller = mine;
    try {
      await work(mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) failed(error);
    } finally {
      busy(-1);
    }
  };
  return () => {
    if (waiting) return;
    busy(1);
    waiting = requestAnimationFrame(run);
  };
}

// Shows or hides what went wrong.
export function trouble(place, text) {
  place.textContent = text ?? "";
  place.hidden = !text;
}

export function announce(text) {
  $("announce").textContent = text;
}

// A row of buttons of which one is pressed.
export function segments(label, choices, chosen, pick) {
  const buttons = choices.map(([value, text]) =>
    el("button", { type: "button", "aria-pressed": String(value === chosen()), onclick: () => pick(value) }, text),
  );
  const node = el("div.segments", { role: "group", "aria-label": label }, buttons);
  node.refresh = () => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(choices[i][0] === chosen())));
  return node;
}

export function options(select, choices, chosen) {
  select.replaceChildren(...choices.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
  select.value = chosen;
}

// The cell of a square that a key leads to from another one.
export function beside(cells, from, columns, key) {
  const i = cells.indexOf(from);
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, Home: -(i % columns), End: columns - 1 - (i % columns), PageUp: -i, PageDown: cells.length - 1 - i }[key];
  return i < 0 || by === undefined ? undefined : cells[i + by];
}

let ids = 0;

// A control with its label above.
export function field(label, control, hint) {
  control.id ||= `field-${(ids += 1)}`;
  const note = hint ? el("small", { id: `${control.id}-hint` }, hint) : null;
  if (note) control.setAttribute("aria-describedby", [note.id, control.getAttribute("aria-describedby")].filter(Boolean).join(" "));
  return el("div.field", {}, el("label", { for: control.id }, label), control, note);
}

// A decimal in at most so many significant digits, for a cell or an axis.
export function brief(decimal, digits = 4) {
  const text = decimal.replace("≈", "");
  // A sign takes no digit away.
  if (text.startsWith("-")) return `−${brief(text.slice(1), digits)}`;
  const x = Number(text);
  if (text.length <= digits + 1 || !Number.isFinite(x)) return minus(text);
  const size = Math.abs(x);
  if (size >= 1e-4 && size < 10 ** Math.max(digits, 5)) return minus(String(Number(x.toPrecision(digits))));
  return minus(x.toExponential(digits - 1).replace(/\.?0*e\+?/, "e"));
}

// The most significant digits that fit into a cell.
export function fitted(text, room = 6) {
  const decimal = text.replace("≈", "");
  if (decimal.startsWith("-")) return `−${fitted(decimal.slice(1), room)}`;
  // A power of two beyond the numbers of a browser.
  if (!Number.isFinite(Number(decimal))) return minus(decimal);
  const texts = [5, 4, 3, 2].map((digits) => brief(decimal, digits));
  return texts.find((text) => text.length <= room) ?? minus(Number(decimal).toExponential(0).replace("e+", "e"));
}

const RAISED = { "⁻": "-" };
"⁰¹²³⁴⁵⁶⁷⁸⁹".split("").forEach((raised, i) => (RAISED[raised] = String(i)));
const TO_RAISED = Object.fromEntries(Object.entries(RAISED).map(([raised, plain]) => [plain, raised]));

// 2 to a power, with raised digits.
export function power(n) {
  return `2${String(n).replace(/[-0-9]/g, (c) => TO_RAISED[c])}`;
}

// `9p-3` as 9 · 2⁻³, `1p4` as 2⁴.
export function exact(text) {
  const match = /^(-?)(\d+)p(-?\d+)$/.exec(text ?? "");
  if (!match) return text ?? "";
  const [, sign, integer, exponent] = match;
  const minus = sign ? "−" : "";
  if (exponent === "0") return `${minus}${integer}`;
  return integer === "1" ? `${minus}${power(exponent)}` : `${minus}${integer} · ${power(exponent)}`;
}

// Text with true minus signs, and exact values as people write them.
export const minus = (text) => text.replace(/-?\d+p-?\d+/g, exact).replace(/-(?=[\d.I∞])/g, "−");

// `= 1.125`, or `≈ 9.3e−10` of a decimal that is rounded.
export const equals = (decimal) => minus(decimal.startsWith("≈") ? `≈ ${decimal.slice(1)}` : `= ${decimal}`);

const LETTERS = { I: "invalid", D: "denormal", O: "overflow", U: "underflow", X: "inexact", Z: "division by zero" };

// Flags as small marks with their names.
export function flags(letters) {
  if (letters === "-") return el("span.none", {}, "none");
  return el("span.flags", {}, [...letters].map((letter) => el(`abbr.flag.flag-${letter}`, { title: LETTERS[letter] }, LETTERS[letter])));
}

// A number of elements as a share of all.
export function share(count, all) {
  if (count === 0 || all === 0) return "0";
  const percent = (100 * count) / all;
  return `${percent < 0.01 ? "<0.01" : percent > 99.99 && count < all ? ">99.99" : Number(percent.toPrecision(3))} %`;
}
