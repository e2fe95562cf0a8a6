// What is being looked at, and the link that leads back to it.

const DEFAULTS = {
  tab: "values",
  format: "cfloat8_1_4_3:bias=7",
  code: 0x39,
  scale: "log",
  lo: null,
  hi: null,
  page: null,
  value: "1.1",
  preset: "",
  saturation: "",
  bits: 8,
  with: ["e4m3fn", "e5m2"],
  list: "nf4",
  operation: "fma",
  x: "1.1",
  y: "3",
  z: "-0.05",
  to: "",
  rounding: "",
};

export const state = { ...DEFAULTS };
const listeners = [];

// Calls `listener` with the names of what has changed.
export function watch(listener) {
  listeners.push(listener);
}

export function change(patch) {
  const changed = Object.keys(patch).filter((key) => String(state[key]) !== String(patch[key]));
  if (changed.length === 0) return;
  Object.assign(state, patch);
  // Another format: what belonged to the old one is no more.
  if (changed.includes("format") && !("lo" in patch)) Object.assign(state, { lo: null, hi: null, page: null });
  history.replaceState(null, "", `#${link()}`);
  for (const listener of listeners) listener(new Set(changed));
}

function link() {
  const parts = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (String(value) === String(DEFAULTS[key]) && key !== "format") continue;
    if (Array.isArray(value)) parts.set(key, value.join(";"));
    else if (value !== null) parts.set(key, String(value));
  }
  return parts.toString().replaceAll("%3A", ":").replaceAll("%3D", "=").replaceAll("%2C", ",").replaceAll("%3B", ";");
}

// Takes over what the link says; what it does not say is the default.
export function follow() {
  // A `+` in a link that was typed is a plus: numbers have signs, and none of these values has a space.
  const parts = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
  const next = { ...DEFAULTS };
  for (const [key, value] of parts) {
    if (!(key in DEFAULTS)) continue;
    const kind = DEFAULTS[key];
    if (Array.isArray(kind)) next[key] = value === "" ? [] : value.split(";").slice(0, 3);
    else if (["lo", "hi", "page", "code", "bits"].includes(key)) next[key] = Number.isFinite(Number(value)) ? Number(value) : kind;
    else next[key] = value;
  }
  Object.assign(state, next);
}

export function announceAll() {
  for (const listener of listeners) listener(new Set(Object.keys(DEFAULTS)));
}
