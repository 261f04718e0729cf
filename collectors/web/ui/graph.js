// Nodes as boxes and cables as lines: small fabrics, and one node with its neighbours. The half of a line
// next to a node is the channel that leaves it.
import { colour } from './signs.js';
import { Scene } from './scene.js';

const kBox = 26;

// The whole of a small fabric, where the server says that things stand.
export function fabricScene(model, { width, height }) {
  const ratio = Math.max(0.55, Math.min((width - 8) / model.width, 1.8));
  const rise = Math.max(1, Math.min((height - 30) / model.height, 2.4));
  const places = model.names.map((name, n) => {
    const upright = ratio < 0.95 && model.isHost(n); // side by side they would overlap
    const long = name.length * 7.4 + 14;
    return { node: n, x: model.x[n] * ratio, y: model.y[n] * rise, w: upright ? 18 : long, h: upright ? long : kBox, upright };
  });
  const links = model.a.map((_, l) => l);
  return sceneOf(model, places, links, { width: Math.max(width - 2, model.width * ratio), height: Math.max(height - 4, model.height * rise) });
}

// A node in the middle, who is above it over it, who is below under it.
export function nodeScene(model, node, { width, height }) {
  const links = model.linksOf[node];
  const others = [...new Set(links.map((l) => model.other(l, node)))];
  const above = others.filter((n) => model.tiers[n] > model.tiers[node]);
  const below = others.filter((n) => model.tiers[n] <= model.tiers[node]);
  const longest = Math.max(...others.map((n) => model.names[n].length), 4) * 7.4 + 16;
  const wide = Math.max(width - 2, 400);
  const upright = Math.max(above.length, below.length) * longest > wide - 20;
  const step = (row) => Math.max((wide - 20) / Math.max(row.length, 1), upright ? 20 : longest);
  const whole = Math.max(wide, ...[above, below].map((row) => step(row) * row.length + 20));
  const box = (n, x, y) => ({ node: n, x, y, w: upright ? 18 : model.names[n].length * 7.4 + 14, h: upright ? longest : kBox, upright });
  const edge = upright ? longest / 2 + 14 : 30;
  const high = Math.max(height - 4, 2 * edge + 220);
  const places = [{ node, x: whole / 2, y: above.length && below.length ? high / 2 : above.length ? high - 60 : 60, w: model.names[node].length * 8 + 24, h: kBox + 6 }];
  above.forEach((n, i) => places.push(box(n, whole / 2 + (i - (above.length - 1) / 2) * step(above), edge)));
  below.forEach((n, i) => places.push(box(n, whole / 2 + (i - (below.length - 1) / 2) * step(below), high - edge)));
  return sceneOf(model, places, links, { width: whole, height: high });
}

function sceneOf(model, places, links, { width, height }) {
  const scene = new Scene(width, height);
  const at = new Map(places.map((place) => [place.node, place]));
  const seen = new Map(); // of cables that join the same two nodes
  const lines = [];
  for (const l of links) {
    const [a, b] = [at.get(model.a[l]), at.get(model.b[l])];
    if (!a || !b) continue;
    const pair = [model.a[l], model.b[l]].sort((x, y) => x - y).join();
    const nth = seen.get(pair) ?? 0;
    seen.set(pair, nth + 1);
    const shift = (nth % 2 ? 1 : -1) * Math.ceil(nth / 2) * 5;
    const side = (from, to) => [from.x + shift, from.y + (to.y > from.y ? from.h / 2 : to.y < from.y ? -from.h / 2 : 0)];
    const line = { l, from: side(a, b), to: side(b, a) };
    lines.push(line);
  }
  scene.steps.push((ctx, moment) => {
    for (const line of [...lines].sort((x, y) => rankOf(moment, x.l) - rankOf(moment, y.l))) drawLine(ctx, moment, line);
  });
  for (const place of places)
    scene.stops.push({ x: place.x - place.w / 2, y: place.y - place.h / 2, w: place.w, h: place.h, label: model.names[place.node], node: place.node, go: { kind: 'node', id: model.names[place.node] } });
  for (const { l, from, to } of lines) scene.places.set(l, signPlace(scene, l, from, to));
  scene.steps.push((ctx, moment) => {
    for (const { l, from, to } of lines) scene.places.set(l, signPlace(moment, l, from, to));
    for (const place of places) drawBox(ctx, moment, model, place);
  });
  scene.signs(15);
  scene.pick = (px, py) => {
    let best = null;
    let least = 6;
    for (const { l, from, to } of lines) {
      const distance = distanceTo(px, py, from, to);
      if (distance < least) [best, least] = [l, distance];
    }
    if (best === null) return null;
    const [x, y] = scene.places.get(best);
    return { x: x - 8, y: y - 8, w: 16, h: 16, label: model.shortName(best), go: { kind: 'link', id: model.linkName(best), link: best } };
  };
  return scene;
}

const rankOf = (moment, l) => (moment.marked.includes(l) ? 1 : 0);

// On the half of the channel that is worse.
function signPlace(moment, l, from, to) {
  const order = 'hnucdf';
  const [there, back] = moment.channel ? [moment.channel(2 * l), moment.channel(2 * l + 1)] : ['h', 'h'];
  const t = there === back ? 0.5 : order.indexOf(there) > order.indexOf(back) ? 0.3 : 0.7;
  return [from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t];
}

function drawLine(ctx, moment, { l, from, to }) {
  const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  for (const [c, start] of [[2 * l, from], [2 * l + 1, to]]) {
    const letter = moment.channel(c);
    ctx.strokeStyle = colour(letter);
    ctx.lineWidth = letter === 'h' ? 1.6 : letter === 'u' || letter === 'n' ? 1.6 : 4;
    ctx.setLineDash(letter === 'u' || letter === 'n' ? [4, 4] : []);
    ctx.beginPath();
    ctx.moveTo(...start);
    ctx.lineTo(...middle);
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

function drawBox(ctx, moment, model, place) {
  const silent = moment.silent.has(place.node);
  ctx.fillStyle = colour('box');
  ctx.strokeStyle = silent ? colour('u') : colour('faint');
  ctx.lineWidth = silent ? 2 : 1;
  ctx.setLineDash(silent ? [4, 3] : []);
  ctx.beginPath();
  ctx.roundRect(place.x - place.w / 2, place.y - place.h / 2, place.w, place.h, 4);
  ctx.fill();
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.save();
  ctx.translate(place.x, place.y);
  if (place.upright) ctx.rotate(-Math.PI / 2);
  ctx.fillStyle = silent ? colour('faint') : colour('ink');
  ctx.font = '12px ui-monospace, "DejaVu Sans Mono", monospace';
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.fillText(model.names[place.node], 0, 1);
  ctx.restore();
  ctx.textAlign = 'left';
}

function distanceTo(px, py, [x1, y1], [x2, y2]) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const t = Math.max(0, Math.min(1, ((px - x1) * dx + (py - y1) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(px - x1 - t * dx, py - y1 - t * dy);
}
