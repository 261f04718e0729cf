// Loss over time of the two channels of a link. A gap in the line: nothing was sent.
import { colour } from './signs.js';
import { clock, percent } from './text.js';

const kLeft = 56;
const kBottom = 22;
const kTop = 22;

export function drawChart(canvas, history, names, { width, height, at = 0 }) {
  const scale = globalThis.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const ctx = canvas.getContext('2d');
  ctx.scale(scale, scale);
  ctx.font = '12px system-ui, sans-serif';
  ctx.textBaseline = 'middle';
  const times = history.at;
  if (times.length === 0) {
    ctx.fillStyle = colour('faint');
    ctx.fillText('no history is kept of this link', 8, height / 2);
    return;
  }
  const shares = [0, 1].map((d) => times.map((_, i) => (history.sent[d][i] ? history.lost[d][i] / history.sent[d][i] : null)));
  const most = nice(Math.max(0.001, ...shares.flat().filter((s) => s !== null)));
  const [first, last] = [times[0], times.at(-1) + history.length.at(-1)];
  const x = (t) => kLeft + ((t - first) / Math.max(1, last - first)) * (width - kLeft - 12);
  const y = (s) => kTop + (1 - s / most) * (height - kTop - kBottom);
  drawAxes(ctx, { x, y, first, last, most, width, height });
  shares.forEach((row, d) => drawLine(ctx, times, history.length, row, { x, y, d }));
  ctx.textAlign = 'left';
  names.forEach((name, d) => {
    ctx.fillStyle = colour(d ? 'c' : 'd');
    ctx.fillText(`${d ? '┄' : '━'} ${name}`, kLeft + d * Math.max(180, width / 2 - kLeft), 9);
  });
  if (at >= first && at <= last) {
    ctx.strokeStyle = colour('accent');
    ctx.beginPath();
    ctx.moveTo(x(at), kTop), ctx.lineTo(x(at), height - kBottom);
    ctx.stroke();
  }
}

function nice(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return Math.min(1, [1, 2, 5, 10].find((n) => n * unit >= value) * unit);
}

function drawAxes(ctx, { x, y, first, last, most, width, height }) {
  ctx.strokeStyle = colour('line');
  ctx.fillStyle = colour('faint');
  ctx.lineWidth = 1;
  for (const share of [0, most / 2, most]) {
    ctx.beginPath();
    ctx.moveTo(kLeft, y(share)), ctx.lineTo(width - 12, y(share));
    ctx.stroke();
    ctx.textAlign = 'right';
    ctx.fillText(share === 0 ? '0' : percent(share), kLeft - 6, y(share));
  }
  ctx.textAlign = 'left';
  ctx.fillText(clock(first), kLeft, height - 9);
  ctx.textAlign = 'right';
  ctx.fillText(clock(last), width - 12, height - 9);
  ctx.textAlign = 'center';
  ctx.fillText('lost of what was sent', x((first + last) / 2), height - 9);
}

function drawLine(ctx, times, lengths, row, { x, y, d }) {
  ctx.strokeStyle = colour(d ? 'c' : 'd');
  ctx.lineWidth = 2;
  ctx.setLineDash(d ? [5, 4] : []);
  ctx.beginPath();
  let pen = false;
  row.forEach((share, i) => {
    if (share === null) {
      pen = false;
      return;
    }
    if (pen) ctx.lineTo(x(times[i]), y(share));
    else ctx.moveTo(x(times[i]), y(share));
    ctx.lineTo(x(times[i] + lengths[i]), y(share));
    pen = true;
  });
  ctx.stroke();
  ctx.setLineDash([]);
}
