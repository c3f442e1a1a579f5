// Text of an answer as DOM: paragraphs, lists, headings, emphasis and code. Text is only ever set as
// text; nothing of an answer is parsed as HTML, and no link is made of it.

const ITEM = /^\s{0,3}(?:[-*•]|(\d{1,3})[.)])\s+(.*)$/;
const HEADING = /^(#{1,6})\s+(.*)$/;
const FENCE = /^\s{0,3}(```|~~~)/;
const INLINE = /(\*\*|__)(?=\S)(.+?)\1|(`)([^`]+)`|(\*|_)(?=\S)([^*_]+?)\5/g;

/** Replace the children of `root` by the answer so far. */
export function render(root, text) {
  const parts = document.createDocumentFragment();
  let paragraph = null;
  let list = null;
  let code = null;
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (code !== null) {
      if (FENCE.test(line)) code = null;
      else code.append(`${line}\n`);
      continue;
    }
    const item = ITEM.exec(line);
    const heading = HEADING.exec(line);
    if (FENCE.test(line)) {
      const block = parts.appendChild(document.createElement("pre"));
      code = block.appendChild(document.createElement("code"));
      paragraph = list = null;
    } else if (item) {
      const kind = item[1] === undefined ? "ul" : "ol";
      if (list === null || list.localName !== kind) {
        list = parts.appendChild(document.createElement(kind));
        if (kind === "ol") list.start = Number(item[1]);
      }
      inline(list.appendChild(document.createElement("li")), item[2]);
      paragraph = null;
    } else if (heading) {
      inline(parts.appendChild(document.createElement("h3")), heading[2]);
      paragraph = list = null;
    } else if (line.trim() === "") {
      paragraph = list = null;
    } else {
      if (paragraph === null) {
        paragraph = parts.appendChild(document.createElement("p"));
        list = null;
      } else {
        paragraph.append("\n");
      }
      inline(paragraph, line);
    }
  }
  for (const block of parts.children) block.dir = "auto";
  root.replaceChildren(parts);
}

function inline(parent, text) {
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    parent.append(text.slice(last, match.index));
    const name = match[1] ? "strong" : match[3] ? "code" : "em";
    const element = parent.appendChild(document.createElement(name));
    element.textContent = match[2] ?? match[4] ?? match[6];
    last = match.index + match[0].length;
  }
  parent.append(text.slice(last));
}
