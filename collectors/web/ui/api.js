// The server. Every call ends within some seconds; an error is thrown with what the server says.
const kLimit = 8000;

const base = (fabric) => `api/v1/fabrics/${encodeURIComponent(fabric)}`;
const range = (of) => (of ? `?from=${Math.round(of.from)}&to=${Math.round(of.to)}` : '');
const place = (name) => name.split('/').map(encodeURIComponent).join('/');

// `age`: how old the state is by the server's own clock.
async function ask(path, options = {}) {
  const response = await fetch(path, { signal: AbortSignal.timeout(kLimit), credentials: 'omit', ...options });
  const at = Number(response.headers.get('Weft-At'));
  const now = Number(response.headers.get('Weft-Now'));
  if (response.status === 304) return { unchanged: true, at, age: now - at };
  const text = await response.text();
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    body = { error: `the server answered ${response.status}` };
  }
  if (!response.ok) throw Object.assign(new Error(body.error ?? `the server answered ${response.status}`), { status: response.status });
  return { ...body, age: at ? now - at : 0, now };
}

export const fabrics = () => ask('api/v1/fabrics');
export const layout = (fabric) => ask(`${base(fabric)}/layout`);
export const state = (fabric, since) => ask(`${base(fabric)}/state${since ? `?since=${encodeURIComponent(since)}` : ''}`);
export const stateAt = (fabric, at) => ask(`${base(fabric)}/state?at=${at}`);
export const incidents = (fabric, of) => ask(`${base(fabric)}/incidents${range(of)}`);
export const link = (fabric, name, of) => ask(`${base(fabric)}/links/${place(name)}${range(of)}`);
export const blacklist = (fabric) => ask(`${base(fabric)}/blacklist`);
export const counters = (fabric) => ask(`${base(fabric)}/counters`);
export const mutes = (fabric) => ask(`${base(fabric)}/mutes`);

const allowed = (token) => ({ Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' });
export const mute = (fabric, wish, token) => ask(`${base(fabric)}/mutes`, { method: 'POST', body: JSON.stringify(wish), headers: allowed(token) });
export const unmute = (fabric, name, token) => ask(`${base(fabric)}/mutes/${place(name)}`, { method: 'DELETE', headers: allowed(token) });
