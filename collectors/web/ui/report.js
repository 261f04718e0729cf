// The script of a report: its fabrics drawn and searched, the map of pairs, charts and tables as files. It stands in
// the page itself and asks for nothing.
import { fabricScene, nodeScene } from './graph.js';
import { matrixScene, tilesOf } from './matrix.js';
import { Model, Moment } from './model.js';
import { addSaving, csv, save } from './saving.js';
import { readColours, signCanvas, words } from './signs.js';
import { count, element } from './text.js';

const kHints = 20;
const kHeight = 520;
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
const report = { drawnAt: 0 };
globalThis.weftReport = report; // for tests and for who looks under the hood

function tip(event, text) {
  const box = byId('tip');
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  box.style.left = `${Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)}px`;
  box.style.top = `${event.clientY + 16}px`;
}

// Where each view stands: #link=leaf1--spine2 of one alone, #a:pod=3&b:node=host1 of several.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // `%` alone
  }
}

function places() {
  const parts = location.hash.slice(1).split('&').map((part) => /^(?:(\w+):)?(\w+)=(.*)$/.exec(part)).filter(Boolean);
  return new Map(parts.map(([, key = '', kind, id]) => [key, { kind, id: decoded(id) }]));
}

function hashWith(key, { kind, id }) {
  const all = places().set(key, { kind, id });
  return [...all].filter(([, place]) => place.kind).map(([name, place]) => `${name && `${name}:`}${place.kind}=${encodeURIComponent(place.id)}`).join('&');
}

class FabricView {
  constructor({ key, state }, model) {
    const root = document.querySelector(`[data-view="${key}"]`);
    const part = (name) => root.querySelector(`.${name}`);
    Object.assign(this, { key, root, model, moment: new Moment(model, state), route: null, cursor: null });
    Object.assign(this, { canvas: part('view'), frame: part('frame'), find: part('find'), place: part('place'), hints: root.querySelector('datalist') });
    // What flows or queue pairs cross has words of its own; all else tells of health.
    this.words = state.words ?? Object.fromEntries(Object.entries(words).map(([letter, text]) => [letter, text.split(':')[0]]));
    part('legend').replaceChildren(...Object.keys(this.words).map((letter) => element('span', {}, signCanvas(letter), this.words[letter])),
      state.words ? '' : element('span', {}, signCanvas('d', { suspected: true }), 'suspected'));
    part('up').addEventListener('click', () => this.go({}));
    part('search').addEventListener('submit', (event) => (event.preventDefault(), this.search(this.find.value.trim())));
    this.find.addEventListener('input', () => this.hint(this.find.value.trim()));
    this.canvas.addEventListener('click', (event) => this.open(this.stopAt(event)));
    this.canvas.addEventListener('mousemove', (event) => tip(event, this.tipOf(this.stopAt(event))));
    this.canvas.addEventListener('mouseleave', (event) => tip(event, ''));
    this.canvas.addEventListener('keydown', (event) => this.press(event));
  }
  go(place) { location.hash = hashWith(this.key, place); }
  open(stop) { if (stop?.go) this.go(stop.go); }
  stopAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return this.scene?.at(event.clientX - box.left, event.clientY - box.top);
  }
  press(event) {
    if (!this.scene) return undefined;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step) this.cursor = this.scene.next(this.cursor, ...step);
    else if (event.key === 'Enter') return this.open(this.cursor);
    else if (event.key === 'Escape') return this.go({});
    else return undefined;
    event.preventDefault();
    this.place.textContent = this.cursor?.label ?? '';
    return this.draw();
  }
  hint(text) {
    const found = text ? this.model.names.filter((name) => name.includes(text)).slice(0, kHints) : [];
    this.hints.replaceChildren(...found.map((name) => element('option', { value: name })));
  }
  search(text) {
    if (!text) return;
    const name = this.model.byName.has(text) ? text : this.model.names.find((each) => each.includes(text));
    const link = this.model.findLink(text);
    if (link >= 0) this.go({ kind: 'link', id: this.model.linkName(link) });
    else if (name) this.go({ kind: 'node', id: name });
    else this.place.textContent = `There is no node and no link '${text}'.`;
  }
  tipOf(stop) {
    if (!stop) return '';
    const link = stop.go?.link;
    return link === undefined ? stop.label : `${this.model.linkName(link)}: ${this.linkWords(link)}`;
  }
  linkWords(l) {
    if (this.moment.options(l).suspected) return 'suspected';
    const [there, back] = [this.moment.channel(2 * l), this.moment.channel(2 * l + 1)].map((letter) => this.words[letter]);
    return there === back ? there : `${this.model.names[this.model.a[l]]} to ${this.model.names[this.model.b[l]]} ${there}, back ${back}`;
  }
  scened({ kind, id }, size) {
    const { model } = this;
    const link = kind === 'link' ? model.findLink(id) : -1;
    const node = kind === 'node' ? model.byName.get(id) : link >= 0 ? model.lower(link) : undefined;
    if (node !== undefined) return nodeScene(model, node, size);
    const tiles = kind === 'pod' ? tilesOf(model, Number(id)) : [];
    if (tiles.length) return matrixScene(model, tiles, { ...size, labels: true });
    return model.x ? fabricScene(model, size) : matrixScene(model, tilesOf(model), { ...size, labels: false });
  }
  // `anew`: also where it has not moved, as in another width.
  follow(all, anew) {
    const route = all.get(this.key) ?? { kind: '', id: '' };
    if (!this.model.linkCount || (!anew && this.route?.kind === route.kind && this.route.id === route.id)) return;
    this.route = route;
    this.scene = this.scened(route, { width: this.frame.clientWidth - 4, height: kHeight });
    this.scene.moment = this.moment;
    this.cursor = null;
    this.draw();
    this.tell();
  }
  // A fabric without links has no scene.
  draw() { this.scene?.draw(this.canvas, this.moment, this.cursor); }
  // What is seen, in words: of a place what is at fault there.
  tell() {
    const { kind, id } = this.route;
    const { model, moment } = this;
    const link = kind === 'link' ? model.findLink(id) : -1;
    const node = kind === 'node' ? model.byName.get(id) : undefined;
    const links = link >= 0 ? [link] : node !== undefined ? model.linksOf[node] : moment.marked.filter((l) => this.scene.places.has(l));
    const worst = 'fdscunh'; // s: suspected
    const rank = (l) => worst.indexOf(moment.options(l).suspected ? 's' : moment.link(l));
    const bad = links.filter((l) => moment.of.has(l)).sort((x, y) => rank(x) - rank(y));
    const head = link >= 0 ? `${model.linkName(link)}: ${this.linkWords(link)}` : node !== undefined ? `${id}: ${count(links.length)} cables` : kind === 'pod' ? `pod ${id}` : `${count(model.names.length)} nodes, ${count(model.linkCount)} cables`;
    // The hash is of all views, and another may have moved when this is clicked.
    const anchor = (l, text) => {
      const there = { kind: 'link', id: model.linkName(l) };
      return element('a', { href: `#${hashWith(this.key, there)}`, onclick: (event) => (event.preventDefault(), this.go(there)) }, text);
    };
    const told = (finding) => (link >= 0 ? [`${finding.verdict}, ${finding.cause}`, ...finding.evidence] : [`${finding.verdict}, ${finding.cause}`]).join('; ');
    const lines = bad.slice(0, kHints).flatMap((l) => [...moment.of.get(l)].map((finding) =>
      element('li', {}, anchor(l, finding.place), `: ${moment.state.words ? finding.evidence.join('; ') : told(finding)}`)));
    this.place.replaceChildren(head, element('ul', {}, ...lines, bad.length > kHints ? element('li', {}, `and ${count(bad.length - kHints)} more`) : ''));
  }
}

// Viridis (Smith and van der Walt, 2015), which the colour-blind can read: its lightness alone tells the order.
const kStops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function shade(share) {
  const at = Math.max(0, Math.min(1, share)) * (kStops.length - 1);
  const low = Math.min(Math.floor(at), kStops.length - 2);
  return `rgb(${kStops[low].map((from, i) => Math.round(from + (at - low) * (kStops[low + 1][i] - from))).join(',')})`;
}

class PairMap {
  constructor({ names, cells }) {
    Object.assign(this, { names, cells, size: Math.max(3, Math.min(18, Math.floor(860 / names.length))), at: new Map() });
    for (const cell of cells) this.at.set(cell[0] * names.length + cell[1], cell);
    this.canvas = byId('heat');
    this.canvas.addEventListener('mousemove', (event) => tip(event, this.text(this.under(event))));
    this.canvas.addEventListener('mouseleave', (event) => tip(event, ''));
    new IntersectionObserver((seen, observer) => {
      if (!seen.some((entry) => entry.isIntersecting)) return;
      this.draw();
      observer.disconnect();
    }).observe(this.canvas);
    byId('scale').append('0 %', element('canvas', { id: 'ramp', width: 120, height: 12 }), '100 % of its right; rows send, columns receive');
    const ctx = byId('ramp').getContext('2d');
    for (let x = 0; x < 120; ++x) ctx.fillStyle = shade(x / 119), ctx.fillRect(x, 0, 1, 12);
    const rows = () => [['sends', 'receives', 'share', 'flows'], ...cells.map(([r, c, share, flows]) => [names[r], names[c], share, flows])];
    byId('scale').append(element('button', { type: 'button', onclick: () => save('pairs.csv', 'text/csv', csv(rows())) }, 'CSV'),
      element('button', { type: 'button', onclick: () => save('pairs.svg', 'image/svg+xml', this.svg()) }, 'SVG'));
    this.canvas.width = this.canvas.height = names.length * this.size;
  }
  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const [column, row] = [event.clientX - box.left, event.clientY - box.top].map((at) => Math.floor(at / this.size));
    return this.at.get(row * this.names.length + column);
  }
  text(cell) {
    return cell ? `${this.names[cell[0]]} to ${this.names[cell[1]]}: ${(cell[2] * 100).toFixed(1)} % (the least of ${cell[3]})` : '';
  }
  draw() {
    const ctx = this.canvas.getContext('2d');
    for (const [row, column, share] of this.cells) {
      ctx.fillStyle = shade(share);
      ctx.fillRect(column * this.size, row * this.size, this.size, this.size);
    }
    document.body.dataset.pairs = 'drawn';
  }
  svg() {
    const side = this.names.length * this.size;
    const cells = this.cells.map(([row, column, share]) => `<rect x="${column * this.size}" y="${row * this.size}" width="${this.size}" height="${this.size}" fill="${shade(share)}"/>`);
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${side} ${side}">${cells.join('')}</svg>\n`;
  }
}

const views = [];
function follow(anew) {
  const all = places();
  for (const view of views) view.follow(all, anew);
  report.drawnAt ||= views.length && performance.now();
  document.body.dataset.ready = location.hash.slice(1) || 'overview';
}
const redraw = () => (readColours(), views.forEach((view) => view.draw()));

readColours();
for (const each of data.views) views.push(new FabricView(each, each.layout ? new Model(each.layout) : views[0].model));
follow(true);
addEventListener('hashchange', () => follow(false));
addEventListener('resize', () => follow(true));
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.matches('input') || !views.length) return;
  event.preventDefault();
  (views.find((view) => view.root.contains(document.activeElement)) ?? views[0]).find.focus();
});
if (data.pairs) new PairMap(data.pairs);
addSaving();
for (const event of ['beforeprint', 'afterprint']) addEventListener(event, redraw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
report.ready = true;
