// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// The selected PDU: what it is about, what belongs to it, its tree, and its bytes with the field under the pointer lit.

class Detail {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.panel = part("detail");
    /** @type {{element: HTMLElement, start: number, length: number}[]} */
    this.fields = [];
    /** @type {HTMLElement[]} */
    this.cells = [];
    this.show(-1);
  }

  /** @param {number} row */
  show(row) {
    this.fields = [];
    this.cells = [];
    if (row < 0) {
      this.panel.replaceChildren(make("p", "aside", "Select a row, a bar or a mark: its decoded tree and its bytes appear here."));
      return;
    }
    const { session } = this.app;
    const tree = session.tree(row);
    const link = session.linkOf(row);
    const says = sayRow(session, row);
    const side = session.isFromPhone(row);
    const facts = [
      `#${session.number[row]}`, `${clock(session.time[row])} s`, this.app.timeOfDay(session.time[row]),
      side === undefined ? "" : side ? `phone to ${session.board}` : `${session.board} to phone`, link ? link.name : "",
      counted(session.length[row], "byte"),
    ];
    this.panel.replaceChildren(
      make("h2", "", says.name, says.what ? ` ${says.what}` : ""),
      make("p", "facts", facts.filter(Boolean).join(" · "), make("br"), tree.title));
    if (tree.problem) this.panel.append(make("p", "problem", tree.problem));
    for (const note of tree.notes) this.panel.append(make("p", "facts", note));
    this.addJumps(row);
    this.panel.append(this.tree(tree.nodes, "tree"));
    if (tree.bytes) this.panel.append(this.bytes(tree.bytes));
    this.panel.scrollTop = 0;
  }

  /** What belongs to it. @param {number} row */
  addJumps(row) {
    const { session } = this.app;
    const partner = session.partner[row];
    if (partner >= 0) {
      const wait = Math.abs(session.time[partner] - session.time[row]);
      const link = session.linkOf(row);
      const interval = link ? intervalAt(link, session.time[row]) : NaN;
      const share = inIntervals(wait, interval);
      this.jump(partner, partner > row ? `Response after ${duration(wait)}${share}` : `Request ${duration(wait)} before${share}`);
    }
    const [effect, cause] = [session.effect.get(row), session.cause.get(row)];
    if (effect !== undefined) this.jump(effect, `${session.nameOf(effect)}, ${duration(session.time[effect] - session.time[row])} after`);
    if (cause !== undefined) this.jump(cause, `${session.nameOf(cause)}, ${duration(session.time[row] - session.time[cause])} before`);
    const whole = session.whole[row];
    if (whole >= 0) this.jump(whole, "What this is a part of");
    const fetch = session.fetchOf.get(row);
    if (fetch && fetch.row !== row) this.jump(fetch.row, `Asked ${duration(session.time[row] - fetch.start)} before`);
    if (fetch && fetch.row === row && fetch.rows.length) {
      const last = fetch.rows[fetch.rows.length - 1];
      this.jump(last, `Response after ${duration(session.time[last] - fetch.start)}, ${counted(fetch.rows.length, "fragment")}`);
    }
  }

  /** @param {number} row @param {string} text */
  jump(row, text) {
    const button = make("button", "jump", text);
    button.addEventListener("click", () => this.app.select(row, true));
    this.panel.append(button);
  }

  /** @param {any[][]} nodes @param {string} [className] @returns {HTMLElement} */
  tree(nodes, className) {
    const { session } = this.app;
    return make("ul", className || "", ...nodes.map((node) => {
      const [label, value, start, length, below] = node;
      const field = make("span", "field", make("b", "", session.text(label)));
      const text = session.text(value);
      field.append(text.length > Detail.mostText ? text.slice(0, Detail.mostText) : text);
      if (text.length > Detail.mostText) {
        const more = make("button", "", `all ${text.length.toLocaleString("en")} characters`);
        more.addEventListener("click", () => more.replaceWith(text.slice(Detail.mostText)));
        field.append("… ", more);
      }
      if (length) {
        field.dataset.length = String(length);
        field.tabIndex = 0;
        const index = this.fields.push({ element: field, start, length }) - 1;
        for (const name of ["pointerenter", "focus"]) field.addEventListener(name, () => this.light(index));
        for (const name of ["pointerleave", "blur"]) field.addEventListener(name, () => this.light(-1));
      }
      return below ? make("li", "", field, this.tree(below)) : make("li", "", field);
    }));
  }

  /** @param {string} hex @returns {HTMLElement} */
  bytes(hex) {
    const box = make("div", "bytes");
    const count = Math.min(hex.length / 2, Detail.mostBytes);
    const width = this.panel.clientWidth < 470 ? 8 : 16;
    let hidden = false;
    for (let start = 0; start < count; start += width) {
      const line = make("span", "line");
      for (let at = start; at < Math.min(start + width, count); at++) {
        const text = hex.slice(at * 2, at * 2 + 2);
        const cell = make("span", text === ".." ? "hidden" : "", text);
        hidden = hidden || text === "..";
        cell.addEventListener("pointerenter", () => this.light(this.fieldAt(at)));
        cell.addEventListener("pointerleave", () => this.light(-1));
        this.cells.push(cell);
        line.append(cell, " ");
      }
      box.append(make("span", "at", start.toString(16).padStart(4, "0")), line);
    }
    if (count < hex.length / 2) box.append(make("span", "at", "…"), make("span", "line", `${hex.length / 2 - count} more bytes`));
    if (hidden) box.append(make("span", "at", ""), make("span", "at", "A dot is a byte that decode does not show: it may be of a key."));
    return box;
  }

  /** The smallest field that has a byte. @param {number} at */
  fieldAt(at) {
    let found = -1;
    this.fields.forEach((field, index) => {
      if (at < field.start || at >= field.start + field.length) return;
      if (found < 0 || field.length <= this.fields[found].length) found = index;
    });
    return found;
  }

  /** @param {number} index of a field; −1 for none */
  light(index) {
    for (const field of this.fields) field.element.classList.remove("lit");
    for (const cell of this.cells) cell.classList.remove("lit");
    const field = this.fields[index];
    if (!field) return;
    field.element.classList.add("lit");
    for (let at = field.start; at < Math.min(field.start + field.length, this.cells.length); at++) this.cells[at].classList.add("lit");
  }
}
Detail.mostText = 2000;
Detail.mostBytes = 2048;
