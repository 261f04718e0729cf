// The time slider over the kept history, with the incidents of that time as bars above it. It shows all that
// is kept, or its last hours, or as many around the moment that is looked at.
import { kSpans } from './route.js';
import { colour, letterOf } from './signs.js';
import { clock, element } from './text.js';

const kHour = 3600e3;

export class Timeline {
  // `move(at)`: a moment was chosen; 0: now. `choose(hours)`: how much is to be shown; 0: all.
  constructor(move, choose) {
    this.slider = document.getElementById('time');
    this.when = document.getElementById('when');
    this.live = document.getElementById('live');
    this.spans = document.getElementById('span');
    this.spans.append(...Object.entries(kSpans).sort((a, b) => (a[0] || Infinity) - (b[0] || Infinity)).map(([hours, text]) => element('option', { value: hours }, text)));
    this.strip = element('canvas', { id: 'strip', 'aria-hidden': 'true' });
    const times = element('div', { id: 'times' });
    this.slider.replaceWith(times);
    times.append(this.strip, this.slider);
    this.kept = { from: 0, to: 0 };
    this.incidents = [];
    this.at = 0;
    this.span = 0;
    this.pause = null; // a moment was chosen and is not gone to yet
    this.move = move;
    this.slider.addEventListener('input', () => {
      this.at = Number(this.slider.value) >= this.range.to ? 0 : Number(this.slider.value);
      this.show();
      clearTimeout(this.pause);
      this.pause = setTimeout(() => this.goTo(this.at), 150);
    });
    this.spans.addEventListener('change', () => choose(Number(this.spans.value)));
    this.live.addEventListener('click', () => this.goTo(0));
  }
  goTo(at) {
    clearTimeout(this.pause);
    this.pause = null;
    this.move(at);
  }
  setHistory(kept, incidents) {
    this.kept = kept;
    this.incidents = incidents;
    this.show();
  }
  setView(at, span) {
    if (!this.pause) this.at = at; // what is live comes at any time, also while somebody moves the slider
    this.span = span;
    this.spans.value = span;
    this.show();
  }
  // What the slider covers.
  get range() {
    const { from, to } = this.kept;
    const length = this.span * kHour;
    if (!length || to - from <= length) return this.kept;
    const end = this.at && this.at < to - length ? Math.min(to, this.at + length / 2) : to;
    return { from: Math.max(from, end - length), to: end };
  }
  step(part) {
    const { from, to } = this.range;
    const at = (this.at || this.kept.to) + Math.round((to - from) * part);
    return at >= this.kept.to ? 0 : Math.max(this.kept.from, at);
  }
  show(now = 0) {
    if (now > this.kept.to && this.kept.to > this.kept.from) this.kept.to = now;
    const { from, to } = this.range;
    this.slider.disabled = this.spans.disabled = to <= from;
    this.slider.min = from;
    this.slider.max = to;
    this.slider.step = Math.max(1000, Math.round((to - from) / 1440));
    this.slider.value = this.at || to;
    this.live.setAttribute('aria-pressed', String(!this.at));
    if (this.at) this.when.textContent = clock(this.at);
    else if (now) this.when.textContent = `now, ${clock(now)}`;
    this.slider.setAttribute('aria-valuetext', this.at ? clock(this.at) : 'now');
    this.drawStrip(from, to);
  }
  drawStrip(from, to) {
    const width = this.strip.clientWidth || 300;
    this.strip.width = width;
    this.strip.height = 12;
    const ctx = this.strip.getContext('2d');
    if (to <= from) return;
    const x = (t) => ((Math.min(Math.max(t, from), to) - from) / (to - from)) * width;
    for (const incident of this.incidents) {
      const end = incident.closed ?? to;
      if (incident.state === 'dismissed' || end < from || incident.first_seen > to) continue;
      ctx.fillStyle = colour(letterOf[incident.verdict] ?? 'u');
      const row = { failed: 0, degraded: 4 }[incident.verdict] ?? 8;
      const left = x(incident.first_seen);
      ctx.fillRect(left, row, Math.max(2, x(end) - left), 3);
    }
  }
}
