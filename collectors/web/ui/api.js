// The server. Every call ends within some seconds; an error is thrown with what the server says.
const kLimit = 8000;

const base = (fabric) => `api/v1/fabrics/${encodeURIComponent(fabric)}`;

async function ask(path, options = {}) {
  const response = await fetch(path, { signal: AbortSignal.timeout(kLimit), credentials: 'omit', ...options });
  if (response.status === 304) return { unchanged: true, at: Number(response.headers.get('Weft-At')) };
  const text = await response.text();
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    body = { error: `the server answered ${response.status}` };
  }
  if (!response.ok) throw new Error(body.error ?? `the server answered ${response.status}`);
  return body;
}

export const fabrics = () => ask('api/v1/fabrics');
export const layout = (fabric) => ask(`${base(fabric)}/layout`);
export const state = (fabric, since) => ask(`${base(fabric)}/state${since ? `?since=${encodeURIComponent(since)}` : ''}`);
export const stateAt = (fabric, at) => ask(`${base(fabric)}/state?at=${at}`);
export const incidents = (fabric, from, to) => ask(`${base(fabric)}/incidents${from === undefined ? '' : `?from=${from}&to=${to}`}`);
export const link = (fabric, name, range) =>
  ask(`${base(fabric)}/links/${name.split('/').map(encodeURIComponent).join('/')}${range ? `?from=${range.from}&to=${range.to}` : ''}`);
export async function mute(fabric, wish, token) {
  try {
    await ask(`${base(fabric)}/mutes`, { method: 'POST', body: JSON.stringify(wish), headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' } });
    return 'muted';
  } catch (error) {
    return error.message;
  }
}
