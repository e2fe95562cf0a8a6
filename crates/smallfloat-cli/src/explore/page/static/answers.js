// Where answers come from when no server does: the model as a WebAssembly module in the page.

const FAILED = "The explorer failed; please report this with the page's address.";

let model = null;

async function load() {
  const code = Uint8Array.from(atob(document.getElementById("model").textContent), (byte) => byte.charCodeAt(0));
  return (await WebAssembly.instantiate(code, {})).instance.exports;
}

function respond({ memory, allocate, respond, release }, message, hasFile) {
  const room = allocate(message.length);
  new Uint8Array(memory.buffer, room, message.length).set(message);
  const response = respond(room, message.length, hasFile);
  const [text, length, isError] = new Uint32Array(memory.buffer, response, 3);
  const answer = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, text, length)));
  release(response);
  if (isError) throw new Error(answer.error);
  return answer;
}

export async function post(path, kind, body, signal) {
  const message = new Uint8Array(await new Blob([body]).arrayBuffer());
  model ??= load();
  const exports = await model;
  if (signal?.aborted) throw signal.reason;
  try {
    return respond(exports, message, Number(path === "/tensor"));
  } catch (error) {
    // What was left half done is not used again.
    if (error instanceof WebAssembly.RuntimeError) model = null;
    throw error instanceof WebAssembly.RuntimeError ? new Error(FAILED) : error;
  }
}
