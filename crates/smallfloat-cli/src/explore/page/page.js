// The page: views as tabs, theme, and what the link says.

import * as arithmetic from "./arithmetic.js";
import * as codes from "./codes.js";
import * as compare from "./compare.js";
import { $, el, trouble } from "./elements.js";
import * as format from "./format.js";
import * as line from "./line.js";
import * as lists from "./lists.js";
import * as round from "./round.js";
import { announceAll, change, follow, state, watch } from "./state.js";

const TABS = [["values", "Values"], ["round", "Round"], ["compare", "Compare"], ["lists", "Lists"], ["arithmetic", "Arithmetic"]];

function tabs() {
  const list = document.querySelector(".tabs");
  const buttons = TABS.map(([value, text]) => el("button.tab", { type: "button", role: "tab", id: `tab-${value}`, "aria-controls": `view-${value}`, onclick: () => change({ tab: value }) }, text));
  list.append(...buttons);
  list.addEventListener("keydown", (event) => {
    const i = buttons.indexOf(event.target);
    const to = { ArrowRight: (i + 1) % TABS.length, ArrowLeft: (i + TABS.length - 1) % TABS.length, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    change({ tab: TABS[to][0] });
    buttons[to].focus();
  });
  const show = () => {
    if (!TABS.some(([value]) => value === state.tab)) state.tab = "values";
    TABS.forEach(([value], i) => {
      const chosen = value === state.tab;
      buttons[i].setAttribute("aria-selected", String(chosen));
      buttons[i].tabIndex = chosen ? 0 : -1;
      $(`view-${value}`).hidden = !chosen;
    });
  };
  watch((changed) => changed.has("tab") && show());
  show();
}

const THEMES = [["auto", "Auto", "as the system has it"], ["light", "Light", "light"], ["dark", "Dark", "dark"]];

function theme() {
  const button = $("theme");
  let chosen = "auto";
  // Browsers may refuse to remember; then the theme is the system's after a reload.
  const remembered = (write) => {
    try {
      if (write !== undefined) localStorage.setItem("theme", write);
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };
  const set = (value) => {
    const [name, text, words] = THEMES.find(([known]) => known === value) ?? THEMES[0];
    chosen = name;
    document.documentElement.dataset.theme = name;
    button.querySelector("span").textContent = text;
    button.setAttribute("aria-label", `Theme: ${words}`);
  };
  button.addEventListener("click", () => {
    const i = THEMES.findIndex(([name]) => name === chosen);
    set(THEMES[(i + 1) % THEMES.length][0]);
    remembered(chosen);
  });
  set(remembered() ?? "auto");
}

async function begin() {
  theme();
  follow();
  tabs();
  await format.start();
  for (const view of [line, codes, round, compare, lists, arithmetic]) view.start();
  format.refresh();
  window.addEventListener("hashchange", () => {
    follow();
    announceAll();
  });
  // A file dropped beside its place must not replace the page.
  for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
}

begin().catch((error) => trouble($("trouble"), error.message));
