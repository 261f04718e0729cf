// What comes from the server: the list of fabrics, and of one of them the layout, the latest state, the past,
// mutes and blacklist. It knows how old the state is: by the server's own clock when it came, by this
// browser's from then on.
import * as api from './api.js';
import { Model } from './model.js';
import { clock, span } from './text.js';

const kPoll = 2000;
const kFabrics = 10000;
const kSlow = 30000; // history, mutes, blacklist, counters
export const kStale = 15000; // without news nothing is known to be healthy

// Of a watch that has not told anything yet.
const nothingYet = { channels: '', incidents: [], verdict: 'unknown', version: null };

export class Feed {
  // `page`: {route, fabrics, ...} that the feed fills; `show`: draws it; `say`: a problem, or null.
  constructor(page, timeline, { show, say }) {
    Object.assign(this, { page, timeline, show, say });
    setInterval(() => document.hidden || this.poll(), kPoll);
    setInterval(() => document.hidden || this.loadFabrics(), kFabrics);
    setInterval(() => document.hidden || this.loadSlow(), kSlow);
    setInterval(() => this.watchAge(), 1000);
    document.addEventListener('visibilitychange', () => document.hidden || this.poll());
  }
  age() {
    const { heard } = this.page;
    return heard ? heard.age + performance.now() - heard.when : 0;
  }
  row() {
    return this.page.fabrics.find((f) => f.name === this.name);
  }
  async attempt(work) {
    try {
      return await work();
    } catch (error) {
      this.say(`the watcher does not answer as it should: ${error.message}`);
      return null;
    }
  }
  async loadFabrics() {
    try {
      const answer = await api.fabrics();
      if (this.version && this.version !== answer.page && !document.activeElement?.closest?.('form.mute')) location.reload(); // of another version
      this.version = answer.page;
      for (const fabric of answer.fabrics)
        if (!fabric.trouble && fabric.at && answer.now - fabric.at > kStale) fabric.trouble = `nothing was heard for ${span(answer.now - fabric.at)}`;
      this.page.fabrics = answer.fabrics;
      if (answer.fabrics.length === 0) this.say('this watcher watches no fabric');
    } catch (error) {
      for (const fabric of this.page.fabrics) fabric.trouble = error.message;
      if (!this.page.fabrics.length) this.say(`the watcher does not answer: ${error.message}`);
    }
    this.show();
  }
  async open(name) {
    if (this.name === name) return;
    this.name = name;
    Object.assign(this.page, { model: null, moment: null, live: null, past: null, scene: null, link: null, heard: null, stale: false, mutes: null, avoided: null, counters: null });
    this.timeline.setHistory({ from: 0, to: 0 }, []);
    const [layout] = await Promise.all([this.attempt(() => api.layout(name)), this.poll()]);
    if (this.name !== name) return;
    if (!layout) {
      setTimeout(() => this.name === name && ((this.name = null), this.open(name)), kPoll);
      return;
    }
    this.page.model = new Model(layout);
    this.page.live ??= nothingYet;
    this.show();
    this.loadSlow();
  }
  async loadSlow() {
    const { name } = this;
    const row = this.row();
    if (!row) return;
    // One after the other: a page that stands behind another one is asked few things at once.
    if (row.history) await this.loadHistory(name);
    if (row.mutes) await this.loadMutes();
    if (row.blacklist) await this.into('avoided', name, () => api.blacklist(name));
    if (row.counters) await this.into('counters', name, () => api.counters(name));
  }
  // What cannot be had says so where it is shown.
  async into(place, name, ask) {
    let answer;
    try {
      answer = await ask();
    } catch (error) {
      answer = { ...(this.page[place] ?? { links: [], mutes: [], ports: [] }), trouble: error.message };
    }
    if (this.name !== name) return;
    const news = JSON.stringify(answer, (key, value) => (key === 'now' || key === 'age' ? undefined : value));
    const changed = news !== this.page[`${place}Text`];
    Object.assign(this.page, { [place]: answer, [`${place}Text`]: news });
    if (changed) this.show();
  }
  loadMutes() {
    const { name } = this;
    return this.into('mutes', name, () => api.mutes(name));
  }
  async loadHistory(name) {
    const answer = await this.attempt(() => api.incidents(name));
    if (!answer || this.name !== name) return;
    const all = answer.kept.from < answer.range.from ? await this.attempt(() => api.incidents(name, answer.kept)) : answer;
    if (all && this.name === name) this.timeline.setHistory(all.kept, all.incidents);
  }
  async poll() {
    const { name, page } = this;
    if (!name || this.asking === name) return;
    this.asking = name;
    try {
      const state = await api.state(name, page.live?.version);
      if (name === this.name) this.take(state);
    } catch (error) {
      if (name === this.name) this.missed(error);
    } finally {
      if (this.asking === name) this.asking = null;
    }
  }
  take(state) {
    const { page } = this;
    page.heard = { at: state.at, age: state.age, when: performance.now() };
    if (page.live?.version && !state.unchanged && state.layout !== page.live.layout) {
      const { name } = this;
      this.name = null;
      return void this.open(name); // another fabric file
    }
    if (state.unchanged) page.live.at = state.at;
    else page.live = state;
    const wasStale = page.stale;
    this.watchAge();
    if (!page.stale) this.say(page.live.active === false ? 'this watcher follows; another one is active' : null);
    this.timeline.show(state.at);
    if (!state.unchanged && !page.route.at && page.stale === wasStale) this.show();
  }
  missed(error) {
    const seen = this.page.live?.at ? `: what you see is of ${clock(this.page.live.at)}` : '';
    this.say(error.status === 503 && !seen ? `nothing is known yet: ${error.message}` : `the watcher does not answer (${error.message})${seen}`);
    this.failed = true;
  }
  watchAge() {
    const { page } = this;
    if (!page.heard) return;
    const stale = this.age() > kStale;
    if (stale) this.say(`the watcher has not looked for ${span(this.age())}: what you see is of ${clock(page.live?.at ?? page.heard.at)}`);
    if (stale === page.stale) return;
    page.stale = stale;
    this.show();
  }
}
