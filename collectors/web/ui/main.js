// The page: what is looked at stands in the URL; this file brings data and drawings together.
import * as api from './api.js';
import { fabricScene, nodeScene } from './graph.js';
import { bindKeys } from './keys.js';
import { matrixScene, tilesOf } from './matrix.js';
import { Model, Moment } from './model.js';
import { parseRoute, routeText } from './route.js';
import { card, incidentSide, linkDetail, nodeSide, overviewSide, sinceText, sorted } from './side.js';
import { letterOf, readColours, signCanvas, words } from './signs.js';
import { clock, element, span } from './text.js';
import { Timeline } from './timeline.js';

const kPoll = 2000;
const kStale = 15000; // without news the page says so

const byId = (id) => document.getElementById(id);
const page = { route: parseRoute(''), fabrics: [], model: null, moment: null, live: null, past: null, scene: null, cursor: null, link: null };
globalThis.weftPage = page; // for tests and for who looks under the hood

const go = (route) => {
  const text = routeText({ fabric: page.route.fabric, at: page.route.at, ...route });
  if (location.hash !== text) location.hash = text;
};
const now = () => page.route.at || page.live?.at || Date.now();
const openIncident = (incident) => go({ kind: 'incident', id: incident.id });

function say(problem) {
  byId('notice').hidden = !problem;
  byId('notice').textContent = problem ?? '';
}

async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    say(`the watcher does not answer as it should: ${error.message}`);
    return null;
  }
}

async function loadFabrics() {
  const answer = await attempt(api.fabrics);
  if (!answer) return;
  page.fabrics = answer.fabrics;
  page.mayChange = answer.may_change;
  byId('fabrics').replaceChildren(...page.fabrics.map((f) => element('option', { value: f.name }, `${f.name}: ${f.verdict ?? 'starting'}`)));
  if (page.fabrics.length === 0) say('this watcher watches no fabric');
}

async function loadFabric(name) {
  if (page.loaded === name) return;
  page.loaded = name;
  Object.assign(page, { model: null, moment: null, live: null, past: null, scene: null, version: null });
  timeline.setHistory({ from: 0, to: 0 }, []);
  const [layout] = await Promise.all([attempt(() => api.layout(name)), poll()]);
  if (!layout || page.loaded !== name) return;
  page.model = new Model(layout);
  showLegend();
  byId('names').replaceChildren();
  show();
  loadHistory(name);
}

async function loadHistory(name) {
  if (!page.fabrics.find((f) => f.name === name)?.history) return;
  const answer = await attempt(() => api.incidents(name));
  if (!answer || page.loaded !== name) return;
  const all = answer.kept.from < answer.range.from ? await attempt(() => api.incidents(name, answer.kept.from, answer.kept.to)) : answer;
  if (all && page.loaded === name) timeline.setHistory(all.kept, all.incidents);
}

async function poll() {
  const name = page.loaded;
  if (!name) return;
  try {
    const state = await api.state(name, page.live?.version);
    if (name !== page.loaded) return;
    const at = state.at;
    if (at !== page.heard?.at) page.heard = { at, when: performance.now() };
    if (!state.unchanged) {
      if (page.live && state.layout !== page.live.layout) return void (page.loaded = null, loadFabric(name));
      page.live = state;
    } else if (page.live) {
      page.live.at = at;
    }
    say(null);
    if (!state.unchanged && !page.route.at) show();
  } catch (error) {
    if (name !== page.loaded) return;
    const seen = page.live ? `: what you see is of ${clock(page.live.at)}` : '';
    say(`the watcher does not answer (${error.message})${seen}`);
    return;
  }
  const silence = performance.now() - page.heard.when;
  if (silence > kStale) say(`the watcher has not looked for ${span(silence)}: what you see is of ${clock(page.live.at)}`);
  else if (page.live?.active === false) say('this watcher follows; another one is active');
  timeline.show(page.live?.at ?? 0);
}

async function loadPast(at) {
  if (page.past?.asked === at) return;
  const asked = { asked: at };
  page.past = asked;
  const state = await attempt(() => api.stateAt(page.route.fabric, at));
  if (!state || page.past !== asked) return;
  page.past = { ...state, asked: at };
  show();
}

function show() {
  if (!page.model) return;
  const state = page.route.at ? (page.past?.channels ? page.past : null) : page.live;
  if (!state) return;
  if (page.moment?.state !== state) page.moment = new Moment(page.model, state);
  showBanner();
  showCrumbs();
  showStage();
  showSide();
  timeline.setAt(page.route.at);
  page.drawnAt ??= performance.now(); // since the address was entered
  document.body.dataset.ready = `${page.route.fabric}/${page.route.kind || 'overview'}${page.route.id ? `/${page.route.id}` : ''}${page.route.at ? '@past' : ''}`;
}

function showBanner() {
  const { state } = page.moment;
  const standing = sorted(page.moment.incidents).filter((i) => !i.muted_by);
  const sure = standing.filter((i) => i.state !== 'suspected');
  const worst = sure[0] ?? standing[0];
  const verdict = state.verdict ?? (worst?.verdict || 'healthy');
  const banner = byId('banner');
  banner.dataset.verdict = verdict;
  const muted = page.moment.incidents.length - standing.length;
  const text = worst ? `${worst.place}: ${worst.cause}${worst.estimate ? ` ${worst.estimate}` : ''}` : 'nothing is at fault';
  const more = [worst ? sinceText(worst, now()) : '', standing.length > 1 ? `${standing.length - 1} more` : '', muted ? `${muted} muted` : ''];
  banner.replaceChildren(`${page.route.at ? `at ${clock(page.route.at)}: ` : ''}${verdict.toUpperCase()} — ${text}`, element('small', {}, more.filter(Boolean).join(' · ')));
  document.title = `${worst && !page.route.at ? '● ' : ''}${page.route.fabric}: ${verdict} – weft`;
}

function showCrumbs() {
  const { fabric, kind, id } = page.route;
  const steps = [[fabric, {}]];
  const incident = kind === 'incident' ? findIncident(id) : null;
  const link = kind === 'link' ? page.model.findLink(id) : -1;
  const node = kind === 'node' ? page.model.byName.get(id) : link >= 0 ? page.model.lower(link) : undefined;
  const pod = kind === 'pod' ? Number(id) : node !== undefined ? page.model.pods[node] || page.model.pods[page.model.other(page.model.linksOf[node][0], node)] : 0;
  if (pod) steps.push([`pod ${pod}`, { kind: 'pod', id: pod }]);
  if (node !== undefined) steps.push([page.model.names[node], { kind: 'node', id: page.model.names[node] }]);
  if (link >= 0) steps.push([page.model.shortName(link), { kind: 'link', id }]);
  if (kind === 'incident') steps.push([`incident ${id}${incident ? '' : ' (over)'}`, { kind, id }]);
  page.up = steps.length > 1 ? steps.at(-2)[1] : null;
  byId('crumbs').replaceChildren(...steps.map(([text, to]) => element('a', { href: routeText({ fabric, at: page.route.at, ...to }) }, text)));
}

const findIncident = (id) => page.moment.incidents.find((i) => String(i.id) === id) ?? timeline.incidents.find((i) => String(i.id) === id) ?? page.link?.data?.incidents?.find((i) => String(i.id) === id);

function sceneFor({ kind, id }, size) {
  const { model } = page;
  const incident = kind === 'incident' ? findIncident(id) : null;
  if (kind === 'node' && model.byName.has(id)) return nodeScene(model, model.byName.get(id), size);
  if (model.x) return fabricScene(model, size);
  const links = (incident?.channels ?? []).map((channel) => channel >> 1);
  const pod = kind === 'pod' ? Number(id) : links.length ? model.pods[model.lower(links[0])] || model.pods[model.upper(links[0])] : null;
  const tiles = tilesOf(model, pod);
  return matrixScene(model, tiles.length ? tiles : tilesOf(model), { ...size, labels: pod !== null && tiles.length > 0 });
}

function showStage() {
  const frame = byId('frame');
  if (page.route.kind === 'link' && page.model.findLink(page.route.id) >= 0) return showLink(frame);
  byId('detail')?.remove();
  const canvas = byId('view');
  canvas.hidden = false;
  const size = { width: frame.clientWidth, height: frame.clientHeight };
  const key = [page.route.kind, page.route.id, size.width, size.height].join('|');
  if (page.sceneKey !== key || page.sceneModel !== page.model) {
    page.scene = sceneFor(page.route, size);
    Object.assign(page, { sceneKey: key, sceneModel: page.model, cursor: null });
  }
  page.scene.moment = page.moment;
  draw();
}

function draw() {
  page.scene?.draw(byId('view'), page.moment, page.cursor);
}

async function showLink(frame) {
  const { fabric, id, at } = page.route;
  const key = `${fabric}|${id}|${at}|${page.moment.state.version ?? ''}`;
  if (page.link?.key === key) return;
  page.link = { key, data: page.link?.id === id ? page.link.data : null, id };
  const range = at ? { from: at - 12 * 3600e3, to: Math.min(at + 12 * 3600e3, page.live?.at ?? at) } : null;
  const data = await attempt(() => api.link(fabric, id, range));
  if (!data || page.link?.key !== key) return;
  page.link.data = data;
  byId('view').hidden = true;
  const detail = byId('detail') ?? frame.appendChild(element('div', { id: 'detail' }));
  const past = page.route.at ? { ...data, channels: data.channels.map((c, d) => ({ name: c.name, letter: page.moment.channel(2 * data.link + d) })) } : data;
  detail.replaceChildren(...linkDetail(past, Math.max(320, frame.clientWidth - 40), at, openIncident, now()));
  document.body.dataset.link = data.name;
}

function showSide() {
  const { kind, id } = page.route;
  const focused = document.activeElement?.closest?.('.card')?.dataset.incident;
  if (document.activeElement?.closest?.('form.mute')) return; // somebody is writing
  let parts = overviewSide(page.moment, now(), openIncident);
  const incident = kind === 'incident' ? findIncident(id) : null;
  const node = kind === 'node' ? page.model.byName.get(id) : undefined;
  const link = kind === 'link' ? page.model.findLink(id) : -1;
  if (incident)
    parts = [...incidentSide(incident, now(), { mayChange: page.mayChange, mute: (wish, token) => api.mute(page.route.fabric, wish, token) }),
      element('h2', {}, 'where'), ...[...new Set(incident.channels.map((c) => c >> 1))].slice(0, 40).map((l) => element('div', {}, element('a', { href: hrefOf(l) }, page.model.linkName(l))))];
  else if (node !== undefined) parts = nodeSide(page.model, page.moment, node, now(), { open: openIncident, href: hrefOf });
  else if (link >= 0) {
    const mine = sorted(page.moment.of.get(link) ?? []);
    const rest = { state: page.moment.state, incidents: page.moment.incidents.filter((i) => !mine.includes(i)) };
    parts = [element('h2', {}, mine.length ? 'at fault here' : 'nothing is at fault here'), ...mine.map((i) => card(i, now(), openIncident)),
      ...overviewSide(rest, now(), openIncident, 'elsewhere')];
  } else if (kind && kind !== 'pod') parts.unshift(element('p', {}, `There is no ${kind} '${id}' in this fabric.`));
  byId('side').replaceChildren(...parts);
  if (focused) byId('side').querySelector(`[data-incident="${focused}"]`)?.focus();
}

const hrefOf = (l) => routeText({ fabric: page.route.fabric, kind: 'link', id: page.model.linkName(l), at: page.route.at });

function showLegend() {
  const entry = (letter, text, options) => element('span', {}, signCanvas(letter, options), text);
  byId('legend').replaceChildren(...['h', 'c', 'd', 'f'].map((letter) => entry(letter, words[letter])),
    entry('d', 'suspected', { suspected: true }), entry('d', 'muted', { muted: true }), entry('u', words.u), entry('n', words.n),
    page.model && !page.model.x ? element('span', { id: 'caption' }, 'a cell is a cable; of a pod: hosts to leaves, leaves to spines, spines to cores') : '');
}

async function follow() {
  page.route = parseRoute(location.hash);
  if (!page.route.fabric && page.fabrics.length) {
    const worst = [...page.fabrics].sort((a, b) => 'hucdf'.indexOf(letterOf[b.verdict]) - 'hucdf'.indexOf(letterOf[a.verdict]))[0];
    return history.replaceState(null, '', routeText({ fabric: worst.name })), follow();
  }
  if (page.route.fabric && !page.fabrics.some((f) => f.name === page.route.fabric)) return say(`this watcher has no fabric '${page.route.fabric}'`);
  say(null);
  byId('fabrics').value = page.route.fabric;
  page.link = page.route.kind === 'link' ? page.link : null;
  if (page.route.at) loadPast(page.route.at);
  else page.past = null;
  await loadFabric(page.route.fabric);
  show();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem('theme', theme);
  readColours();
  showLegend();
  page.link = null;
  show();
}

const timeline = new Timeline((at) => go({ kind: page.route.kind, id: page.route.id, at }));
page.timeline = timeline;
bindKeys(page, { go, draw, timeline, setTheme });
document.documentElement.dataset.theme = localStorage.getItem('theme') ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
readColours();
showLegend();
byId('fabrics').addEventListener('change', (event) => (location.hash = routeText({ fabric: event.target.value })));
addEventListener('hashchange', follow);
addEventListener('resize', () => (page.link = null, show()));
setInterval(() => document.hidden || poll(), kPoll);
setInterval(() => document.hidden || loadFabrics(), 30000);
await loadFabrics();
await follow();
