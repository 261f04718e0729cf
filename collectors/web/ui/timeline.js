// The time slider over the kept history, with the incidents of that time as bars above it.
import { colour, letterOf } from './signs.js';
import { clock, element } from './text.js';

export class Timeline {
  // `move(at)`: a moment was chosen; 0: now.
  constructor(move) {
    this.slider = document.getElementById('time');
    this.when = document.getElementById('when');
    this.live = document.getElementById('live');
    this.strip = element('canvas', { id: 'strip', 'aria-hidden': 'true' });
    const times = element('div', { id: 'times' });
    this.slider.replaceWith(times);
    times.append(this.strip, this.slider);
    this.range = { from: 0, to: 0 };
    this.incidents = [];
    this.at = 0;
    this.slider.addEventListener('input', () => {
      this.at = Number(this.slider.value) >= this.range.to ? 0 : Number(this.slider.value);
      this.show();
      clearTimeout(this.pause);
      this.pause = setTimeout(() => move(this.at), 150);
    });
    this.live.addEventListener('click', () => move(0));
  }
  setHistory(kept, incidents) {
    this.range = kept;
    this.incidents = incidents;
    const empty = kept.to <= kept.from;
    this.slider.disabled = empty;
    this.slider.min = kept.from;
    this.slider.max = kept.to;
    this.slider.step = Math.max(1000, Math.round((kept.to - kept.from) / 1440));
    this.show();
  }
  setAt(at) {
    this.at = at;
    this.show();
  }
  step(part) {
    const length = this.range.to - this.range.from;
    const at = (this.at || this.range.to) + Math.round(length * part);
    return at >= this.range.to ? 0 : Math.max(this.range.from, at);
  }
  show(now = 0) {
    if (now > this.range.to && this.range.to > this.range.from) {
      this.range.to = now;
      this.slider.max = now;
    }
    this.slider.value = this.at || this.range.to;
    this.live.setAttribute('aria-pressed', String(!this.at));
    if (this.at) this.when.textContent = clock(this.at);
    else this.when.textContent = now ? `now, ${clock(now)}` : this.when.textContent;
    this.drawStrip();
  }
  drawStrip() {
    const width = this.strip.clientWidth || 300;
    this.strip.width = width;
    this.strip.height = 12;
    const ctx = this.strip.getContext('2d');
    const { from, to } = this.range;
    if (to <= from) return;
    const x = (t) => ((Math.min(Math.max(t, from), to) - from) / (to - from)) * width;
    for (const incident of this.incidents) {
      if (incident.state === 'dismissed') continue;
      ctx.fillStyle = colour(letterOf[incident.verdict] ?? 'u');
      const row = { failed: 0, degraded: 4 }[incident.verdict] ?? 8;
      const left = x(incident.first_seen);
      ctx.fillRect(left, row, Math.max(2, x(incident.closed ?? to) - left), 3);
    }
  }
}
