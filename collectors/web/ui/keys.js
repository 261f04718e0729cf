// Pointer and keyboard: whatever the one reaches the other does too.
import { words } from './signs.js';
import { element } from './text.js';

const kKeys = [
  ['← ↑ → ↓', 'move over pods, switches, hosts'], ['Enter', 'open what is marked'], ['Esc', 'one level up'],
  ['j, k', 'next, previous incident'], ['[, ]', 'back, forth in time'], ['l', 'now'], ['/', 'find a node or link'],
  ['f', 'next fabric'], ['m', 'mutes'], ['t', 'dark or light'], ['?', 'this list'],
];

export function bindKeys(page, { go, draw, timeline, setTheme }) {
  const view = document.getElementById('view');
  const tip = document.getElementById('tip');
  const dialog = document.getElementById('keys');
  const find = document.getElementById('find');
  const theme = () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  const help = () => (dialog.open ? dialog.close() : dialog.showModal());
  const under = (event) => {
    const box = view.getBoundingClientRect();
    return page.scene?.at(event.clientX - box.left, event.clientY - box.top);
  };
  dialog.append(element('table', {}, ...kKeys.map(([key, text]) => element('tr', {}, element('th', {}, key), element('td', {}, text)))));
  dialog.addEventListener('click', () => dialog.close());
  document.getElementById('theme').addEventListener('click', theme);
  document.getElementById('help').addEventListener('click', help);

  view.addEventListener('click', (event) => {
    const stop = under(event);
    if (stop) go({ kind: stop.go.kind, id: stop.go.id });
  });
  view.addEventListener('mousemove', (event) => {
    const stop = under(event);
    view.style.cursor = stop ? 'pointer' : '';
    tip.hidden = !stop;
    if (!stop) return;
    tip.textContent = tipText(page, stop);
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 300)}px`;
    tip.style.top = `${event.clientY + 14}px`;
  });
  view.addEventListener('mouseleave', () => (tip.hidden = true));

  document.getElementById('search').addEventListener('submit', (event) => {
    event.preventDefault();
    const text = find.value.trim();
    if (page.model?.byName.has(text)) go({ kind: 'node', id: text });
    else if (page.model && page.model.findLink(text) >= 0) go({ kind: 'link', id: page.model.linkName(page.model.findLink(text)) });
    else find.setCustomValidity('no node or link has this name'), find.reportValidity();
  });
  find.addEventListener('input', () => {
    find.setCustomValidity('');
    const text = find.value.trim();
    const fitting = text && page.model ? page.model.names.filter((name) => name.includes(text)).slice(0, 12) : [];
    document.getElementById('names').replaceChildren(...fitting.map((name) => element('option', { value: name })));
  });

  const step = (by) => {
    const cards = [...document.querySelectorAll('#side .card[tabindex]')];
    const at = cards.indexOf(document.activeElement);
    cards[Math.max(0, Math.min(cards.length - 1, at < 0 ? 0 : at + by))]?.focus();
  };
  const move = (dx, dy) => {
    page.cursor = page.scene?.next(page.cursor, dx, dy) ?? null;
    draw();
  };
  const actions = {
    ArrowLeft: () => move(-1, 0), ArrowRight: () => move(1, 0), ArrowUp: () => move(0, -1), ArrowDown: () => move(0, 1),
    Enter: () => page.cursor && go({ kind: page.cursor.go.kind, id: page.cursor.go.id }),
    Escape: () => page.up && go({ kind: '', id: '', ...page.up }),
    j: () => step(1), k: () => step(-1), '[': () => turn(-1 / 48), ']': () => turn(1 / 48), l: () => turn(0),
    '/': () => find.focus(), t: theme, '?': help, f: nextFabric, m: () => go({ kind: 'mutes', id: '' }),
  };
  function turn(part) {
    if (timeline.kept.to > timeline.kept.from) go({ kind: page.route.kind, id: page.route.id, at: part ? timeline.step(part) : 0 });
  }
  function nextFabric() {
    if (page.fabrics.length === 0) return;
    const at = page.fabrics.findIndex((f) => f.name === page.route.fabric);
    go({ fabric: page.fabrics[(at + 1) % page.fabrics.length].name, at: 0 });
  }
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target.matches('input, select, textarea, button')) {
      if (event.key === 'Escape') target.blur();
      return;
    }
    if (event.key === 'Enter' && target !== view && target !== document.body) return;
    const action = dialog.open ? null : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function tipText(page, stop) {
  const { link } = stop.go;
  if (link === undefined) return `${stop.label}\n${stop.go.kind === 'pod' ? 'open the pod' : 'open'}`;
  const channel = (c, from, to) => `${page.model.names[from]} → ${page.model.names[to]}: ${words[page.moment.channel(c)]}`;
  const [a, b] = [page.model.a[link], page.model.b[link]];
  const why = [...(page.moment.of.get(link) ?? [])].map((i) => `incident ${i.id}: ${i.cause} ${i.estimate} ${i.muted_by ? `(muted: ${i.muted_by})` : ''}`);
  if (page.moment.avoided.has(link)) why.push('on the blacklist');
  return [page.model.linkName(link), channel(2 * link, a, b), channel(2 * link + 1, b, a), ...why].join('\n');
}
