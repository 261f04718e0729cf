// A view as a URL: #/ of all fabrics, #/FABRIC, #/FABRIC/pod/3, #/FABRIC/node/leaf1,
// #/FABRIC/link/leaf1/p5--spine1/p1, #/FABRIC/incident/7, #/FABRIC/mutes; ?at=MILLISECONDS for a moment of the
// past, ?span=HOURS for how much of it the slider and the charts show.
export const kSpans = { 2: '2 h', 24: '24 h', 168: '7 days', 0: 'all' };
const kUsual = 24;

export function parseRoute(hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [fabric = '', kind = '', ...rest] = path.split('/').map(decode);
  const asked = new URLSearchParams(query);
  const at = Number(asked.get('at')) || 0;
  const span = asked.get('span') in kSpans ? Number(asked.get('span')) : kUsual;
  return { fabric, kind, id: rest.join('/'), at, span };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function routeText({ fabric, kind = '', id = '', at = 0, span = kUsual }) {
  const parts = [fabric, kind, ...String(id).split('/')].filter((part) => part !== '').map(encodeURIComponent);
  const query = [at ? `at=${at}` : '', span === kUsual ? '' : `span=${span}`].filter(Boolean).join('&');
  return `#/${parts.join('/')}${query ? `?${query}` : ''}`;
}
