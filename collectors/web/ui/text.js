// Small pieces of text and of the page. Text from the server is only ever set as text.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ''));
  return made;
}

const two = (n) => String(n).padStart(2, '0');
export function clock(ms) {
  const t = new Date(ms);
  const day = `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
  const today = new Date();
  const time = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
  return t.toDateString() === today.toDateString() ? time : `${day} ${time}`;
}

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} days`;
}

export const percent = (share) => share === 0 ? '0 %' : `${(share * 100).toPrecision(share < 0.1 ? 2 : 3)} %`;
export const count = (n) => n.toLocaleString('en-US').replaceAll(',', ' ');

// Draws what is in `root` anew; what had the keyboard has it afterwards, where it is still there.
export function redrawn(root, redraw) {
  const active = root.contains(document.activeElement) ? document.activeElement : null;
  const top = root.scrollTop;
  const key = active && !active.closest('form') ? focusKey(active) : null;
  redraw();
  root.scrollTop = top;
  if (key && !root.contains(document.activeElement)) root.querySelector(key)?.focus({ preventScroll: true });
}

function focusKey(active) {
  const quoted = (text) => `"${CSS.escape(text)}"`;
  const [card, standing] = [active.closest('.card'), active.closest('.standing')];
  if (card) return `.card[data-incident=${quoted(card.dataset.incident)}]`;
  if (standing) return `.standing[data-mute=${quoted(standing.dataset.mute)}] button`;
  return active.matches('a[href]') ? `a[href=${quoted(active.getAttribute('href'))}]` : null;
}
