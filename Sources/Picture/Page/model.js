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
 * @property {number} accepted when the last subscription was confirmed; NaN if none was
 * @property {boolean} phoneSide whether the host that was captured is the phone
 * @property {number} start
 * @property {number} end
 * @property {boolean} over
 * @property {string} reason why it ended
 * @property {number} first its first row
 * @property {number} last
 * @property {number} rows
 * @property {number[]} errors the rows that are
 * @property {Mark[]} marks milestones, each once
 * @property {{time: number, value: number}[]} intervals
 * @property {{time: number, value: number}[]} signal
 * @property {Span[]} phases
 * @property {Span[]} pairing
 */
/** @typedef {{name: string, time: number, row: number}} Mark */
/** @typedef {{name: string, start: number, end: number, row: number}} Span */
/**
 * A command to the Control Point, and its response.
 * @typedef {object} Fetch
 * @property {Link} link
 * @property {number} row
 * @property {number} start
 * @property {number} accepted when the Write Response came; NaN if it did not
 * @property {number} first when the response began
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
/** @typedef {{kind: number, row: number}} Procedure a PDU of the link layer, and its place in PROCEDURES */
/** @typedef {{link: Link, time: number, row: number, state: string, title: string, artist: string, player: string}} Play */

const ROLE = { request: 1, response: 2, command: 3, notification: 4, indication: 5, confirmation: 6 };
/** ATT gives a request 30 s (Vol 3 Part F, 3.3.3). */
const ATT_TIMEOUT = 30;
/** The phases of a link, in order. */
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
    /** @type {Map<number, Fetch>} the fetch that a row asks or responds to */
    this.fetchOf = new Map();
    /** @type {Notice[]} */
    this.notices = [];
    /** @type {Play[]} */
    this.plays = [];
    /** @type {Procedure[]} */
    this.procedures = [];
    /** @type {Map<number, number>} the controller's event that a PDU of the link layer caused */
    this.effect = new Map();
    /** @type {Map<number, number>} the last PDU of the link layer before the controller's event that it caused */
    this.cause = new Map();
    /** @type {number[]} */
    this.errorRows = [];
    /** What the phone's peer is called. */
    this.board = "board";
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
    /** The row that a row is a part of: the fragments of a response, and of a PDU. */
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
    return { title: this.text(title), bytes, nodes, problem: problem || "", notes };
  }

  /**
   * The first row of a packet; −1 if there is none.
   * @param {number} number
   */
  rowOf(number) {
    let low = 0, high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.number[middle] < number) low = middle + 1; else high = middle;
    }
    return this.number[low] === number && low < this.count ? low : -1;
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
 * The number of connection intervals in a wait, to append to its length; empty for half of one or less.
 * @param {number} wait in seconds @param {number} interval in milliseconds; NaN if it is not known
 */
function inIntervals(wait, interval) {
  return wait * 2000 > interval ? `, ${(wait * 1000 / interval).toFixed(1)} connection intervals of ${interval} ms` : "";
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
  if (size >= 172800) return `${Math.floor(seconds / 86400).toLocaleString("en")} d ${Math.round(seconds % 86400 / 3600)} h`;
  return `${Math.floor(seconds / 3600)} h ${Math.round(seconds % 3600 / 60)} min`;
}

/**
 * @param {number} count @param {string} one @param {string} [several]
 */
function counted(count, one, several) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : several || one + "s"}`;
}
