// The number line: values as ticks, the chosen one with its neighbours and gaps; zoomed by buttons, wheel, drag and keys.

import { $, announce, ask, brief, el, equals, latest, minus, power, segments, svg, trouble } from "./elements.js";
import { onFormat } from "./format.js";
import { change, state, watch } from "./state.js";

const HEIGHT = 190;
const AXIS = 118;
const SIDE = 14;
const MOST = 700;

const wrong = el("p.trouble", { role: "alert", hidden: true });
const drawing = svg("svg.line", { height: HEIGHT, role: "slider", tabindex: 0, "aria-label": "Number line" });
const tip = el("div.tip", { hidden: true });
const note = el("p.note");
const scales = segments("Scale", [["log", "Logarithmic"], ["linear", "Linear"]], () => state.scale, (scale) => change({ scale, lo: null, hi: null }));

let line = null;
let near = null;

export function start() {
  const tool = (text, label, act) => el("button.tool", { type: "button", "aria-label": label, title: label, onclick: act }, text);
  $("line").append(
    el("div.head", {}, el("h2", { id: "line-title" }, "Number line"), scales,
      el("div.tools", {}, tool("−", "Zoom out", () => zoom(2)), tool("+", "Zoom in", () => zoom(0.5)), tool("Whole", "Show the whole line", () => change({ lo: null, hi: null })))),
    wrong, el("div.stage", {}, drawing, tip), note);
  drawing.addEventListener("keydown", keys);
  drawing.addEventListener("pointermove", hover);
  drawing.addEventListener("pointerleave", () => (tip.hidden = true));
  drawing.addEventListener("wheel", wheel, { passive: false });
  drag();
  new ResizeObserver(() => line && draw()).observe(drawing);
  onFormat(refresh);
  watch((changed) => ["scale", "lo", "hi"].some((key) => changed.has(key)) && refresh());
}

const refresh = latest(async (signal) => {
  scales.refresh();
  line = await ask({ ask: "line", format: state.format, scale: state.scale, lo: state.lo, hi: state.hi, most: MOST }, signal);
  trouble(wrong, "");
  drawing.removeAttribute("hidden");
  draw();
}, (error) => {
  line = null;
  drawing.setAttribute("hidden", "");
  note.textContent = "";
  trouble(wrong, error.message);
});

// The chosen code and its neighbours, drawn over the ticks.
export function mark(neighbourhood) {
  near = neighbourhood;
  if (line) draw();
}

const width = () => Math.max(200, drawing.clientWidth || drawing.parentNode.clientWidth);
const x = (at) => SIDE + ((at - line.window[0]) / (line.window[1] - line.window[0])) * (width() - 2 * SIDE);
const place = (px) => line.window[0] + ((px - SIDE) / (width() - 2 * SIDE)) * (line.window[1] - line.window[0]);

// Where a decimal or exact value lies; null where it is not on this scale.
function at(code) {
  const match = /^(-?)(\d+)p(-?\d+)$/.exec(code?.exact ?? "");
  if (!match) return code && /^-?0$/.test(code.exact) && line.scale === "linear" ? 0 : null;
  const [, sign, integer, exponent] = match;
  if (line.scale === "log") return sign ? null : Math.log2(Number(integer)) + Number(exponent);
  return (sign ? -1 : 1) * Number(integer) * 2 ** (Number(exponent) - line.unit);
}

function draw() {
  const parts = [svg("line.axis", { x1: 0, x2: width(), y1: AXIS, y2: AXIS })];
  parts.push(...labels());
  if (line.ticks.length) parts.push(...ticks());
  else parts.push(...bars());
  parts.push(...chosen());
  drawing.replaceChildren(...parts);
  const rest = line.scale === "log" ? "positive values" : "values";
  const shown = line.bins.length ? ", drawn as their density: zoom in to see each" : "";
  note.textContent = `${line.count.toLocaleString("en")} ${rest} here${shown}. Drag to move, + and − to zoom, ← and → to step from value to value.`;
}

// Taller for powers of two, so that binades can be seen.
function ticks() {
  const thin = line.ticks.length > width() / 5;
  return line.ticks.map((tick) => {
    const px = x(tick.at).toFixed(1);
    const isPower = line.scale === "log" ? Number.isInteger(Math.round(tick.at * 1e9) / 1e9) : Number.isInteger(Math.log2(Math.abs(tick.at)));
    const tall = tick.class === "zero" ? 46 : isPower ? 38 : 22;
    return svg(`line.tick.${tick.class}${thin ? ".thin" : ""}`, { x1: px, x2: px, y1: AXIS, y2: AXIS - tall });
  });
}

function bars() {
  const most = Math.max(...line.bins);
  const step = (width() - 2 * SIDE) / line.bins.length;
  return line.bins.map((count, i) => {
    const tall = (Math.log2(1 + count) / Math.log2(1 + most)) * 56;
    return svg("rect.bar", { x: (SIDE + i * step).toFixed(1), width: Math.max(step, 0.6).toFixed(2), y: AXIS - tall, height: tall });
  });
}

function labels() {
  const [lo, hi] = line.window;
  const room = Math.max(3, Math.floor(width() / 74));
  const marks = [];
  if (line.scale === "log") {
    const step = Math.max(1, Math.ceil((hi - lo) / room));
    for (let n = Math.ceil(lo / step) * step; n <= hi; n += step) marks.push([n, power(n)]);
    if (marks.length < 2) for (const tick of spread(room)) marks.push([tick.at, brief(tick.text)]);
  } else {
    const raw = (hi - lo) / room;
    const factor = Math.abs(line.unit) < 1000 ? 2 ** line.unit : 1;
    const size = 10 ** Math.floor(Math.log10(raw * factor));
    const step = [1, 2, 5, 10].map((m) => m * size).find((s) => s >= raw * factor);
    for (let n = Math.ceil((lo * factor) / step); n * step <= hi * factor; n += 1) {
      marks.push([(n * step) / factor, brief(String(Number((n * step).toPrecision(12))), 5) + (factor === 1 && line.unit ? ` · ${power(line.unit)}` : "")]);
    }
  }
  return marks.flatMap(([place, text]) => {
    const px = x(place).toFixed(1);
    return [svg("line.grid", { x1: px, x2: px, y1: AXIS, y2: AXIS + 5 }), svg("text.label", { x: px, y: AXIS + 19, "text-anchor": "middle" }, text)];
  });
}

// Some of the values, evenly over the window.
function spread(room) {
  const step = Math.ceil(line.ticks.length / room);
  return line.ticks.filter((_, i) => i % step === 0);
}

// The chosen value, its neighbours, and the gaps between them.
function chosen() {
  const here = near && at(near.at);
  const parts = [];
  if (here === null || here === undefined) return parts;
  const inside = (px) => px >= 0 && px <= width();
  const px = x(here);
  if (inside(px)) {
    const anchor = px < 90 ? "start" : px > width() - 90 ? "end" : "middle";
    parts.push(
      svg("line.here", { x1: px, x2: px, y1: 34, y2: AXIS + 4 }),
      svg("circle.here", { cx: px, cy: 34, r: 4 }),
      svg("text.here", { x: Math.min(Math.max(px, 4), width() - 4), y: 20, "text-anchor": anchor }, `${near.at.hex} ${equals(near.at.decimal)}`),
    );
  }
  for (const [code, gap] of [[near.below, near.gap_below], [near.above, near.gap_above]]) {
    const there = at(code);
    if (there === null || !gap) continue;
    const [a, b] = [Math.min(px, x(there)), Math.max(px, x(there))];
    if (b < 0 || a > width()) continue;
    const y = AXIS + 36;
    parts.push(svg("path.gap", { d: `M${a.toFixed(1)} ${y - 5}v10M${a.toFixed(1)} ${y}H${b.toFixed(1)}M${b.toFixed(1)} ${y - 5}v10` }));
    const text = brief(gap.decimal, 6);
    if (b - a > 7 * text.length + 8) parts.push(svg("text.gap", { x: (a + b) / 2, y: y + 20, "text-anchor": "middle" }, text));
  }
  drawing.setAttribute("aria-valuenow", near.at.code);
  drawing.setAttribute("aria-valuetext", `${near.at.hex} ${equals(near.at.decimal)}, ${near.at.class}`);
  return parts;
}

function zoom(factor, about) {
  if (!line) return;
  const [lo, hi] = line.window;
  const here = near && at(near.at);
  const centre = about ?? (here !== null && here !== undefined && here >= lo && here <= hi ? here : (lo + hi) / 2);
  const extent = Math.min((hi - lo) * factor, (line.whole[1] - line.whole[0]) * 1.0001);
  const least = line.scale === "log" ? 2 ** -16 : 2 ** -40;
  if (extent < least) return;
  const left = centre - ((centre - lo) / (hi - lo)) * extent;
  show(left, left + extent);
}

// Shows a window, moved so that it does not leave the line.
function show(lo, hi) {
  const [first, last] = line.whole;
  const extent = hi - lo;
  if (extent >= last - first) return change({ lo: null, hi: null });
  const left = Math.min(Math.max(lo, first), last - extent);
  change({ lo: left, hi: left + extent });
}

// Moves the window so that the chosen value can be seen.
export function reveal() {
  const here = line && near && at(near.at);
  if (here === null || here === undefined || !line) return;
  const [lo, hi] = line.window;
  if (here < lo || here > hi) show(here - (hi - lo) / 2, here + (hi - lo) / 2);
}

function keys(event) {
  const acts = {
    ArrowRight: () => near?.above && change({ code: near.above.code }),
    ArrowUp: () => near?.above && change({ code: near.above.code }),
    ArrowLeft: () => near?.below && change({ code: near.below.code }),
    ArrowDown: () => near?.below && change({ code: near.below.code }),
    Home: () => line?.ticks.length && change({ code: line.ticks[0].code }),
    End: () => line?.ticks.length && change({ code: line.ticks.at(-1).code }),
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    0: () => change({ lo: null, hi: null }),
  };
  if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
}

function wheel(event) {
  // The page scrolls, unless the line is what is being worked on.
  if (!line || (!event.ctrlKey && document.activeElement !== drawing)) return;
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.25 : 0.8, place(event.offsetX));
}

function nearest(px) {
  if (!line?.ticks.length) return null;
  const best = line.ticks.reduce((best, tick) => (Math.abs(x(tick.at) - px) < Math.abs(x(best.at) - px) ? tick : best));
  return Math.abs(x(best.at) - px) < 24 ? best : null;
}

function hover(event) {
  const tick = event.buttons === 0 && nearest(event.offsetX);
  tip.hidden = !tick;
  if (!tick) return;
  const i = line.ticks.indexOf(tick);
  const gap = line.ticks[i + 1] && line.scale === "linear" ? (line.ticks[i + 1].at - tick.at) * 2 ** line.unit : null;
  tip.replaceChildren(el("b", {}, minus(tick.text)), ` ${tick.class}`, gap ? el("small", {}, `next in ${brief(String(gap), 5)}`) : null);
  const left = Math.min(Math.max(x(tick.at), 60), width() - 60);
  tip.style.setProperty("left", `${left}px`);
}

function drag() {
  let from = null;
  drawing.addEventListener("pointerdown", (event) => {
    if (!line || event.button !== 0) return;
    from = { x: event.offsetX, window: line.window, moved: false };
    drawing.setPointerCapture(event.pointerId);
    drawing.focus({ preventScroll: true });
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!from || !line) return;
    const by = ((event.offsetX - from.x) / (width() - 2 * SIDE)) * (from.window[1] - from.window[0]);
    if (Math.abs(event.offsetX - from.x) > 4) from.moved = true;
    if (from.moved) show(from.window[0] - by, from.window[1] - by);
  });
  const end = (event) => {
    if (from && !from.moved && event.type === "pointerup") {
      const tick = nearest(event.offsetX);
      if (tick) {
        change({ code: tick.code });
        announce(`${tick.text}, ${tick.class}`);
      }
    }
    from = null;
  };
  drawing.addEventListener("pointerup", end);
  drawing.addEventListener("pointercancel", end);
}
