// Formats side by side: how precise they are at which magnitude, over the histogram of a dropped tensor.

import { $, ask, brief, el, field, flags, latest, minus, options, power, send, share, svg, trouble } from "./elements.js";
import { biasSlider, catalogue, onFormat } from "./format.js";
import { change, state, watch } from "./state.js";

const MOST_FILE = 256 * 2 ** 20;
const HEIGHT = 250;
const LEFT = 34;
const BASE = HEIGHT - 30;

const wrong = el("p.trouble", { role: "alert", hidden: true });
const cards = el("div.contestants");
const chart = svg("svg.chart", { height: HEIGHT, role: "img", "aria-label": "Bits of precision at each power of two" });
const input = el("input", { type: "text", spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
const facts = el("div.facts-table");
const file = el("input", { type: "file", accept: ".safetensors,.npy", id: "file" });
const drop = el("label.drop", { for: "file" });
const tensors = el("select", { "aria-label": "Tensor" });
const fileWrong = el("p.trouble", { role: "alert", hidden: true });
const names = el("datalist", { id: "names" });

let answer = null;
let dropped = null;
let overlap = null;
let chosenTensor = "";

const formats = () => [state.format, ...state.with].slice(0, 4);

export function start() {
  names.append(...[...catalogue.formats.map((f) => f.name), "binary8p3se", "binary8p4se", "ieee:k=6,p=3"].map((value) => el("option", { value })));
  $("view-compare").append(names,
    el("section.card", { "aria-labelledby": "compare-title" },
      el("div.head", {}, el("h2", { id: "compare-title" }, "Precision and range")), wrong, cards, chart,
      el("p.note", {}, "Height: how many bits a value of that magnitude has. Steps down on the left are subnormals.")),
    el("section.card", { "aria-labelledby": "tensor-title" }, el("div.head", {}, el("h2", { id: "tensor-title" }, "A tensor"), el("div.inline", {}, tensors)), drop, file, fileWrong, tensorTable),
    el("section.card", { "aria-labelledby": "facts-title" }, el("div.head", {}, el("h2", { id: "facts-title" }, "Side by side"), el("div.inline", {}, field("A value in each", input))), facts));
  input.addEventListener("input", () => change({ value: input.value }));
  tensors.addEventListener("change", () => {
    chosenTensor = tensors.value;
    measure();
  });
  file.addEventListener("change", () => take(file.files[0]));
  const view = $("view-compare");
  for (const kind of ["dragenter", "dragover"]) view.addEventListener(kind, (event) => (event.preventDefault(), drop.classList.add("over")));
  view.addEventListener("dragleave", () => drop.classList.remove("over"));
  view.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
  new ResizeObserver(() => answer && draw()).observe(chart);
  drawDrop();
  onFormat(refresh);
  watch((changed) => ["tab", "with", "value"].some((key) => changed.has(key)) && refresh());
}

const refresh = latest(async (signal) => {
  if (document.activeElement !== input) input.value = state.value;
  if (state.tab !== "compare") return;
  try {
    answer = await ask({ ask: "compare", formats: formats(), text: state.value.replaceAll("−", "-") }, signal);
    trouble(wrong, "");
  } catch (error) {
    if (signal.aborted) throw error;
    // A value that is being typed may be no number yet; the formats can be shown all the same.
    answer = await ask({ ask: "compare", formats: formats() }, signal);
    trouble(wrong, error.message);
  }
  contestants();
  draw();
  table();
  if (dropped) measure();
}, (error) => {
  trouble(wrong, error.message);
  if (!answer) contestants();
});

// The formats by name, to be changed, added and removed.
function contestants() {
  // A name that is being typed stays.
  const typed = document.activeElement;
  if (cards.contains(typed) && typed.type === "text" && typed.value !== typed.defaultValue) return;
  const all = formats();
  const replace = (i, name) => change({ with: state.with.map((old, j) => (j === i - 1 ? name : old)) });
  const enter = (i, field) => {
    field.defaultValue = field.value;
    replace(i, field.value.trim());
  };
  cards.replaceChildren(
    ...all.map((name, i) => {
      const card = answer?.formats[i]?.card;
      const box = i === 0
        ? el("b", {}, name)
        : el("input", { type: "text", list: "names", value: name, "aria-label": `Format ${i + 1}`, spellcheck: "false", autocapitalize: "off", onchange: (event) => enter(i, event.target) });
      const slider = i > 0 && card?.bias_range?.[1] === 63 ? biasControl(i, card, replace) : null;
      return el(`div.contestant.series-${i}`, {}, el("i.swatch", { "aria-hidden": "true" }), box,
        i > 0 ? el("button.tool", { type: "button", "aria-label": `Remove ${name}`, title: "Remove", onclick: () => change({ with: state.with.filter((_, j) => j !== i - 1) }) }, "×") : null, slider);
    }),
    all.length < 4 ? el("button.add", { type: "button", onclick: () => change({ with: [...state.with, ["bfloat16", "binary16", "binary8p3se", "e3m2fn"].find((n) => !all.includes(n))] }) }, "+ Add a format") : "",
  );
}

function biasControl(i, card, replace) {
  return biasSlider(card.bias, (bias) => replace(i, card.name.replace(/bias=\d+/, `bias=${bias}`)));
}

// The range of exponents that anything reaches.
function extent() {
  const runs = answer.formats.flatMap((f) => f.density);
  const tensor = overlap?.binades ?? [];
  const lo = Math.min(...runs.map((run) => run.first), ...tensor.map(([e]) => e));
  const hi = Math.max(...runs.map((run) => run.last), ...tensor.map(([e]) => e));
  return [lo - 1, hi + 2];
}

function draw() {
  const wide = Math.max(240, chart.clientWidth);
  const [lo, hi] = extent();
  const most = Math.max(...answer.formats.flatMap((f) => f.density.map((run) => run.bits + 1)), 4);
  const x = (e) => LEFT + ((e - lo) / (hi - lo)) * (wide - LEFT - 8);
  const y = (bits) => BASE - (bits / (most + 0.6)) * (BASE - 14);
  const parts = [];
  if (overlap) {
    const highest = Math.max(...overlap.binades.map(([, count]) => count), 1);
    for (const [e, count] of overlap.binades) {
      // Square roots, so that the tails of a distribution can be seen.
      const tall = Math.sqrt(count / highest) * (BASE - 20);
      parts.push(svg("rect.histogram", { x: x(e), width: Math.max(1, x(e + 1) - x(e) - 0.5), y: BASE - tall, height: tall }, svg("title", {}, `${count.toLocaleString("en")} elements from ${power(e)} to ${power(e + 1)}`)));
    }
  }
  const step = Math.max(1, Math.ceil((hi - lo) / Math.max(4, wide / 66)));
  for (let e = Math.ceil(lo / step) * step; e <= hi; e += step) {
    parts.push(svg("line.grid", { x1: x(e), x2: x(e), y1: BASE, y2: BASE + 5 }), svg("text.label", { x: x(e), y: BASE + 20, "text-anchor": "middle" }, power(e)));
  }
  const level = most > 16 ? 8 : most > 8 ? 2 : 1;
  for (let bits = level; bits <= most; bits += level) {
    parts.push(svg("line.level", { x1: LEFT, x2: wide - 8, y1: y(bits), y2: y(bits) }), svg("text.label", { x: LEFT - 8, y: y(bits) + 4, "text-anchor": "end" }, bits));
  }
  parts.push(svg("line.axis", { x1: LEFT, x2: wide - 8, y1: BASE, y2: BASE }));
  answer.formats.forEach((format, i) => {
    // A little apart, so that equal steps do not hide one another.
    const off = (i - (answer.formats.length - 1) / 2) * 2.4;
    let d = `M${x(format.density[0].first)} ${BASE}`;
    for (const run of format.density) d += `V${(y(run.bits + 1) + off).toFixed(1)}H${x(run.last + 1).toFixed(1)}`;
    parts.push(svg(`path.series.series-${i}`, { d: `${d}V${BASE}` }));
  });
  chart.replaceChildren(...parts);
}

const FACTS = [
  ["Width", (c) => `${c.width} bits`],
  ["Precision", (c) => `${c.precision} bits`],
  ["Exponent", (c) => `${c.exponent_bits} bits, bias ${minus(String(c.bias))}`],
  ["Largest", (c) => minus(c.max.decimal)],
  ["Smallest normal", (c) => minus(c.min_normal.decimal)],
  ["Smallest", (c) => minus(c.min_positive.decimal)],
  ["Range", (c) => `${c.range.toFixed(1)} binades`],
  ["Finite codes", (c) => c.finite_codes.toLocaleString("en")],
  ["NaN codes", (c) => c.nan_codes.toLocaleString("en")],
  ["Besides numbers", (c) => c.besides],
];

function heads() {
  return el("tr", {}, el("td"), answer.formats.map((f, i) => el(`th.series-${i}`, { scope: "col" }, el("i.swatch", { "aria-hidden": "true" }), f.card.name.replace(/,/g, ", "))));
}

function rows(list) {
  return list.map(([name, cells]) => el("tr", {}, el("th", { scope: "row" }, name), cells.map((text) => el("td", {}, text))));
}

function table() {
  const body = rows(FACTS.map(([name, fact]) => [name, answer.formats.map((f) => fact(f.card))]));
  if (answer.reading) {
    const value = answer.reading.value ?? answer.reading.code;
    body.unshift(...rows([
      [`${brief(value.decimal, 7)} becomes`, answer.formats.map((f) => el("b", { title: f.outcome.code.exact }, minus(f.outcome.code.decimal)))],
      ["as code", answer.formats.map((f) => el("code", {}, f.outcome.code.hex))],
      ["relative error", answer.formats.map((f) => (f.outcome.relative === null ? "–" : `${Number((100 * f.outcome.relative).toPrecision(3))} %`))],
      ["flags", answer.formats.map((f) => flags(f.outcome.flags))],
    ]));
  }
  facts.replaceChildren(el("table", {}, el("caption.hidden", {}, "Formats side by side"), el("thead", {}, heads()), el("tbody", {}, body)));
}

const tensorTable = el("div.facts-table");

function take(chosen) {
  if (!chosen) return;
  overlap = null;
  chosenTensor = "";
  if (chosen.size > MOST_FILE) {
    dropped = null;
    drawDrop();
    return trouble(fileWrong, `${chosen.name} has ${(chosen.size / 2 ** 20).toFixed(0)} MiB; files of up to 256 MiB are read here. \`smallfloat inspect\` and \`smallfloat quantize\` take any size.`);
  }
  dropped = chosen;
  measure();
}

const measure = latest(async (signal) => {
  drop.classList.add("busy");
  overlap = await send({ file: dropped.name, tensor: chosenTensor, formats: formats() }, dropped, signal);
  trouble(fileWrong, "");
  drawDrop();
  if (answer) draw();
}, (error) => {
  overlap = null;
  trouble(fileWrong, error.message);
  drawDrop();
});

function drawDrop() {
  drop.classList.remove("busy");
  tensors.hidden = !overlap || overlap.tensors.length < 2;
  if (!overlap) {
    drop.replaceChildren(el("b", {}, "Drop a .safetensors or .npy file here"), el("span", {}, "or choose one: its histogram is drawn behind the formats. It is read in memory and stays on this machine."));
    tensorTable.replaceChildren();
    return;
  }
  options(tensors, overlap.tensors.filter((t) => t.numbers).map((t) => [t.name, `${t.name} — ${t.dtype} ${t.shape.join("×") || "scalar"}`]), overlap.name);
  const counts = [[overlap.zeros, "zero"], [overlap.nans, "NaN"], [overlap.infinities, "infinite"]].filter(([n]) => n > 0);
  drop.replaceChildren(el("b", {}, `${overlap.name}`), el("span", {}, `${overlap.elements.toLocaleString("en")} elements of ${overlap.file}, largest magnitude ${brief(String(overlap.amax), 5)}${counts.map(([n, what]) => `, ${n.toLocaleString("en")} ${what}`).join("")}. Drop another file to replace it.`));
  const all = overlap.elements;
  const best = overlap.formats.map((f, i) => {
    if (!f.best) return "–";
    const [bias, name] = f.best;
    if (name === f.format) return `${bias}, as chosen`;
    const apply = () => (i === 0 ? change({ format: name }) : change({ with: state.with.map((old, j) => (j === i - 1 ? name : old)) }));
    return el("button.tool", { type: "button", onclick: apply, "aria-label": `Use bias ${bias}` }, `${bias} — use it`);
  });
  const list = [
    ["Signal to noise", overlap.formats.map((f) => el("b", {}, f.sqnr_db === null ? "exact" : `${f.sqnr_db.toFixed(2)} dB`))],
    ["Saturated", overlap.formats.map((f) => share(f.saturated, all))],
    ["To zero", overlap.formats.map((f) => share(f.underflowed, all))],
    ["Subnormal", overlap.formats.map((f) => share(f.subnormal, all))],
    ["Best bias", best],
  ];
  if (overlap.formats.some((f) => f.lost)) list.push(["Lost", overlap.formats.map((f) => share(f.lost, all))]);
  const head = el("tr", {}, el("td"), overlap.formats.map((f, i) => el(`th.series-${i}`, { scope: "col" }, el("i.swatch", { "aria-hidden": "true" }), f.format.replace(/,/g, ", "))));
  tensorTable.replaceChildren(el("table", {}, el("caption.hidden", {}, "What each format does to the tensor"), el("thead", {}, head), el("tbody", {}, rows(list))));
}
