// A value typed, and where every rounding mode takes it.

import { $, ask, brief, el, exact, field, flags, latest, minus, options, svg, trouble } from "./elements.js";
import { catalogue, onFormat } from "./format.js";
import { change, state, watch } from "./state.js";

const input = el("input.large", { type: "text", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "value-reading" });
const wrong = el("p.trouble", { role: "alert", hidden: true });
const reading = el("p.reading", { id: "value-reading", "aria-live": "polite" });
const preset = el("select");
const saturation = el("select");
const bits = el("input", { type: "number", min: 1, max: 32 });
const between = el("div.between");
const modes = el("div.modes");
const chances = el("div.chances");
const results = el("div");

export function start() {
  options(preset, [["", "the format's own"], ...catalogue.presets.map((p) => [p, p])], state.preset);
  options(saturation, [["", "the preset's"], ...catalogue.saturations.map((s) => [s, s])], state.saturation);
  results.append(
    el("section.card", { "aria-labelledby": "between-title" }, el("h2", { id: "between-title" }, "Between two values"), between),
    el("section.card", { "aria-labelledby": "modes-title" }, el("h2", { id: "modes-title" }, "Every rounding mode"), modes),
    el("section.card", { "aria-labelledby": "chances-title" }, el("div.head", {}, el("h2", { id: "chances-title" }, "Stochastic rounding"), el("div.inline", {}, field("Random bits", bits))), chances),
  );
  $("view-round").append(
    el("section.card", { "aria-label": "What is rounded" },
      el("div.entry", {}, field("Value", input, "1.1, −2.5e-3, 0x1.8p-3, 1/3, inf, nan; or a code: #39, code:0b0_0111_001"), field("Preset", preset), field("Saturation", saturation)),
      wrong, reading),
    results);
  input.addEventListener("input", () => change({ value: input.value }));
  preset.addEventListener("change", () => change({ preset: preset.value }));
  saturation.addEventListener("change", () => change({ saturation: saturation.value }));
  bits.addEventListener("input", () => bits.value !== "" && change({ bits: Number(bits.value) }));
  onFormat(refresh);
  watch((changed) => ["tab", "value", "preset", "saturation", "bits"].some((key) => changed.has(key)) && refresh());
}

const refresh = latest(async (signal) => {
  if (document.activeElement !== input) input.value = state.value;
  if (document.activeElement !== bits) bits.value = state.bits;
  preset.value = state.preset;
  saturation.value = state.saturation;
  if (state.tab !== "round") return;
  const text = state.value.replaceAll("−", "-");
  const answer = await ask({ ask: "round", format: state.format, text, random_bits: state.bits, policy: { preset: state.preset, saturation: state.saturation } }, signal);
  trouble(wrong, "");
  results.hidden = false;
  show(answer);
}, (error) => {
  trouble(wrong, error.message);
  reading.replaceChildren();
  results.hidden = true;
});

function show(answer) {
  const read = answer.reading;
  const value = read.kind === "code" ? read.code : read.value;
  reading.replaceChildren(
    read.kind === "code" ? el("span", {}, "Read as the code ", el("code", {}, read.code.hex), " = ") : "Read as the number ",
    el("b", {}, value.exact === null ? state.value.trim().slice(0, 60) : minus(value.decimal)),
    value.exact === null ? ", which no binary fraction equals" : value.exact.includes("p") ? ` = ${exact(value.exact)}` : "",
    el("span.note", {}, ` — ${answer.held.preset}, ${answer.held.saturation}`),
  );
  between.replaceChildren(...picture(answer));
  modes.replaceChildren(table(answer));
  chances.replaceChildren(...answer.stochastic.map(chance));
}

// The two neighbours with the value between them.
function picture({ place, modes }) {
  const name = (code) => (code ? [el("b", {}, brief(code.decimal, 8)), el("code", {}, code.hex)] : [el("span.note", {}, "nothing")]);
  if (place.exact) return [el("p.exactly", {}, "It is one of the format's values: ", el("b", {}, minus(place.below.decimal)), " ", el("code", {}, place.below.hex), ". Nothing is rounded.")];
  if (place.share === null) {
    if (!place.below && !place.above) return [el("p.exactly", {}, "It is not a number, so it lies between no values.")];
    const [edge, side] = place.above && place.above.class !== "infinite" ? [place.above, "below the smallest"] : [place.below, "beyond the largest"];
    return [el("p.exactly", {}, `It lies ${side} finite value, `, el("b", {}, minus(edge.decimal)), " ", el("code", {}, edge.hex), ". What it becomes is the range policy's choice.")];
  }
  const at = 6 + 88 * place.share;
  const chosen = new Set(modes.filter((mode) => mode.mode === "nearest-even").map((mode) => mode.code.code));
  const dot = (cx, code) => svg(`circle.end${chosen.has(code?.code) ? ".chosen" : ""}`, { cx: `${cx}%`, cy: 46, r: 7 });
  return [
    svg("svg.segment", { height: 74, role: "img", "aria-label": `${(100 * place.share).toFixed(2)} % of the way from ${place.below.decimal} to ${place.above.decimal}` },
      svg("line.axis", { x1: "6%", x2: "94%", y1: 46, y2: 46 }), svg("line.half", { x1: "50%", x2: "50%", y1: 36, y2: 56 }),
      svg("line.trail", { x1: chosen.has(place.below.code) ? "6%" : "94%", x2: `${at}%`, y1: 46, y2: 46 }),
      dot(6, place.below), dot(94, place.above),
      svg("text.share", { x: `${at}%`, y: 16, "text-anchor": at < 12 ? "start" : at > 88 ? "end" : "middle" }, place.tie ? "halfway" : `${(100 * place.share).toFixed(2)} %`),
      svg("line.value", { x1: `${at}%`, x2: `${at}%`, y1: 24, y2: 46 }), svg("circle.value", { cx: `${at}%`, cy: 46, r: 4 })),
    el("div.ends", {}, el("div", {}, name(place.below)), el("div.middle", {}, place.gap ? ["gap ", el("b", {}, brief(place.gap.decimal, 7))] : ""), el("div", {}, name(place.above))),
  ];
}

const ARROWS = { "nearest-even": "nearest", "nearest-away": "nearest", "toward-positive": "→ +∞", "toward-negative": "−∞ ←", "toward-zero": "→ 0 ←", "to-odd": "odd" };

function table({ modes, place }) {
  const side = (code) => (place.exact ? "exact" : code.code === place.below?.code ? "down" : code.code === place.above?.code ? "up" : "range");
  const words = { exact: "exact", down: "↓ lower", up: "↑ upper", range: "by policy" };
  const head = ["Mode", "Result", "Code", "Error", "Relative", "Flags"].map((text) => el("th", { scope: "col" }, text));
  const rows = modes.map((mode) => el("tr", { "data-mode": mode.mode },
    el("th", { scope: "row" }, mode.mode, el("small", {}, ARROWS[mode.mode])),
    el("td", { "data-label": "Result" }, el("b.result", {}, minus(mode.code.decimal)), el(`small.side.${side(mode.code)}`, {}, words[side(mode.code)])),
    el("td", { "data-label": "Code" }, el("code", {}, mode.code.hex), el("small", {}, mode.code.bits)),
    el("td", { "data-label": "Error", title: mode.error?.exact ?? "" }, mode.error ? brief(mode.error.decimal, 5) : "–"),
    el("td", { "data-label": "Relative" }, mode.relative === null ? "–" : mode.relative === 0 ? "0" : `${Number((100 * mode.relative).toPrecision(3))} %`),
    el("td", { "data-label": "Flags" }, flags(mode.flags)),
  ));
  return el("table.stack", {}, el("caption.hidden", {}, "The result of each rounding mode"), el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows));
}

// A stochastic mode as a bar: how many of its random words give which result.
function chance({ mode, bits, results }) {
  const all = 2 ** bits;
  const parts = results.map(({ words, first, outcome }, i) => el(`div.part.part-${i}`, { vars: { part: words / all }, title: `words ${first} to ${first + words - 1}` },
    el("b", {}, brief(outcome.code.decimal, 6)), el("small", {}, `${outcome.code.hex} · ${words.toLocaleString("en")} of ${all.toLocaleString("en")}`)));
  return el("div.chance", {}, el("span", {}, mode), el("div.bar", { role: "img", "aria-label": results.map((r) => `${r.words} of ${all} words give ${r.outcome.code.decimal}`).join(", ") }, parts));
}
