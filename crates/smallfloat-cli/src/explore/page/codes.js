// A code by its bits, and all codes in a square.

import { $, ask, beside, brief, el, equals, exact, fitted, latest, minus, trouble } from "./elements.js";
import { current, onFormat } from "./format.js";
import { mark, reveal } from "./line.js";
import { change, state, watch } from "./state.js";

const about = el("div.about");
const bits = el("div.bits", { role: "group", "aria-label": "Bits of the code" });
const around = el("div.around");
const wrong = el("p.trouble", { role: "alert", hidden: true });
const codeWrong = el("p.trouble", { role: "alert", hidden: true });
const square = el("div.square", { role: "grid", "aria-labelledby": "grid-title" });
const path = el("div.path");
const shades = el("div.legend");

export function start() {
  $("code").append(el("div.head", {}, el("h2", { id: "code-title" }, "Code")), codeWrong, el("div.code", {}, about, bits, around));
  $("grid").append(el("div.head", {}, el("h2", { id: "grid-title" }, "All codes"), path), wrong, shades, square);
  square.addEventListener("keydown", keys);
  onFormat((card) => {
    shades.replaceChildren(...legend(card));
    if (state.code > 2 ** card.width - 1) change({ code: card.width >= 8 ? 0x39 : 1 });
    refreshCode();
    refreshGrid();
  });
  watch((changed) => {
    if (changed.has("code")) refreshCode();
    if (changed.has("page")) refreshGrid();
    else if (changed.has("code")) follow();
  });
}

// The classes that the format has.
function legend(card) {
  const classes = [
    ["normal", "normal", true],
    ["normal.negative", "negative", card.signed],
    ["subnormal", "subnormal", card.max_subnormal !== null],
    ["zero", "zero", !card.besides.includes("no 0")],
    ["infinite", "infinite", card.infinite_codes > 0],
    ["nan", "NaN", card.nan_codes > 0],
  ];
  return classes.filter(([, , has]) => has).map(([kind, text]) => el("span", {}, el(`i.swatch.${kind}`, { vars: { level: 0.7 } }), text));
}

const refreshCode = latest(async (signal) => {
  const answer = await ask({ ask: "code", format: state.format, code: state.code }, signal);
  trouble(codeWrong, "");
  show(answer);
  mark(answer);
  reveal();
}, (error) => trouble(codeWrong, error.message));

function show(answer) {
  const { at } = answer;
  about.replaceChildren(
    el("p.value", {}, el("b", {}, minus(at.decimal)), el(`span.class.${at.class}`, {}, at.class === "nan" ? "NaN" : at.class)),
    el("p.sum", {}, el("code", {}, at.hex), answer.formula ? ` = ${answer.formula}` : "", at.exact.includes("p") ? ` = ${exact(at.exact)}` : "",
      at.shortest !== at.decimal && !["nan", "infinite", "zero"].includes(at.class) ? el("small", {}, ` shortest: ${minus(at.shortest)}`) : ""),
  );
  showBits(at);
  const step = (code, gap, text, arrow) => {
    if (!code) return el("div.step.empty", {}, `nothing ${text}`);
    return el("button.step", { type: "button", onclick: () => change({ code: code.code }), "aria-label": `The value ${text}: ${code.decimal}` },
      el("span.arrow", { "aria-hidden": "true" }, arrow), el("span", {}, el("b", {}, brief(code.decimal, 7)), el("small", {}, code.hex)), gap ? el("small.gap", {}, `gap ${brief(gap.decimal, 6)}`) : null);
  };
  around.replaceChildren(step(answer.below, answer.gap_below, "below", "←"), step(answer.above, answer.gap_above, "above", "→"));
}

// The bits as buttons, grouped by field; they stay the same elements, so that focus stays.
function showBits(at) {
  const fields = at.bits.split("_");
  const card = current.card;
  const layout = `${card?.signed} ${fields.map((field) => field.length)}`;
  if (bits.dataset.layout !== layout) {
    bits.dataset.layout = layout;
    const names = [card?.signed ? "sign" : null, card?.exponent_bits > 0 ? "exponent" : null, "significand"].filter(Boolean);
    let place = at.bits.replaceAll("_", "").length;
    bits.replaceChildren(...fields.map((field, i) => el(`div.field-bits.${names[i] ?? "significand"}`, {},
      el("div.run", {}, [...field].map(() => {
        place -= 1;
        const mine = place;
        return el("button.bit", { type: "button", "data-place": mine, "aria-label": `${names[i]} bit ${mine}`, onclick: () => change({ code: state.code ^ (2 ** mine) }) });
      })), el("small", {}, names[i]))));
    bits.addEventListener("keydown", bitKeys);
  }
  for (const button of bits.querySelectorAll(".bit")) {
    const set = Math.floor(at.code / 2 ** Number(button.dataset.place)) % 2 === 1;
    button.textContent = set ? "1" : "0";
    button.setAttribute("aria-pressed", String(set));
  }
}

function bitKeys(event) {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const all = [...bits.querySelectorAll(".bit")];
  const to = by && all[all.indexOf(event.target) + by];
  if (!to) return;
  event.preventDefault();
  to.focus();
}

let grid = null;

const refreshGrid = latest(async (signal) => {
  grid = await ask({ ask: "grid", format: state.format, page: state.page }, signal);
  trouble(wrong, "");
  draw();
}, (error) => {
  grid = null;
  square.replaceChildren();
  path.replaceChildren();
  trouble(wrong, error.message);
});

const isOverview = () => grid.page === null;

function draw() {
  path.replaceChildren();
  if (grid.pages > 1) {
    const to = (page, text, label) => el("button.tool", { type: "button", "aria-label": label, disabled: page === undefined, onclick: () => change({ page }) }, text);
    if (isOverview()) path.append(el("span.note", {}, `${grid.pages} pages of 256 codes: choose one`));
    else {
      const at = grid.page;
      path.append(to(null, "All pages", "All pages"), to(at > 0 ? at - 1 : undefined, "‹", "Page before"), to(at + 1 < grid.pages ? at + 1 : undefined, "›", "Page after"));
    }
  }
  const rows = [];
  square.style.setProperty("--columns", grid.columns);
  square.classList.toggle("wide", grid.columns > 8);
  for (let first = 0; first < grid.cells.length; first += grid.columns) {
    rows.push(el("div.row", { role: "row" }, el("span.at", { "aria-hidden": "true" }, grid.cells[first].label.replace("0x", "")), grid.cells.slice(first, first + grid.columns).map(cell)));
  }
  square.replaceChildren(...rows);
  follow(true);
}

function cell(data) {
  const what = data.class === "nan" ? "NaN" : data.class === "infinite" ? (data.negative ? "−∞" : "∞") : fitted(data.text);
  return el(`button.cell.${data.class}${data.negative ? ".negative" : ""}`, {
    type: "button", role: "gridcell", tabindex: -1, "data-code": data.code, vars: { level: (data.level ?? 0.5).toFixed(3) },
    "aria-label": `${data.label}: ${isOverview() ? `from ${data.text}` : data.text}, ${data.class}`, title: `${data.label} ${equals(data.text)}`,
    onclick: () => (isOverview() ? change({ page: data.code / 256, code: data.code }) : change({ code: data.code })),
  }, isOverview() ? data.label.slice(2, -2) : what);
}

// Marks the chosen code; other pages come by themselves.
function follow(fresh = false) {
  if (!grid) return;
  const step = isOverview() ? 256 : 1;
  const at = Math.floor(state.code / step) * step;
  const found = square.querySelector(`[data-code="${at}"]`);
  if (!found && !isOverview() && !fresh && grid.pages > 1) return change({ page: Math.floor(state.code / 256) });
  for (const old of square.querySelectorAll("[aria-selected]")) {
    old.removeAttribute("aria-selected");
    old.tabIndex = -1;
  }
  const shown = found ?? square.querySelector(".cell");
  if (!shown) return;
  shown.tabIndex = 0;
  if (found) found.setAttribute("aria-selected", "true");
}

function keys(event) {
  const to = grid && beside([...square.querySelectorAll(".cell")], event.target, grid.columns, event.key);
  if (!to) return;
  event.preventDefault();
  if (isOverview()) {
    event.target.tabIndex = -1;
    to.tabIndex = 0;
  } else change({ code: Number(to.dataset.code) });
  to.focus();
}
