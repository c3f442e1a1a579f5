// The parser of the page, on its own: every reading of the standard (WHATWG HTML 9.2.6), whole and in every cutting.

import assert from "node:assert/strict";
import test from "node:test";
import { pathToFileURL } from "node:url";

const { EventParser, readEvents } = await import(pathToFileURL(process.env.SSE_MODULE));

function parse(pieces) {
  const events = [];
  const parser = new EventParser((event) => events.push(event));
  for (const piece of pieces) parser.push(piece);
  parser.end();
  return events.map(({ type, data }) => [type, data]);
}

function everyCut(text, expected) {
  assert.deepEqual(parse([text]), expected);
  assert.deepEqual(parse([...text]), expected);
  for (let at = 1; at < text.length; at += 1) assert.deepEqual(parse([text.slice(0, at), text.slice(at)]), expected);
  for (let at = 1; at < text.length - 1; at += 1) {
    assert.deepEqual(parse([text.slice(0, at), text.slice(at, at + 1), text.slice(at + 1)]), expected);
  }
}

const cases = {
  "an event ends at a blank line": ["data: a\n\ndata: b\n\n", [["message", "a"], ["message", "b"]]],
  "the type is named": ["event: done\ndata: {}\n\n", [["done", "{}"]]],
  "the type holds for one event": ["event: x\ndata: 1\n\ndata: 2\n\n", [["x", "1"], ["message", "2"]]],
  "several data lines are joined by LF": ["data: a\ndata: b\ndata:\ndata: c\n\n", [["message", "a\nb\n\nc"]]],
  "comments say nothing": [": ping\n\ndata: a\n: in between\ndata: b\n\n", [["message", "a\nb"]]],
  "exactly one blank after the colon goes": ["data:  a\n\ndata:b\n\ndata:\tc\n\n", [["message", " a"], ["message", "b"], ["message", "\tc"]]],
  "CR, LF and CRLF end lines": ["data: a\r\rdata: b\r\n\r\ndata: c\n\n", [["message", "a"], ["message", "b"], ["message", "c"]]],
  "mixed ends": ["data: a\r\ndata: b\rdata: c\n\r\n", [["message", "a\nb\nc"]]],
  "a BOM at the start goes": ["\ufeffdata: a\n\n", [["message", "a"]]],
  "a BOM later stays": ["data: \ufeffa\n\n", [["message", "\ufeffa"]]],
  "an unfinished event is discarded": ["data: a\n\ndata: b\n", [["message", "a"]]],
  "an unfinished line is discarded": ["data: a\n\ndata: b", [["message", "a"]]],
  "an event without data is none": ["event: x\n\ndata: a\n\n", [["message", "a"]]],
  "empty data is an event": ["data\n\ndata:\n\n", [["message", ""], ["message", ""]]],
  "a field without a colon has no value": ["event\ndata: a\n\n", [["message", "a"]]],
  "unknown fields say nothing": ["foo: bar\ndata: a\nretry: 10\nid: 7\n\n", [["message", "a"]]],
  "a colon in the value stays": ["data: a: b: c\n\n", [["message", "a: b: c"]]],
  "emoji and astral letters stay whole": ["data: 👩‍👧 𝟒\n\n", [["message", "👩‍👧 𝟒"]]],
  "U+2028 ends no line": ["data: a\u2028b\u0085c\n\n", [["message", "a\u2028b\u0085c"]]],
};
for (const [name, [text, expected]] of Object.entries(cases)) test(name, () => everyCut(text, expected));

test("a response is read across reads and split UTF-8", async () => {
  const bytes = new TextEncoder().encode('event: sentence\ndata: "سلام €"\r\n\r\ndata: 2\n\n');
  for (let size = 1; size < bytes.length; size += 1) {
    const chunks = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size));
    const body = new ReadableStream({
      pull(controller) {
        if (chunks.length) controller.enqueue(chunks.shift());
        else controller.close();
      },
    });
    const events = [];
    await readEvents({ body }, (event) => events.push([event.type, event.data]));
    assert.deepEqual(events, [["sentence", '"سلام €"'], ["message", "2"]]);
  }
});

test("random streams read the same in any cutting", () => {
  const parts = ["data", ":", " ", "\n", "\r", "\r\n", "event", "x", "\ufeff", "id", "👩"];
  let seed = 7;
  const next = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let round = 0; round < 2000; round += 1) {
    const text = Array.from({ length: 1 + next(24) }, () => parts[next(parts.length)]).join("");
    const pieces = [];
    for (let at = 0; at < text.length; ) {
      const size = 1 + next(4);
      pieces.push(text.slice(at, at + size));
      at += size;
    }
    assert.deepEqual(parse(pieces), parse([text]));
  }
});
