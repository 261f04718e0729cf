// Links of the blacklist: what keeps jobs away from a cable, why, until when.
import { clock, element, span } from './text.js';

// Entries of a ledger have no end: they stand until they are released.
export const isActive = (entry, now) => entry.until === undefined || entry.until > now;

export function avoidedText(entry, now) {
  if (entry.until === undefined) return 'kept away from until it is released';
  return isActive(entry, now) ? `kept away from until ${clock(entry.until)} (${span(entry.until - now)})` : `was kept away from until ${clock(entry.until)}`;
}

export function avoidedPart(entry, now) {
  const share = `${(Math.floor(entry.confidence * 1e4) / 100).toFixed(2)} %`;
  return element('div', { class: 'avoided', 'data-active': isActive(entry, now) ? '' : null },
    element('h3', {}, isActive(entry, now) ? 'on the blacklist' : 'was on the blacklist'),
    element('div', {}, `${avoidedText(entry, now)}: ${entry.verdict}, confidence ${share}, set by ${entry.owner}`),
    element('div', { class: 'faint' }, `first seen ${clock(entry.first_seen)}, last ${clock(entry.last_seen)}`),
    entry.evidence.length ? element('ul', { class: 'evidence' }, ...entry.evidence.map((line) => element('li', {}, line))) : null,
    entry.actions.length ? element('div', {}, `done about it: ${entry.actions.join('; ')}`) : null);
}

// Of the whole fabric; null: there is no blacklist.
export function avoidedList(avoided, now, href) {
  if (!avoided) return [];
  const active = avoided.links.filter((entry) => isActive(entry, now));
  return [
    element('h2', {}, `on the blacklist (${active.length})`),
    avoided.trouble ? element('p', { role: 'alert' }, `It cannot be read: ${avoided.trouble}`) : null,
    ...active.slice(0, 40).map((entry) => element('div', { class: 'row' }, element('a', { href: href(entry.link) }, entry.name), ` ${entry.verdict}${entry.until === undefined ? '' : `, ${span(entry.until - now)} left`}`)),
    active.length > 40 ? element('div', { class: 'faint' }, `and ${active.length - 40} more`) : null,
    avoided.unknown ? element('div', { class: 'faint' }, `${avoided.unknown} of links that this fabric does not have`) : null,
    active.length || avoided.trouble ? null : element('p', {}, 'None.'),
  ].filter(Boolean);
}
