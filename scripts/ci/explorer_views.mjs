// The explorer, started for a test, and pictures of its views.

import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const VIEWS = {
  values: "#format=cfloat8_1_4_3:bias=7&code=57",
  linear: "#format=cfloat8_1_4_3:bias=7&code=7&scale=linear&lo=-0.00003&hi=0.00012",
  round: "#tab=round&format=cfloat8_1_4_3:bias=7&value=1.1",
  compare: "#tab=compare&format=cfloat8_1_4_3:bias=11&value=0.3&with=e4m3fn;e5m2;binary8p3se",
  lists: "#tab=lists&list=nf4&value=0.1",
  lists8: "#tab=lists&list=mxint8&value=-1.3",
  arithmetic: "#tab=arithmetic&format=cfloat8_1_4_3:bias=7",
  codes16: "#format=binary16&code=15360&page=60",
};

// Starts the explorer and reads its address; STATIC names the page that needs no server.
export async function start() {
  if (process.env.STATIC) return { child: null, address: pathToFileURL(process.env.STATIC).href };
  const child = spawn(process.env.SMALLFLOAT, ["explore", "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((found, failed) => {
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      const match = /http:\/\/127\.0\.0\.1:\d+\//.exec(text);
      if (match) found(match[0]);
    });
    child.on("exit", (code) => failed(new Error(`the explorer ended with ${code}: ${text}`)));
  });
  return { child, address };
}

// A .npy file of 20,000 numbers as weights of a network are: sums of uniform ones, a few of them large.
export function weights(path) {
  let seed = 1;
  const uniform = () => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32);
  const values = Float32Array.from({ length: 20000 }, (_, i) => {
    let sum = -6;
    for (let j = 0; j < 12; j += 1) sum += uniform();
    return sum * (i % 97 === 0 ? 0.4 : 0.03);
  });
  const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 200), }";
  const padded = `${header}${" ".repeat(64 - ((11 + header.length) % 64))}\n`;
  const head = Buffer.from([0x93, ...Buffer.from("NUMPY"), 1, 0, padded.length & 255, padded.length >> 8]);
  writeFileSync(path, Buffer.concat([head, Buffer.from(padded), Buffer.from(values.buffer)]));
  return path;
}

// Waits until all answers have come and are drawn.
export function settled(page) {
  return page.evaluate(async () => {
    do await new Promise(requestAnimationFrame);
    while (document.body?.getAttribute("aria-busy") !== "false");
  });
}

// The two pictures of docs/explorer. `pngquant --ext .png --force 64` makes them small.
export async function pictures(browser, address, folder, file) {
  mkdirSync(folder, { recursive: true });
  for (const view of ["round", "compare"]) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: "light" });
    await page.goto(address + VIEWS[view]);
    await settled(page);
    if (view === "compare") {
      await page.setInputFiles("#file", file);
      await page.waitForSelector(".histogram");
      await settled(page);
    }
    await page.screenshot({ path: join(folder, `${view}-light.png`), fullPage: true });
    await page.close();
  }
}
