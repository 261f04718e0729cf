// A scene: what stands on the canvas and where. A stop is what the pointer or the arrow keys can reach:
// {x, y, w, h, label, go: {kind, id}}.
import { colour, drawAvoided, drawSign, isBad } from './signs.js';

export class Scene {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.stops = [];
    this.places = new Map(); // link: [x, y] of its sign
    this.steps = []; // functions (ctx, moment)
  }
  draw(canvas, moment, cursor) {
    const scale = globalThis.devicePixelRatio || 1;
    canvas.width = Math.ceil(this.width * scale);
    canvas.height = Math.ceil(this.height * scale);
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${this.height}px`;
    const ctx = canvas.getContext('2d');
    ctx.scale(scale, scale);
    ctx.fillStyle = colour('ground');
    ctx.fillRect(0, 0, this.width, this.height);
    for (const step of this.steps) step(ctx, moment);
    if (!cursor) return;
    ctx.strokeStyle = colour('accent');
    ctx.lineWidth = 2;
    ctx.strokeRect(cursor.x - 2, cursor.y - 2, cursor.w + 4, cursor.h + 4);
  }
  // The smallest stop under a point.
  at(x, y) {
    let best = null;
    for (const stop of this.stops) {
      const inside = x >= stop.x && x < stop.x + stop.w && y >= stop.y && y < stop.y + stop.h;
      if (inside && (!best || stop.w * stop.h < best.w * best.h)) best = stop;
    }
    return best ?? this.pick?.(x, y) ?? null;
  }
  // The next stop in a direction, from one or from the first.
  next(from, dx, dy) {
    if (!from) return this.stops[0] ?? null;
    const [fx, fy] = [from.x + from.w / 2, from.y + from.h / 2];
    let best = null;
    let least = Infinity;
    for (const stop of this.stops) {
      const [x, y] = [stop.x + stop.w / 2 - fx, stop.y + stop.h / 2 - fy];
      const along = x * dx + y * dy;
      if (along < 1) continue;
      const cost = along + 3 * Math.abs(x * dy + y * dx);
      if (cost < least) [best, least] = [stop, cost];
    }
    return best ?? from;
  }
  // The signs of links, over all else: a cell may be too small for one.
  signs(size) {
    this.steps.push((ctx, moment) => {
      const found = moment.marked.filter((l) => this.places.has(l));
      found.sort((a, b) => isBad(moment.link(a)) - isBad(moment.link(b)));
      for (const l of found) {
        const [x, y] = this.places.get(l);
        drawSign(ctx, moment.link(l), x, y, size, moment.options(l));
      }
      for (const l of moment.avoided) {
        if (!this.places.has(l)) continue;
        const [x, y] = this.places.get(l);
        const beside = found.includes(l) ? size * 0.75 : 0;
        drawAvoided(ctx, x + beside, y - beside, size * 0.8);
      }
    });
  }
}
