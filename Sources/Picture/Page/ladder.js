// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// The phone and the board as two lines, and each PDU as an arrow between them. Only visible rows have elements.

class Ladder {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.list = part("rows");
    this.scroller = new Scroller(this.list, part("rows-space"));
    /** Rows from 0 on; below that, gaps: −1 − the index into `gaps`. */
    this.items = new Int32Array(0);
    /** @type {{before: number, after: number, length: number}[]} */
    this.gaps = [];
    /** @type {Set<number>} rows whose parts are shown */
    this.opened = new Set();
    /** @type {Map<number, HTMLElement>} by index of the item */
    this.shown = new Map();
    /** @type {HTMLElement[]} */
    this.spare = [];
    this.redraw = soon(() => this.draw());
    this.list.addEventListener("scroll", this.redraw);
    this.list.addEventListener("click", (/** @type {MouseEvent} */ event) => this.click(event));
    this.list.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    new ResizeObserver(() => { this.clear(); this.redraw(); }).observe(this.list);
  }

  /** Collects the rows that pass the filters. */
  update() {
    const { session, link, test, layers } = this.app;
    const [start, end] = this.app.stretch;
    const from = session.isSorted ? session.rowAt(start) : 0;
    const items = new Int32Array(session.count * 2 + 1);
    let count = 0, last = -1, arrows = 0, matches = 0;
    this.gaps = [];
    const hidden = new Set([...layers].filter(([, isShown]) => !isShown).map(([name]) => name));
    const skips = session.texts.map((name) => hidden.has(name));
    const others = session.otherTexts ? session.otherTexts.map((name) => hidden.has(name)) : [];
    for (let row = from; row < session.count; row++) {
      const time = session.time[row];
      if (time > end) { if (session.isSorted) break; else continue; }
      if (time < start) continue;
      if (link && session.link[row] >= 0 && session.link[row] !== link.number - 1) continue;
      const whole = session.whole[row];
      if (whole >= 0 && !this.opened.has(whole)) continue;
      const layer = session.layer[row];
      if (test) {
        if (!test(row)) continue;
        matches++;
      } else if (whole < 0 && (layer >= 0 ? skips[layer] : others[-1 - layer]) && !this.isMilestone(row)) continue;
      if (last >= 0 && !test && time - session.time[last] >= Ladder.gap) {
        items[count++] = -1 - this.gaps.length;
        this.gaps.push({ before: last, after: row, length: time - session.time[last] });
      }
      items[count++] = row;
      last = row;
      if (this.isArrow(row)) arrows++;
    }
    this.items = items.slice(0, count);
    this.clear();
    this.app.tell({ rows: count, arrows, gaps: this.gaps.length, matches: test ? matches : "" });
    this.redraw();
    return { count, matches };
  }

  /** Whether a row is shown even if its layer is hidden. @param {number} row */
  isMilestone(row) {
    const { session } = this.app;
    const link = session.linkOf(row);
    if (session.layerOf(row) === "link-layer" && session.link[row] < 0) return /CONNECT/.test(session.nameOf(row));
    return (link !== null && Ladder.milestones.test(session.nameOf(row))) || session.trouble[row] === 2;
  }

  /** @param {number} row */
  isArrow(row) {
    return this.app.session.direction[row] !== 0 && !/^(hci-|mgmt|adapter|note)/.test(this.app.session.layerOf(row));
  }

  get height() { return parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 26; }

  clear() {
    for (const element of this.shown.values()) this.release(element);
    this.shown.clear();
  }

  /** @param {HTMLElement} element */
  release(element) {
    element.hidden = true;
    this.spare.push(element);
  }

  draw() {
    const height = this.height;
    this.scroller.fit(this.items.length * height);
    const { offset, room } = this.scroller;
    const first = Math.max(0, Math.floor(offset / height) - 4);
    const last = Math.min(this.items.length - 1, Math.ceil((offset + room) / height) + 4);
    for (const [index, element] of this.shown) {
      if (index < first || index > last) {
        this.release(element);
        this.shown.delete(index);
      }
    }
    for (let index = first; index <= last; index++) {
      let element = this.shown.get(index);
      if (!element) {
        element = this.spare.pop() || this.list.appendChild(make("div"));
        element.hidden = false;
        this.fill(element, index);
        this.shown.set(index, element);
      }
      element.style.transform = `translateY(${index * height - offset + this.list.scrollTop}px)`;
    }
    this.mark();
  }

  /** Marks the chosen row and its partner among those that are seen. */
  mark() {
    const { session, selected } = this.app;
    const partner = selected >= 0 ? session.partner[selected] : -1;
    let active = "";
    for (const [index, element] of this.shown) {
      const row = this.items[index];
      element.classList.toggle("chosen", row >= 0 && row === selected);
      element.classList.toggle("partner", row >= 0 && row === partner);
      element.setAttribute("aria-selected", String(row >= 0 && row === selected));
      if (row >= 0 && row === selected) active = element.id;
    }
    if (active) this.list.setAttribute("aria-activedescendant", active); else this.list.removeAttribute("aria-activedescendant");
  }

  /** @param {HTMLElement} element @param {number} index */
  fill(element, index) {
    const item = this.items[index];
    element.id = `row-${index}`;
    element.setAttribute("role", "option");
    element.dataset.index = String(index);
    if (item < 0) this.fillGap(element, this.gaps[-1 - item]); else this.fillRow(element, item);
  }

  /** @param {HTMLElement} element @param {{before: number, after: number, length: number}} gap */
  fillGap(element, gap) {
    element.className = gap.length >= LATE ? "row gap long" : "row gap";
    const says = make("span", "says", make("span", "name", `${duration(gap.length)} ${this.cause(gap)}`));
    element.replaceChildren(make("span", "time"), make("span", "rail", says), make("span", "wait"));
  }

  /** What happened during a pause. @param {{before: number, after: number}} gap */
  cause(gap) {
    const { session } = this.app;
    const { before, after } = gap;
    const partner = session.partner[after];
    const who = session.isFromPhone(after);
    const other = who ? "phone" : session.board;
    if (partner >= 0 && partner <= before) return `until the ${other}’s ${session.nameOf(after)}`;
    const fetch = session.fetchOf.get(after);
    if (fetch && fetch.row <= before && fetch.row !== after) return `until the response${fetch.uid >= 0 ? " about #" + fetch.uid : ""}`;
    if (/^Encryption/.test(session.nameOf(after))) return "until encrypted";
    const link = session.linkOf(after);
    if (link && link.first === after) return "until this link began";
    for (const row of [before, before - 1]) {
      if (row < 0 || session.role[row] !== ROLE.request || session.partner[row] <= after) continue;
      return `in which ${session.nameOf(row)} had no response yet`;
    }
    if (who === undefined) return "nothing was sent";
    return who ? "until the phone sent this by itself" : `in which the ${session.board} requested nothing`;
  }

  /** @param {HTMLElement} element @param {number} row */
  fillRow(element, row) {
    const { session } = this.app;
    const says = sayRow(session, row);
    const side = session.isFromPhone(row);
    const isArrow = this.isArrow(row);
    const isMilestone = !isArrow && session.link[row] >= 0 && Ladder.milestones.test(session.nameOf(row));
    const classes = ["row", isArrow ? (side ? "down" : "up") : isMilestone ? "note milestone" : "note"];
    const link = session.linkOf(row);
    if (session.trouble[row] === 2) classes.push("bad");
    if (session.trouble[row] === 1) classes.push("odd");
    if (session.whole[row] >= 0) classes.push("part");
    element.className = classes.join(" ");
    const label = make("span", "says", make("span", "name", says.name));
    if (says.what) label.append(make("span", "what", says.what));
    if (this.parts(row) > 0) label.append(this.fold(row));
    if (session.links.length > 1 && !this.app.link && link && isMilestone && !says.what.includes(link.name)) label.append(make("span", "what", link.name));
    const rail = make("span", "rail");
    if (isArrow) rail.append(make("span", "shaft"));
    rail.append(label);
    element.title = `${says.name} ${says.what}`;
    element.replaceChildren(make("span", "time", clock(session.time[row])), rail, this.wait(row));
  }

  /** How many rows are folded into one. @param {number} row */
  parts(row) {
    const { session } = this.app;
    if (!this.wholes) {
      this.wholes = new Map();
      for (let piece = 0; piece < session.count; piece++) {
        const whole = session.whole[piece];
        if (whole >= 0) this.wholes.set(whole, (this.wholes.get(whole) || 0) + 1);
      }
    }
    return this.wholes.get(row) || 0;
  }

  /** @param {number} row */
  fold(row) {
    const isOpen = this.opened.has(row);
    const button = make("button", "fold", `${isOpen ? "▾" : "▸"} ${this.parts(row)}`);
    button.tabIndex = -1;
    button.title = `${isOpen ? "Hide" : "Show"} its fragments (Enter)`;
    return button;
  }

  /** @param {number} row */
  wait(row) {
    const { session } = this.app;
    const waited = waitOf(session, row);
    const cell = make("span", "wait");
    if (!(waited >= 0)) {
      if (session.role[row] === ROLE.request && session.partner[row] < 0) cell.append("no response"), cell.className = "wait late";
      return cell;
    }
    const colourName = waited >= LATE ? "error" : waited >= SLOW ? "doubt" : "advertising";
    if (waited >= LATE) cell.className = "wait late"; else if (waited >= SLOW) cell.className = "wait slow";
    const bar = make("i");
    // From 1 ms to 30 s, by its logarithm.
    bar.style.width = `${Math.round(Math.min(Math.max(Math.log10(waited * 1000 + 1) / 4.5, 0.02), 1) * 84)}px`;
    bar.style.setProperty("--part", `var(--${colourName})`);
    cell.append(duration(waited), bar);
    return cell;
  }

  // Choosing

  /** @param {MouseEvent} event */
  click(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const element = /** @type {HTMLElement | null} */ (target.closest(".row"));
    if (!element) return;
    const item = this.items[Number(element.dataset.index)];
    if (target.classList.contains("fold")) return this.toggle(item);
    this.app.select(item >= 0 ? item : this.gaps[-1 - item].after, false);
    return undefined;
  }

  /** Opens what is folded into a row, or closes it. @param {number} row */
  toggle(row) {
    if (!this.parts(row)) return;
    if (this.opened.has(row)) this.opened.delete(row); else this.opened.add(row);
    this.update();
    this.app.select(row, true);
  }

  /** The index of a row among the items, or of the next behind it. @param {number} row */
  indexOf(row) {
    let low = 0, high = this.items.length - 1;
    const rowOf = (/** @type {number} */ index) => this.items[index] >= 0 ? this.items[index] : this.gaps[-1 - this.items[index]].after - 0.5;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rowOf(middle) < row) low = middle + 1; else high = middle;
    }
    return low;
  }

  /** Scrolls until a row is seen; in the middle, unless it is near. @param {number} row */
  reveal(row) {
    const index = this.indexOf(row);
    const height = this.height;
    this.scroller.fit(this.items.length * height);
    const { offset, room } = this.scroller;
    const y = index * height;
    if (y >= offset + height && y + 2 * height <= offset + room) return;
    const isNear = y > offset - 3 * height && y < offset + room + 3 * height;
    this.scroller.offset = !isNear ? y - room / 2 : y < offset + height ? y - height : y + 2 * height - room;
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / this.height) - 2);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    const step = event.ctrlKey || event.metaKey || event.altKey ? undefined : steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      this.move(step);
    } else if ((event.key === "Enter" || event.key === " ") && this.app.selected >= 0) {
      event.preventDefault();
      this.toggle(this.app.selected);
    }
  }

  /** @param {number} step */
  move(step) {
    if (!this.items.length) return;
    const at = this.app.selected >= 0 ? this.indexOf(this.app.selected) : step > 0 ? -1 : 0;
    let index = Math.min(Math.max(at + step, 0), this.items.length - 1);
    const way = step > 0 ? 1 : -1;
    while (this.items[index] < 0 && index + way >= 0 && index + way < this.items.length) index += way;
    if (this.items[index] >= 0) this.app.select(this.items[index], true);
  }

  /** All rows as elements, as many as a printer should get. */
  layOutForPrint() {
    this.clear();
    const from = this.app.range ? 0 : Math.max(0, Math.floor(this.scroller.offset / this.height));
    for (let index = from; index < Math.min(this.items.length, from + Ladder.mostPrinted); index++) {
      const element = this.list.appendChild(make("div"));
      this.fill(element, index);
      this.shown.set(index, element);
    }
    this.mark();
  }
}
/** A pause of this many seconds gets its own row. */
Ladder.gap = 0.25;
Ladder.mostPrinted = 400;
Ladder.milestones = /^((LE )?(Enhanced )?Connection (Complete|Update Complete)|Disconnection Complete|Encryption (Change|Key Refresh)|connected|disconnected|subscribed|over|LL_TERMINATE_IND|LL_START_ENC_RSP|CONNECT_IND|Device (Connected|Disconnected))/;
