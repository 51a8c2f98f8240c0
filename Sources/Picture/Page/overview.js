// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// The whole capture on one axis of time: what was on the air, a lane for each link, how much was said, the connection
// interval and the signal as curves. A brush chooses the stretch that the other views show.

class Overview {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.surface = new Surface(part("overview-canvas"));
    this.redraw = soon(() => this.draw());
    /** @type {{time: number, from: number} | null} */
    this.dragging = null;
    const canvas = this.surface.canvas;
    canvas.addEventListener("pointerdown", (event) => this.begin(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.finish(event));
    canvas.addEventListener("pointercancel", () => { this.dragging = null; });
    canvas.addEventListener("dblclick", () => app.choose(null));
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(this.redraw).observe(part("overview-scroll"));
    this.fillLegend();
  }

  fillLegend() {
    const names = ["advertising", ...PHASES, "pairing", "error"];
    part("legend").append(...names.map((name) => {
      const swatch = make("i");
      swatch.style.setProperty("--part", `var(--${name})`);
      return make("li", "", swatch, name);
    }));
  }

  get left() { return this.surface.width > 700 ? 150 : 8; }
  get right() { return this.surface.width - 8; }

  /** @param {number} time */
  x(time) {
    const { session } = this.app;
    return this.left + time / (session.end || 1) * (this.right - this.left);
  }
  /** @param {number} x */
  timeAt(x) {
    const { session } = this.app;
    return Math.min(Math.max((x - this.left) / (this.right - this.left), 0), 1) * session.end;
  }

  draw() {
    const { session } = this.app;
    const width = part("overview-scroll").clientWidth;
    if (width === 0) return;
    const isWide = width > 700;
    const lanes = session.links.slice(0, Overview.mostLanes);
    const lane = isWide ? 24 : 38;
    const hasAir = session.advertising.length > 0;
    const curve = session.links.some((link) => link.intervals.length + link.signal.length > 1) ? 44 : 0;
    const air = hasAir ? 16 : 0;
    const top = 20;
    const height = top + air + lanes.length * lane + curve + 46;
    const context = this.surface.begin(width, height);
    this.surface.axis([0, session.end], (time) => this.x(time), this.left, height - 4);
    let y = top;
    if (hasAir) {
      this.drawLabel(context, "advertising", y + 8, isWide);
      context.fillStyle = colour("advertising");
      for (const span of session.advertising) this.bar(context, span, y + 5, 6);
      y += air;
    }
    for (const link of lanes) {
      this.drawLink(context, link, y, isWide);
      y += lane;
    }
    if (curve) {
      this.drawCurves(context, y, curve, isWide);
      y += curve;
    }
    this.drawActivity(context, y, 42, isWide);
    this.drawBrush(context, height);
    part("overview-text").textContent = session.links.length > lanes.length
      ? `The first ${counted(lanes.length, "link")} of ${session.links.length.toLocaleString("en")}; drag to select a time range.`
      : "Drag to select a time range.";
    this.surface.canvas.setAttribute("aria-label", this.describe());
    this.app.tell({ lanes: lanes.length, advertising: session.advertising.length });
  }

  describe() {
    const { session } = this.app;
    const links = session.links.slice(0, 8).map((link) => {
      const phases = link.phases.map((phase) => `${phase.name} at ${duration(phase.start)}`).join(", ");
      return `${link.name}: ${phases}${link.over ? `, ended at ${duration(link.end)} ${link.reason}` : ""}`;
    });
    return `Overview of ${duration(session.end)}. ${links.join(". ")}`;
  }

  /**
   * @param {CanvasRenderingContext2D} context @param {string} text @param {number} y @param {boolean} isWide
   * @param {string} [colourName]
   */
  drawLabel(context, text, y, isWide, colourName = "faint") {
    if (!isWide) return;
    context.fillStyle = colour(colourName);
    context.fillText(this.surface.fitted(text, this.left - 14), 2, y);
  }

  /** @param {CanvasRenderingContext2D} context @param {{start: number, end: number}} span @param {number} y @param {number} height */
  bar(context, span, y, height) {
    const [start, end] = [this.x(span.start), this.x(span.end)];
    context.fillRect(start, y, Math.max(1, end - start), height);
  }

  /**
   * @param {CanvasRenderingContext2D} context @param {Link} link @param {number} y @param {boolean} isWide
   */
  drawLink(context, link, y, isWide) {
    const { session } = this.app;
    const isChosen = this.app.link === null || this.app.link === link;
    context.globalAlpha = isChosen ? 1 : 0.35;
    const name = session.links.length > 1 ? `${link.number}. ${link.name}` : link.name;
    this.drawLabel(context, name, y + 11, isWide);
    let bar = y + 4;
    if (!isWide) {
      context.fillStyle = colour("faint");
      context.fillText(this.surface.fitted(name, 220), this.left, y + 9);
      bar = y + 18;
    }
    for (const phase of link.phases) {
      context.fillStyle = colour(phase.name);
      this.bar(context, phase, bar, 12);
    }
    context.fillStyle = colour("pairing");
    for (const span of link.pairing) this.bar(context, span, bar, 4);
    context.fillStyle = colour("error");
    let last = -9;
    for (const row of link.errors) {
      const x = Math.round(this.x(session.time[row]));
      if (x - last < 2) continue;
      context.fillRect(x - 1, bar - 2, 3, 16);
      last = x;
    }
    if (link.over) this.drawEnd(context, link, bar);
    context.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} context @param {Link} link @param {number} y */
  drawEnd(context, link, y) {
    const x = this.x(link.end);
    context.fillStyle = colour("ink");
    context.fillRect(x - 1, y - 2, 2, 16);
    // Where the next link on the lane's right does not matter: each has its own lane.
    const text = this.surface.fitted(link.reason, this.surface.width - x - 8);
    context.fillStyle = colour("faint");
    if (text && context.measureText(text).width < this.right - x) context.fillText(text, x + 5, y + 6);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} y @param {number} height @param {boolean} isWide */
  drawCurves(context, y, height, isWide) {
    const { session } = this.app;
    let greatest = 0;
    for (const link of session.links) for (const one of link.intervals) greatest = Math.max(greatest, one.value);
    this.drawLabel(context, greatest ? `interval ≤ ${greatest} ms` : "", y + 10, isWide, "encrypted");
    const bottom = y + height - 6;
    const room = height - 12;
    context.lineWidth = 1.5;
    for (const link of session.links.slice(0, Overview.mostLanes)) {
      context.strokeStyle = colour("encrypted");
      context.beginPath();
      link.intervals.forEach((one, index) => {
        const level = bottom - one.value / greatest * room;
        const next = link.intervals[index + 1];
        if (index === 0) context.moveTo(this.x(one.time), level);
        else context.lineTo(this.x(one.time), level);
        context.lineTo(this.x(next ? next.time : link.end), level);
      });
      context.stroke();
      if (link.signal.length === 0) continue;
      context.strokeStyle = colour("pairing");
      context.beginPath();
      link.signal.forEach((one, index) => {
        const level = bottom - (Math.min(Math.max(one.value, -100), -20) + 100) / 80 * room;
        if (index === 0) context.moveTo(this.x(one.time), level); else context.lineTo(this.x(one.time), level);
      });
      context.stroke();
    }
    if (session.links.some((link) => link.signal.length > 0)) this.drawLabel(context, "RSSI −100…−20", y + 26, isWide, "pairing");
  }

  /** @param {CanvasRenderingContext2D} context @param {number} y @param {number} height @param {boolean} isWide */
  drawActivity(context, y, height, isWide) {
    const columns = Math.max(1, Math.floor(this.right - this.left));
    const { fromPhone, fromBoard, most } = this.activity(columns);
    const middle = y + height / 2;
    this.drawLabel(context, "phone’s PDUs", y + 10, isWide, "phone");
    this.drawLabel(context, `${this.app.session.board}’s PDUs`, y + 30, isWide, "board");
    const size = (/** @type {number} */ count) => count && Math.max(1, Math.sqrt(count / most) * (height / 2 - 2));
    for (let column = 0; column < columns; column++) {
      const x = this.left + column;
      context.fillStyle = colour("phone");
      context.fillRect(x, middle - size(fromPhone[column]), 1, size(fromPhone[column]));
      context.fillStyle = colour("board");
      context.fillRect(x, middle, 1, size(fromBoard[column]));
    }
  }

  /** How many PDUs each column has; counted once for each width. @param {number} columns */
  activity(columns) {
    const { session } = this.app;
    if (this.counts && this.counts.columns === columns) return this.counts;
    const fromPhone = new Uint32Array(columns), fromBoard = new Uint32Array(columns);
    let most = 1;
    for (let row = 0; row < session.count; row++) {
      if (session.link[row] < 0 || session.direction[row] === 0) continue;
      const column = Math.min(columns - 1, Math.floor(session.time[row] / (session.end || 1) * columns));
      const counts = session.isFromPhone(row) ? fromPhone : fromBoard;
      most = Math.max(most, ++counts[column]);
    }
    return this.counts = { columns, fromPhone, fromBoard, most };
  }

  /** @param {CanvasRenderingContext2D} context @param {number} height */
  drawBrush(context, height) {
    const { range, session, selected } = this.app;
    if (range) {
      const [start, end] = [this.x(range[0]), this.x(range[1])];
      context.fillStyle = colour("paper");
      context.globalAlpha = 0.62;
      context.fillRect(this.left, 17, start - this.left, height);
      context.fillRect(end, 17, this.right - end, height);
      context.globalAlpha = 1;
      context.strokeStyle = colour("choice");
      context.lineWidth = 2;
      context.strokeRect(start, 17, Math.max(2, end - start), height - 19);
    }
    if (selected >= 0) {
      context.fillStyle = colour("choice");
      const x = this.x(session.time[selected]);
      context.fillRect(x - 0.75, 16, 1.5, height - 16);
    }
  }

  // The brush

  /** @param {PointerEvent} event */
  begin(event) {
    const time = this.timeAt(event.offsetX);
    this.dragging = { time, from: event.offsetX };
    this.surface.canvas.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.dragging || Math.abs(event.offsetX - this.dragging.from) < 4) return;
    const time = this.timeAt(event.offsetX);
    this.app.choose([Math.min(time, this.dragging.time), Math.max(time, this.dragging.time)]);
  }

  /** @param {PointerEvent} event */
  finish(event) {
    const from = this.dragging;
    this.dragging = null;
    if (!from || Math.abs(event.offsetX - from.from) >= 4) return;
    // A click: what was there then.
    this.app.select(this.app.nearestShown(this.timeAt(event.offsetX)), true);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { session } = this.app;
    const [start, end] = this.app.range || [0, session.end];
    const length = end - start;
    /** @type {[number, number] | null} */
    let range = null;
    switch (event.key) {
      case "ArrowLeft": range = [start - length / 10, end - length / 10]; break;
      case "ArrowRight": range = [start + length / 10, end + length / 10]; break;
      case "+": case "=": range = [start + length / 4, end - length / 4]; break;
      case "-": range = [start - length / 2, end + length / 2]; break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
    const moved = range[0] < 0 ? -range[0] : range[1] > session.end ? session.end - range[1] : 0;
    this.app.choose([Math.max(0, range[0] + moved), Math.min(session.end, range[1] + moved)]);
  }
}
/** More lanes than anybody looks through are not drawn. */
Overview.mostLanes = 200;
