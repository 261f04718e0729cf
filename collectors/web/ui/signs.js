// Verdicts as colours and, for who cannot tell these apart, as shapes. Letters are those of the state.

export const words = {
  h: 'healthy', c: 'congested', d: 'degraded', f: 'failed', u: 'unknown: nothing heard lately', n: 'not covered by the plan',
};
const rank = { h: 0, n: 1, u: 2, c: 3, d: 4, f: 5 };
export const worse = (a, b) => (rank[a] >= rank[b] ? a : b);
export const isBad = (letter) => rank[letter] >= rank.c;
export const letterOf = { healthy: 'h', unknown: 'u', congested: 'c', degraded: 'd', failed: 'f' };

let colours = {};
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  colours = {
    h: get('healthy'), c: get('congested'), d: get('degraded'), f: get('failed'), u: get('unknown'), n: get('line'),
    s: get('suspected'), ground: get('ground'), panel: get('panel'), ink: get('ink'), faint: get('faint'),
    line: get('line'), box: get('box'), accent: get('accent'),
  };
}
export const colour = (name) => colours[name];

// A sign in a square of `size` around (x, y): failed a square with a cross, degraded a triangle, congested a
// disc with a bar, suspected a diamond, unknown a ring; muted ones are hollow.
export function drawSign(ctx, letter, x, y, size, { muted = false, suspected = false } = {}) {
  const r = size / 2;
  const ink = suspected ? colours.s : colours[letter];
  ctx.save();
  ctx.translate(x, y);
  ctx.lineWidth = Math.max(1.5, size / 9);
  ctx.strokeStyle = ink;
  ctx.fillStyle = muted ? colours.panel : ink;
  ctx.beginPath();
  if (suspected) polygon(ctx, [[0, -r], [r, 0], [0, r], [-r, 0]]);
  else if (letter === 'f') ctx.rect(-r, -r, size, size);
  else if (letter === 'd') polygon(ctx, [[0, -r], [r, r * 0.85], [-r, r * 0.85]]);
  else ctx.arc(0, 0, letter === 'u' || letter === 'n' ? r * 0.8 : r, 0, 7);
  if (!suspected && (letter === 'u' || letter === 'n')) ctx.fillStyle = colours.panel;
  if (size > 8) halo(ctx);
  ctx.fill();
  ctx.stroke();
  ctx.strokeStyle = muted ? ink : colours.panel;
  ctx.beginPath();
  const q = r * 0.5;
  if (!suspected && letter === 'f') {
    ctx.moveTo(-q, -q), ctx.lineTo(q, q), ctx.moveTo(q, -q), ctx.lineTo(-q, q);
  } else if (!suspected && letter === 'c') {
    ctx.moveTo(-q, 0), ctx.lineTo(q, 0);
  }
  ctx.stroke();
  ctx.restore();
}

// A sign stands out from what it is drawn on, be that of its own colour.
function halo(ctx) {
  ctx.save();
  ctx.strokeStyle = colours.ground;
  ctx.lineWidth += 3;
  ctx.stroke();
  ctx.restore();
}

// Of a link that work is kept away from: a ring with a slash, beside its other sign.
export function drawAvoided(ctx, x, y, size) {
  const r = size / 2;
  ctx.save();
  ctx.translate(x, y);
  ctx.fillStyle = colours.panel;
  ctx.strokeStyle = colours.ink;
  ctx.lineWidth = Math.max(2, size / 5);
  ctx.beginPath();
  ctx.arc(0, 0, r, 0, 7);
  ctx.fill();
  ctx.moveTo(-r * 0.7, r * 0.7), ctx.lineTo(r * 0.7, -r * 0.7);
  ctx.stroke();
  ctx.restore();
}

function polygon(ctx, points) {
  points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.closePath();
}

export function signCanvas(letter, options = {}) {
  const size = options.size ?? 16;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 2 * size;
  canvas.style.width = canvas.style.height = `${size}px`;
  canvas.setAttribute('aria-hidden', 'true');
  const ctx = canvas.getContext('2d');
  ctx.scale(size / 8, size / 8);
  if (options.avoided) {
    drawAvoided(ctx, 8, 8, 11);
  } else if (letter === 'h') {
    ctx.fillStyle = colours.h;
    ctx.fillRect(2, 2, 12, 12);
  } else {
    drawSign(ctx, letter, 8, 8, 12, options);
  }
  return canvas;
}
