// A link in full, in place of the drawing.
import { avoidedPart } from './avoided.js';
import { warningPart } from './counters.js';
import { showChart } from './chart.js';
import { card } from './side.js';
import { signCanvas, words } from './signs.js';
import { count, element, percent } from './text.js';

const head = (names, from) => element('tr', {}, ...names.map((name, i) => element('th', { class: i >= from ? 'number' : null }, name)));
const number = (text) => element('td', { class: 'number' }, text);

function channelTable(channels) {
  return element('table', {}, head(['channel', 'verdict', 'sent', 'lost', 'share'], 2),
    ...channels.map((channel) => element('tr', {},
      element('td', {}, channel.name),
      element('td', {}, signCanvas(channel.letter ?? 'u'), ` ${words[channel.letter ?? 'u']}`),
      number(channel.sent === undefined ? '–' : count(channel.sent)), number(channel.lost === undefined ? '–' : count(channel.lost)), number(channel.sent ? percent(channel.lost / channel.sent) : '–'))));
}

function pathTable(paths) {
  return element('table', { id: 'paths' }, head(['label', 'path', 'sent', 'lost'], 2),
    ...paths.map((path) => element('tr', {}, element('td', {}, String(path.label)), element('td', { class: 'path' }, path.nodes.join(' → ')), number(count(path.sent)), number(count(path.lost)))));
}

let history = null; // {link, box}: what holds the chart outlives a redrawing

// `context`: {at, now, past, avoided, counters, open(incident), pick(time), range}. Draws its chart once it is in `box`.
export function showLink(box, data, context) {
  const { at, now } = context;
  const chart = history?.link === data.link && history.box.isConnected ? history.box : element('div', { id: 'history' });
  history = { link: data.link, box: chart };
  if (!data.history) chart.replaceChildren(element('p', { class: 'faint' }, 'This watcher keeps no history: start it with --state DIR.'));
  const inRange = (i) => !data.range || (i.first_seen <= data.range.to && (i.closed ?? Infinity) >= data.range.from);
  const avoided = context.avoided.filter((entry) => entry.link === data.link);
  box.replaceChildren(...[
    element('h2', { id: 'link-name' }, data.name),
    element('div', { class: 'faint' }, `${data.ends.join(' to ')} · ${data.rate}`),
    element('h3', {}, at ? 'at that moment' : 'the last minute'),
    channelTable(data.channels),
    ...avoided.map((entry) => avoidedPart(entry, now)),
    ...context.counters.filter((warning) => warning.link === data.link).map((warning) => warningPart(warning, now)),
    element('h3', {}, 'history'),
    chart,
    data.incidents?.length ? element('h3', {}, 'incidents of this link') : null,
    ...(data.incidents ?? []).map((incident) => card(incident, now, context.open)),
    element('h3', {}, at ? 'paths over it now, the worst first' : 'paths over it, the worst first'),
    data.paths.length ? pathTable(data.paths) : element('p', { class: 'faint' }, data.paths_trouble ?? 'None is known.'),
  ].filter(Boolean));
  if (!data.history) return;
  const names = data.channels.map((channel) => channel.name);
  showChart(chart, { history: data.history, names, incidents: (data.incidents ?? []).filter(inRange), range: data.range, at }, context.pick);
}
