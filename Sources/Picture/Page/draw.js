// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
// What all drawings share: elements, canvases in the colours of the style sheet, axes of time.

/**
 * The element with an id, which must exist.
 * @param {string} id @returns {any}
 */
function part(id) { return document.getElementById(id); }

/**
 * A new element. Strings become text, never markup.
 * @param {string} tag @param {string} [className] @param {...(string | Node)} content
 * @returns {HTMLElement}
 */
function make(tag, className, ...content) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...content);
  return element;
}

/** A colour of the style sheet by its name. @param {string} name */
function colour(name) {
  let found = COLOURS.get(name);
  if (!found) {
    found = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
    COLOURS.set(name, found);
  }
  return found;
}
/** @type {Map<string, string>} */
const COLOURS = new Map();

/** A canvas that has the pixels of its screen. */
class Surface {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.width = 0;
    this.height = 0;
  }

  /** @param {number} width @param {number} height in CSS pixels */
  begin(width, height) {
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    this.width = width;
    this.height = height;
    this.canvas.style.height = `${height}px`;
    const [columns, lines] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== columns || this.canvas.height !== lines) {
      this.canvas.width = columns;
      this.canvas.height = lines;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, width, height);
    this.context.font = FONT;
    this.context.textBaseline = "middle";
    this.context.textAlign = "left";
    return this.context;
  }

  /**
   * The axis of a stretch: a line and a time above it for each tick.
   * @param {[number, number]} stretch @param {(time: number) => number} place @param {number} left where the stretch begins
   * @param {number} bottom
   */
  axis([start, end], place, left, bottom) {
    const { context } = this;
    context.strokeStyle = colour("line");
    context.fillStyle = colour("faint");
    context.lineWidth = 1;
    for (const tick of ticks(start, end, this.width - left)) {
      const x = Math.round(place(tick.time)) + 0.5;
      context.beginPath();
      context.moveTo(x, 17);
      context.lineTo(x, bottom);
      context.stroke();
      const room = context.measureText(tick.text).width;
      context.fillText(tick.text, Math.min(Math.max(x - room / 2, 2), this.width - room - 2), 8);
    }
  }

  /**
   * Shortens a text to a width, with an ellipsis; empty if not even that fits.
   * @param {string} text @param {number} room
   */
  fitted(text, room) {
    if (room < 12) return "";
    let shown = text.slice(0, 200);
    if (this.context.measureText(shown).width <= room) return shown;
    while (shown.length > 1 && this.context.measureText(shown + "…").width > room) {
      shown = shown.slice(0, Math.min(shown.length - 1, Math.floor(shown.length * 0.9)));
    }
    return shown.length > 1 ? shown + "…" : "";
  }
}
const FONT = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/**
 * Times for an axis: round ones, not closer than so many pixels.
 * @param {number} start @param {number} end @param {number} width @param {number} [gap]
 */
function ticks(start, end, width, gap = 84) {
  const most = Math.max(1, width / gap);
  const least = (end - start) / most;
  const steps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400];
  let step = least < 1 ? Math.pow(10, Math.ceil(Math.log10(least))) : steps.find((one) => one >= least) || Math.ceil(least / 86400) * 86400;
  if (least < 1) for (const part of [5, 2]) if (step / part >= least) { step /= part; break; }
  /** @type {{time: number, text: string}[]} */
  const found = [];
  if (!(step > 0)) return found;
  for (let time = Math.ceil(start / step) * step; time <= end && found.length < 200; time += step) {
    found.push({ time, text: axisTime(time, step) });
  }
  return found;
}

/** @param {number} time @param {number} step */
function axisTime(time, step) {
  if (Math.abs(time) < step / 2) return "0";
  if (step < 0.001) return `${(time * 1000).toFixed(step < 0.0001 ? 2 : 1)} ms`;
  if (step < 1 && Math.abs(time) < 1) return `${Math.round(time * 1000)} ms`;
  if (step < 1) return `${time.toFixed(step < 0.01 ? 3 : step < 0.1 ? 2 : 1)} s`;
  if (Math.abs(time) < 120) return `${Math.round(time)} s`;
  if (step >= 86400) return `${Math.round(time / 86400).toLocaleString("en")} d`;
  const [hours, minutes, seconds] = [Math.floor(time / 3600), Math.floor(time / 60) % 60, Math.round(time % 60)];
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}${seconds ? ":" + two(seconds) : ""} h` : `${minutes}:${two(seconds)} min`;
}

/** The time of a row as the ladder shows it. @param {number} time */
function clock(time) { return time.toFixed(6); }

/**
 * Calls `draw` before the next frame, once.
 * @param {() => void} draw
 */
function soon(draw) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; draw(); });
  };
}

/**
 * A scrollable pane whose content may be higher than browsers allow. Beyond that height, a pixel of the scrollbar stands for
 * several of the content.
 */
class Scroller {
  /** @param {HTMLElement} pane @param {HTMLElement} space what gives the pane its height to scroll */
  constructor(pane, space) {
    this.pane = pane;
    this.space = space;
    this.full = 0;
  }

  get room() { return this.pane.clientHeight; }
  /** Pixels of the content for each pixel of the scrollbar. */
  get scale() {
    const range = Math.min(this.full, Scroller.greatest) - this.room;
    return range > 0 ? (this.full - this.room) / range : 1;
  }

  /** @param {number} full the height of all there is */
  fit(full) {
    this.full = full;
    this.space.style.height = `${Math.min(full, Scroller.greatest)}px`;
  }

  /** The first visible pixel. */
  get offset() { return this.pane.scrollTop * this.scale; }
  set offset(offset) { this.pane.scrollTop = Math.max(0, offset) / this.scale; }
}
Scroller.greatest = 4e6;
