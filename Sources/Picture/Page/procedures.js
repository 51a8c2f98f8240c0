// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// The lane under the ladder: what the two link layers agreed on, and the controller's events that came of it.

/** The procedures of the link layer: its PDUs, and the HCI event that says how each ended (Vol 6 Part B, 5.1). */
const PROCEDURES = [
  { name: "version", pdu: /^LL_VERSION_IND$/, event: /^Read Remote Version Information Complete/, fact: "version" },
  { name: "features", pdu: /^LL_(PERIPHERAL_)?FEATURE_/, event: /^LE Read (All )?Remote Features Complete/, fact: "" },
  { name: "PHY", pdu: /^LL_PHY_/, event: /^LE PHY Update Complete/, fact: "phy" },
  { name: "length", pdu: /^LL_LENGTH_/, event: /^LE Data Length Change/, fact: "octets" },
  { name: "encryption", pdu: /^LL_((START|PAUSE)_)?ENC_/, event: /^Encryption (Change|Key Refresh)/, fact: "" },
  {
    name: "parameters", pdu: /^LL_CONNECTION_(UPDATE_IND|PARAM_)/,
    event: /^LE (Connection Update Complete|Remote Connection Parameter Request)/, fact: "interval",
  },
];

class ProcedureLane {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.lane = part("procedures");
    this.redraw = soon(() => this.draw());
    new ResizeObserver(this.redraw).observe(this.lane);
  }

  /** Collects what belongs to the chosen stretch and link. */
  update() {
    const { session, link } = this.app;
    const [start, end] = this.app.stretch;
    this.shown = session.procedures.filter(({ row }) => (!link || session.linkOf(row) === link)
      && session.time[row] >= start && session.time[row] <= end);
    this.app.tell({ procedures: this.shown.length });
    this.lane.hidden = this.shown.length === 0;
    this.redraw();
  }

  draw() {
    const [start, end] = this.app.stretch;
    const room = this.lane.clientWidth - ProcedureLane.left - 14;
    if (!this.shown || room < 1) return;
    const lines = PROCEDURES.map((procedure, kind) => {
      const marks = this.shown.filter((one) => one.kind === kind);
      if (!marks.length) return null;
      const line = make("div", "procedure", make("span", "aside", procedure.name));
      const place = (/** @type {number} */ row) => (this.app.session.time[row] - start) / (end - start || 1) * room;
      // One mark for what lies on one spot, the last: what was agreed on.
      marks.forEach((mark, index) => {
        const next = marks[index + 1];
        if (next && place(next.row) - place(mark.row) < 4) return;
        line.append(this.mark(mark, ProcedureLane.left + place(mark.row), next ? place(next.row) - place(mark.row) : room - place(mark.row)));
      });
      return line;
    });
    this.lane.replaceChildren(...lines.filter((line) => line !== null));
  }

  /** @param {Procedure} one @param {number} x @param {number} space to the next */
  mark({ row, kind }, x, space) {
    const { session } = this.app;
    const event = session.effect.get(row);
    const value = session.factsOf(row)[PROCEDURES[kind].fact];
    const text = value === undefined ? "" : kind === 3 ? counted(value, "byte") : kind === 5 ? `${value} ms` : String(value);
    const button = make("button", event === undefined ? "" : "caused", make("i"), space > 90 ? text : "");
    button.style.left = `${x}px`;
    button.title = [
      session.nameOf(row), text,
      event === undefined ? "" : `→ ${session.nameOf(event)} #${session.number[event]}, ${duration(session.time[event] - session.time[row])} after`,
    ].filter(Boolean).join(" ");
    button.setAttribute("aria-label", `${clock(session.time[row])} s: ${button.title}`);
    button.addEventListener("click", () => this.app.select(row, true));
    return button;
  }
}
/** Where the time begins, in pixels. */
ProcedureLane.left = 92;
