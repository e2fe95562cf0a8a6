// The explorer's page in Chromium, driven as a person would: typed into, read back, and compared with the command.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { VIEWS, pictures, settled, start, weights } from "./explorer_views.mjs";

const FORMATS = [
  "cfloat8_1_4_3:bias=7", "cfloat8_1_4_3:bias=63", "cfloat8_1_5_2:bias=15,subnormals=gradual", "shp:bias=20", "uhp", "e4m3fn", "e5m2",
  "e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz", "e3m4", "e3m2fn", "e2m1fn", "e8m0fnu", "binary16", "bfloat16", "binary8p3se", "binary6p2uf",
  "ieee:k=6,p=3", "minifloat:k=7,p=3,bias=5,signed=false,specials=nan-allones,subnormals=none",
];
const VALUES = ["1.1", "-0.3", "3e-4", "1e9", "0x1.9999ap-3", "-inf", "nan"];
const MODES = ["nearest-even", "nearest-away", "toward-positive", "toward-negative", "toward-zero", "to-odd"];

const command = (...args) => execFileSync(process.env.SMALLFLOAT, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const work = mkdtempSync(join(tmpdir(), "explorer-"));
const { child, address } = await start();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
const faults = [];
let counted = 0;

function open(options = {}) {
  return browser.newPage({ viewport: { width: 1280, height: 860 }, ...options }).then((page) => {
    // The gate runs this beside other work on few processors.
    page.setDefaultTimeout(120_000);
    page.on("pageerror", (error) => faults.push(`error: ${error}`));
    // The browser itself reports answers of refusal; they are expected where the page shows what they say.
    page.on("console", (message) => message.type() === "error" && !/status of 4/.test(message.text()) && faults.push(`console: ${message.text()}`));
    page.on("dialog", (dialog) => (faults.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
    page.on("request", (request) => request.url().startsWith(address) || request.url().startsWith("data:") || faults.push(`asked ${request.url()}`));
    return page;
  });
}

const same = (found, expected, what) => (assert.equal(found, expected, what), (counted += 1));
const value = (page, selector) => page.locator(selector).first().textContent();

// Types a name into the format panel and waits for its answer.
async function choose(page, name) {
  await settled(page);
  const field = page.getByLabel("Name", { exact: true });
  await field.fill(name);
  await field.press("Enter");
  await settled(page);
}

async function valuesAgainstTheCommand() {
  const page = await open();
  await page.goto(address);
  await settled(page);
  for (const [turn, format] of FORMATS.entries()) {
    await page.getByRole("tab", { name: "Round" }).click();
    await choose(page, format);
    // Each format gets some of the values, each value many of the formats.
    const values = VALUES.filter((_, i) => (i + turn) % 2 === 0);
    const expected = Object.fromEntries(MODES.map((mode) => [mode, JSON.parse(command("show", format, ...values, "--rounding", mode, "--json"))]));
    for (const [i, text] of values.entries()) {
      await page.getByLabel("Value", { exact: true }).fill(text);
      await settled(page);
      const rows = await page.locator("tr[data-mode]").evaluateAll((rows) => rows.map((row) => [
        row.dataset.mode, row.querySelector("code").textContent, [...row.querySelectorAll(".flag")].map((flag) => flag.textContent)]));
      assert.equal(rows.length, MODES.length);
      const letters = { invalid: "I", denormal: "D", overflow: "O", underflow: "U", inexact: "X", "division by zero": "Z" };
      for (const [mode, code, flags] of rows) {
        const right = expected[mode][i];
        same(code, right.code, `${format} ${text} ${mode}`);
        same(flags.map((flag) => letters[flag]).join("") || "-", right.flags, `flags of ${format} ${text} ${mode}`);
      }
    }
    await page.getByRole("tab", { name: "Values" }).click();
    // Bits are clicked one after the other, and every code on the way is the command's.
    const seen = [];
    for (const place of [0, (await page.locator(".bit").count()) - 1]) {
      await page.locator(`.bit[data-place="${place}"]`).click();
      await settled(page);
      seen.push(await page.evaluate(() => {
        const texts = (selector) => [...document.querySelectorAll(selector)].map((node) => node.textContent);
        return { hex: texts(".sum code")[0], bits: texts(".bit").join(""), class: texts("#code .class")[0].toLowerCase(), neighbours: texts("button.step span small").join() };
      }));
    }
    const right = JSON.parse(command("show", format, "--hex", ...seen.map((code) => code.hex), "--json"));
    for (const [i, code] of seen.entries()) {
      const what = `${format} ${code.hex}`;
      same(code.bits, right[i].bits.replaceAll("_", ""), `bits of ${what}`);
      same(code.class, right[i].class, `class of ${what}`);
      same(code.neighbours, [right[i].below, right[i].above].filter(Boolean).map((near) => near.code).join(), `neighbours of ${what}`);
    }
  }
  await page.close();
}

async function arithmeticAgainstTheCommand() {
  const page = await open();
  await page.goto(`${address}#tab=arithmetic`);
  for (const format of ["cfloat8_1_4_3:bias=7", "e4m3fn", "binary8p3se"]) {
    await choose(page, format);
    for (const [x, y, z] of [["0x39", "0x44", "0xc5"], ["0x01", "0x7e", "0x02"], ["0x7d", "0x7d", "0x00"]]) {
      for (const [letter, code] of [["x", x], ["y", y], ["z", z]]) await page.getByLabel(letter, { exact: true }).fill(`code:${code}`);
      await settled(page);
      const right = command("eval", `FMA<${format}, ${format}, ${format}, ${format}>`, "--hex", x.slice(2), y.slice(2), z.slice(2)).trim().split(" ")[0];
      same(await value(page, ".outcome code"), `0x${right}`, `${format} FMA ${x} ${y} ${z}`);
    }
  }
  // Step by step: the first step alone, then all.
  await page.getByRole("button", { name: "Next step" }).click();
  same(await page.locator(".steps .later").count() > 3, true, "later steps are dimmed");
  await page.getByRole("button", { name: "Show all steps" }).click();
  same(await page.locator(".steps .later").count(), 0, "all steps");
  await page.close();
}

async function listsAgainstTheCommand() {
  const page = await open();
  await page.goto(`${address}#tab=values`);
  // A list typed as a format leads to its view.
  await choose(page, "NF4");
  same(await page.locator("#view-lists").isVisible(), true, "the view of lists");
  same(await page.locator(".trouble:visible").count(), 0, "nf4 is understood");
  const hex = (selector) => value(page, `#view-lists ${selector} code`);
  for (const [list, cells] of [["nf4", 16], ["bnb-fp4", 16], ["int4", 16], ["mxint8", 256]]) {
    await page.getByLabel("List", { exact: true }).selectOption(list);
    const texts = ["0.1", "-0.3", "2.5", "-7", "1e9", "-inf", "0"];
    const right = JSON.parse(command("convert", "--to", list, "--json", "--", ...texts));
    for (const [i, text] of texts.entries()) {
      await page.getByLabel("Number", { exact: true }).fill(text);
      await settled(page);
      same(await hex(".reading"), right[i].code, `${list} ${text}`);
      same(await page.locator("#view-lists .cell[aria-selected]").getAttribute("data-code"), String(Number(right[i].code)), `the cell of ${list} ${text}`);
    }
    same(await page.locator("#view-lists .cell").count(), cells, `codes of ${list}`);
  }
  // int4: from 0 to the right and down, 5; its neighbours are 4 and 6.
  await page.getByLabel("List", { exact: true }).selectOption("int4");
  await page.getByLabel("Number", { exact: true }).fill("#0");
  await settled(page);
  await page.locator("#view-lists .cell[aria-selected]").focus();
  for (const key of ["ArrowRight", "ArrowDown"]) {
    await page.keyboard.press(key);
    await settled(page);
  }
  same(await hex(".reading"), "0x5", "arrows go through the codes of a list");
  same((await page.locator("#view-lists .step small:not(.gap)").allTextContents()).join(), "0x4,0x6", "the values beside it");
  same((await page.locator("#view-lists .step .gap").allTextContents()).join(), "middle 4.5,middle 5.5", "and the middles");
  await page.getByLabel("Number", { exact: true }).fill("nan");
  await settled(page);
  same(await value(page, "#view-lists .trouble"), "int4 has no NaN", "NaN is refused");
  await page.close();
}

async function tensorAgainstTheCommand(file) {
  const page = await open();
  await page.goto(`${address}#tab=compare&format=cfloat8_1_4_3:bias=7&with=e4m3fn`);
  await settled(page);
  await page.setInputFiles("#file", file);
  await page.waitForSelector(".histogram");
  await settled(page);
  const row = (name) => page.locator("#view-compare table").first().locator(`tr:has(th:text-is("${name}")) td`).allTextContents();
  for (const [i, format] of ["cfloat8_1_4_3:bias=7", "e4m3fn"].entries()) {
    const report = join(work, `${i}.json`);
    command("quantize", file, "--tensors", "all", "-o", join(work, `${i}.safetensors`), "--format", format, "--report", report);
    const [tensor] = JSON.parse(readFileSync(report, "utf8")).tensors;
    same((await row("Signal to noise"))[i], `${tensor.sqnr_db.toFixed(2)} dB`, `SQNR of ${format}`);
  }
  const auto = join(work, "auto.json");
  command("quantize", file, "--tensors", "all", "-o", join(work, "auto.safetensors"), "--format", "cfloat8_1_4_3", "--report", auto);
  const [{ biases }] = JSON.parse(readFileSync(auto, "utf8")).tensors;
  same((await row("Best bias"))[0].startsWith(`${biases[0]} `), true, "the bias of least error");
  await page.getByRole("button", { name: `Use bias ${biases[0]}` }).click();
  await settled(page);
  same(await page.getByLabel("Name", { exact: true }).inputValue(), `cfloat8_1_4_3:bias=${biases[0]}`, "the best bias is taken over");
  await page.close();
}

// Names typed into fields: one without a bias gets the default one, and a compared format its own slider.
async function namesAreCompleted() {
  const page = await open();
  await page.goto(address);
  await choose(page, "cfloat8_1_5_2");
  same(await page.getByLabel("Name", { exact: true }).inputValue(), "cfloat8_1_5_2:bias=15", "the default bias is added");
  same(/^No bias is given: cfloat8_1_5_2:bias=15,/.test(await page.locator("#format .note[role=status]").textContent()), true, "and said");
  await choose(page, "e4m3fn");
  same(await page.locator("#format .note[role=status]:visible").count(), 0, "the note goes");
  await page.goto(`${address}#tab=compare&format=e4m3fn&with=e5m2`);
  await settled(page);
  const second = page.getByLabel("Format 2", { exact: true });
  same(await page.locator(".contestant input[type=range]").count(), 0, "a fixed bias has no slider");
  for (const [typed, bias] of [["cfloat8_1_4_3:bias=7", "7"], ["e5m2", null], ["cfloat8_1_4_3", "7"]]) {
    await second.fill(typed);
    await second.press("Enter");
    await settled(page);
    const sliders = page.locator(".contestant input[type=range]");
    same(await sliders.count(), bias === null ? 0 : 1, `a slider for ${typed}`);
    if (bias !== null) same(await sliders.inputValue(), bias, `the bias of ${typed}`);
    same(await value(page, "#view-compare .facts-table th.series-1"), typed.includes("_") ? "cfloat8_1_4_3:bias=7" : typed, `the table has ${typed}`);
  }
  // Digits are whole where they are few, and said to be rounded elsewhere; 0x40 alone is refused with a hint.
  for (const [format, text] of [["cfloat8_1_4_3:bias=7", "0.0009765625"], ["cfloat8_1_4_3:bias=27", "≈9.313225746154785e−10"]]) {
    await page.goto(`${address}#format=${format}&code=1`);
    await settled(page);
    same(await value(page, ".value b"), text, `code 1 of ${format}`);
  }
  await page.getByRole("tab", { name: "Round" }).click();
  await page.getByLabel("Value", { exact: true }).fill("0x40");
  await settled(page);
  const hint = await page.locator(".trouble:visible").first().textContent();
  same(hint.includes("#40") && hint.includes("0x40p0"), true, `a hint for 0x40: ${hint}`);
  await page.close();
}

async function keyboardAlone() {
  const page = await open();
  await page.goto(`${address}#format=e4m3fn&code=56`);
  await settled(page);
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute("aria-label") || document.activeElement.textContent);
  const until = async (wanted) => {
    for (let i = 0; i < 60; i += 1) {
      await page.keyboard.press("Tab");
      if ((await focused()).includes(wanted)) return;
    }
    assert.fail(`Tab does not reach ${wanted}`);
  };
  await page.keyboard.press("Tab");
  same(await focused(), "Skip to the views", "the first stop");
  await until("Number line");
  await page.keyboard.press("ArrowRight");
  await settled(page);
  same(await value(page, ".sum code"), "0x39", "→ steps to the next value");
  await page.keyboard.press("+");
  await settled(page);
  assert.match(page.url(), /lo=/, "+ zooms in");
  await until("bit 7");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Space");
  await settled(page);
  same(await value(page, ".sum code"), "0x79", "Space turns bit 6 over");
  await until("0x79");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowLeft");
  await settled(page);
  same(await value(page, ".sum code"), "0x88", "arrows go through the codes");
  await page.locator("#tab-values").focus();
  await page.keyboard.press("ArrowRight");
  await settled(page);
  same(await page.locator("#view-round").isVisible(), true, "arrows go through the views");
  await page.keyboard.press("End");
  same(await page.locator("#view-arithmetic").isVisible(), true, "End is the last view");
  await page.goto(`${address}#format=cfloat8_1_4_3:bias=7&code=57`);
  await settled(page);
  await page.locator("#format input[type=range]").focus();
  await page.keyboard.press("ArrowRight");
  await settled(page);
  same(await value(page, ".value b"), "0.5625", "a bias more halves the value");
  await page.close();
}

async function linksLeadBack() {
  const page = await open();
  await page.goto(address);
  await choose(page, "minifloat:k=6,p=3,bias=4");
  await page.getByRole("tab", { name: "Round" }).click();
  await page.getByLabel("Value", { exact: true }).fill("1e+2");
  await settled(page);
  const link = page.url();
  const again = await open();
  await again.goto(link);
  await settled(again);
  for (const selector of [".reading", ".modes", "#format .facts"]) same(await value(again, selector), await value(page, selector), `${selector} of ${link}`);
  same(await again.getByLabel("Value", { exact: true }).inputValue(), "1e+2", "the typed text");
  await Promise.all([page.close(), again.close()]);
}

// What is typed before an answer comes stays, and counts once it is entered.
async function answersLeaveFieldsAlone() {
  const page = await open();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  let asked = 0;
  await page.route("**/ask", async (route) => {
    if (route.request().postDataJSON().ask === "format" && (asked += 1) === 1) await held;
    await route.continue();
  });
  await page.goto(address);
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("e5m2");
  const answered = page.waitForResponse((response) => response.request().postDataJSON()?.ask === "format");
  release();
  await answered;
  await settled(page);
  same(await name.inputValue(), "e5m2", "the first answer leaves what is being typed");
  await name.press("Enter");
  await settled(page);
  same(asked, 2, "Enter asks");
  same(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("format"), "e5m2", "the typed format is taken");
  same((await value(page, "#format .facts dd")).startsWith("8"), true, "its card is shown");
  // A refusal leaves the next try alone too.
  await name.fill("e5m22");
  await name.press("Enter");
  await name.fill("e4m3fn");
  await settled(page);
  same(await name.inputValue(), "e4m3fn", "a refusal leaves what is being typed");
  await name.press("Enter");
  await settled(page);
  same(await page.locator(".trouble:visible").count(), 0, "and it is taken");
  // A field that is entered before its first text has come: what is typed then replaces the text.
  const early = await open();
  let answer;
  const late = new Promise((resolve) => (answer = resolve));
  await early.route("**/ask", async (route) => {
    if (route.request().postDataJSON().ask === "format") await late;
    await route.continue();
  });
  await early.goto(address);
  await early.getByLabel("Name", { exact: true }).focus();
  answer();
  await settled(early);
  same(/^\w+:bias=\d+$/.test(await early.getByLabel("Name", { exact: true }).inputValue()), true, "the first name is written");
  await early.keyboard.type("e5m2");
  same(await early.getByLabel("Name", { exact: true }).inputValue(), "e5m2", "typing replaces what was selected");
  await Promise.all([page.close(), early.close()]);
}

async function hostileInput() {
  const page = await open();
  await page.goto(address);
  const said = async (what) => {
    await settled(page);
    const text = await page.locator(".trouble:visible").first().textContent();
    same(text.length > 10 && text.length < 500, true, `a message for ${what}: ${text}`);
  };
  for (const name of ["<img src=x onerror=alert(1)>", "x".repeat(40000), "e3m2", "minifloat:k=99,p=1,bias=0", "\u202egnp.e4m3", "binary0p0se", ""]) {
    await choose(page, name);
    await said(`the format ${name.slice(0, 40)}`);
  }
  await choose(page, "e5m2");
  await page.getByRole("tab", { name: "Round" }).click();
  for (const text of ["<script>alert(1)</script>", "9".repeat(30000), "0x", "0xfff", "#fff", "code:39", "1e", "--1", "∞", "1,5", "1e999999999999"]) {
    await page.getByLabel("Value", { exact: true }).fill(text);
    await said(`the value ${text.slice(0, 40)}`);
  }
  await page.getByLabel("Value", { exact: true }).fill("1e4000");
  await settled(page);
  same(await page.locator(".trouble:visible").count(), 0, "a huge number is a number");
  await page.getByLabel("Random bits").fill("99");
  await said("99 random bits");
  await page.getByRole("tab", { name: "Compare" }).click();
  const file = (name, bytes) => (writeFileSync(join(work, name), bytes), page.setInputFiles("#file", join(work, name)));
  for (const [name, bytes] of [["empty.npy", ""], ["text.npy", "hello, world"], ["lie.safetensors", Buffer.from("ffffffffffffff7f7b7d", "hex")], ["model.pt", "PK\x03\x04 and so on, for some bytes"]]) {
    await file(name, bytes);
    await said(`the file ${name}`);
  }
  for (const hash of ["#format=%00&code=-1", "#tab=nothing&code=1e99&lo=nan&with=;;;;", "#%%%", "#lo=1&hi=1", "#code=99999999999999999999&page=-3"]) {
    await page.goto("about:blank");
    await page.goto(address + hash);
    await settled(page);
    same(await page.locator(".tab").count(), 5, `the page stands with ${hash}`);
  }
  await page.close();
}

async function everyViewIsWhole() {
  for (const width of [360, 800, 1280]) {
    const page = await open({ viewport: { width, height: 800 } });
    for (const [view, link] of Object.entries(VIEWS)) {
      // The same page, led from link to link.
      await page.goto(address + link);
      await settled(page);
      same(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true, `${view} fits into ${width} px`);
      const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input, select, [role=slider]")].filter((node) => node.checkVisibility() &&
        !(node.getAttribute("aria-label") || node.labels?.length || node.textContent.trim())).map((node) => node.outerHTML));
      same(nameless.join(), "", `every control of ${view} has a name`);
      same(await page.locator(".trouble:visible").count(), 0, `${view} shows no error`);
    }
    await page.close();
  }
  const page = await open({ colorScheme: "dark" });
  await page.goto(address);
  await settled(page);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.locator("#theme").click();
  same(dark !== (await ground()), true, "the theme can be chosen");
  const milliseconds = await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd);
  console.log(`loaded in ${milliseconds.toFixed(0)} ms`);
  await page.close();
}

try {
  const file = weights(join(work, "weights.npy"));
  const tests = [valuesAgainstTheCommand, arithmeticAgainstTheCommand, listsAgainstTheCommand, () => tensorAgainstTheCommand(file), namesAreCompleted, keyboardAlone, linksLeadBack, hostileInput, everyViewIsWhole];
  // Without a server no answer can be held back.
  if (child) tests.push(answersLeaveFieldsAlone);
  for (const test of tests) {
    const began = Date.now();
    await test();
    console.log(`${test.name || "tensorAgainstTheCommand"}: ${Date.now() - began} ms`);
  }
  assert.deepEqual(faults, [], "nothing on the console, no dialog, nothing asked elsewhere");
  const at = process.argv.indexOf("--screenshots");
  if (at > 0) await pictures(browser, address, process.argv[at + 1], file);
  console.log(`${counted} comparisons, no fault`);
} finally {
  await browser.close();
  child?.kill("SIGINT");
  rmSync(work, { recursive: true });
}
