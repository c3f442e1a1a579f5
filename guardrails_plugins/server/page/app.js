import { render } from "./render.js";
import { readEvents } from "./sse.js";
import { LANGUAGES, RIGHT_TO_LEFT } from "./texts.js";

const $ = (id) => document.getElementById(id);
const form = $("ask");
const box = $("question");
const log = $("log");
const live = $("live");
const select = $("language");
const history = [];
let controller = null;

for (const [code, [name]] of Object.entries(LANGUAGES)) select.add(new Option(name, code));
const wanted = new URLSearchParams(location.search).get("language") ?? navigator.language.slice(0, 2);
select.value = wanted in LANGUAGES ? wanted : "en";
select.addEventListener("change", speak);
speak();

function texts() {
  return LANGUAGES[select.value][1];
}

function speak() {
  document.documentElement.lang = select.value;
  document.documentElement.dir = RIGHT_TO_LEFT.has(select.value) ? "rtl" : "ltr";
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = texts()[element.dataset.text];
  box.placeholder = texts().question;
  box.setAttribute("aria-label", texts().question);
  select.setAttribute("aria-label", texts().language);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = box.value.trim();
  if (!question || controller) return;
  box.value = "";
  ask(question);
});
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && controller) controller.abort();
});
$("stop").addEventListener("click", () => controller?.abort());
$("clear").addEventListener("click", () => {
  controller?.abort();
  history.length = 0;
  log.replaceChildren();
  $("empty").hidden = false;
  box.focus();
});

function make(parent, name, className, text) {
  const element = parent.appendChild(document.createElement(name));
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

async function ask(question) {
  $("empty").hidden = true;
  const turn = make(log, "article", "turn");
  const asked = make(turn, "p", "question", question);
  asked.dir = "auto";
  const body = make(turn, "div", "answer");
  body.dir = RIGHT_TO_LEFT.has(select.value) ? "rtl" : "ltr";
  body.lang = select.value;
  const status = make(turn, "p", "status", texts().waiting);
  turn.dataset.state = "open";
  turn.scrollIntoView({ block: "end" });
  const answer = { question, turn, body, status, text: "", sources: [], state: null };
  await stream(answer);
  finish(answer);
}

async function stream(answer) {
  controller = new AbortController();
  busy(true);
  try {
    const response = await fetch("v1/answers", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
      body: JSON.stringify({ question: answer.question, language: select.value, history }),
      signal: controller.signal,
      cache: "no-store",
    });
    if (!response.ok) {
      const problem = await response.json().catch(() => null);
      answer.state = "failed";
      answer.notice = problem?.error?.message ?? `HTTP ${response.status}`;
      return;
    }
    await readEvents(response, (event) => take(answer, event.type, JSON.parse(event.data)));
    if (answer.state === null) {
      answer.state = "failed";
      answer.notice = texts().lost;
    }
  } catch (error) {
    const stopped = error.name === "AbortError";
    answer.state = stopped ? "stopped" : "failed";
    answer.notice = stopped ? texts().stopped : texts().lost;
  } finally {
    controller = null;
    busy(false);
  }
}

function take(answer, type, data) {
  if (type === "sources") {
    answer.sources = data.sources;
  } else if (type === "sentence") {
    answer.text += data.text;
    render(answer.body, answer.text);
    answer.status.textContent = "";
    // The live region is told sentence by sentence: a screen reader reads each once.
    make(live, "p", "", data.text.trim()).lang = select.value;
    answer.turn.scrollIntoView({ block: "end" });
  } else if (type === "guard") {
    answer.notice = data.notice;
  } else if (type === "error") {
    answer.problem = data.message;
  } else if (type === "done") {
    answer.state = data.state;
    answer.notice = data.notice ?? answer.notice;
  }
}

function finish(answer) {
  const { turn, status, state } = answer;
  turn.dataset.state = state;
  status.textContent = "";
  if (answer.notice || state !== "completed") {
    const words = texts();
    make(status, "strong", "", words[state] ?? words.failed);
    if (answer.notice) make(status, "span", "", ` ${answer.notice}`);
    make(live, "p", "", status.textContent);
  }
  if (answer.sources.length) showSources(answer);
  if (state !== "completed") {
    const again = make(turn, "button", "again", texts().retry);
    again.type = "button";
    again.addEventListener("click", () => {
      if (controller) return;
      turn.remove();
      ask(answer.question);
    });
  }
  // Only what was released goes on, without notices; a turn without text says nothing.
  if (answer.text) {
    history.push({ role: "user", content: answer.question }, { role: "assistant", content: answer.text });
    history.splice(0, Math.max(0, history.length - 12));
  }
  turn.scrollIntoView({ block: "end" });
}

function showSources(answer) {
  const details = make(answer.turn, "details", "sources");
  make(details, "summary", "", `${texts().sources} (${answer.sources.length})`);
  const list = make(details, "ol", "");
  for (const source of answer.sources) {
    const item = make(list, "li", "");
    item.value = source.number;
    item.dir = "auto";
    make(item, "strong", "", source.title);
    make(item, "span", "document", source.document);
    make(item, "p", "", source.text);
  }
}

function busy(on) {
  $("send").hidden = on;
  $("stop").hidden = !on;
  log.setAttribute("aria-busy", String(on));
  if (!on) {
    live.replaceChildren(...[...live.children].slice(-4));
    box.focus();
  }
}
