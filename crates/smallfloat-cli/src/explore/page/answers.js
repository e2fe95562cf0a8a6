// Where answers come from: the command that serves this page.

const GONE = "The explorer does not answer. Was the command ended? Start `smallfloat explore` again and reload.";

export async function post(path, kind, body, signal) {
  let response;
  try {
    response = await fetch(path, { method: "POST", headers: { "content-type": kind }, body, signal });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(GONE);
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}
