// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// Numbers: requests until subscribed and until quiet, how long responses took, what was sent, what waited longest.

class Figures {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.panel = part("figures");
    this.redraw = soon(() => this.drawHistogram());
    new ResizeObserver(this.redraw).observe(this.panel);
    this.isStale = true;
  }

  update() {
    this.isStale = true;
    if (!this.panel.hidden) this.fill();
  }

  fill() {
    if (!this.isStale) return this.redraw();
    this.isStale = false;
    const { session, link } = this.app;
    const [start, end] = this.app.stretch;
    /** @type {{row: number, wait: number}[]} */
    const waits = [];
    /** @type {Map<string, {count: number, bytes: number}>} */
    const kinds = new Map();
    let again = 0;
    for (let row = 0; row < session.count; row++) {
      const time = session.time[row];
      if (time < start || time > end || (link && session.link[row] !== link.number - 1)) continue;
      if (/sent again/.test(session.nameOf(row))) again++;
      const wait = session.layerOf(row) === "att" ? waitOf(session, row) : NaN;
      if (wait >= 0) waits.push({ row, wait });
      const side = session.isFromPhone(row);
      const kind = `${session.layerOf(row)}\n${session.nameOf(row)}\n${side === undefined ? "" : side ? "phone" : session.board}`;
      const sum = kinds.get(kind);
      if (sum) sum.count++, sum.bytes += session.length[row];
      else kinds.set(kind, { count: 1, bytes: session.length[row] });
    }
    this.waits = waits;
    this.panel.replaceChildren(this.links(), this.histogram(), this.longest(), this.kinds(kinds, again));
    this.app.tell({ responses: waits.length, kinds: kinds.size });
    this.redraw();
    return undefined;
  }

  /** How long each link's set-up took, and how many requests. */
  links() {
    const { session, link } = this.app;
    const shown = (link ? [link] : session.links).slice(0, 50);
    const rows = shown.map((one) => {
      const { subscribed, quiet } = setUpOf(session, one);
      return [
        one.name, duration(one.end - one.start), one.over ? one.reason || "ended" : "still up",
        subscribed ? `${subscribed.requests}` : "–", subscribed ? duration(subscribed.time) : "–",
        `${quiet.requests}`, duration(quiet.time), one.errors.length ? String(one.errors.length) : "",
      ];
    });
    return this.table("Links", ["link", "length", "end", "requests until subscribed", "after", "requests until quiet", "after", "errors"], rows, [1, 3, 4, 5, 6, 7]);
  }

  histogram() {
    const box = make("div", "", make("h3", "", "How long responses took"));
    const canvas = /** @type {HTMLCanvasElement} */ (make("canvas"));
    canvas.id = "histogram";
    this.surface = new Surface(canvas);
    box.append(canvas);
    const sorted = (this.waits || []).map((one) => one.wait).sort((one, other) => one - other);
    if (sorted.length) {
      const at = (/** @type {number} */ share) => duration(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]);
      box.append(make("p", "aside", `${counted(sorted.length, "response")}: half within ${at(0.5)}, nine of ten within ${at(0.9)}, the slowest after ${at(1)}.`));
    } else box.append(make("p", "aside", "No response in this time range."));
    return box;
  }

  drawHistogram() {
    if (!this.surface || this.panel.hidden || !this.surface.canvas.isConnected) return;
    const width = Math.min(760, this.panel.clientWidth - 32), height = 150;
    if (width < 50) return;
    const context = this.surface.begin(width, height);
    // Twelve columns for each power of ten, from 0.1 ms to 30 s.
    const [low, high, bins] = [-4, Math.log10(31), 66];
    const counts = new Uint32Array(bins);
    let most = 1;
    for (const { wait } of this.waits || []) {
      const bin = Math.floor((Math.log10(Math.max(wait, 1e-4)) - low) / (high - low) * bins);
      most = Math.max(most, ++counts[Math.min(Math.max(bin, 0), bins - 1)]);
    }
    const x = (/** @type {number} */ wait) => 4 + (Math.log10(wait) - low) / (high - low) * (width - 8);
    const bottom = height - 20;
    context.fillStyle = colour("fetching");
    counts.forEach((count, bin) => {
      const size = count && Math.max(2, count / most * (bottom - 40));
      context.fillRect(4 + bin / bins * (width - 8), bottom - size, Math.max(1, (width - 8) / bins - 1), size);
    });
    context.strokeStyle = context.fillStyle = colour("faint");
    context.strokeRect(4, bottom + 0.5, width - 8, 0);
    for (const [time, text] of /** @type {[number, string][]} */ ([[0.001, "1 ms"], [0.01, "10 ms"], [0.1, "100 ms"], [1, "1 s"], [10, "10 s"]])) {
      context.fillText(text, x(time) - context.measureText(text).width / 2, bottom + 11);
    }
    this.drawIntervals(context, x, bottom, width);
  }

  /**
   * The connection intervals, which responses take one or two of.
   * @param {CanvasRenderingContext2D} context @param {(wait: number) => number} x @param {number} bottom @param {number} width
   */
  drawIntervals(context, x, bottom, width) {
    const { session, link } = this.app;
    const values = new Set(session.links.filter((one) => !link || one === link).flatMap((one) => one.intervals.map((interval) => interval.value)));
    const last = [-Infinity, -Infinity];
    for (const value of [...values].filter((one) => one > 0).sort((one, other) => one - other).slice(0, 8)) {
      const place = x(value / 1000);
      context.fillStyle = colour("encrypted");
      context.fillRect(place, 32, 1.5, bottom - 32);
      const text = `interval ${value} ms`;
      const room = context.measureText(text).width;
      const left = Math.min(place + 4, width - room - 2);
      // The next one's label may stand above or below this one's.
      const line = left > last[0] ? 0 : 1;
      if (left <= last[line]) continue;
      context.fillText(text, left, 9 + line * 14);
      last[line] = left + room + 8;
    }
  }

  longest() {
    const { session, link } = this.app;
    const [start, end] = this.app.stretch;
    const waits = [...(this.waits || [])];
    for (const notice of session.notices) {
      if (notice.start < start || notice.start > end || (link && notice.link !== link)) continue;
      if (notice.end > notice.start) waits.push({ row: notice.row, wait: notice.end - notice.start });
    }
    waits.sort((one, other) => other.wait - one.wait);
    const rows = waits.slice(0, 10).map(({ row, wait }) => {
      const says = sayRow(session, row);
      const button = make("button", "", `${says.name} ${says.what}`);
      button.addEventListener("click", () => {
        this.app.show("ladder");
        this.app.select(row, true);
      });
      const isNotice = session.factsOf(row).event !== undefined;
      return [duration(wait), clock(session.time[row]), isNotice ? "until it was complete" : "until this response", button];
    });
    return this.table("The ten longest waits", ["waited", "at", "", "what"], rows, [0, 1]);
  }

  /** @param {Map<string, {count: number, bytes: number}>} kinds @param {number} again */
  kinds(kinds, again) {
    const rows = [...kinds].sort((one, other) => other[1].bytes - one[1].bytes).slice(0, 40).map(([kind, sum]) => {
      const [layer, name, side] = kind.split("\n");
      return [name, side, layer, sum.count.toLocaleString("en"), sum.bytes.toLocaleString("en")];
    });
    const box = this.table("What was sent", ["PDU", "from", "layer", "number", "bytes"], rows, [3, 4]);
    if (again) box.append(make("p", "aside", `${counted(again, "packet")} sent again.`));
    return box;
  }

  /**
   * @param {string} title @param {string[]} heads @param {(string | Node)[][]} rows @param {number[]} numbers columns
   */
  table(title, heads, rows, numbers) {
    const cell = (/** @type {string} */ tag) => (/** @type {string | Node} */ content, /** @type {number} */ column) =>
      make(tag, numbers.includes(column) ? "number" : "", content);
    const table = make("table", "",
      make("thead", "", make("tr", "", ...heads.map(cell("th")))),
      make("tbody", "", ...rows.map((row) => make("tr", "", ...row.map(cell("td"))))));
    return make("div", "wide", make("h3", "", title), rows.length ? table : make("p", "aside", "None."));
  }
}

/** A link is quiet once the board has requested nothing for this many seconds. */
const QUIET = 1;

/**
 * How many requests a link took until it was subscribed, and until it was quiet; and when that was.
 * @param {Session} session @param {Link} link
 */
function setUpOf(session, link) {
  const mark = link.marks.find((one) => one.name === "subscribed");
  let requests = 0, last = link.start, isQuiet = false;
  /** @type {{requests: number, time: number} | null} */
  let subscribed = null;
  for (let row = link.first; row <= link.last && !isQuiet; row++) {
    if (session.link[row] !== link.number - 1 || session.role[row] !== ROLE.request || session.isFromPhone(row) !== false) continue;
    const time = session.time[row];
    if (requests > 0 && time - last > QUIET && (!mark || last > mark.time)) isQuiet = true;
    else {
      requests++;
      const response = session.partner[row];
      last = Math.max(last, response >= 0 ? session.time[response] : time);
    }
    if (mark && !subscribed && response(row) >= mark.row) subscribed = { requests, time: mark.time - link.start };
  }
  return { subscribed, quiet: { requests, time: last - link.start } };

  /** @param {number} row */
  function response(row) { return session.partner[row] >= 0 ? session.partner[row] : row; }
}
