// Lists of values, which have no exponent and no precision, and the nearest value to a number.

import { $, ask, beside, brief, el, exact, field, fitted, latest, minus, options, svg, trouble } from "./elements.js";
import { catalogue } from "./format.js";
import { change, state, watch } from "./state.js";

const HEIGHT = 96;
const AXIS = 58;
// Of more values the middles between them are not drawn.
const MOST_MIDDLES = 32;

const choose = el("select");
const input = el("input.large", { type: "text", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "list-reading" });
const wrong = el("p.trouble", { role: "alert", hidden: true });
const facts = el("p.reading.note");
const reading = el("p.reading", { id: "list-reading", "aria-live": "polite" });
const line = el("div.between");
const around = el("div.around");
const square = el("div.square", { role: "grid", "aria-labelledby": "list-codes-title" });
const results = el("div");

export function start() {
  options(choose, catalogue.lists.map((list) => [list, list]), state.list);
  results.append(
    el("section.card", { "aria-labelledby": "nearest-title" }, el("h2", { id: "nearest-title" }, "The nearest value"), reading, line, around),
    el("section.card", { "aria-labelledby": "list-codes-title" }, el("div.head", {}, el("h2", { id: "list-codes-title" }, "All codes")), square),
  );
  $("view-lists").append(
    el("section.card", { "aria-label": "List and value" },
      el("div.entry", {}, field("Number", input, "1.1, −2.5e-3, 0x1.8p-3, 1/3, inf; or a code: #3"), field("List", choose)),
      wrong, facts),
    results);
  input.addEventListener("input", () => change({ value: input.value }));
  choose.addEventListener("change", () => change({ list: choose.value }));
  square.addEventListener("keydown", keys);
  watch((changed) => ["tab", "list", "value"].some((key) => changed.has(key)) && refresh());
  refresh();
}

let answer = null;

const refresh = latest(async (signal) => {
  if (document.activeElement !== input) input.value = state.value;
  choose.value = state.list;
  if (state.tab !== "lists") return;
  answer = await ask({ ask: "list", list: state.list, text: state.value.replaceAll("−", "-") }, signal);
  trouble(wrong, "");
  results.hidden = false;
  show();
}, (error) => {
  trouble(wrong, error.message);
  facts.replaceChildren();
  results.hidden = true;
});

function show() {
  const { name, width, ties, source, codes, fell } = answer;
  facts.replaceChildren(`${name}: ${width} bits; a number becomes the nearest value, ties ${ties}; beyond the ends, the value there. ${source}.`);
  const at = codes[fell.code];
  const ascending = codes.filter((code) => code.rank !== null).sort((a, b) => a.rank - b.rank);
  const value = [el("b", {}, minus(at.value.decimal)), " ", el("code", {}, at.hex), at.value.exact.includes("p") ? ` = ${exact(at.value.exact)}` : ""];
  const place = at.rank === null ? "rounding never gives this code" : `${at.rank + 1} of ${ascending.length}, from the lowest`;
  const how = fell.typed_code ? "" : fell.exact ? ": a value of the list" : fell.tie ? `: a tie, ${ties}` : fell.error ? `: the error is ${brief(fell.error.decimal, 5)}` : "";
  reading.replaceChildren(...(fell.typed_code ? ["The code's value is "] : [el("b", {}, fell.number.exact === null ? state.value.trim().slice(0, 60) : minus(fell.number.decimal)), " becomes "]), ...value, how, el("span.note", {}, ` — ${place}`));
  line.replaceChildren(picture(ascending, at, fell));
  const below = at.rank > 0 ? ascending[at.rank - 1] : null;
  const above = at.rank === null ? null : ascending[at.rank + 1];
  around.hidden = at.rank === null;
  around.replaceChildren(step(below, below?.middle, "below", "←"), step(above, at.middle, "above", "→"));
  draw(at);
}

function step(code, middle, text, arrow) {
  if (!code) return el("div.step.empty", {}, `nothing ${text}`);
  return el("button.step", { type: "button", onclick: () => change({ value: typed(code) }), "aria-label": `The value ${text}: ${code.value.decimal}` },
    el("span.arrow", { "aria-hidden": "true" }, arrow), el("span", {}, el("b", {}, brief(code.value.decimal, 7)), el("small", {}, code.hex)),
    el("small.gap", {}, `middle ${brief(middle.value.decimal, 7)}`));
}

const typed = (code) => `#${code.hex.slice(2)}`;

// The values on a line, the stretch that becomes the nearest one, and the number.
function picture(ascending, at, fell) {
  const [low, high] = [ascending[0].at, ascending.at(-1).at];
  const x = (value) => 3 + (94 * (Math.min(Math.max(value, low), high) - low)) / (high - low);
  const upright = (what, value, from, to) => svg(what, { x1: `${x(value)}%`, x2: `${x(value)}%`, y1: from, y2: to });
  const label = (value, text, y, what = "text") => svg(what, { x: `${x(value)}%`, y, "text-anchor": x(value) < 12 ? "start" : x(value) > 88 ? "end" : "middle" }, text);
  const middles = ascending.length > MOST_MIDDLES ? [] : ascending.filter((code) => code.middle).map((code) => upright("line.half", code.middle.at, AXIS - 8, AXIS + 8));
  const ticks = ascending.map((code) => upright(`line.tick.${kind(code)}${ascending.length > MOST_MIDDLES ? ".thin" : ""}`, code.at, AXIS - 14, AXIS + 14));
  const stretch = at.rank === null ? null : svg("line.trail", { x1: `${x(ascending[at.rank - 1]?.middle.at ?? low)}%`, x2: `${x(at.middle?.at ?? high)}%`, y1: AXIS, y2: AXIS });
  const number = fell.at === null ? [] : [upright("line.value", fell.at, AXIS - 30, AXIS), svg("circle.value", { cx: `${x(fell.at)}%`, cy: AXIS, r: 4 }), label(fell.at, brief(fell.number.decimal, 7), AXIS - 36, "text.share")];
  return svg("svg.segment", { height: HEIGHT, role: "img", "aria-label": `${ascending.length} values from ${ascending[0].value.decimal} to ${ascending.at(-1).value.decimal}` },
    svg("line.axis", { x1: "3%", x2: "97%", y1: AXIS, y2: AXIS }), stretch, middles, ticks,
    svg("circle.end.chosen", { cx: `${x(at.at)}%`, cy: AXIS, r: 6 }), number,
    label(low, brief(ascending[0].value.decimal), HEIGHT - 6), label(high, brief(ascending.at(-1).value.decimal), HEIGHT - 6));
}

const kind = (code) => (code.at === 0 ? "zero" : code.at < 0 ? "normal.negative" : "normal");

function draw(at) {
  const { codes, columns } = answer;
  const most = Math.max(...codes.map((code) => Math.abs(code.at)));
  square.style.setProperty("--columns", columns);
  square.classList.toggle("wide", columns > 8);
  const rows = [];
  for (let first = 0; first < codes.length; first += columns) {
    rows.push(el("div.row", { role: "row" }, el("span.at", { "aria-hidden": "true" }, codes[first].hex.slice(2)), codes.slice(first, first + columns).map((code) =>
      el(`button.cell.${kind(code)}`, {
        type: "button", role: "gridcell", tabindex: code === at ? 0 : -1, "aria-selected": code === at ? "true" : null, "data-code": code.code,
        vars: { level: (Math.abs(code.at) / most).toFixed(3) }, "aria-label": `${code.hex}: ${code.value.decimal}`, title: `${code.hex} = ${minus(code.value.decimal)}`,
        onclick: () => change({ value: typed(code) }),
      }, fitted(code.value.decimal)))));
  }
  const had = square.contains(document.activeElement);
  square.replaceChildren(...rows);
  if (had) square.querySelector("[aria-selected]").focus();
}

function keys(event) {
  const to = beside([...square.querySelectorAll(".cell")], event.target, answer.columns, event.key);
  if (!to) return;
  event.preventDefault();
  change({ value: typed(answer.codes[Number(to.dataset.code)]) });
}
