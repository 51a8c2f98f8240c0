// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// A lane for the player, and one for each notification: from its event through what it waited for to its text.

class Lanes {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.surface = new Surface(part("lanes-canvas"));
    this.scroll = part("lanes-scroll");
    this.scroller = new Scroller(this.scroll, part("lanes-space"));
    this.redraw = soon(() => this.draw());
    /** @type {Notice[]} */
    this.notices = [];
    /** @type {Play[][]} one list a link */
    this.plays = [];
    this.at = 0;
    this.scroll.addEventListener("scroll", this.redraw);
    this.scroll.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    this.surface.canvas.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(this.redraw).observe(this.scroll);
  }

  get left() { return this.surface.width > 700 ? 230 : 8; }
  get lane() { return this.surface.width > 700 ? 22 : 38; }
  get top() { return 24 + this.plays.length * 26; }

  /** Collects what belongs to the chosen stretch and link. */
  update() {
    const { session, link } = this.app;
    const [start, end] = this.app.stretch;
    this.notices = session.notices.filter((notice) => (!link || notice.link === link)
      && notice.start <= end && !(lastOf(notice) < start));
    /** @type {Map<Link, Play[]>} */
    const plays = new Map();
    for (const play of session.plays) {
      if (link && play.link !== link) continue;
      const list = plays.get(play.link);
      if (list) list.push(play); else plays.set(play.link, [play]);
    }
    this.plays = [...plays.values()].slice(0, 8);
    this.at = Math.min(this.at, Math.max(0, this.notices.length - 1));
    const whole = this.notices.filter((notice) => notice.end === notice.end);
    const texts = [];
    texts.push(this.notices.length ? `${counted(this.notices.length, "notification")}, ${whole.length} of them fetched completely.`
      : session.source.timeline ? "The daemon’s timeline has no values: which notification a PDU is about is not in it."
      : "No event of the Notification Source in this time range.");
    if (whole.length) {
      const slowest = whole.reduce((one, other) => other.end - other.start > one.end - one.start ? other : one);
      texts.push(`The slowest, #${slowest.uid}, was complete ${duration(slowest.end - slowest.start)} after its event.`);
    }
    texts.push("Hatched: it waited. Solid: its own fetch. The dot is its event, the tick its removal.");
    part("lanes-text").textContent = texts.join(" ");
    this.app.tell({ notices: this.notices.length, players: this.plays.length, marks: this.marks() });
    this.redraw();
  }

  /** How many bars, dots and ticks the lanes have. */
  marks() {
    let count = 0;
    for (const notice of this.notices) count += 1 + notice.fetches.length + (notice.removed === notice.removed ? 1 : 0);
    return count;
  }

  /** @param {number} time */
  x(time) {
    const [start, end] = this.app.stretch;
    return this.left + (time - start) / (end - start || 1) * (this.surface.width - 14 - this.left);
  }

  draw() {
    const width = this.scroll.clientWidth, height = this.scroll.clientHeight;
    if (!width || !height) return;
    const context = this.surface.begin(width, height);
    this.scroller.fit(this.top + this.notices.length * this.lane + 12);
    const scrolled = this.scroller.offset;
    const first = Math.max(0, Math.floor(scrolled / this.lane) - 1);
    context.save();
    context.beginPath();
    context.rect(0, this.top, width, height - this.top);
    context.clip();
    for (let index = first; index < this.notices.length; index++) {
      const y = this.top + index * this.lane - scrolled;
      if (y > height) break;
      this.drawNotice(context, this.notices[index], y, index === this.at && document.activeElement === this.scroll);
    }
    context.restore();
    this.surface.axis(this.app.stretch, (time) => this.x(time), this.left, height);
    this.plays.forEach((plays, index) => this.drawPlayer(context, plays, 24 + index * 26));
  }

  /** @param {CanvasRenderingContext2D} context @param {Play[]} plays @param {number} y */
  drawPlayer(context, plays, y) {
    const link = plays[0].link;
    if (this.left > 100) {
      context.fillStyle = colour("faint");
      context.fillText(this.surface.fitted(`player of ${link.name}`, this.left - 14), 10, y + 11);
    }
    plays.forEach((play, index) => {
      const next = plays[index + 1];
      const [start, end] = [Math.max(this.left, this.x(play.time)), this.x(next ? next.time : link.end)];
      if (end < this.left || start > this.surface.width) return;
      const isPlaying = /play/i.test(play.state);
      context.fillStyle = colour(isPlaying ? "serving" : /rewind|forward|seek/i.test(play.state) ? "discovery" : "advertising");
      context.globalAlpha = isPlaying ? 0.28 : 0.18;
      context.fillRect(start, y + 2, Math.max(1, Math.min(end, this.surface.width) - start), 18);
      context.globalAlpha = 1;
      context.fillRect(start, y + 2, 2, 18);
      const what = [play.state.toLowerCase(), play.title, play.artist].filter(Boolean).join(" · ");
      const text = this.surface.fitted(what, Math.min(end, this.surface.width - 8) - start - 8);
      context.fillStyle = colour("ink");
      if (text) context.fillText(text, start + 5, y + 11.5);
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {Notice} notice @param {number} y @param {boolean} isChosen */
  drawNotice(context, notice, y, isChosen) {
    if (isChosen) {
      context.fillStyle = colour("choice-sheet");
      context.fillRect(0, y, this.surface.width, this.lane);
    }
    const isWide = this.left > 100;
    const name = [`#${notice.uid}`, notice.category, notice.title].filter(Boolean).join(" · ");
    context.fillStyle = colour(isWide ? "ink" : "faint");
    const room = isWide ? this.left - 22 : this.surface.width - 20;
    context.fillText(this.surface.fitted(name, room), 10, y + 11);
    const bar = isWide ? y + 5 : y + 20;
    context.save();
    context.beginPath();
    context.rect(this.left - 5, y, this.surface.width - this.left, this.lane);
    context.clip();
    const until = notice.end === notice.end ? notice.end : notice.fetches.length ? notice.link.end : notice.start;
    this.hatch(context, this.x(notice.start), this.x(until), bar);
    for (const fetch of notice.fetches) {
      const end = fetch.end === fetch.end ? fetch.end : fetch.link.end;
      const [start, stop] = [this.x(fetch.start), this.x(end)];
      context.fillStyle = colour(fetch.error || fetch.end !== fetch.end ? "error" : "fetching");
      context.fillRect(start, bar, Math.max(2, stop - start), 12);
      if (fetch.first === fetch.first) {
        context.fillStyle = colour("serving");
        context.fillRect(this.x(fetch.first), bar, Math.max(2, stop - this.x(fetch.first)), 12);
      }
    }
    context.fillStyle = colour("ink");
    context.beginPath();
    context.arc(this.x(notice.start), bar + 6, 3.5, 0, 7);
    context.fill();
    if (notice.removed === notice.removed) context.fillRect(this.x(notice.removed) - 1, bar - 2, 2, 16);
    const took = notice.end === notice.end ? duration(notice.end - notice.start) : notice.fetches.length ? "never complete" : "";
    const width = context.measureText(took).width;
    const after = Math.max(this.x(until) + 8, this.x(notice.start) + 8);
    context.fillStyle = colour("faint");
    if (took && after + width < this.surface.width) context.fillText(took, after, bar + 6);
    context.restore();
  }

  /** @param {CanvasRenderingContext2D} context @param {number} start @param {number} end @param {number} y */
  hatch(context, start, end, y) {
    start = Math.max(start, this.left - 5);
    end = Math.min(end, this.surface.width);
    if (end - start < 1) return;
    context.save();
    context.beginPath();
    context.rect(start, y + 2, end - start, 8);
    context.clip();
    context.strokeStyle = colour("queued");
    context.lineWidth = 1.5;
    context.beginPath();
    for (let x = Math.floor(start / 6) * 6 - 8; x < end; x += 6) {
      context.moveTo(x, y + 10);
      context.lineTo(x + 8, y + 2);
    }
    context.stroke();
    context.restore();
  }

  /** @param {MouseEvent} event */
  click(event) {
    const index = Math.floor((event.offsetY - this.top + this.scroller.offset) / this.lane);
    const notice = event.offsetY > this.top ? this.notices[index] : undefined;
    if (!notice) return;
    this.at = index;
    // The fetch under the pointer, or else the event.
    const fetch = notice.fetches.find((fetch) => event.offsetX >= this.x(fetch.start) - 3
      && event.offsetX <= this.x(fetch.end === fetch.end ? fetch.end : fetch.link.end) + 3);
    this.app.select(fetch ? fetch.row : notice.row, false);
    this.redraw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 15, PageUp: -15 }[event.key];
    if (event.key === "Enter" && this.notices[this.at]) {
      event.preventDefault();
      this.app.show("ladder");
      this.app.select(this.notices[this.at].row, true);
      this.app.ladder.list.focus();
      return;
    }
    if (step === undefined || !this.notices.length) return;
    event.preventDefault();
    event.stopPropagation();
    this.at = Math.min(Math.max(this.at + step, 0), this.notices.length - 1);
    const y = this.at * this.lane;
    const room = this.scroll.clientHeight - this.top - this.lane;
    const { offset } = this.scroller;
    if (y < offset) this.scroller.offset = y;
    if (y > offset + room) this.scroller.offset = y - room;
    this.app.select(this.notices[this.at].row, false);
    this.redraw();
  }
}

/** The last that happened to a notification. @param {Notice} notice */
function lastOf(notice) {
  let last = notice.start;
  for (const time of [notice.end, notice.removed]) if (time > last) last = time;
  return notice.fetches.length && notice.end !== notice.end ? notice.link.end : last;
}
