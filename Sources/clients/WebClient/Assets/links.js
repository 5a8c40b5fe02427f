// links.js: which parts of a chat message are links. A stranger wrote it: what is in doubt stays text.

/** An address begins a message, a line or a word, or stands in brackets; in markup, and after other schemes, it does not. */
const ADDRESS = /(?<=^|[\s([„“«])https?:\/\/[^\s<>"`\\^{|}\p{C}]+/giu;
/** Characters that are not seen, or turn the direction of what is seen. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}]/u;
/** What names the host, as it is written: all up to the first `/`, `?` or `#`. */
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;
const ASCII = /^[!-~]+$/;
const CLOSING = { ")": "(", "]": "[" };

/**
 * A message in pieces, which joined give the text again.
 * @param {string} text
 * @returns {{text: string, href: ?string}[]} `href` for a link
 */
export function pieces(text) {
  const found = [];
  let from = 0;
  for (const { 0: match, index } of text.matchAll(ADDRESS)) {
    const address = withoutEnd(match);
    const href = isUnclear(text, index, match) ? null : hrefOf(address);
    if (!href) continue;
    if (index > from) found.push({ text: text.slice(from, index), href: null });
    found.push({ text: address, href });
    from = index + address.length;
  }
  if (from < text.length) found.push({ text: text.slice(from), href: null });
  return found;
}

/** Where the word goes on with a character that is not seen, what one reads is not what one would follow. */
function isUnclear(text, index, match) {
  const [word] = /^\S*/.exec(text.slice(index));
  return UNSEEN.test(word) || UNSEEN.test(match);
}

/** What ends a sentence ends no address, nor does a bracket that was opened before it. */
function withoutEnd(address) {
  const open = new Map(Object.entries(CLOSING).map(([close, begin]) => [close, count(address, close) - count(address, begin)]));
  let end = address.length;
  for (;;) {
    const last = address[end - 1];
    if (open.get(last) > 0) open.set(last, open.get(last) - 1);
    else if (!".,;:!?'’”“»*_~".includes(last)) return address.slice(0, end);
    end -= 1;
  }
}

const count = (text, letter) => text.split(letter).length - 1;

/**
 * An address with a name before an `@` looks like one place and leads to another. So does a host with letters and strokes
 * that look like those of ASCII.
 */
function hrefOf(address) {
  if (!ASCII.test(AUTHORITY.exec(address)?.[1] ?? "")) return null;
  try {
    const { protocol, username, password, href } = new URL(address);
    return ["http:", "https:"].includes(protocol) && !username && !password ? href : null;
  } catch {
    return null;
  }
}
