// What stands beside and under the drawing: incidents as cards, a link with its history, a node.
import { drawChart } from './chart.js';
import { letterOf, signCanvas, words } from './signs.js';
import { clock, count, element, percent, span } from './text.js';

const kOrder = ['failed', 'degraded', 'congested', 'unknown', 'healthy'];
export const sorted = (incidents) =>
  [...incidents].sort((a, b) => !!a.muted_by - !!b.muted_by || kOrder.indexOf(a.verdict) - kOrder.indexOf(b.verdict) || b.first_seen - a.first_seen);

export const stateWords = {
  suspected: 'suspected, not sure yet', open: 'open', recovering: 'recovering', closed: 'closed', dismissed: 'dismissed: more probes did not confirm it',
};

export function sinceText(incident, now) {
  const end = incident.closed ?? (incident.state === 'dismissed' ? incident.last_seen : 0);
  if (end) return `${clock(incident.first_seen)} to ${clock(end)}, ${span(end - incident.first_seen)}`;
  return `for ${span(now - incident.first_seen)}, since ${clock(incident.first_seen)}`;
}

const signOf = (incident) =>
  signCanvas(letterOf[incident.verdict] ?? 'u', { muted: !!incident.muted_by, suspected: incident.state === 'suspected' });

export function card(incident, now, open) {
  const act = () => open(incident);
  return element('div', {
    class: 'card', tabindex: 0, role: 'link', 'data-incident': incident.id, 'data-verdict': incident.verdict,
    'data-muted': incident.muted_by ? '' : null, onclick: act, onkeydown: (event) => event.key === 'Enter' && act(),
  },
  element('b', {}, signOf(incident), `${incident.place}`),
  element('div', {}, `${incident.cause}${incident.estimate ? ` ${incident.estimate}` : ''} · ${incident.verdict}${incident.state === 'open' ? '' : ` · ${stateWords[incident.state]}`}`),
  element('div', { class: 'faint' }, sinceText(incident, now), incident.flaps ? ` · came back ${incident.flaps} times` : ''),
  incident.muted_by ? element('div', { class: 'faint' }, `muted: ${incident.muted_by}`) : null,
  incident.do && incident.state !== 'closed' ? element('div', { class: 'do' }, incident.do) : null);
}

export function overviewSide(moment, now, open, title = 'incidents') {
  const agents = moment.state.agents;
  const standing = sorted(moment.incidents);
  const all = Math.max(standing.length, title === 'incidents' ? moment.state.incident_count ?? 0 : 0);
  const parts = [element('h2', {}, all ? `${title} (${all})` : title)];
  if (standing.length === 0) parts.push(element('p', {}, 'None.'));
  parts.push(...standing.map((incident) => card(incident, now, open)));
  if (agents) parts.push(...healthOfWatch(moment.state, agents));
  return parts;
}

function healthOfWatch(state, agents) {
  const all = agents.present + agents.silent + agents.never_seen + agents.gone_planned;
  const row = (name, value) => element('tr', {}, element('th', {}, name), element('td', {}, value));
  const names = agents.silent_hosts;
  return [
    element('h2', {}, 'the watch itself'),
    element('table', { id: 'watch' },
      row('agents heard', `${count(agents.present)} of ${count(all)}`),
      agents.silent ? row('silent', `${count(agents.silent)}: ${names.slice(0, 8).join(', ')}${agents.silent > 8 ? ', ...' : ''}`) : null,
      agents.never_seen ? row('never seen', count(agents.never_seen)) : null,
      agents.gone_planned ? row('gone as planned', count(agents.gone_planned)) : null,
      row('oldest lag', `${(agents.lag_ms / 1000).toFixed(1)} s`),
      agents.gaps ? row('windows that never came', count(agents.gaps)) : null,
      agents.refused ? row('windows refused', count(agents.refused)) : null,
      row('channels not covered', count(state.uncovered)),
      row('last look took', `${state.look_ms} ms`)),
  ];
}

export function incidentSide(incident, now, { mayChange, mute }) {
  const link = incident.place.split(' ')[0];
  return [
    element('h2', {}, `incident ${incident.id}`),
    element('div', { class: 'card', 'data-verdict': incident.verdict, 'data-incident': incident.id },
      element('b', {}, signOf(incident), incident.place),
      element('div', {}, `${incident.cause}${incident.estimate ? ` ${incident.estimate}` : ''} · ${incident.verdict}`),
      element('div', {}, incident.ports ?? ''),
      element('div', { class: 'faint' }, sinceText(incident, now)),
      element('div', { class: 'do' }, incident.do)),
    element('table', {}, ...[
      ['state', stateWords[incident.state]],
      ['confidence', `${(Math.floor(incident.confidence * 1e4) / 100).toFixed(2)} %`],
      ['first seen', clock(incident.first_seen)],
      ['last seen', clock(incident.last_seen)],
      ['bad in all', span(incident.bad_ms)],
      incident.flaps ? ['came back', `${incident.flaps} times`] : null,
      incident.muted_by ? ['muted', incident.muted_by] : null,
    ].filter(Boolean).map(([name, value]) => element('tr', {}, element('th', {}, name), element('td', {}, value)))),
    element('h2', {}, 'evidence'),
    element('ul', { class: 'evidence' }, ...[...incident.evidence, ...incident.more].map((line) => element('li', {}, line))),
    element('h2', {}, 'mute'),
    incident.state === 'closed' || incident.state === 'dismissed' ? element('p', { class: 'faint' }, 'It is over.')
      : mayChange ? muteForm(link, mute)
        : element('p', { class: 'faint' }, 'This page is read-only. On the watcher: ', element('code', {}, `weft mute add '${link}' --for 4h --reason TEXT`)),
  ];
}

let token = ''; // kept for as long as the page is open

function muteForm(place, mute) {
  const field = (name, attributes) => element('input', { name, required: true, 'aria-label': name, ...attributes });
  const said = element('output');
  const form = element('form', { class: 'mute' },
    field('place', { value: place }), field('minutes', { type: 'number', min: 1, max: 129600, value: 240 }),
    field('reason', { placeholder: 'reason', maxlength: 200 }),
    field('token', { type: 'password', placeholder: 'token', autocomplete: 'off' }), element('button', {}, 'mute'), said);
  form.elements.token.value = token;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    token = form.elements.token.value;
    said.textContent = await mute({ place: form.elements.place.value, minutes: Number(form.elements.minutes.value), reason: form.elements.reason.value }, token);
  });
  return form;
}

// A link in full, in place of the drawing.
export function linkDetail(data, width, at, open, now) {
  const canvas = element('canvas', { id: 'chart', role: 'img', 'aria-label': 'loss over time' });
  const names = data.channels.map((channel) => channel.name);
  const parts = [
    element('h2', { id: 'link-name' }, data.name),
    element('div', { class: 'faint' }, `${data.ends.join(' to ')} · ${data.rate}`),
    element('table', {}, element('tr', {}, ...['channel', 'verdict', 'sent', 'lost', 'share'].map((name, i) => element('th', { class: i > 1 ? 'number' : null }, name))),
      ...data.channels.map((channel) => element('tr', {},
        element('td', {}, channel.name),
        element('td', {}, signCanvas(channel.letter ?? 'u'), ` ${words[channel.letter ?? 'u']}`),
        element('td', { class: 'number' }, count(channel.sent ?? 0)), element('td', { class: 'number' }, count(channel.lost ?? 0)),
        element('td', { class: 'number' }, channel.sent ? percent(channel.lost / channel.sent) : '–')))),
    element('h3', {}, 'history'),
  ];
  if (data.history) parts.push(canvas);
  else parts.push(element('p', { class: 'faint' }, 'This watcher keeps no history.'));
  if (data.history) drawChart(canvas, data.history, names, { width, height: 230, at });
  if (data.incidents?.length) parts.push(element('h3', {}, 'incidents of this link'), ...data.incidents.map((incident) => card(incident, now, open)));
  parts.push(element('h3', {}, 'paths over it, the worst first'));
  if (data.paths.length === 0) parts.push(element('p', { class: 'faint' }, 'None is known.'));
  else
    parts.push(element('table', { id: 'paths' }, element('tr', {}, ...['label', 'path', 'sent', 'lost'].map((name, i) => element('th', { class: i > 1 ? 'number' : null }, name))),
      ...data.paths.map((path) => element('tr', {}, element('td', {}, String(path.label)), element('td', {}, path.nodes.join(' → ')),
        element('td', { class: 'number' }, count(path.sent)), element('td', { class: 'number' }, count(path.lost))))));
  return parts;
}

export function nodeSide(model, moment, node, now, { open, href }) {
  const links = [...model.linksOf[node]].sort((x, y) => ports(model, x, node) - ports(model, y, node));
  const mine = moment.incidents.filter((i) => i.nodes.includes(node) || i.channels.some((c) => links.includes(c >> 1)));
  return [
    element('h2', {}, `${model.names[node]}: ${mine.length ? 'incidents' : 'no incident'}`),
    moment.silent.has(node) ? element('p', {}, 'Its agent is silent: nothing is known of what only it can see.') : null,
    ...sorted(mine).map((incident) => card(incident, now, open)),
    element('h2', {}, 'ports'),
    element('table', { id: 'ports' }, ...links.map((l) => element('tr', {},
      element('td', {}, model.portText(l, node)), element('td', {}, element('a', { href: href(l) }, model.names[model.other(l, node)])),
      element('td', {}, signCanvas(moment.link(l), moment.options(l)), ` ${words[moment.link(l)].split(':')[0]}`)))),
  ].filter(Boolean);
}

const ports = (model, l, node) => (model.a[l] === node ? model.aPorts[l] : model.bPorts[l]);
