// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// From rows to what happened: one pass in their order, which follows links, fetches, notifications, the player.

/** Goes through the rows once, in their order, and tells the session what they are about. */
class Reading {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    /** @type {Map<number, Link>} links that are up, by adapter and handle */
    this.up = new Map();
    /** The row of a CONNECT_IND whose link has not said anything yet; −1 for none. */
    this.announced = -1;
    /** @type {Map<string, number[]>} fragments of PDUs that are not complete */
    this.pieces = new Map();
    /** @type {Map<string, Notice>} */
    this.noticed = new Map();
    /** @type {Map<Link, Play>} */
    this.playing = new Map();
    /** @type {Map<string, number[]>} the PDUs of link layer procedures that no event has ended yet, by link and kind */
    this.proceeding = new Map();
    /** @type {Span | null} */
    this.onAir = null;
  }

  read() {
    const session = this.session;
    for (let row = 0; row < session.count; row++) {
      this.follow(row, session.factsOf(row));
      this.judge(row, session.factsOf(row));
    }
    for (let row = 0; row < session.count; row++) this.unanswered(row);
    if (this.onAir) this.onAir.end = session.end;
    if (session.links.length && session.links.every((link) => link.phoneSide)) session.board = "accessory";
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
    const asked = facts.asked === undefined ? -1 : session.rowOf(facts.asked);
    if (asked >= 0 && facts.response === undefined) {
      session.partner[asked] = row;
      session.partner[row] = asked;
    }
    switch (session.layerOf(row)) {
      case "att": if (link) this.attribute(row, facts, link, asked); break;
      case "hci-command": this.advertise(row, facts); break;
      case "hci-event": this.event(row, facts, link); break;
      case "link-layer": this.air(row, facts, link); break;
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
    const announced = this.announced;
    this.announced = -1;
    /** @type {Link} */
    const link = {
      number: session.links.length + 1, name: "", peer: "", adapter: (place - 1) >> 12, handle: (place - 1) & 0xFFF,
      known: begins, phoneSide: facts.role === "Central", start: session.time[row], end: session.time[row], over: false,
      reason: "", first: row, last: row, rows: 0, errors: [], marks: [], accepted: NaN, intervals: [], signal: [], phases: [], pairing: [],
    };
    this.name(link, facts.peer || "");
    session.links.push(link);
    this.up.set(place, link);
    if (begins) this.mark(link, "connected", row);
    if (announced >= 0) {
      // On the air a link begins with the central's request.
      const facts = session.factsOf(announced);
      Object.assign(link, { known: true, start: session.time[announced], first: announced });
      if (facts.interval !== undefined) link.intervals.push({ time: link.start, value: facts.interval });
      this.mark(link, "connected", announced);
      session.link[announced] = link.number - 1;
      this.name(link, link.peer);
    }
    if (this.onAir && begins) this.onAir = this.offAir(row);
    return link;
  }

  /** @param {Link} link @param {string} peer */
  name(link, peer) {
    link.peer = peer;
    // A link that is no radio's has no address of its own.
    link.name = !/^[0:]*$/.test(peer) ? peer : (link.known ? `link ${link.number}` : `handle ${link.handle}`);
  }

  /** @param {Link} link @param {number} row @param {string} reason */
  over(link, row, reason) {
    link.over = true;
    link.end = this.session.time[row];
    link.reason = reason;
    this.up.delete(this.session.place[link.first]);
    this.playing.delete(link);
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
    if (facts.rssi !== undefined && link) link.signal.push({ time: session.time[row], value: facts.rssi });
    if (!link) return;
    this.conclude(row, link);
    if (facts.interval !== undefined) link.intervals.push({ time: session.time[row], value: facts.interval });
    if (name.startsWith("Disconnection Complete") && facts.status === undefined) this.over(link, row, facts.reason || "");
    if (name.startsWith("Encryption Change") && facts.status === undefined && facts.encryption !== "Off") {
      this.mark(link, "encrypted", row);
    }
    if (name.startsWith("Encryption Key Refresh") && facts.status === undefined) this.mark(link, "encrypted", row);
  }

  /** Joins what the link layers said to the controller's event that came of it. @param {number} row @param {Link} link */
  conclude(row, link) {
    const { session } = this;
    const key = `${link.number} ${PROCEDURES.findIndex(({ event }) => event.test(session.nameOf(row)))}`;
    const pdus = this.proceeding.get(key);
    if (!pdus) return;
    for (const pdu of pdus) session.effect.set(pdu, row);
    session.cause.set(row, pdus[pdus.length - 1]);
    this.proceeding.delete(key);
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
    if (/CONNECT_(IND|REQ)$/.test(name)) this.announced = row;
    const kind = PROCEDURES.findIndex(({ pdu }) => pdu.test(name));
    if (link && kind >= 0) {
      session.procedures.push({ kind, row });
      const key = `${link.number} ${kind}`;
      const others = this.proceeding.get(key);
      if (others) others.push(row); else this.proceeding.set(key, [row]);
    }
    // Beside HCI, the controller's events say what became of it.
    if (!link || link.adapter !== 0xFFFF) return;
    if (facts.interval !== undefined) link.intervals.push({ time: session.time[row], value: facts.interval });
    if (name === "LL_START_ENC_RSP") this.mark(link, "encrypted", row);
    if (name === "LL_TERMINATE_IND") this.over(link, row, facts.reason || "");
  }

  // Pairing

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

  /** A request without a response in the capture. @param {number} row */
  unanswered(row) {
    const session = this.session;
    if (session.partner[row] >= 0 || !(session.role[row] === ROLE.request || session.role[row] === ROLE.indication)) return;
    const link = session.linkOf(row);
    const waited = (link && link.over ? link.end : session.end) - session.time[row];
    if (waited >= ATT_TIMEOUT) this.trouble(row, 2); else if (waited > 1) this.trouble(row, 1);
  }

  /** @param {number} row @param {Facts} facts @param {Link} link @param {number} asked */
  attribute(row, facts, link, asked) {
    const session = this.session;
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
    if (asked >= 0 && code === 0x13 && isSubscription(session, asked)) {
      link.accepted = session.time[row];
      if (/Notification Source/.test(session.labelOf(asked))) this.mark(link, "subscribed", row);
    }
    if (session.source.timeline) this.guess(row, link); else this.news(row, facts, link, asked);
    if (facts.update !== undefined) this.play(row, facts, link);
  }

  /**
   * In the daemon's timeline the attribute is all that tells what a PDU is.
   * @param {number} row @param {Link} link
   */
  guess(row, link) {
    const { session } = this;
    const label = session.labelOf(row);
    if (session.role[row] === ROLE.notification && label === "Notification Source") this.mark(link, "event", row);
    if (session.role[row] === ROLE.request && label === "Control Point") this.mark(link, "fetch", row);
    if (session.role[row] === ROLE.notification && label === "Data Source") this.mark(link, "complete", row);
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
      session.fetchOf.set(row, fetch);
      this.mark(link, "fetch", row);
      const notice = fetch.uid >= 0 && this.noticed.get(`${link.number} ${fetch.uid}`);
      if (notice && /Notification Attributes/.test(fetch.kind)) notice.fetches.push(fetch);
    }
    const fetch = session.fetchOf.get(asked);
    if (fetch && facts.response === undefined) this.accepted(row, facts, fetch);
    if (fetch && facts.response !== undefined) this.responded(row, facts, link, fetch);
  }

  /** @param {number} row @param {Facts} facts @param {Fetch} fetch */
  accepted(row, facts, fetch) {
    fetch.accepted = this.session.time[row];
    if (this.session.code[row] === 0x01) fetch.error = facts.error || "refused";
    // The phone says no more to an action, and none to what it refuses.
    if (fetch.error || /Action/.test(fetch.kind)) fetch.end = fetch.accepted;
  }

  /** @param {number} row @param {Facts} facts @param {Link} link @param {Fetch} fetch */
  responded(row, facts, link, fetch) {
    const session = this.session;
    fetch.rows.push(row);
    session.fetchOf.set(row, fetch);
    if (fetch.first !== fetch.first) fetch.first = session.time[row];
    if (facts.response === "to be continued") return;
    fetch.end = session.time[row];
    if (facts.response !== "complete") fetch.error = facts.response;
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
    // A connection that the host cancelled ends so (Vol 4 Part E, 7.8.13).
    const isCancelled = /Connection Complete/.test(session.nameOf(row)) && facts.status === "Unknown Connection Identifier";
    if (layer === "hci-event" && facts.status !== undefined) return this.trouble(row, isCancelled ? 0 : 2);
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
      if (link) link.errors.push(row);
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
    ["serving", of("subscribed") || of("event")],
    ["subscribing", of("subscribing")],
    ["discovery", of("discovery")],
    ["encrypted", of("encrypted")],
    ["connected", of("connected") || { name: "connected", time: link.start, row: link.first }],
  ];
  /** @type {Span[]} */
  const phases = [];
  // From the last one: what began after it does not interrupt it, as encryption does not a discovery.
  let end = link.end;
  for (const [name, mark] of begins) {
    if (!mark || (phases.length && mark.time > end)) continue;
    phases.unshift({ name, start: mark.time, end, row: mark.row });
    end = mark.time;
  }
  // An accessory that wants no notifications has nothing to be served with.
  const last = phases[phases.length - 1];
  if (last.name === "subscribing" && link.accepted >= last.start) {
    last.end = link.accepted;
    phases.push({ name: of("encrypted") ? "encrypted" : "connected", start: last.end, end: link.end, row: last.row });
  }
  return phases;
}
