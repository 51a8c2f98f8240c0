// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// What the page knows of a session: its rows as columns, and what follows from them. Nothing here draws, and nothing
// decodes: names, attributes and states are those that the program has written (Sources/Picture).

/**
 * What drawing needs of one row, by the names of FactFinder.
 * @typedef {{[name: string]: any}} Facts
 */

/**
 * @typedef {object} Link
 * @property {number} number from 1 on
 * @property {string} name
 * @property {string} peer its address, or ""
 * @property {number} adapter
 * @property {number} handle
 * @property {boolean} known whether its beginning was seen
 * @property {boolean} phoneSide whether the host that was captured is the phone
 * @property {number} start
 * @property {number} end
 * @property {boolean} over
 * @property {string} reason why it ended
 * @property {number} first its first row
 * @property {number} last
 * @property {number} rows
 * @property {number} errors
 * @property {Mark[]} marks milestones, each once
 * @property {{time: number, value: number}[]} intervals
 * @property {{time: number, value: number}[]} signal
 * @property {Span[]} phases
 * @property {Span[]} pairing
 */
/** @typedef {{name: string, time: number, row: number}} Mark */
/** @typedef {{name: string, start: number, end: number, row: number}} Span */
/**
 * A command to the Control Point, and its answer.
 * @typedef {object} Fetch
 * @property {Link} link
 * @property {number} row
 * @property {number} start
 * @property {number} accepted when the Write Response came; NaN if it did not
 * @property {number} first when the answer began
 * @property {number} end when it was complete; NaN if it never was
 * @property {string} kind
 * @property {number} uid
 * @property {string} error
 * @property {number[]} rows
 */
/**
 * @typedef {object} Notice
 * @property {Link} link
 * @property {number} uid
 * @property {number} start
 * @property {number} row
 * @property {string} change
 * @property {string} category
 * @property {string} title
 * @property {string} flags
 * @property {Fetch[]} fetches
 * @property {number} end when all that was asked had come; NaN if it did not
 * @property {number} removed
 */
/** @typedef {{link: Link, time: number, row: number, state: string, title: string, artist: string, player: string}} Play */

const ROLE = { request: 1, response: 2, command: 3, notification: 4, indication: 5, confirmation: 6 };
/** ATT gives a request 30 s (Vol 3 Part F, 3.3.3). */
const ATT_TIMEOUT = 30;
/** The names of the phases of a link, in their order. */
const PHASES = ["connected", "encrypted", "discovery", "subscribing", "serving"];

class Session {
  /**
   * @param {{name: string, program: string, timeline: boolean, filter: string}} source
   * @param {(take: (texts: string[], rows: any[][]) => void) => void} eachBlock
   * @param {(block: number) => any[][]} readTrees
   */
  constructor(source, eachBlock, readTrees) {
    this.source = source;
    this.readTrees = readTrees;
    /** @type {string[]} */
    this.texts = [];
    /** @type {number[]} where each block begins */
    this.blocks = [];
    this.count = 0;
    this.room = 0;
    this.grow(1024);
    /** @type {Facts[]} */
    this.facts = [];
    /** @type {Link[]} */
    this.links = [];
    /** @type {Span[]} */
    this.advertising = [];
    /** @type {Fetch[]} */
    this.fetches = [];
    /** @type {Notice[]} */
    this.notices = [];
    /** @type {Play[]} */
    this.plays = [];
    /** @type {number[]} */
    this.errorRows = [];
    this.start = 0;
    this.isSorted = true;
    eachBlock((texts, rows) => this.take(texts, rows));
    this.end = 0;
    for (let row = 0; row < this.count; row++) this.end = Math.max(this.end, this.time[row]);
    new Reading(this).read();
  }

  /** @param {number} room */
  grow(room) {
    /**
     * @template {Float64Array | Int32Array | Uint8Array} T
     * @param {T} now @param {T} before @returns {T}
     */
    const moved = (now, before) => {
      if (before) now.set(/** @type {any} */ (before));
      return now;
    };
    this.room = room;
    this.time = moved(new Float64Array(room), this.time);
    this.number = moved(new Int32Array(room), this.number);
    this.layer = moved(new Int32Array(room), this.layer);
    this.direction = moved(new Uint8Array(room), this.direction);
    this.place = moved(new Int32Array(room), this.place);
    this.name = moved(new Int32Array(room), this.name);
    this.code = moved(new Int32Array(room), this.code);
    this.length = moved(new Int32Array(room), this.length);
    this.label = moved(new Int32Array(room), this.label);
    this.role = moved(new Uint8Array(room), this.role);
    /** The link of each row as an index; −1 for none. */
    this.link = moved(new Int32Array(room), this.link);
    /** The response of a request, and the other way round; −1 for none. */
    this.partner = moved(new Int32Array(room), this.partner);
    /** The row that a row is a part of: the fragments of an answer, and of a PDU. */
    this.whole = moved(new Int32Array(room), this.whole);
    /** 0: nothing; 1: worth a look; 2: an error. */
    this.trouble = moved(new Uint8Array(room), this.trouble);
  }

  /**
   * A text, by its number or as it is.
   * @param {number | string} cell
   */
  text(cell) {
    return typeof cell === "number" ? this.texts[cell] || "" : String(cell);
  }

  /**
   * @param {string[]} texts
   * @param {any[][]} rows
   */
  take(texts, rows) {
    // Those of the table keep their numbers; what is written out gets one from another range.
    for (const text of texts) this.texts.push(text);
    this.blocks.push(this.count);
    if (this.count + rows.length > this.room) this.grow(Math.max(this.room * 2, this.count + rows.length));
    for (const cells of rows) {
      const row = this.count++;
      if (row === 0) this.start = cells[0];
      this.micros = row === 0 ? 0 : this.micros + cells[0];
      this.time[row] = this.micros / 1e6;
      if (row > 0 && cells[0] < 0) this.isSorted = false;
      this.number[row] = (row === 0 ? 0 : this.number[row - 1]) + cells[1];
      this.layer[row] = this.kept(cells[2]);
      this.direction[row] = cells[3];
      this.place[row] = cells[4];
      this.name[row] = this.kept(cells[5]);
      this.code[row] = cells[6];
      this.length[row] = cells[7];
      this.label[row] = this.kept(cells[8]);
      this.role[row] = cells[9];
      this.link[row] = this.partner[row] = this.whole[row] = -1;
      if (cells[10]) {
        /** @type {Facts} */
        const facts = cells[10];
        for (const name in facts) if (Array.isArray(facts[name])) facts[name] = this.text(facts[name][0]);
        this.facts[row] = facts;
      }
    }
  }

  /**
   * The number under which a text can be had again: its own, or one below zero.
   * @param {number | string} cell
   */
  kept(cell) {
    if (typeof cell === "number") return cell;
    if (!this.others) this.others = new Map([["", -1]]), this.otherTexts = [""];
    let number = this.others.get(cell);
    if (number === undefined) {
      this.otherTexts.push(cell);
      number = -this.otherTexts.length;
      this.others.set(cell, number);
    }
    return number;
  }

  /** @param {number} number */
  textOf(number) {
    return number >= 0 ? this.texts[number] : this.otherTexts[-1 - number];
  }

  /** @param {number} row */
  nameOf(row) { return this.textOf(this.name[row]); }
  /** @param {number} row */
  labelOf(row) { return this.textOf(this.label[row]); }
  /** @param {number} row */
  layerOf(row) { return this.textOf(this.layer[row]); }
  /** @param {number} row @returns {Facts} */
  factsOf(row) { return this.facts[row] || NOTHING; }
  /** @param {number} row @returns {Link | null} */
  linkOf(row) { return this.links[this.link[row]] || null; }

  /**
   * Whether a row came from the phone; undefined for what is between nobody and nobody.
   * @param {number} row
   */
  isFromPhone(row) {
    if (this.direction[row] === 0) return undefined;
    const link = this.linkOf(row);
    return (this.direction[row] === 2) !== (link !== null && link.phoneSide);
  }

  /**
   * The tree of a row, with its texts in place.
   * @param {number} row
   */
  tree(row) {
    let low = 0, high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.blocks[middle] <= row) low = middle; else high = middle - 1;
    }
    if (this.treesOf !== low) {
      this.trees = this.readTrees(low);
      this.treesOf = low;
    }
    const [title, bytes, nodes, problem, ...notes] = this.trees[row - this.blocks[low]];
    return { title, bytes, nodes, problem: problem || "", notes };
  }

  /**
   * The first row at or after a time.
   * @param {number} time
   */
  rowAt(time) {
    if (!this.isSorted) {
      for (let row = 0; row < this.count; row++) if (this.time[row] >= time) return row;
      return Math.max(0, this.count - 1);
    }
    let low = 0, high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time[middle] < time) low = middle + 1; else high = middle;
    }
    return Math.min(low, Math.max(0, this.count - 1));
  }
}

/** @type {Facts} */
const NOTHING = Object.freeze({});

/** Goes through the rows once, in their order, and tells the session what they are about. */
class Reading {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    /** @type {Map<number, Link>} links that are up, by adapter and handle */
    this.up = new Map();
    /** @type {Map<string, number>} requests without a response so far */
    this.open = new Map();
    /** @type {Map<string, number[]>} fragments of PDUs that are not complete */
    this.pieces = new Map();
    /** @type {Map<Link, Fetch[]>} commands without a whole answer so far */
    this.asked = new Map();
    /** @type {Map<string, Notice>} */
    this.noticed = new Map();
    /** @type {Map<Link, Play>} */
    this.playing = new Map();
    /** @type {Span | null} */
    this.onAir = null;
  }

  read() {
    const session = this.session;
    for (let row = 0; row < session.count; row++) {
      this.follow(row, session.factsOf(row));
      this.judge(row, session.factsOf(row));
    }
    for (const row of this.open.values()) this.neverAnswered(row);
    if (this.onAir) this.onAir.end = session.end;
    for (const link of session.links) {
      if (!link.over) link.end = Math.max(link.end, session.end);
      link.phases = phasesOf(link);
    }
    for (const notice of session.notices) {
      const ends = notice.fetches.map((fetch) => fetch.end);
      notice.end = ends.length > 0 && ends.every((end) => end === end) ? Math.max(...ends) : NaN;
    }
  }

  /** @param {number} row @param {Facts} facts */
  follow(row, facts) {
    const session = this.session;
    const link = this.linkAt(row, facts);
    if (link) {
      session.link[row] = link.number - 1;
      link.last = row;
      link.rows++;
      if (session.time[row] > link.end) link.end = session.time[row];
      if (facts.peer && !link.peer) this.name(link, facts.peer);
      if (facts.phoneside) link.phoneSide = true;
    }
    switch (session.layerOf(row)) {
      case "att": if (link) this.attribute(row, facts, link); break;
      case "hci-command": this.ask(row, "hci " + session.nameOf(row)); this.advertise(row, facts); break;
      case "hci-event": this.event(row, facts, link); break;
      case "link-layer": this.air(row, facts, link); break;
      case "l2cap-signalling": this.signal(row, facts, link); break;
      case "smp": if (link) this.pair(row, link); break;
      case "link": if (link) this.step(row, facts, link); break;
      case "event": if (link) this.published(row, link); break;
      case "fragment": if (link) this.piece(row); return;
    }
    this.join(row);
  }

  // Links

  /** @param {number} row @param {Facts} facts @returns {Link | null} */
  linkAt(row, facts) {
    const session = this.session;
    const place = session.place[row];
    if (place === 0) return null;
    const name = session.nameOf(row);
    const begins = facts.status === undefined
      && (/^(LE )?(Enhanced )?Connection Complete/.test(name) || facts.begins !== undefined);
    const up = this.up.get(place);
    if (up && !begins) return up;
    if (up) this.over(up, row, "");
    /** @type {Link} */
    const link = {
      number: session.links.length + 1, name: "", peer: "", adapter: (place - 1) >> 12, handle: (place - 1) & 0xFFF,
      known: begins, phoneSide: facts.role === "Central", start: session.time[row], end: session.time[row], over: false,
      reason: "", first: row, last: row, rows: 0, errors: 0, marks: [], intervals: [], signal: [], phases: [], pairing: [],
    };
    this.name(link, facts.peer || "");
    session.links.push(link);
    this.up.set(place, link);
    if (begins) this.mark(link, "connected", row);
    if (this.onAir && begins) this.onAir = this.offAir(row);
    return link;
  }

  /** @param {Link} link @param {string} peer */
  name(link, peer) {
    link.peer = peer;
    link.name = peer || (link.known ? `link ${link.number}` : `handle ${link.handle}`);
  }

  /** @param {Link} link @param {number} row @param {string} reason */
  over(link, row, reason) {
    link.over = true;
    link.end = this.session.time[row];
    link.reason = reason;
    this.up.delete(this.session.place[link.first]);
    this.asked.delete(link);
    this.playing.delete(link);
    const begins = `${link.number} `;
    for (const [key, asked] of this.open) {
      if (key.startsWith(begins)) this.neverAnswered(asked), this.open.delete(key);
    }
  }

  /** @param {Link} link @param {string} name @param {number} row */
  mark(link, name, row) {
    if (!link.marks.some((mark) => mark.name === name)) link.marks.push({ name, time: this.session.time[row], row });
  }

  // The controller

  /** @param {number} row @param {Facts} facts @param {Link | null} link */
  event(row, facts, link) {
    const session = this.session;
    const name = session.nameOf(row);
    if (facts.command !== undefined) this.answer(row, "hci " + facts.command);
    if (facts.rssi !== undefined && link) link.signal.push({ time: session.time[row], value: facts.rssi });
    if (!link) return;
    if (facts.interval !== undefined) link.intervals.push({ time: session.time[row], value: facts.interval });
    if (name.startsWith("Disconnection Complete") && facts.status === undefined) this.over(link, row, facts.reason || "");
    if (name.startsWith("Encryption Change") && facts.status === undefined && facts.encryption !== "Off") {
      this.mark(link, "encrypted", row);
    }
    if (name.startsWith("Encryption Key Refresh") && facts.status === undefined) this.mark(link, "encrypted", row);
  }

  /** @param {number} row @param {Facts} facts */
  advertise(row, facts) {
    if (facts.advertising === undefined) return;
    if (facts.advertising === 0 || this.onAir) this.onAir = this.offAir(row);
    if (facts.advertising !== 1) return;
    this.onAir = { name: "advertising", start: this.session.time[row], end: this.session.time[row], row };
    this.session.advertising.push(this.onAir);
  }

  /** @param {number} row @returns {null} */
  offAir(row) {
    if (this.onAir) this.onAir.end = this.session.time[row];
    return null;
  }

  /** @param {number} row @param {Facts} facts @param {Link | null} link */
  air(row, facts, link) {
    const session = this.session;
    const name = session.nameOf(row);
    if (!link) return;
    if (facts.interval !== undefined) link.intervals.push({ time: session.time[row], value: facts.interval });
    if (name === "LL_START_ENC_RSP") this.mark(link, "encrypted", row);
    if (name === "LL_TERMINATE_IND") this.over(link, row, facts.reason || "");
  }

  // Pairing and signalling

  /** @param {number} row @param {Link} link */
  pair(row, link) {
    const session = this.session;
    const name = session.nameOf(row);
    const last = link.pairing[link.pairing.length - 1];
    const time = session.time[row];
    if (/^(Pairing Request|Security Request|Pair Device)/.test(name) && (!last || time - last.end > 5)) {
      link.pairing.push({ name: "pairing", start: time, end: time, row });
    } else if (last) {
      last.end = time;
      if (/Failed/.test(name)) last.name = "pairing failed";
    }
  }

  /** @param {number} row @param {Facts} facts @param {Link | null} link */
  signal(row, facts, link) {
    if (!link || facts.identifier === undefined) return;
    const name = this.session.nameOf(row);
    const to = this.session.direction[row] === 1 ? 2 : 1;
    if (/Request$/.test(name)) this.ask(row, `${link.number} signal ${facts.identifier} ${this.session.direction[row]}`);
    if (/(Response|Reject)$/.test(name)) this.answer(row, `${link.number} signal ${facts.identifier} ${to}`);
  }

  // The daemon's timeline, which has words instead of packets

  /** @param {number} row @param {Facts} facts @param {Link} link */
  step(row, facts, link) {
    const name = this.session.nameOf(row);
    if (name === "over") this.over(link, row, facts.text || "");
  }

  /** @param {number} row @param {Link} link */
  published(row, link) {
    const name = this.session.nameOf(row);
    const label = this.session.labelOf(row);
    if (/^connected|encrypted/.test(name) && /encrypted/.test(label) && !/not encrypted/.test(label)) this.mark(link, "encrypted", row);
    if (name === "subscribed") this.mark(link, "subscribed", row);
  }

  // ATT

  /** @param {number} row @param {string} key */
  ask(row, key) {
    const before = this.open.get(key);
    if (before !== undefined) this.neverAnswered(before);
    this.open.set(key, row);
  }

  /** @param {number} row @param {string} key */
  answer(row, key) {
    const asked = this.open.get(key);
    if (asked === undefined) return -1;
    this.open.delete(key);
    this.session.partner[asked] = row;
    this.session.partner[row] = asked;
    return asked;
  }

  /** @param {number} row a request that has no response in the capture */
  neverAnswered(row) {
    const session = this.session;
    if (session.layerOf(row) !== "att") return;
    const link = session.linkOf(row);
    const waited = (link && link.over ? link.end : session.end) - session.time[row];
    if (waited >= ATT_TIMEOUT) this.trouble(row, 2); else if (waited > 1) this.trouble(row, 1);
  }

  /** @param {number} row @param {Facts} facts @param {Link} link */
  attribute(row, facts, link) {
    const session = this.session;
    const bearer = facts.channel || 4;
    const key = (/** @type {number} */ direction, /** @type {string} */ kind) => `${link.number} ${bearer} ${direction} ${kind}`;
    const direction = session.direction[row];
    const other = 3 - direction;
    let asked = -1;
    switch (session.role[row]) {
      case ROLE.request: this.ask(row, key(direction, "request")); break;
      case ROLE.response: asked = this.answer(row, key(other, "request")); break;
      case ROLE.indication: this.ask(row, key(direction, "indication")); break;
      case ROLE.confirmation: asked = this.answer(row, key(other, "indication")); break;
    }
    const fromBoard = session.isFromPhone(row) === false;
    const code = session.code[row];
    if (fromBoard && session.role[row] === ROLE.request) {
      this.mark(link, "asked", row);
      if (code === 0x04 || code === 0x06 || code === 0x08 || code === 0x10) this.mark(link, "discovery", row);
      if (code === 0x12 && isSubscription(session, row)) {
        this.mark(link, "subscribing", row);
        if (/Notification Source/.test(session.labelOf(row))) this.mark(link, "news", row);
      }
    }
    if (asked >= 0 && code === 0x13 && isSubscription(session, asked)
      && /Notification Source/.test(session.labelOf(asked))) this.mark(link, "subscribed", row);
    this.news(row, facts, link, asked);
    if (facts.update !== undefined) this.play(row, facts, link);
  }

  /** @param {number} row @param {Facts} facts @param {Link} link @param {number} asked */
  news(row, facts, link, asked) {
    const session = this.session;
    if (facts.event !== undefined && facts.uid !== undefined) this.notice(row, facts, link);
    if (facts.fetch !== undefined) {
      /** @type {Fetch} */
      const fetch = {
        link, row, start: session.time[row], accepted: NaN, first: NaN, end: NaN, kind: facts.fetch,
        uid: facts.uid === undefined ? -1 : facts.uid, error: "", rows: [],
      };
      session.fetches.push(fetch);
      let asked = this.asked.get(link);
      if (!asked) this.asked.set(link, asked = []);
      // More than a few at once are no client's.
      if (asked.length > 64) asked.shift();
      asked.push(fetch);
      this.mark(link, "fetch", row);
      const notice = fetch.uid >= 0 && this.noticed.get(`${link.number} ${fetch.uid}`);
      if (notice && /Notification Attributes/.test(fetch.kind)) notice.fetches.push(fetch);
    }
    const waiting = this.asked.get(link);
    if (asked >= 0 && waiting) {
      const at = waiting.findIndex((fetch) => fetch.row === asked);
      if (at >= 0) this.accepted(waiting, at, row, facts);
    }
    if (facts.answer !== undefined && waiting) this.answered(row, facts, link, waiting);
  }

  /** @param {Fetch[]} waiting @param {number} at @param {number} row @param {Facts} facts */
  accepted(waiting, at, row, facts) {
    const fetch = waiting[at];
    fetch.accepted = this.session.time[row];
    if (this.session.code[row] === 0x01) fetch.error = facts.error || "refused";
    // The phone says no more to an action, and none to what it refuses.
    if (fetch.error || /Action/.test(fetch.kind)) {
      fetch.end = fetch.accepted;
      waiting.splice(at, 1);
    }
  }

  /** @param {number} row @param {Facts} facts @param {Link} link @param {Fetch[]} waiting */
  answered(row, facts, link, waiting) {
    const session = this.session;
    if (/no command/.test(facts.answer) || waiting.length === 0) return;
    const known = facts.uid === undefined ? -1 : waiting.findIndex((fetch) => fetch.uid === facts.uid);
    const at = Math.max(0, known);
    const fetch = waiting[at];
    fetch.rows.push(row);
    if (fetch.first !== fetch.first) fetch.first = session.time[row];
    if (facts.answer === "to be continued") return;
    fetch.end = session.time[row];
    if (facts.answer !== "complete") fetch.error = facts.answer;
    waiting.splice(at, 1);
    for (const part of fetch.rows) if (part !== row) session.whole[part] = row;
    const notice = this.noticed.get(`${link.number} ${fetch.uid}`);
    if (notice && facts.title && !notice.title) notice.title = facts.title;
    if (/Notification Attributes/.test(fetch.kind) && !fetch.error) this.mark(link, "complete", row);
  }

  /** @param {number} row @param {Facts} facts @param {Link} link */
  notice(row, facts, link) {
    const session = this.session;
    const key = `${link.number} ${facts.uid}`;
    const before = this.noticed.get(key);
    if (/^removed$/i.test(facts.event)) {
      if (before) before.removed = session.time[row];
      return;
    }
    this.mark(link, "event", row);
    /** @type {Notice} */
    const notice = {
      link, uid: facts.uid, start: session.time[row], row, change: facts.event, category: facts.category || "",
      title: before ? before.title : "", flags: facts.flags || "", fetches: [], end: NaN, removed: NaN,
    };
    if (before && before.removed !== before.removed) before.removed = session.time[row];
    this.noticed.set(key, notice);
    session.notices.push(notice);
  }

  /** @param {number} row @param {Facts} facts @param {Link} link */
  play(row, facts, link) {
    const session = this.session;
    const before = this.playing.get(link);
    const play = {
      link, time: session.time[row], row, state: before ? before.state : "", title: before ? before.title : "",
      artist: before ? before.artist : "", player: before ? before.player : "",
    };
    const attribute = String(facts.attribute || "").toLowerCase();
    const text = facts.text || "";
    if (facts.state !== undefined) play.state = facts.state;
    else if (/title/.test(attribute)) play.title = text;
    else if (/artist/.test(attribute)) play.artist = text;
    else if (/player/.test(String(facts.update).toLowerCase()) && /name/.test(attribute)) play.player = text;
    else return;
    this.playing.set(link, play);
    session.plays.push(play);
  }

  // Fragments of a PDU, and what is wrong

  /** @param {number} row */
  piece(row) {
    const key = `${this.session.link[row]} ${this.session.direction[row]}`;
    const pieces = this.pieces.get(key);
    if (pieces) pieces.push(row); else this.pieces.set(key, [row]);
  }

  /** @param {number} row */
  join(row) {
    const session = this.session;
    if (session.link[row] < 0 || this.pieces.size === 0) return;
    if (!/^(att|smp|l2cap|l2cap-signalling)$/.test(session.layerOf(row))) return;
    const key = `${session.link[row]} ${session.direction[row]}`;
    const pieces = this.pieces.get(key);
    if (!pieces) return;
    for (const piece of pieces) session.whole[piece] = row;
    this.pieces.delete(key);
  }

  /** @param {number} row @param {Facts} facts */
  judge(row, facts) {
    const session = this.session;
    const layer = session.layerOf(row);
    if (facts.problem !== undefined) return this.trouble(row, 2);
    if (layer === "att" && session.code[row] === 0x01) {
      // It is how a search ends.
      return this.trouble(row, facts.error === "Attribute Not Found" ? 0 : 2);
    }
    if (layer === "hci-event" && facts.status !== undefined) return this.trouble(row, 2);
    if (/Failed$/.test(session.nameOf(row))) return this.trouble(row, 2);
    if (/^(Disconnection Complete|LL_TERMINATE_IND|over|lost)$/.test(session.nameOf(row))) {
      const reason = facts.reason || facts.text || "";
      this.trouble(row, /User Terminated|Local Host|Power Off/.test(reason) || !reason ? 0 : 1);
    }
    if (/Timeout|MIC/.test(facts.reason || "")) this.trouble(row, 2);
    return undefined;
  }

  /** @param {number} row @param {number} how */
  trouble(row, how) {
    const session = this.session;
    if (how <= session.trouble[row]) return;
    if (how === 2) {
      session.errorRows.push(row);
      const link = session.linkOf(row);
      if (link) link.errors++;
    }
    session.trouble[row] = how;
  }
}

/**
 * Whether a write switches notifications on.
 * @param {Session} session @param {number} row
 */
function isSubscription(session, row) {
  const facts = session.factsOf(row);
  if (facts.subscription !== undefined) return facts.subscription !== "none";
  return /CCCD|Client Characteristic Configuration/.test(session.labelOf(row));
}

/**
 * The phases of a link, each up to the next that it reached.
 * @param {Link} link @returns {Span[]}
 */
function phasesOf(link) {
  const of = (/** @type {string} */ name) => link.marks.find((mark) => mark.name === name);
  /** @type {[string, Mark | undefined][]} */
  const begins = [
    ["connected", of("connected") || { name: "connected", time: link.start, row: link.first }],
    ["encrypted", of("encrypted")],
    ["discovery", of("discovery")],
    ["subscribing", of("subscribing")],
    ["serving", of("subscribed") || of("event")],
  ];
  /** @type {Span[]} */
  const phases = [];
  for (const [name, mark] of begins) {
    if (!mark) continue;
    const last = phases[phases.length - 1];
    if (last && mark.time < last.start) continue;
    if (last) last.end = mark.time;
    phases.push({ name, start: mark.time, end: link.end, row: mark.row });
  }
  return phases;
}

/**
 * What stood between a link's beginning and its first notification: one part after the other, without a gap.
 * @param {Session} session @param {Link} link
 */
function storyOf(session, link) {
  const names = {
    connected: "connected", encrypted: "encrypted", discovery: "discovery begins", subscribing: "first subscription",
    subscribed: "Notification Source subscribed", event: "first event", fetch: "first fetch", complete: "first notification whole",
  };
  const marks = link.marks.filter((mark) => mark.name in names);
  const done = marks.find((mark) => mark.name === "complete");
  const until = done ? done.time : marks.length ? marks[marks.length - 1].time : link.start;
  marks.sort((one, other) => one.time - other.time || one.row - other.row);
  /** @type {{name: string, what: string, start: number, end: number, row: number, requests: number, median: number}[]} */
  const parts = [];
  let last = { name: "connected", time: link.start, row: link.first };
  for (const mark of marks) {
    if (mark.time > until || mark.name === "connected") continue;
    const waits = waitsIn(session, link, last.time, mark.time);
    parts.push({
      name: PART[mark.name] || mark.name, what: names[mark.name], start: last.time, end: mark.time, row: last.row,
      requests: waits.length, median: median(waits),
    });
    last = mark;
  }
  return { parts, done: !!done, length: until - link.start };
}

/** What a stretch that ends with a mark was spent on. @type {{[mark: string]: string}} */
const PART = {
  encrypted: "until encrypted", discovery: "before discovery", subscribing: "discovery", subscribed: "subscribing",
  event: "until an event", fetch: "until it is fetched", complete: "the answer",
};

/**
 * How long the board waited for each response, as far as it asked within a stretch.
 * @param {Session} session @param {Link} link @param {number} start @param {number} end
 */
function waitsIn(session, link, start, end) {
  /** @type {number[]} */
  const waits = [];
  for (let row = link.first; row <= link.last; row++) {
    const time = session.time[row];
    if (time > end) { if (session.isSorted) break; else continue; }
    if (time < start || session.link[row] !== link.number - 1 || session.role[row] !== ROLE.request) continue;
    const response = session.partner[row];
    if (response >= 0 && session.isFromPhone(row) === false) waits.push(session.time[response] - time);
  }
  return waits;
}

/** @param {number[]} numbers */
function median(numbers) {
  if (numbers.length === 0) return NaN;
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[sorted.length >> 1];
}

/**
 * The connection interval at a time, in milliseconds; NaN if it is not known.
 * @param {Link} link @param {number} time
 */
function intervalAt(link, time) {
  let value = NaN;
  for (const interval of link.intervals) if (interval.time <= time) value = interval.value;
  return value;
}

/**
 * A length of time in words.
 * @param {number} seconds
 */
function duration(seconds) {
  const size = Math.abs(seconds);
  if (!(size < Infinity)) return "–";
  if (size < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (size < 0.1) return `${(seconds * 1e3).toFixed(1)} ms`;
  if (size < 1) return `${Math.round(seconds * 1e3)} ms`;
  if (size < 100) return `${seconds.toFixed(2)} s`;
  if (size < 6000) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round(seconds % 3600 / 60)} min`;
}

/**
 * @param {number} count @param {string} one @param {string} [several]
 */
function counted(count, one, several) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : several || one + "s"}`;
}
