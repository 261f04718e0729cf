// What counters of ports say beside incidents: corrected errors that rise towards loss, and errors counted.
import { clock, element, span } from './text.js';

const days = (n) => (n < 10 ? n.toFixed(1) : Math.round(n));

export function lossText(warning) {
  if (warning.days === undefined) return 'no forecast of loss';
  const range = `${days(warning.days_low)} to ${warning.days_high === undefined ? 'never' : days(warning.days_high)}`;
  return `loses frames in ${days(warning.days)} days (${range}), if its errors rise on`;
}

const sourceText = (warning, now) => `${warning.source}, read ${clock(warning.at)} (${span(now - warning.at)} ago)`;

export function warningPart(warning, now) {
  return element('div', { class: 'counters', 'data-degrading': warning.degrading ? '' : null },
    element('h3', {}, warning.degrading ? `degrading: ${warning.port}` : `counted at ${warning.port}`),
    warning.degrading ? element('div', {}, lossText(warning)) : null,
    element('div', {}, warning.text),
    element('div', { class: 'faint' }, sourceText(warning, now)));
}

// Of the whole fabric; null: no counters are read.
export function warningList(counters, now, href) {
  if (!counters) return [];
  const ports = counters.ports ?? [];
  const degrading = ports.filter((warning) => warning.degrading);
  const counted = ports.filter((warning) => !warning.degrading);
  const row = (warning, text) => element('div', { class: 'row' }, element('a', { href: href(warning.link) }, warning.port), ` ${text}`);
  return [
    element('h2', {}, `degrading ports (${degrading.length})`),
    counters.trouble ? element('p', { role: 'alert' }, `Counters cannot be read: ${counters.trouble}`) : null,
    ...degrading.slice(0, 40).map((warning) => row(warning, lossText(warning))),
    degrading.length > 40 ? element('div', { class: 'faint' }, `and ${degrading.length - 40} more`) : null,
    degrading.length || counters.trouble ? null : element('p', {}, counters.at ? `None of ${counters.told} that tell of corrected errors for a day.` : 'Not read yet.'),
    counted.length ? element('h2', {}, `ports that counted errors (${counted.length})`) : null,
    ...counted.slice(0, 40).map((warning) => row(warning, warning.text)),
    counted.length > 40 ? element('div', { class: 'faint' }, `and ${counted.length - 40} more`) : null,
  ].filter(Boolean);
}
