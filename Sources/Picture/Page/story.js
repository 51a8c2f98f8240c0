// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// Why the first notification took as long as it did.

/**
 * What stood between a link's beginning and its first notification: one part after the other, without a gap.
 * @param {Session} session @param {Link} link
 */
function storyOf(session, link) {
  const names = {
    connected: "connected", encrypted: "encrypted", discovery: "discovery begins", subscribing: "first subscription",
    subscribed: "Notification Source subscribed", event: "first event", fetch: "first fetch", complete: "first notification complete",
  };
  const marks = link.marks.filter((mark) => mark.name in names);
  const done = marks.find((mark) => mark.name === "complete");
  const until = done ? done.time : marks.length ? marks[marks.length - 1].time : link.start;
  marks.sort((one, other) => one.time - other.time || one.row - other.row);
  /** @type {{name: string, what: string, start: number, end: number, row: number, requests: number, each: number}[]} */
  const parts = [];
  let last = { name: "connected", time: link.start, row: link.first };
  for (const mark of marks) {
    if (mark.time > until || mark.name === "connected") continue;
    const asked = requestsIn(session, link, last.time, mark.time);
    parts.push({
      name: PART[mark.name] || mark.name, what: names[mark.name], start: last.time, end: mark.time, row: last.row,
      requests: asked.length, each: each(session, link, asked),
    });
    last = mark;
  }
  return { parts, done: !!done, length: until - link.start };
}

/** The marks on the way to a notification. */
const WAY = ["discovery", "subscribing", "subscribed", "event", "fetch", "complete"];

/** How near a link came to a notification: the place of its last mark on the way. @param {Link} link */
function reached(link) {
  return link.marks.reduce((furthest, mark) => Math.max(furthest, WAY.indexOf(mark.name)), -1);
}

/** The link that came nearest to a notification; of those that came as near, the one with the most rows. @param {Link[]} links */
function nearest(links) {
  /** @type {Link | undefined} */
  let found;
  let furthest = -1;
  for (const link of links) {
    const place = reached(link);
    if (found && (place < furthest || (place === furthest && link.rows <= found.rows))) continue;
    [found, furthest] = [link, place];
  }
  return found;
}

/** What happened in the stretch that ends with a mark. @type {{[mark: string]: string}} */
const PART = {
  encrypted: "until encrypted", discovery: "before discovery", subscribing: "discovery", subscribed: "subscribing",
  event: "until an event", fetch: "until it is fetched", complete: "the response",
};

/**
 * The board's requests of a stretch that have a response.
 * @param {Session} session @param {Link} link @param {number} start @param {number} end
 */
function requestsIn(session, link, start, end) {
  /** @type {number[]} */
  const rows = [];
  for (let row = link.first; row <= link.last; row++) {
    const time = session.time[row];
    if (time > end) { if (session.isSorted) break; else continue; }
    if (time < start || session.link[row] !== link.number - 1 || session.role[row] !== ROLE.request) continue;
    if (session.partner[row] >= 0 && session.isFromPhone(row) === false) rows.push(row);
  }
  return rows;
}

/**
 * What a request took, as a median: until its response; where the phone was captured, which responds at once, until the
 * next request. NaN if there is none.
 * @param {Session} session @param {Link} link @param {number[]} requests
 */
function each(session, link, requests) {
  const time = (/** @type {number} */ row) => session.time[row];
  return median(link.phoneSide
    ? requests.slice(1).map((row, index) => time(row) - time(requests[index]))
    : requests.map((row) => time(session.partner[row]) - time(row)));
}
