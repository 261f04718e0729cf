// What stands beside the drawing: incidents as cards, one of them in full, a node, a link, the watch itself.
import { muteForm, standingMutes } from './mutes.js';
import { letterOf, signCanvas, words } from './signs.js';
import { clock, count, element, span } from './text.js';

const kOrder = ['failed', 'degraded', 'congested', 'unknown', 'healthy'];
export const sorted = (incidents) =>
  [...incidents].sort((a, b) => !!a.muted_by - !!b.muted_by || (a.state === 'suspected') - (b.state === 'suspected') || kOrder.indexOf(a.verdict) - kOrder.indexOf(b.verdict) || b.first_seen - a.first_seen);

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
      state.routes_moved ? row('routes', 'moved: paths are to be mapped again') : null,
      state.paths_known === false ? row('paths', 'of the watcher before: to be mapped') : null,
      row('last look took', `${state.look_ms} ms`)),
  ];
}

// One of several fabrics. Nothing heard of it: its verdict is unknown.
export function fabricCard(fabric, href) {
  const verdict = fabric.trouble ? 'unknown' : (fabric.verdict ?? 'unknown');
  return element('a', { class: 'card', href, 'data-verdict': verdict, 'data-fabric': fabric.name },
    element('b', {}, signCanvas(letterOf[verdict]), fabric.name),
    element('div', { class: 'verdict' }, fabric.trouble ? 'NOT HEARD' : (fabric.verdict?.toUpperCase() ?? 'STARTING')),
    fabric.trouble ? element('div', { class: 'faint' }, fabric.trouble) : element('div', {}, `${count(fabric.incidents ?? 0)} incidents, ${count(fabric.nics ?? 0)} NICs`));
}

// What is to be muted so that nobody is alerted of an incident: its nodes, or all of its links.
export const placesOf = (model, incident) =>
  incident.nodes.length ? incident.nodes.map((n) => model.names[n]) : [...new Set(incident.channels.map((c) => c >> 1))].map((l) => model.plainName(l));

export function incidentSide(model, incident, now, mutes) {
  const places = placesOf(model, incident);
  const over = incident.state === 'closed' || incident.state === 'dismissed';
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
    ...(over ? [element('h2', {}, 'mute'), element('p', { class: 'faint' }, 'It is over.')] : muteParts(mutes, places, model)),
  ];
}

// The mutes of some places, and the form for one more.
export function muteParts(mutes, places, model) {
  if (!mutes) return [];
  const links = places.map((place) => model.findLink(place));
  const fits = (name) => places.includes(name) || (model.findLink(name) >= 0 && links.includes(model.findLink(name)));
  return [element('h2', {}, 'mute'), ...standingMutes(mutes, fits), muteForm(mutes, places)];
}

export function mutesSide(mutes) {
  if (!mutes) return [element('h2', {}, 'mutes'), element('p', {}, 'This watcher keeps no mutes.')];
  const list = standingMutes(mutes, () => true);
  return [element('h2', {}, `mutes (${list.length})`), element('p', { class: 'faint' }, 'What is muted is measured and shown, and alerts nobody. A mute ends by itself.'),
    mutes.trouble ? element('p', { role: 'alert' }, mutes.trouble) : null,
    ...(list.length || mutes.trouble ? list : [element('p', {}, 'None.')]), element('h2', {}, 'mute a link or node'), muteForm(mutes, [])].filter(Boolean);
}

export function nodeSide(model, moment, node, now, { open, href, mutes }) {
  const links = [...model.linksOf[node]].sort((x, y) => ports(model, x, node) - ports(model, y, node));
  const mine = moment.incidents.filter((i) => i.nodes.includes(node) || i.channels.some((c) => links.includes(c >> 1)));
  return [
    element('h2', {}, `${model.names[node]}: ${mine.length ? 'incidents' : 'no incident'}`),
    moment.silent.has(node) ? element('p', {}, 'Its agent is silent: nothing is known of what only it can see.') : null,
    ...sorted(mine).map((incident) => card(incident, now, open)),
    element('h2', {}, 'ports'),
    element('table', { id: 'ports' }, ...links.map((l) => element('tr', {},
      element('td', {}, model.portText(l, node)), element('td', {}, element('a', { href: href(l) }, model.names[model.other(l, node)])),
      element('td', {}, signCanvas(moment.link(l), moment.options(l)), ` ${words[moment.link(l)].split(':')[0]}${moment.avoided.has(l) ? ', on the blacklist' : ''}`)))),
    ...muteParts(mutes, [model.names[node]], model),
  ].filter(Boolean);
}

const ports = (model, l, node) => (model.a[l] === node ? model.aPorts[l] : model.bPorts[l]);
