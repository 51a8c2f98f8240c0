// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// Joins the views: what is chosen, what is hidden, the address, the keys.

const LAYER_NAMES = {
  att: "ATT", smp: "SMP", "l2cap-signalling": "L2CAP", l2cap: "L2CAP", "hci-command": "HCI", "hci-event": "HCI",
  "link-layer": "link layer", mgmt: "mgmt", adapter: "adapter", note: "notes", data: "data", fragment: "fragments",
  link: "link", wait: "waits", event: "events",
};
/** The layers that the ladder shows at first. */
const SHOWN_LAYERS = ["att", "smp", "l2cap-signalling", "link", "event", "wait"];

class App {
  /** @param {Session} session @param {string[]} warnings */
  constructor(session, warnings) {
    this.session = session;
    /** @type {[number, number] | null} */
    this.range = null;
    /** @type {Link | null} */
    this.link = null;
    /** @type {((row: number) => boolean) | null} */
    this.test = null;
    this.selected = -1;
    this.view = "ladder";
    /** @type {Map<string, boolean>} */
    this.layers = new Map();
    this.fillTop(warnings);
    this.fillLayers();
    this.overview = new Overview(this);
    this.lanes = new Lanes(this);
    this.ladder = new Ladder(this);
    this.procedures = new ProcedureLane(this);
    this.detail = new Detail(this);
    this.figures = new Figures(this);
    this.listen();
    this.readAddress();
    this.fillStory();
  }

  /** @returns {[number, number]} */
  get stretch() { return this.range || [0, this.session.end]; }

  /** Publishes in the document how much is drawn, for tests. @param {{[name: string]: any}} numbers */
  tell(numbers) {
    for (const name in numbers) document.body.dataset[name] = String(numbers[name]);
  }

  // The top

  /** @param {string[]} warnings */
  fillTop(warnings) {
    const { session } = this;
    const { source } = session;
    document.title = `${source.name} · ${source.program}`;
    part("name").textContent = source.name;
    const packets = session.count ? session.number[session.count - 1] : 0;
    const parts = [
      session.count ? `${this.date(0)}, ${duration(session.end)}` : "nothing",
      source.timeline ? counted(session.count, "entry", "entries") : counted(packets, "packet"), counted(session.links.length, "link"),
      session.errorRows.length ? counted(session.errorRows.length, "error") : "no errors", source.filter, source.program,
    ];
    part("end-board").textContent = session.board;
    part("summary").textContent = parts.filter(Boolean).join(" · ");
    part("warnings").hidden = warnings.length === 0;
    part("warnings").append(...warnings.map((warning) => make("li", "", warning)));
    const choice = part("which");
    choice.append(new Option("all", ""), ...session.links.slice(0, 500).map((link) =>
      new Option(`${link.number}. ${link.name}${link.rows ? ` (${link.rows.toLocaleString("en")})` : ""}`, String(link.number))));
    this.tell({
      ready: "yes", packets, links: session.links.length, errors: session.errorRows.length,
      fetches: session.fetches.length, notifications: session.notices.length,
    });
  }

  /** @param {number} time */
  date(time) {
    const date = new Date(this.session.start / 1000 + time * 1000);
    return isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 19).replace("T", " ") + " UTC";
  }
  /** @param {number} time */
  timeOfDay(time) {
    const date = new Date(this.session.start / 1000 + time * 1000);
    return isNaN(date.getTime()) ? "" : date.toISOString().slice(11, 23) + " UTC";
  }

  fillLayers() {
    const { session } = this;
    /** @type {Map<string, string[]>} */
    const groups = new Map();
    const found = new Set();
    for (let row = 0; row < session.count; row++) found.add(session.layer[row]);
    for (const number of found) {
      const layer = session.textOf(number);
      const title = LAYER_NAMES[layer] || layer;
      groups.set(title, [...(groups.get(title) || []), layer]);
      this.layers.set(layer, SHOWN_LAYERS.includes(layer));
    }
    for (const [title, layers] of groups) {
      const box = /** @type {HTMLInputElement} */ (make("input"));
      box.type = "checkbox";
      box.checked = layers.some((layer) => this.layers.get(layer));
      box.addEventListener("change", () => {
        for (const layer of layers) this.layers.set(layer, box.checked);
        this.ladder.update();
        if (this.selected >= 0) this.ladder.reveal(this.selected);
      });
      part("layers").append(make("label", "", box, title));
    }
  }

  /** What the first notification waited for. */
  fillStory() {
    const { session } = this;
    const link = this.link || nearest(session.links);
    if (!link) { part("story").hidden = true; return; }
    const story = storyOf(session, link);
    const since = link.known ? "the phone connected" : "the capture began";
    part("question").textContent = story.done
      ? `The first ${session.source.timeline ? "response to a fetch began" : "notification was complete"} ${duration(story.length)} after ${since}.`
      : story.parts.length ? `No notification was fetched completely on this link (${link.name}).` : `${link.name}: ${duration(link.end - link.start)}.`;
    const longest = story.parts.reduce((one, other) => other.end - other.start > one.end - one.start ? other : one, story.parts[0]);
    const answer = part("answer");
    answer.replaceChildren();
    if (longest) {
      const asked = longest.requests ? `: ${counted(longest.requests, "request")}` : "";
      const each = longest.each >= 0 ? `, ${link.phoneSide ? `one every ${duration(longest.each)}` : `${duration(longest.each)} each`}` : "";
      const share = inIntervals(longest.each, intervalAt(link, longest.end));
      answer.append("Most of it, ", make("strong", "", duration(longest.end - longest.start)), `, is ${this.partTitle(longest)}${asked}${each}${share}.`);
    }
    part("parts").hidden = !story.parts.length;
    part("parts").replaceChildren(...story.parts.map((one) => this.storyPart(one, longest, story.length)));
    this.tell({ parts: story.parts.length, story: story.done ? story.length.toFixed(3) : "" });
  }

  /** @param {{name: string}} one */
  partTitle(one) {
    return {
      "until encrypted": "the wait for encryption", "before discovery": "before discovery", discovery: "discovery", subscribing: "subscribing",
      "until an event": "the wait for an event", "until it is fetched": "the wait before its fetch", "the response": "the wait for the response",
    }[one.name] || one.name;
  }

  /** @param {any} one @param {any} longest @param {number} length */
  storyPart(one, longest, length) {
    const colours = {
      "until encrypted": "connected", "before discovery": "encrypted", discovery: "discovery", subscribing: "subscribing",
      "until an event": "advertising", "until it is fetched": "queued", "the response": "serving",
    };
    const took = one.end - one.start;
    const more = one.requests ? ` · ${counted(one.requests, "request")}` : "";
    const button = make("button", "", make("b", "", one.name), make("span", "", `${duration(took)}${more}`));
    button.title = `${one.name}: ${duration(took)}${more}, until ${one.what}`;
    button.addEventListener("click", () => {
      this.choose([Math.max(0, one.start - 0.001), Math.min(this.session.end, one.end + 0.001)]);
      this.show("ladder");
      this.select(one.row, true);
    });
    const share = length > 0 ? took / length : 0;
    const item = make("li", [one === longest ? "longest" : "", share < 0.05 ? "thin" : ""].join(" "), button);
    item.style.flexGrow = String(Math.max(share, 0.006));
    item.style.setProperty("--part", `var(--${colours[one.name] || "connected"})`);
    return item;
  }

  // What is shown

  update() {
    const { count, matches } = this.ladder.update();
    this.lanes.update();
    this.procedures.update();
    this.figures.update();
    this.overview.redraw();
    const [start, end] = this.stretch;
    part("whole").hidden = !this.range;
    part("stretch").textContent = this.range ? `${duration(end - start)} from ${clock(start)} s` : "";
    part("found").textContent = this.test ? counted(matches, "row") : "";
    part("rows").setAttribute("aria-label", `The PDUs, one per row: ${count}`);
  }

  /** Chooses a stretch; null is all of it. @param {[number, number] | null} range */
  choose(range) {
    this.range = range && range[1] - range[0] > 0 ? range : null;
    this.later = this.later || soon(() => this.update());
    this.later();
    this.writeAddress();
  }

  /**
   * Chooses a row, which may be of a stretch or a layer that is hidden.
   * @param {number} row @param {boolean} reveals whether the ladder scrolls to it
   */
  select(row, reveals) {
    if (row < 0 || row >= this.session.count) return;
    this.selected = row;
    const time = this.session.time[row];
    const whole = this.session.whole[row];
    let isStale = false;
    if (whole >= 0 && !this.ladder.opened.has(whole)) this.ladder.opened.add(whole), isStale = true;
    if (this.range && (time < this.range[0] || time > this.range[1])) this.range = null, isStale = true;
    if (this.link && this.session.link[row] >= 0 && this.session.linkOf(row) !== this.link) this.setLink(null), isStale = true;
    if (isStale) this.update();
    this.detail.show(row);
    if (reveals) this.ladder.reveal(row);
    this.ladder.mark();
    this.overview.redraw();
    this.tell({ selected: this.session.number[row] });
    this.writeAddress();
  }

  /** The row of the ladder that is nearest to a time. @param {number} time */
  nearestShown(time) {
    const row = this.session.rowAt(time);
    const items = this.ladder.items;
    for (let index = this.ladder.indexOf(row); index < items.length; index++) if (items[index] >= 0) return items[index];
    return row;
  }

  /** @param {Link | null} link */
  setLink(link) {
    this.link = link;
    part("which").value = link ? String(link.number) : "";
    this.fillStory();
  }

  /** @param {string} view */
  show(view) {
    this.view = view;
    for (const name of ["ladder", "lanes", "figures"]) {
      part(name).hidden = name !== view;
      const tab = part(`tab-${name}`);
      tab.setAttribute("aria-selected", String(name === view));
      tab.tabIndex = name === view ? 0 : -1;
    }
    if (view === "figures") this.figures.fill();
    if (view === "lanes") this.lanes.redraw();
    if (view === "ladder") this.ladder.redraw();
    this.tell({ view });
  }

  // The address: #t=12.345678&n=42&from=…&to=…&q=…

  writeAddress() {
    if (this.isReading) return;
    const parts = [];
    if (this.selected >= 0) parts.push(`t=${clock(this.session.time[this.selected])}`, `n=${this.session.number[this.selected]}`);
    if (this.range) parts.push(`from=${clock(this.range[0])}`, `to=${clock(this.range[1])}`);
    if (part("query").value) parts.push(`q=${encodeURIComponent(part("query").value)}`);
    clearTimeout(this.writing);
    this.address = "#" + parts.join("&");
    // Browsers limit how often the address may change.
    this.writing = setTimeout(() => history.replaceState(null, "", this.address), 300);
  }

  readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const number = (/** @type {string} */ name) => given.has(name) ? Number(given.get(name)) : NaN;
    this.isReading = true;
    const [from, to] = [number("from"), number("to")];
    this.range = from >= 0 && to > from ? [from, to] : null;
    const query = given.get("q") || "";
    part("query").value = query;
    this.test = compileQuery(this.session, query).test;
    this.update();
    const time = number("t");
    if (time >= 0 || given.has("n")) {
      let row = this.session.rowAt(Math.max(0, (time || 0) - 5e-7));
      const wanted = number("n");
      if (wanted >= 0) {
        // Several PDUs may have one time.
        let at = time >= 0 ? row : 0;
        while (at < this.session.count && this.session.number[at] !== wanted && !(this.session.time[at] > time + 1e-6)) at++;
        if (this.session.number[at] === wanted) row = at;
      }
      this.select(row, true);
    }
    this.isReading = false;
  }

  async copyAddress() {
    const address = location.href.split("#")[0] + (this.address || location.hash);
    let isDone = false;
    try { await navigator.clipboard.writeText(address); isDone = true; } catch {
      // A page from a file may not.
      history.replaceState(null, "", this.address || location.hash);
    }
    part("copy").textContent = isDone ? "Copied" : "The link is in the address bar";
    setTimeout(() => { part("copy").textContent = "Copy link"; }, 2000);
  }

  // Keys

  listen() {
    part("find").addEventListener("submit", (/** @type {Event} */ event) => { event.preventDefault(); this.step(1); });
    part("query").addEventListener("input", soon(() => this.search()));
    part("which").addEventListener("change", () => {
      this.setLink(this.session.links[Number(part("which").value) - 1] || null);
      this.update();
    });
    part("copy").addEventListener("click", () => this.copyAddress());
    part("help").addEventListener("click", () => part("keys").showModal());
    part("close-keys").addEventListener("click", () => part("keys").close());
    part("whole").addEventListener("click", () => this.choose(null));
    for (const name of ["ladder", "lanes", "figures"]) part(`tab-${name}`).addEventListener("click", () => this.show(name));
    part("tabs").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.moveTab(event));
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.readAddress());
    window.addEventListener("beforeprint", () => { this.figures.fill(); this.ladder.layOutForPrint(); });
    window.addEventListener("afterprint", () => { this.ladder.clear(); this.ladder.draw(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    matchMedia("(max-width: 900px)").addEventListener("change", () => { this.ladder.clear(); this.ladder.redraw(); });
    for (const [keys, what] of App.keys) {
      part("key-list").append(make("dt", "", ...keys.split(" ").map((key) => make("kbd", "", key))), make("dd", "", what));
    }
  }

  recolour() {
    COLOURS.clear();
    this.overview.redraw();
    this.lanes.redraw();
    this.figures.redraw();
  }

  search() {
    const { test, wrong } = compileQuery(this.session, part("query").value);
    this.test = test;
    this.update();
    if (wrong) part("found").textContent = wrong;
    if (this.selected >= 0) this.ladder.reveal(this.selected);
    this.writeAddress();
  }

  /** To the next row of the search, or of the errors if nothing is searched for. @param {number} way */
  step(way) {
    const { session, test } = this;
    let row = this.selected + way;
    if (this.selected < 0 && way < 0) row = session.count - 1;
    for (; row >= 0 && row < session.count; row += way) {
      if (test ? test(row) : session.trouble[row] === 2) return this.select(row, true);
    }
    return undefined;
  }

  /** @param {KeyboardEvent} event */
  moveTab(event) {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way || !(/** @type {HTMLElement} */ (event.target)).matches("[role=tab]")) return;
    const names = ["ladder", "lanes", "figures"];
    const next = names[(names.indexOf(this.view) + way + names.length) % names.length];
    event.preventDefault();
    event.stopPropagation();
    this.show(next);
    part(`tab-${next}`).focus();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || part("keys").open) return;
    if (target.matches("input[type=search], select")) {
      if (event.key === "Escape") this.ladder.list.focus();
      return;
    }
    switch (event.key) {
      case "/": part("query").focus(); part("query").select(); break;
      case "?": part("keys").showModal(); break;
      case "1": this.show("ladder"); this.ladder.list.focus(); break;
      case "2": this.show("lanes"); part("lanes-scroll").focus(); break;
      case "3": this.show("figures"); part("figures").focus(); break;
      case "o": this.overview.surface.canvas.focus(); break;
      case "n": this.step(1); break;
      case "N": this.step(-1); break;
      case "p": this.select(this.session.partner[this.selected], true); break;
      case "c": this.copyAddress(); break;
      case "j": case "ArrowDown": this.ladder.move(1); break;
      case "k": case "ArrowUp": this.ladder.move(-1); break;
      case "Escape": this.choose(null); break;
      default: return;
    }
    event.preventDefault();
  }
}
/** @type {[string, string][]} */
App.keys = [
  ["j k ↓ ↑", "the next row, the one before"], ["Enter", "show or hide the fragments of a response"],
  ["p", "from a request to its response, and back"], ["n N", "the next match of the search, or error; the one before"],
  ["/", "search: --att --ancs --ams --phone ADDRESS, error, slow, any text"], ["1 2 3", "ladder, notifications and player, figures"],
  ["o", "the overview: ← → move the time range, + − zoom"], ["Escape", "show the whole capture"], ["c", "copy a link to this moment"],
];

/** Reads the data blocks and starts. */
function start() {
  const blocks = (/** @type {string} */ name) => [...document.querySelectorAll(`script.${name}`)];
  const read = (/** @type {Element} */ block) => JSON.parse(block.textContent || "null");
  const source = read(blocks("source")[0]);
  const warnings = blocks("warnings").flatMap(read);
  const rows = blocks("rows");
  const trees = blocks("trees");
  const session = new Session(source, (take) => {
    for (const block of rows) {
      const [texts, cells] = read(block);
      take(texts, cells);
      block.remove();
    }
  }, (block) => read(trees[block]));
  /** @type {any} */ (window).app = new App(session, warnings);
}

try { start(); } catch (error) {
  part("summary").textContent = `This page could not be drawn: ${error}`;
  document.body.dataset.ready = "failed";
  throw error;
}
