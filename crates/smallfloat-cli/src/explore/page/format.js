// The format panel: choose one, build one, and what follows from it.

import { $, ask, el, exact, field, latest, minus, options, trouble } from "./elements.js";
import { change, state, watch } from "./state.js";

const BUILDERS = [
  ["p3109", "P3109 format…", "binary8p3se"],
  ["ieee", "IEEE-like format…", "ieee:k=6,p=3"],
  ["minifloat", "Build your own…", "minifloat:k=8,p=4,bias=7,signed=true,specials=finite,subnormals=gradual"],
];
const GROUPS = [
  ["tesla", "Tesla"],
  ["ml-dtypes", "OCP, LLVM, XLA"],
  ["ieee", "IEEE 754, bfloat16"],
];
const SPECIALS = [
  ["finite", "none: every code a number"],
  ["ieee", "±Inf and NaN, as IEEE 754"],
  ["nan-allones", "NaN on all ones"],
  ["nan-negzero", "NaN on −0"],
  ["p3109-extended", "NaN, ±Inf, no −0 (P3109)"],
  ["p3109-finite", "NaN, no −0 (P3109)"],
  ["e8m0", "a scale: no zero (E8M0)"],
];
const READINGS = [
  ["gradual", "2^(1−bias) · 0.m (gradual)"],
  ["tesla", "2^−bias · 0.m (Tesla)"],
  ["flush", "flushed to zero"],
  ["none", "none: an ordinary binade"],
];

// The answer about the current format, for the other views.
export const current = { card: null };
export const catalogue = { formats: [], lists: [], presets: [], saturations: [], roundings: [] };

const choose = el("select");
const name = el("input", { type: "text", spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
const wrong = el("p.trouble", { role: "alert", hidden: true });
const note = el("p.note", { role: "status", hidden: true });
const controls = el("div.controls");
const facts = el("dl.facts");
// On narrow screens what can be done comes before what follows from it.
const follows = el("details", { open: matchMedia("(min-width: 1000px)").matches }, el("summary", {}, "All that follows"), facts);

// Draws the panel; the catalogue has to be there.
export async function start() {
  Object.assign(catalogue, await ask({ ask: "catalogue" }));
  const named = GROUPS.map(([family, label]) =>
    el("optgroup", { label }, catalogue.formats.filter((f) => f.family === family).map((f) => el("option", { value: f.name }, f.name.split(":")[0]))),
  );
  choose.append(...named, el("optgroup", { label: "From parameters" }, BUILDERS.map(([value, text]) => el("option", { value }, text))));
  choose.addEventListener("change", () => {
    const builder = BUILDERS.find(([value]) => value === choose.value);
    change({ format: builder ? builder[2] : choose.value });
  });
  name.addEventListener("change", enter);
  name.addEventListener("keydown", (event) => event.key === "Enter" && enter());
  $("format").append(field("Choose", choose), field("Name", name, "as the command takes it; type any"), wrong, note, controls, follows);
  watch((changed) => changed.has("format") && refresh());
}

// Takes over what was typed. A list of values is no format, and has a view of its own.
function enter() {
  const list = catalogue.lists.find((list) => list === name.value.trim().toLowerCase());
  if (!list) return change({ format: name.value.trim() });
  name.value = written;
  change({ tab: "lists", list });
}

export const refresh = latest(async (signal) => {
  const card = await ask({ ask: "format", name: state.format }, signal);
  trouble(wrong, "");
  // The note stays while the address has the name as it was typed.
  trouble(note, card.note ? `N${card.note.slice(1)}` : "");
  name.removeAttribute("aria-invalid");
  current.card = card;
  show(card);
  for (const listener of listeners) listener(card);
}, (error) => {
  trouble(wrong, error.message);
  trouble(note, "");
  name.setAttribute("aria-invalid", "true");
  write(state.format);
});

// What the page wrote into the field last.
let written = "";

// Writes a name into its field. What is being typed there, and not yet entered, stays; a text that is all
// selected stays so, since what is typed next replaces it.
function write(text) {
  const isFocused = document.activeElement === name;
  if (isFocused && name.value !== written && name.value.trim() !== state.format) return;
  const isSelected = isFocused && name.selectionStart === 0 && name.selectionEnd === name.value.length;
  name.value = text;
  written = text;
  if (isSelected) name.select();
}

const listeners = [];

// Calls `listener` with the card of every new format.
export function onFormat(listener) {
  listeners.push(listener);
}

function show(card) {
  write(card.name);
  const listed = catalogue.formats.find((f) => f.name.split(":")[0] === card.row);
  choose.value = listed ? listed.name : card.family;
  // The control that is being used stays where it is.
  const shape = `${card.row} ${card.family} ${card.subnormals_choice}`;
  if (controls.dataset.shape !== shape) {
    controls.dataset.shape = shape;
    controls.replaceChildren(...build(card));
  }
  for (const control of controls.querySelectorAll("[data-key]")) control.fresh(card);
  facts.replaceChildren(...rows(card));
}

// The name with some parameters replaced.
function rename(card, patch) {
  const p = { k: card.width, p: card.precision, bias: card.bias, signed: card.signed, specials: card.specials, subnormals: card.subnormals, ...patch };
  if (card.family === "p3109") {
    const domain = p.specials === "p3109-extended" ? "e" : "f";
    return `binary${p.k}p${p.p}${p.signed ? "s" : "u"}${domain}`;
  }
  if (card.family === "ieee" && !card.row) return `ieee:k=${p.k},p=${p.p}`;
  if (card.family === "minifloat") {
    return `minifloat:k=${p.k},p=${p.p},bias=${p.bias},signed=${p.signed},specials=${p.specials},subnormals=${p.subnormals}`;
  }
  return `${card.row}:bias=${p.bias}${p.subnormals === "gradual" ? ",subnormals=gradual" : ""}`;
}

const pick = (patch) => change({ format: rename(current.card, patch) });

function number(key, label, min, max, value) {
  const input = el("input", { type: "number", min, max, "data-key": key, oninput: () => input.value !== "" && pick({ [key]: Number(input.value) }) });
  input.fresh = (card) => document.activeElement === input || (input.value = value(card));
  return field(label, input, `${min}…${max}`);
}

function list(key, label, choices, value) {
  const select = el("select", { "data-key": key, onchange: () => pick({ [key]: select.value }) });
  options(select, choices, null);
  select.fresh = (card) => (select.value = value(card));
  return field(label, select);
}

function switched(key, label, texts, values, value) {
  const select = el("select", { "data-key": key, onchange: () => pick({ [key]: values[Number(select.value)] }) });
  options(select, texts.map((text, i) => [String(i), text]), "0");
  select.fresh = (card) => (select.value = String(values.indexOf(value(card))));
  return field(label, select);
}

// A slider for the biases that Tesla's formats have, with its number beside it.
export function biasSlider(value, pickBias, label = "Bias") {
  const out = el("output");
  const slider = el("input", { type: "range", min: 0, max: 63, step: 1, value, "data-key": "bias", "aria-label": `${label}, 0 to 63` });
  slider.addEventListener("input", () => {
    out.textContent = slider.value;
    pickBias(Number(slider.value));
  });
  slider.fresh = (card) => {
    if (document.activeElement !== slider) slider.value = card.bias;
    out.textContent = slider.value;
  };
  out.textContent = value;
  return el("div.field.bias", {}, el("label", { for: (slider.id = `bias-${Math.random().toString(36).slice(2)}`) }, label, " ", out), slider);
}

function build(card) {
  const width = number("k", "Width K", card.family === "p3109" ? 3 : card.family === "ieee" ? 4 : 2, 16, (c) => c.width);
  const precision = number("p", "Precision P", 1, 16, (c) => c.precision);
  const signed = switched("signed", "Sign", ["signed", "unsigned"], [true, false], (c) => c.signed);
  const readings = list("subnormals", "Exponent field 0 means", READINGS.filter(([value]) => card.subnormals_choice.includes(value)), (c) => c.subnormals);
  if (card.family === "p3109") {
    const domain = switched("specials", "Infinities", ["extended: ±Inf", "finite: none"], ["p3109-extended", "p3109-finite"], (c) => c.specials);
    return [el("div.pair", {}, width, precision), el("div.pair", {}, signed, domain)];
  }
  if (card.family === "ieee" && !card.row) return [el("div.pair", {}, width, precision)];
  if (card.family === "minifloat") {
    const specials = list("specials", "Besides numbers", SPECIALS, (c) => c.specials);
    return [el("div.pair", {}, width, precision), el("div.pair", {}, number("bias", "Bias", -32768, 32768, (c) => c.bias), signed), specials, readings];
  }
  if (card.bias_range) return [biasSlider(card.bias, (bias) => pick({ bias })), readings];
  return [];
}

function rows(card) {
  const value = (v) => [minus(v.decimal), exact(v.exact) === minus(v.decimal) ? null : el("small", {}, exact(v.exact))];
  const layout = `${card.signed ? "1 sign + " : ""}${card.exponent_bits} exponent + ${card.precision - 1}`;
  const shown = (key) => controls.querySelector(`[data-key="${key}"]`);
  const facts = [
    ["Bits", [`${card.width}`, el("small", {}, layout)]],
    shown("bias") ? null : ["Bias", [minus(String(card.bias))]],
    ["Largest", value(card.max)],
    ["Least normal", value(card.min_normal)],
    ["Least", value(card.min_positive)],
    ["Range", [`${card.range.toFixed(1)} binades`]],
    ["Precision", [`${card.precision} bits`]],
    shown("specials") ? null : ["Besides", [card.besides]],
    shown("subnormals") ? null : ["Field 0", [card.subnormals_rule]],
    ["Preset", [card.preset]],
    ["Source", [card.source]],
  ].filter(Boolean);
  return facts.map(([term, text]) => el("div", {}, el("dt", {}, term), el("dd", {}, text)));
}
