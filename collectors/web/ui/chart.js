// Loss over time of the two channels of a link, by ECharts, which is loaded with the first chart. A gap in a
// line: nothing was sent.
import { colour, letterOf } from './signs.js';
import { clock, count, element, percent } from './text.js';

const share = (history, d, i) => (history.sent[d][i] ? history.lost[d][i] / history.sent[d][i] : null);
const alpha = '26'; // of 'ff'

// Points of a line of steps; where a bucket does not join the one before, the line is cut.
function steps(history, d) {
  const points = [];
  history.at.forEach((at, i) => {
    const before = i ? history.at[i - 1] + history.length[i - 1] : at;
    if (at > before) points.push([before, null]);
    const value = share(history, d, i);
    points.push([at, value], [at + history.length[i], value]);
  });
  return points;
}

function tooltip(history, names, time) {
  const i = history.at.findLastIndex((at, n) => at <= time && time < at + history.length[n]);
  if (i < 0) return `${clock(time)}\nnothing is kept`;
  const line = (d) => `${names[d]}: ${history.sent[d][i] ? `${count(history.lost[d][i])} of ${count(history.sent[d][i])} lost, ${percent(share(history, d, i))}` : 'nothing was sent'}`;
  return [`${clock(history.at[i])}, ${history.length[i] / 1000} s`, line(0), line(1)].join('\n');
}

function bars(incidents, range) {
  return incidents.filter((i) => i.state !== 'dismissed').map((i) => [
    { xAxis: Math.max(i.first_seen, range.from), name: `incident ${i.id}`, itemStyle: { color: colour(letterOf[i.verdict] ?? 'u') + alpha } },
    { xAxis: Math.min(i.closed ?? range.to, range.to) }]);
}

function optionOf({ history, names, incidents, range, at }) {
  const text = { color: colour('faint'), fontSize: 12 };
  const line = { lineStyle: { color: colour('line') } };
  const most = Math.max(0.001, ...[0, 1].flatMap((d) => history.at.map((_, i) => share(history, d, i) ?? 0)));
  const series = (d) => ({
    type: 'line', name: names[d], data: steps(history, d), showSymbol: false, connectNulls: false,
    lineStyle: { width: 2, type: d ? 'dashed' : 'solid', color: colour(d ? 'c' : 'd') }, itemStyle: { color: colour(d ? 'c' : 'd') },
  });
  const first = { ...series(0), markArea: { silent: true, label: { show: false }, data: bars(incidents, range) } };
  if (at) first.markLine = { silent: true, symbol: 'none', label: { formatter: 'shown', color: colour('accent') }, lineStyle: { color: colour('accent'), type: 'solid', width: 2 }, data: [{ xAxis: at }] };
  return {
    animation: false, textStyle: { fontFamily: 'system-ui, sans-serif' },
    grid: { left: 58, right: 18, top: 34, bottom: 64 },
    legend: { data: names, top: 4, left: 54, textStyle: { color: colour('ink') }, itemWidth: 36 },
    tooltip: {
      trigger: 'axis', renderMode: 'richText', confine: true, backgroundColor: colour('panel'), borderColor: colour('line'), textStyle: { color: colour('ink'), fontSize: 12 },
      formatter: ([point]) => tooltip(history, names, point.axisValue),
    },
    xAxis: { type: 'time', min: range.from, max: range.to, axisLabel: { ...text, hideOverlap: true }, axisLine: line, splitLine: { show: false } },
    yAxis: { type: 'value', min: 0, max: Math.min(1, most * 1.15), axisLabel: { ...text, showMaxLabel: most * 1.15 > 1, formatter: (v) => (v ? percent(v) : '0') }, splitLine: line, splitNumber: 4 },
    dataZoom: [{ type: 'slider', height: 18, bottom: 12, textStyle: text, borderColor: colour('line'), labelFormatter: (v) => clock(v) }],
    series: [first, series(1)],
  };
}

// For who cannot see it, and where the program was built without charts.
function table({ history, names }) {
  const bad = history.at.map((_, i) => i).filter((i) => history.lost[0][i] || history.lost[1][i]);
  const cell = (d, i) => element('td', { class: 'number' }, history.sent[d][i] ? `${count(history.lost[d][i])} of ${count(history.sent[d][i])}` : '–');
  return element('table', { id: 'losses' }, element('tr', {}, ...['from', ...names.map((name) => `lost ${name}`)].map((name) => element('th', {}, name))),
    ...bad.slice(-60).map((i) => element('tr', {}, element('td', {}, clock(history.at[i])), cell(0, i), cell(1, i))),
    bad.length ? null : element('tr', {}, element('td', { colspan: 3 }, 'nothing was lost in this time')));
}

export function summary({ history, names }) {
  const most = [0, 1].map((d) => Math.max(0, ...history.at.map((_, i) => share(history, d, i) ?? 0)));
  return `loss over time: ${names.map((name, d) => `${name} at most ${percent(most[d])}`).join(', ')}`;
}

let shown = null; // {link, stage, details, chart}: the same link is drawn into the same chart, whose zoom stays

// Into `box`, which is in the document; `pick(time)`: a moment was clicked.
export async function showChart(box, data, pick) {
  if (data.history.at.length === 0) return box.replaceChildren(element('p', { class: 'faint' }, 'No history is kept of this link in this time.'));
  let charts;
  try {
    charts = await import('./charts.js');
  } catch {
    return box.replaceChildren(element('p', { class: 'faint' }, 'This weft was built without charts.'), table(data));
  }
  if (!box.isConnected) return undefined;
  const link = data.names.join();
  if (shown?.link !== link) {
    shown?.chart?.dispose();
    shown = { link, stage: element('div', { id: 'chart', role: 'img' }), details: element('details', { class: 'losses' }) };
  }
  const { stage, details } = shown;
  if (stage.parentNode !== box) box.replaceChildren(stage, details);
  stage.setAttribute('aria-label', summary(data));
  stage.dataset.points = data.history.at.length;
  details.replaceChildren(element('summary', {}, 'as a table'), table(data));
  draw(charts, data);
  shown.chart.getZr().off('click');
  shown.chart.getZr().on('click', ({ offsetX, offsetY }) => {
    if (shown.chart.containPixel('grid', [offsetX, offsetY])) pick(Math.round(shown.chart.convertFromPixel({ xAxisIndex: 0 }, offsetX)));
  });
  return undefined;
}

function draw(charts, data) {
  const option = optionOf(data);
  const before = shown.chart?.getOption()?.dataZoom?.[0];
  if (before) Object.assign(option.dataZoom[0], { start: before.start, end: before.end });
  shown.chart ??= charts.init(shown.stage, null, { renderer: 'canvas' });
  shown.chart.resize();
  shown.chart.setOption(option, { notMerge: true });
}
