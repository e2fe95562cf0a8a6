// An addition, multiplication or FMA, step by step, over its binary digits.

import { $, ask, el, equals, exact, field, flags, latest, minus, options, power, segments, trouble } from "./elements.js";
import { catalogue, onFormat } from "./format.js";
import { change, state, watch } from "./state.js";

const FORMULAS = [["add", "x + y"], ["subtract", "x − y"], ["multiply", "x × y"], ["fma", "x × y + z"]];

const which = segments("Operation", FORMULAS, () => state.operation, (operation) => change({ operation }));
const inputs = Object.fromEntries(["x", "y", "z"].map((letter) => [letter, el("input", { type: "text", spellcheck: "false", autocapitalize: "off", autocomplete: "off", oninput: (event) => change({ [letter]: event.target.value }) })]));
const to = el("input", { type: "text", list: "names", spellcheck: "false", autocapitalize: "off", placeholder: "the operands’" });
const rounding = el("select");
const saturation = el("select");
const wrong = el("p.trouble", { role: "alert", hidden: true });
const operands = el("p.reading", { "aria-live": "polite" });
const digits = el("div.digits");
const steps = el("ol.steps");
const result = el("div.outcome");
const separate = el("div.separate");
const position = el("span.note", { "aria-live": "polite" });
const body = el("div");
const third = field("z", inputs.z);

let answer = null;
// How many steps are shown; null for all.
let shown = null;

export function start() {
  options(rounding, [["", "the format's own"], ...catalogue.roundings.map((r) => [r, r])], state.rounding);
  options(saturation, [["", "the preset's"], ...catalogue.saturations.map((s) => [s, s])], state.saturation);
  const tool = (text, label, act) => el("button.tool", { type: "button", "aria-label": label, onclick: act }, text);
  body.append(
    el("section.card", { "aria-labelledby": "digits-title" },
      el("div.head", {}, el("h2", { id: "digits-title" }, "Step by step"), position,
        el("div.tools", {}, tool("‹ Back", "Step back", () => move(-1)), tool("Next ›", "Next step", () => move(1)), tool("All", "Show all steps", () => move(null)))),
      digits, steps),
    el("section.card", { "aria-labelledby": "outcome-title" }, el("h2", { id: "outcome-title" }, "Result"), result, separate),
  );
  $("view-arithmetic").append(
    el("section.card", { "aria-label": "What is computed" },
      el("div.head", {}, el("h2", {}, "Operation"), which),
      el("div.entry.narrow", {}, field("x", inputs.x), field("y", inputs.y), third),
      el("div.entry", {}, field("Result’s format", to), field("Rounding", rounding), field("Saturation", saturation)),
      wrong, operands),
    body);
  to.addEventListener("change", () => change({ to: to.value.trim() }));
  rounding.addEventListener("change", () => change({ rounding: rounding.value }));
  saturation.addEventListener("change", () => change({ saturation: saturation.value }));
  steps.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    move(by);
  });
  steps.tabIndex = 0;
  steps.setAttribute("aria-label", "Steps; arrow keys go through them");
  onFormat(refresh);
  watch((changed) => ["tab", "operation", "x", "y", "z", "to", "rounding", "saturation"].some((key) => changed.has(key)) && refresh());
}

const refresh = latest(async (signal) => {
  which.refresh();
  for (const [letter, input] of Object.entries(inputs)) if (document.activeElement !== input) input.value = state[letter];
  if (document.activeElement !== to) to.value = state.to;
  rounding.value = state.rounding;
  saturation.value = state.saturation;
  third.hidden = state.operation !== "fma";
  if (state.tab !== "arithmetic") return;
  const letters = state.operation === "fma" ? ["x", "y", "z"] : ["x", "y"];
  const policy = { rounding: state.rounding, saturation: state.saturation };
  answer = await ask({ ask: "arithmetic", operation: state.operation, format: state.format, to: state.to, operands: letters.map((letter) => state[letter].replaceAll("−", "-")), policy }, signal);
  trouble(wrong, "");
  body.hidden = false;
  draw();
}, (error) => {
  answer = null;
  trouble(wrong, error.message);
  operands.replaceChildren();
  body.hidden = true;
});

function move(by) {
  if (!answer) return;
  const last = answer.steps.length;
  if (by === null) shown = null;
  else shown = Math.min(Math.max((shown ?? (by > 0 ? 0 : last)) + by, 1), last);
  if (shown === last && by !== -1) shown = null;
  draw();
}

function draw() {
  const letters = ["x", "y", "z"];
  operands.replaceChildren(...answer.operands.flatMap(({ code, rounded }, i) => [
    i ? ", " : "", el("b", {}, letters[i]), ` ${equals(code.decimal)} `, el("code", {}, code.hex), rounded ? el("em", {}, " rounded") : "",
  ]), el("span.note", {}, ` — ${answer.from}${answer.to === answer.from ? "" : ` into ${answer.to}`}, ${answer.semantics} semantics`));
  const until = shown ?? answer.steps.length;
  position.textContent = shown === null ? "" : `step ${shown} of ${answer.steps.length}: ${answer.steps[shown - 1].title}`;
  steps.replaceChildren(...answer.steps.map((step, i) => el(`li${i + 1 === shown ? ".now" : ""}${i + 1 > until ? ".later" : ""}`, {}, el("b", {}, step.title), el("span", {}, minus(step.text)))));
  const title = (name) => answer.steps.findIndex((step) => step.title === name) + 1;
  digits.replaceChildren(picture(until >= title("Exact result"), until >= title("Round"), until >= title("Encode")));
  const finished = shown === null;
  result.parentNode.hidden = !finished;
  if (!finished) return;
  const { outcome } = answer;
  result.replaceChildren(
    el("p.value", {}, el("b", {}, minus(outcome.code.decimal)), el(`span.class.${outcome.code.class}`, {}, outcome.code.class === "nan" ? "NaN" : outcome.code.class)),
    el("p", {}, el("code", {}, outcome.code.hex), " = ", el("code", {}, outcome.code.bits), outcome.code.exact.includes("p") ? ` = ${exact(outcome.code.exact)}` : ""),
    el("p", {}, "Flags: ", flags(outcome.flags), outcome.error && outcome.error.decimal !== "0" ? el("span.note", {}, ` error ${minus(outcome.error.decimal)}`) : ""),
  );
  separate.replaceChildren();
  if (answer.separate) {
    const { product, sum, same } = answer.separate;
    separate.append(el(`p.twice${same ? "" : ".differs"}`, {}, el("b", {}, same ? "Rounding twice gives the same here: " : "Rounding twice gives another result: "),
      `x × y rounds to ${minus(product.code.decimal)} (${product.code.hex}), then + z gives ${minus(sum.code.decimal)} (${sum.code.hex}).`));
  }
}

const NAMES = { exact: "exact", result: "result" };

// The digits under one another, with a line behind the last place that is kept.
function picture(withExact, withCut, withResult) {
  const { picture } = answer;
  if (!picture) return el("p.note", {}, "There are no digits to show: no term is a finite number other than zero.");
  const { top, bottom, last_kept: kept } = picture;
  const rows = picture.rows.filter((row) => (row.label !== "exact" || withExact) && (row.label !== "result" || withResult));
  // The units are shown, unless they are far away.
  const first = top < 0 && top > -12 ? 0 : top;
  const places = Array.from({ length: first - bottom + 1 }, (_, i) => first - i);
  const cut = (place) => (withCut && kept !== null && place === kept ? ".cut" : "");
  const dropped = (row, place) => withCut && kept !== null && place < kept && row.label === "exact";
  const labelled = (place) => place === first || place === 0 || place === bottom || (withCut && place === kept);
  const head = el("tr", {}, el("td"), places.map((place) => el(`td.place${cut(place)}`, {}, labelled(place) ? power(place) : "")), el("td"));
  const lines = rows.map((row) => el(`tr.${row.label === "exact" || row.label === "result" ? row.label : "term"}`, {},
    el("th", { scope: "row" }, NAMES[row.label] ?? row.label),
    places.map((place) => {
      const digit = row.digits[row.first - place];
      // Zeros between the digits and the point.
      const spare = digit === undefined && (place < row.first ? place >= 0 : place <= 0) ? "0" : "";
      return el(`td${digit === "1" ? ".one" : digit === "0" ? ".zero" : ".none"}${place === 0 && bottom < 0 ? ".unit" : ""}${cut(place)}${digit && dropped(row, place) ? ".dropped" : ""}`, {}, row.negative && place === (row.first < 0 && first >= 0 ? 0 : row.first) ? el("i", {}, "−") : "", digit ?? spare);
    }),
    el("td", {}, row.more ? "…" : ""),
  ));
  return el("div.scroll", { tabindex: 0, role: "group", "aria-label": "Binary digits by place" }, el("table.places", {}, el("thead", {}, head), el("tbody", {}, lines)));
}
