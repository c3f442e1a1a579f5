// A parser of Server-Sent Events after the WHATWG HTML standard, section 9.2.6, for use with fetch.
// Pure: no DOM, no network. Usable on its own:
//
//   const parser = new EventParser((event) => console.log(event.type, event.data));
//   parser.push(text); parser.push(moreText); parser.end();

export class EventParser {
  /** @param {(event: {type: string, data: string, id: string}) => void} onEvent called at each blank line */
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.buffer = "";
    this.started = false;
    this.afterCarriageReturn = false;
    this.lastId = "";
    this.retry = null;
    this.#clear();
  }

  #clear() {
    this.type = "";
    this.data = [];
  }

  /** Take decoded text, cut anywhere. A CRLF may be split between two calls. */
  push(text) {
    if (!text) return;
    if (!this.started) {
      this.started = true;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    let start = 0;
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      if (code === 0x0a && this.afterCarriageReturn) {
        // The second half of a CRLF whose first half has ended the line already.
        this.afterCarriageReturn = false;
        start = i + 1;
        continue;
      }
      this.afterCarriageReturn = code === 0x0d;
      if (code === 0x0a || code === 0x0d) {
        const line = this.buffer + text.slice(start, i);
        this.buffer = "";
        start = i + 1;
        this.#line(line);
      }
    }
    this.buffer += text.slice(start);
  }

  /** The stream has ended: an unfinished event is discarded, as the standard says. */
  end() {
    this.buffer = "";
    this.#clear();
  }

  #line(line) {
    if (line === "") {
      if (this.data.length > 0) {
        const event = { type: this.type || "message", data: this.data.join("\n"), id: this.lastId };
        this.#clear();
        this.onEvent(event);
      }
      this.#clear();
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1); // exactly one blank
    if (field === "data") this.data.push(value);
    else if (field === "event") this.type = value;
    else if (field === "id" && !value.includes("\0")) this.lastId = value;
    else if (field === "retry" && /^[0-9]+$/.test(value)) this.retry = Number(value);
  }
}

/**
 * Read a fetch response as events.
 * @param {Response} response
 * @param {(event: {type: string, data: string, id: string}) => void} onEvent
 */
export async function readEvents(response, onEvent) {
  const parser = new EventParser(onEvent);
  const reader = response.body.getReader();
  // `stream: true`: a character may be split between two reads. The parser takes the BOM itself.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parser.push(decoder.decode(value, { stream: true }));
    }
    parser.push(decoder.decode());
    parser.end();
  } finally {
    reader.releaseLock();
  }
}
