// The page: what is looked at stands in the URL; this file brings data and drawings together.
import * as api from './api.js';
import { avoidedList, isActive } from './avoided.js';
import { warningList } from './counters.js';
import { Feed } from './feed.js';
import { fabricScene, nodeScene } from './graph.js';
import { bindKeys } from './keys.js';
import { showLink } from './link.js';
import { matrixScene, tilesOf } from './matrix.js';
import { Moment } from './model.js';
import { parseRoute, routeText } from './route.js';
import { card, fabricCard, incidentSide, muteParts, mutesSide, nodeSide, overviewSide, sinceText, sorted } from './side.js';
import { letterOf, readColours, signCanvas, words } from './signs.js';
import { clock, count, element, redrawn } from './text.js';
import { Timeline } from './timeline.js';

const kLinkAgain = 5000; // a link in full is asked for again so long after, at the earliest
const kHour = 3600e3;

const byId = (id) => document.getElementById(id);
const page = { route: parseRoute(location.hash), fabrics: [], model: null, moment: null, live: null, past: null, scene: null, cursor: null, link: null, stale: false, mutes: null, avoided: null };
globalThis.weftPage = page; // for tests and for who looks under the hood

const go = (route) => {
  const text = routeText({ fabric: page.route.fabric, at: page.route.at, span: page.route.span, ...route });
  if (location.hash !== text) location.hash = text;
};
const here = () => ({ kind: page.route.kind, id: page.route.id });
const now = () => page.route.at || page.live?.at || Date.now();
const openIncident = (incident) => go({ kind: 'incident', id: incident.id });
const hrefOf = (l) => routeText({ ...page.route, kind: 'link', id: page.model.linkName(l) });
const activeLinks = () => (page.avoided?.links ?? []).filter((entry) => isActive(entry, now())).map((entry) => entry.link);

function say(problem) {
  byId('notice').hidden = !problem;
  if (byId('notice').textContent !== (problem ?? '')) byId('notice').textContent = problem ?? '';
}

async function loadPast(at) {
  if (page.past?.asked === at) return;
  const asked = { asked: at };
  page.past = asked;
  const state = await feed.attempt(() => api.stateAt(page.route.fabric, at));
  if (!state || page.past !== asked) return;
  page.past = { ...state, asked: at };
  show();
}

function show() {
  showFabrics();
  if (!page.model || !page.route.fabric) return;
  const state = page.route.at ? (page.past?.channels !== undefined ? page.past : null) : page.live;
  if (!state) return;
  const stale = page.stale && !page.route.at;
  const avoided = page.route.at ? [] : activeLinks();
  if (page.moment?.state !== state || page.moment.stale !== stale || String([...page.moment.avoided]) !== String(avoided)) page.moment = new Moment(page.model, state, { stale, avoided });
  showBanner();
  showCrumbs();
  showStage();
  showSide();
  timeline.setView(page.route.at, page.route.span);
  page.drawnAt ??= performance.now(); // since the address was entered
  document.body.dataset.stale = String(stale);
  document.body.dataset.ready = `${page.route.fabric}/${page.route.kind || 'overview'}${page.route.id ? `/${page.route.id}` : ''}${page.route.at ? '@past' : ''}`;
}

// All fabrics: in the list of the header, and as cards at `#/`.
function showFabrics() {
  const select = byId('fabrics');
  const rows = page.fabrics.map((f) => ({ value: f.name, text: `${f.name}: ${f.trouble ? 'not heard' : (f.verdict ?? 'starting')}` }));
  if (page.route.fabric === '') rows.unshift({ value: '', text: 'all fabrics' });
  const text = JSON.stringify(rows);
  if (select.dataset.rows !== text) select.replaceChildren(...rows.map(({ value, text: shown }) => element('option', { value }, shown)));
  select.dataset.rows = text;
  select.value = page.route.fabric;
  if (page.route.fabric || !page.fabrics.length) return;
  const rank = (f) => (f.trouble ? 3.5 : 'hucdf'.indexOf(letterOf[f.verdict] ?? 'u'));
  const worst = [...page.fabrics].sort((a, b) => rank(b) - rank(a));
  const bad = worst.filter((f) => f.trouble || f.verdict !== 'healthy');
  byId('banner').dataset.verdict = worst[0].trouble ? 'unknown' : worst[0].verdict;
  byId('banner').replaceChildren(bad.length ? `${count(bad.length)} of ${count(worst.length)} fabrics are not healthy` : `all ${count(worst.length)} fabrics are healthy`);
  byId('crumbs').replaceChildren('all fabrics');
  byId('view').hidden = true;
  detail().replaceChildren(element('div', { class: 'fabrics' }, ...worst.map((f) => fabricCard(f, routeText({ fabric: f.name })))));
  byId('side').replaceChildren();
  document.title = `${bad.length ? '● ' : ''}${page.fabrics.length} fabrics – weft`;
  page.up = null;
  document.body.dataset.ready = 'fabrics';
}

const detail = () => byId('detail') ?? byId('frame').appendChild(element('div', { id: 'detail' }));

// What nobody can vouch for, in words.
function unknownText({ state, letters }) {
  if (state.kept === false) return 'nothing is kept of that moment';
  if (state === page.live && !state.version) return 'nothing has been looked at yet';
  const of = (letter) => [...letters].filter((l) => l === letter).length;
  const parts = [[of('u'), page.route.at ? 'were not measured' : 'were not heard lately'], [of('n'), 'are not covered by the plan']];
  const text = parts.filter(([n]) => n).map(([n, what]) => `${count(n)} ${what}`).join(', ');
  return `nothing is known to be at fault${text ? `; of ${count(letters.length)} channels ${text}` : ''}`;
}

function showBanner() {
  const { moment } = page;
  const { state } = moment;
  const standing = sorted(moment.incidents).filter((i) => !i.muted_by);
  const sure = standing.filter((i) => i.state !== 'suspected');
  const worst = sure[0] ?? standing[0];
  const measured = state.kept !== false && !moment.letters.includes('u');
  const verdict = state.verdict ?? worst?.verdict ?? (measured ? 'healthy' : 'unknown');
  const muted = moment.incidents.length - standing.length;
  const none = verdict === 'unknown' ? unknownText(moment) : muted ? 'what is at fault is muted' : 'nothing is at fault';
  const text = `${verdict.toUpperCase()} — ${worst ? `${worst.place}: ${worst.cause}${worst.estimate ? ` ${worst.estimate}` : ''}` : none}`;
  const more = [worst ? sinceText(worst, now()) : '', standing.length > 1 ? `${standing.length - 1} more` : '', muted ? `${muted} muted` : ''];
  const shown = moment.stale ? 'unknown' : verdict;
  const head = page.route.at ? `at ${clock(page.route.at)}: ` : moment.stale ? `UNKNOWN since ${clock(page.live.at ?? page.heard.at)}; then: ` : '';
  const banner = byId('banner');
  banner.dataset.verdict = shown;
  banner.replaceChildren(signCanvas(letterOf[shown], { size: 22 }), element('span', {}, `${head}${text}`, element('small', {}, more.filter(Boolean).join(' · '))));
  document.title = `${moment.stale ? '? ' : worst && !page.route.at ? '● ' : ''}${page.route.fabric}: ${shown} – weft`;
}

function showCrumbs() {
  const { fabric, kind, id } = page.route;
  const steps = [[fabric, {}]];
  const incident = kind === 'incident' ? findIncident(id) : null;
  const link = kind === 'link' ? page.model.findLink(id) : -1;
  const node = kind === 'node' ? page.model.byName.get(id) : link >= 0 ? page.model.lower(link) : undefined;
  const pod = kind === 'pod' ? Number(id) : node !== undefined ? page.model.podNear(node) : 0;
  if (pod) steps.push([`pod ${pod}`, { kind: 'pod', id: pod }]);
  if (node !== undefined) steps.push([page.model.names[node], { kind: 'node', id: page.model.names[node] }]);
  if (link >= 0) steps.push([page.model.shortName(link), { kind: 'link', id }]);
  if (kind === 'incident') steps.push([`incident ${id}${incident ? '' : ' (not known here)'}`, { kind, id }]);
  if (kind === 'mutes') steps.push(['mutes', { kind }]);
  page.up = steps.length > 1 ? steps.at(-2)[1] : null;
  const to = (step) => routeText({ fabric, at: page.route.at, span: page.route.span, ...step });
  byId('crumbs').replaceChildren(...steps.map(([text, step]) => element('a', { href: to(step) }, text)));
  const standing = page.mutes?.mutes?.length;
  byId('mutes').textContent = standing ? `mutes (${standing})` : 'mutes';
  byId('mutes').href = to({ kind: 'mutes' });
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
  showLegend();
  if (page.route.kind === 'link' && page.model.findLink(page.route.id) >= 0) return loadLink();
  byId('detail')?.remove();
  delete document.body.dataset.link;
  const canvas = byId('view');
  canvas.hidden = false;
  const size = { width: frame.clientWidth, height: frame.clientHeight };
  const place = [page.route.kind, page.route.id].join('|');
  const key = [place, size.width, size.height].join('|');
  if (page.sceneKey !== key || page.sceneModel !== page.model) {
    // What the arrow keys chose stays chosen where the same is only laid out anew.
    const was = page.sceneKey?.startsWith(`${place}|`) ? page.cursor?.go : null;
    page.scene = sceneFor(page.route, size);
    const cursor = was && page.scene.stops.find(({ go: stop }) => stop.kind === was.kind && stop.id === was.id && stop.link === was.link);
    Object.assign(page, { sceneKey: key, sceneModel: page.model, cursor: cursor ?? null });
  }
  page.scene.moment = page.moment;
  draw();
}

function draw() {
  page.scene?.draw(byId('view'), page.moment, page.cursor);
}

// What is shown of a link: as much time as the slider covers.
function linkRange() {
  const { at, span: hours } = page.route;
  const to = page.live?.at ?? Date.now();
  if (!hours) return timeline.kept.to > timeline.kept.from ? timeline.kept : null;
  const length = hours * kHour;
  const end = at && at < to - length / 2 ? at + length / 2 : to;
  return { from: Math.max(0, end - length), to: end };
}

async function loadLink() {
  const { fabric, id, at, span: hours } = page.route;
  const view = `${fabric}|${id}|${at}|${hours}|${page.stale}|${page.avoidedText ?? ''}|${page.countersText ?? ''}`;
  const key = `${view}|${at ? '' : page.moment.state.version}`;
  if (page.link?.key === key || (page.link?.view === view && performance.now() - page.link.asked < kLinkAgain)) return;
  page.link = { key, view, id, asked: performance.now(), data: page.link?.id === id ? page.link.data : null };
  const data = await feed.attempt(() => api.link(fabric, id, linkRange()));
  if (!data || page.link?.key !== key) return;
  page.link.data = data;
  byId('view').hidden = true;
  const letter = (d) => page.moment.channel(2 * data.link + d);
  const channels = data.channels.map((channel, d) => (at ? { name: channel.name, letter: letter(d) } : { ...channel, letter: letter(d) }));
  redrawn(detail(), () => showLink(detail(), { ...data, channels }, { at, now: now(), avoided: page.avoided?.links ?? [], counters: at ? [] : page.counters?.ports ?? [], open: openIncident, pick: (time) => go({ ...here(), at: time }) }));
  document.body.dataset.link = data.name;
}

// What mutes.js needs; null: no mutes here.
function muting() {
  const row = feed.row();
  if (!row?.mutes) return null;
  const { fabric } = page.route;
  const after = async (change) => {
    await change;
    await feed.loadMutes();
  };
  return {
    fabric, mayChange: row.may_change, now: page.live?.at ?? Date.now(), mutes: page.mutes?.mutes, trouble: page.mutes?.trouble,
    add: (wish, token) => after(api.mute(fabric, wish, token)), remove: (place, token) => after(api.unmute(fabric, place, token)),
  };
}

function sideParts() {
  const { kind, id } = page.route;
  const mutes = muting();
  const incident = kind === 'incident' ? findIncident(id) : null;
  const node = kind === 'node' ? page.model.byName.get(id) : undefined;
  const link = kind === 'link' ? page.model.findLink(id) : -1;
  if (incident)
    return [...incidentSide(page.model, incident, now(), mutes), element('h2', {}, 'where'),
      ...[...new Set(incident.channels.map((c) => c >> 1))].slice(0, 40).map((l) => element('div', {}, element('a', { href: hrefOf(l) }, page.model.linkName(l))))];
  if (node !== undefined) return nodeSide(page.model, page.moment, node, now(), { open: openIncident, href: hrefOf, mutes });
  if (kind === 'mutes') return mutesSide(mutes);
  if (link >= 0) {
    const mine = sorted(page.moment.of.get(link) ?? []);
    const rest = { state: page.moment.state, incidents: page.moment.incidents.filter((i) => !mine.includes(i)) };
    return [element('h2', {}, mine.length ? 'at fault here' : 'nothing is known to be at fault here'), ...mine.map((i) => card(i, now(), openIncident)),
      ...muteParts(mutes, [page.model.plainName(link)], page.model), ...overviewSide(rest, now(), openIncident, 'elsewhere')];
  }
  const parts = [...overviewSide(page.moment, now(), openIncident), ...(page.route.at ? [] : [...warningList(page.counters, now(), hrefOf), ...avoidedList(page.avoided, now(), hrefOf)])];
  if (kind && kind !== 'pod') parts.unshift(element('p', {}, `There is no ${kind} '${id}' in this fabric.`));
  return parts;
}

function showSide() {
  const side = byId('side');
  const parts = sideParts().filter(Boolean);
  const form = document.activeElement.closest?.('form.mute');
  redrawn(side, () => {
    if (!form || form.parentNode !== side || !parts.includes(form)) return side.replaceChildren(...parts);
    for (const child of [...side.children]) if (child !== form) child.remove(); // somebody is writing: it stays where it is
    form.before(...parts.slice(0, parts.indexOf(form)));
    return form.after(...parts.slice(parts.indexOf(form) + 1));
  });
}

function showLegend() {
  const entry = (letter, text, options) => element('span', {}, signCanvas(letter, options), text);
  const caption = page.model && !page.model.x ? 'a cell is a cable; of a pod: hosts to leaves, leaves to spines, spines to cores' : '';
  const key = `${document.documentElement.dataset.theme}|${caption}|${!!page.avoided}`;
  if (byId('legend').dataset.key === key) return;
  byId('legend').dataset.key = key;
  byId('legend').replaceChildren(...['h', 'c', 'd', 'f'].map((letter) => entry(letter, words[letter])),
    entry('d', 'suspected', { suspected: true }), entry('d', 'muted', { muted: true }), entry('u', words.u), entry('n', words.n),
    page.avoided ? entry('h', 'on the blacklist', { avoided: true }) : '', caption ? element('span', { id: 'caption' }, caption) : '');
}

async function follow() {
  page.route = parseRoute(location.hash);
  const { fabric, at } = page.route;
  if (!fabric && page.fabrics.length === 1) return history.replaceState(null, '', routeText({ fabric: page.fabrics[0].name })), follow();
  if (fabric && page.fabrics.length && !page.fabrics.some((f) => f.name === fabric)) return say(`this watcher has no fabric '${fabric}'`);
  say(null);
  page.link = page.route.kind === 'link' ? page.link : null;
  if (fabric) await feed.open(fabric);
  if (page.route.fabric !== fabric || page.route.at !== at) return; // meanwhile it leads elsewhere
  if (fabric && at) loadPast(at);
  else page.past = null;
  show();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem('theme', theme);
  redraw();
}

function redraw() {
  readColours();
  page.link = null;
  showLegend();
  show();
}

const timeline = new Timeline((at) => go({ ...here(), at }), (hours) => go({ ...here(), span: hours }));
const feed = new Feed(page, timeline, { show, say });
page.timeline = timeline;
bindKeys(page, { go, draw, timeline, setTheme });
const dark = matchMedia('(prefers-color-scheme: dark)');
const themeNow = () => localStorage.getItem('theme') ?? (dark.matches ? 'dark' : 'light');
document.documentElement.dataset.theme = themeNow();
dark.addEventListener('change', () => ((document.documentElement.dataset.theme = themeNow()), redraw()));
readColours();
showLegend();
byId('fabrics').addEventListener('change', (event) => (location.hash = routeText({ fabric: event.target.value })));
addEventListener('hashchange', follow);
addEventListener('resize', () => ((page.link = null), show()));
await feed.loadFabrics();
await follow();
