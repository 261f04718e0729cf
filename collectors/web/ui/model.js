// A fabric as the server tells it, and what stands where in it.
import { worse, isBad } from './signs.js';

function summed(steps) {
  let sum = 0;
  return steps.map((step) => (sum += step));
}

export class Model {
  constructor(layout) {
    this.name = layout.fabric;
    this.kind = layout.kind;
    this.names = layout.nodes.names;
    this.tiers = summed(layout.nodes.tiers);
    this.pods = summed(layout.nodes.pods);
    this.x = layout.nodes.x; // absent in large fabrics
    this.y = layout.nodes.y;
    this.width = layout.width;
    this.height = layout.height;
    this.a = summed(layout.links.a);
    this.b = summed(layout.links.b);
    this.aPorts = summed(layout.links.a_ports);
    this.bPorts = summed(layout.links.b_ports);
    this.rates = summed(layout.links.rates);
    this.portNames = layout.port_names;
    this.byName = new Map(this.names.map((name, n) => [name, n]));
    this.linksOf = this.names.map(() => []);
    for (let l = 0; l < this.a.length; ++l) {
      this.linksOf[this.a[l]].push(l);
      this.linksOf[this.b[l]].push(l);
    }
  }
  get linkCount() { return this.a.length; }
  get hasPods() { return this.pods.some((pod) => pod > 0); }
  isHost(n) { return this.tiers[n] === 0; }
  lower(l) { return this.tiers[this.a[l]] <= this.tiers[this.b[l]] ? this.a[l] : this.b[l]; }
  upper(l) { return this.lower(l) === this.a[l] ? this.b[l] : this.a[l]; }
  other(l, n) { return this.a[l] === n ? this.b[l] : this.a[l]; }
  // Of a host, that of its leaf.
  podNear(n) { return this.pods[n] || (this.linksOf[n].length ? this.pods[this.other(this.linksOf[n][0], n)] : 0); }
  // In this form a link is found whatever else joins the same two nodes.
  linkName(l) { return `${this.names[this.a[l]]}/p${this.aPorts[l]}--${this.names[this.b[l]]}/p${this.bPorts[l]}`; }
  // As people and `weft mute` name it, where no other link joins the same two nodes.
  plainName(l) {
    const alone = this.linksOf[this.a[l]].filter((other) => this.other(other, this.a[l]) === this.b[l]).length === 1;
    return alone ? `${this.names[this.a[l]]}--${this.names[this.b[l]]}` : this.linkName(l);
  }
  portText(l, n) {
    const isA = this.a[l] === n;
    const given = this.portNames[l]?.[isA ? 0 : 1];
    return given || `p${isA ? this.aPorts[l] : this.bPorts[l]}`;
  }
  shortName(l) { return `${this.names[this.a[l]]}–${this.names[this.b[l]]}`; }
  findLink(name) {
    const ends = name.split('--');
    if (ends.length !== 2) return -1;
    const cut = (end) => {
      const slash = end.lastIndexOf('/p');
      return slash < 0 ? [end, 0] : [end.slice(0, slash), Number(end.slice(slash + 2))];
    };
    const [x, xPort] = cut(ends[0]);
    const [y, yPort] = cut(ends[1]);
    const fits = (l, n, port) => !port || (this.a[l] === n ? this.aPorts[l] : this.bPorts[l]) === port;
    const from = this.byName.get(x);
    const to = this.byName.get(y);
    const found = (this.linksOf[from] ?? []).find((l) => this.other(l, from) === to && fits(l, from, xPort) && fits(l, to, yPort));
    return found ?? -1;
  }
}

// A moment of the fabric: letters of its channels, incidents, and what follows of links. Stale: it is over,
// and nothing is known to be healthy any more. `avoided`: links of the blacklist.
export class Moment {
  constructor(model, state, { stale = false, avoided = [] } = {}) {
    this.state = state;
    this.stale = stale;
    this.avoided = new Set(avoided);
    this.letters = stale ? state.channels.replaceAll('h', 'u') : state.channels;
    this.incidents = state.incidents;
    this.suspected = new Map(); // link: incident, where no verdict stands yet
    this.muted = new Set(); // links of which every incident is muted
    this.of = new Map(); // link: incidents
    this.silent = new Set((state.agents?.silent_hosts ?? []).map((name) => model.byName.get(name)));
    for (const incident of this.incidents) {
      for (const channel of incident.channels) {
        const link = channel >> 1;
        if (!this.of.has(link)) this.of.set(link, new Set());
        this.of.get(link).add(incident);
        if (incident.state === 'suspected' || incident.alternatives) this.suspected.set(link, incident);
      }
    }
    for (const [link, incidents] of this.of) if ([...incidents].every((i) => i.muted_by)) this.muted.add(link);
    this.marked = []; // links with a sign
    for (let l = 0; l < model.linkCount; ++l) if (isBad(this.link(l)) || this.suspected.has(l)) this.marked.push(l);
  }
  channel(c) { return this.letters[c] ?? 'u'; }
  // Of carried load: what nothing crosses one way does not hide what crosses the other.
  link(l) {
    const [there, back] = [this.channel(2 * l), this.channel(2 * l + 1)];
    if (this.state.words && there === 'n') return back;
    return this.state.words && back === 'n' ? there : worse(there, back);
  }
  options(l) {
    return { muted: this.muted.has(l), suspected: this.suspected.has(l) && !isBad(this.link(l)) };
  }
}
