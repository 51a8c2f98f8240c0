// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// What a row says in words, and the search box, which takes the filters of `ancsd decode` and any text.

/**
 * A row in words: its name, and what is particular about it.
 * @param {Session} session @param {number} row @returns {{name: string, what: string}}
 */
function sayRow(session, row) {
  const facts = session.factsOf(row);
  const label = session.labelOf(row);
  let name = session.nameOf(row);
  const layer = session.layerOf(row);
  const what = [];
  if (layer === "att") {
    // Beside an arrow there is room for what is particular.
    name = name.replace(/^Handle Value /, "");
    if (label && session.code[row] !== 0x01) name += ` ${session.role[row] === ROLE.request || session.role[row] === ROLE.command ? "→" : "·"} ${label}`;
    what.push(...sayAttribute(facts));
  } else if (layer === "event" || layer === "wait" || layer === "link") {
    if (label && !label.startsWith(name)) what.push(label); else if (label) name = label;
  } else {
    if (label && label !== name) what.push(label);
    if (facts.peer && facts.interval !== undefined) what.push(facts.peer);
    what.push(...sayController(facts));
  }
  if (facts.problem) what.push(facts.problem);
  return { name, what: what.join(" · ") };
}

/** @param {Facts} facts */
function sayAttribute(facts) {
  const what = [];
  const number = facts.uid === undefined ? "" : ` #${facts.uid}`;
  if (facts.event) what.push(`${facts.event}${number} ${facts.category || ""}`);
  if (facts.fetch) what.push(`${facts.fetch}${number}${facts.attributes ? ": " + facts.attributes : facts.action ? ": " + facts.action : facts.app ? ": " + facts.app : ""}`);
  if (facts.response) {
    const parts = facts.fragments > 1 ? `, ${facts.fragments} fragments` : "";
    what.push(`response${number} ${facts.response}${parts}${facts.title ? `: “${facts.title}”` : ""}`);
  }
  if (facts.update) what.push(`${facts.attribute || facts.update} ${facts.state || (facts.text === undefined ? "" : `“${facts.text}”`)}`);
  if (facts.remote) what.push(String(facts.remote));
  if (facts.subscription) what.push(facts.subscription);
  if (facts.error) what.push(`${facts.error}${facts.request ? " to " + facts.request : ""}`);
  if (facts.mtu) what.push(`MTU ${facts.mtu}`);
  if (facts.range && !what.length) what.push(String(facts.range));
  if (facts.text !== undefined && !facts.update) what.push(`“${facts.text}”`);
  return what;
}

/** @param {Facts} facts */
function sayController(facts) {
  const what = [];
  if (facts.status) what.push(String(facts.status));
  if (facts.reason) what.push(String(facts.reason));
  if (facts.interval !== undefined) what.push(`interval ${facts.interval} ms`);
  if (facts.latency) what.push(`latency ${facts.latency}`);
  if (facts.encryption !== undefined) what.push(`encryption ${String(facts.encryption).toLowerCase()}`);
  if (facts.rssi !== undefined) what.push(`${facts.rssi} dBm`);
  if (facts.advertising !== undefined) what.push(facts.advertising ? "on" : "off");
  if (facts.text !== undefined) what.push(facts.text);
  return what;
}

/**
 * Reads the search box: `--att`, `--ancs`, `--ams`, `--phone ADDRESS` as `decode` has them, `error`,
 * `slow`, and words, each of which a row must have.
 * @param {string} query
 */
function readQuery(query) {
  /** @type {{att: boolean, ancs: boolean, ams: boolean, phone: string, error: boolean, slow: boolean, words: string[], wrong: string}} */
  const read = { att: false, ancs: false, ams: false, phone: "", error: false, slow: false, words: [], wrong: "" };
  const words = query.match(/"[^"]*"|\S+/g) || [];
  for (let place = 0; place < words.length; place++) {
    const word = words[place];
    if (word === "--att") read.att = true;
    else if (word === "--ancs") read.ancs = true;
    else if (word === "--ams") read.ams = true;
    else if (word === "--phone" || word.startsWith("--phone=")) {
      read.phone = (word === "--phone" ? words[++place] || "" : word.slice(8)).toUpperCase();
      if (!read.phone) read.wrong = "--phone needs an address";
    } else if (word.startsWith("--")) read.wrong = `no filter ${word}`;
    else if (/^errors?$/i.test(word)) read.error = true;
    else if (/^slow$/i.test(word)) read.slow = true;
    else read.words.push(folded(word.replace(/^"|"$/g, "")));
  }
  return read;
}

/**
 * A text as the search compares it: in either case, and a letter with its accent in one or two characters.
 * @param {string} text
 */
function folded(text) { return text.normalize("NFC").toLowerCase(); }

/**
 * Everything that the ladder and the panel beside it say about a row.
 * @param {Session} session @param {number} row
 */
function everythingOf(session, row) {
  const tree = session.tree(row);
  const link = session.linkOf(row);
  const texts = [clock(session.time[row]), link ? link.name : "", tree.title, tree.problem, ...tree.notes];
  const collect = (/** @type {any[][]} */ nodes) => {
    for (const [label, value, , , below] of nodes) {
      texts.push(session.text(label), session.text(value));
      if (below) collect(below);
    }
  };
  collect(tree.nodes);
  return texts.join(" ");
}

/**
 * The rows that a query leaves, as a test; null if it asks for nothing.
 * @param {Session} session @param {string} query
 * @returns {{test: ((row: number) => boolean) | null, wrong: string}}
 */
function compileQuery(session, query) {
  const read = readQuery(query);
  if (read.wrong || !query.trim()) return { test: null, wrong: read.wrong };
  const { att, ancs, ams, phone, error, slow, words } = read;
  /** @param {number} row */
  const test = (row) => {
    const facts = session.factsOf(row);
    if (att || ancs || ams) {
      const isAttribute = session.layerOf(row) === "att";
      if (!((att && isAttribute) || (ancs && facts.ancs) || (ams && facts.ams))) return false;
    }
    if (phone) {
      const link = session.linkOf(row);
      if (![link && link.peer, facts.peer].some((peer) => peer && peer.startsWith(phone))) return false;
    }
    if (error && session.trouble[row] < 2) return false;
    if (slow && !(waitOf(session, row) >= SLOW)) return false;
    if (words.length === 0) return true;
    const says = sayRow(session, row);
    const handle = facts.handle === undefined ? "" : "0x" + facts.handle.toString(16).padStart(4, "0");
    const text = folded(`${says.name} ${says.what} ${handle} ${session.layerOf(row)} #${session.number[row]}`);
    // The trees have to be read for the words that are not in the rows.
    const missing = words.filter((word) => !text.includes(word));
    if (missing.length === 0) return true;
    const everything = folded(everythingOf(session, row));
    return missing.every((word) => everything.includes(word));
  };
  return { test, wrong: "" };
}

/** Waits longer than this many seconds are marked. */
const SLOW = 0.15;
const LATE = 1;

/**
 * How long a response was waited for; NaN for rows that are none.
 * @param {Session} session @param {number} row
 */
function waitOf(session, row) {
  const partner = session.partner[row];
  if (partner >= 0 && partner < row) return session.time[row] - session.time[partner];
  return NaN;
}
