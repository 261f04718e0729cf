// A view as a URL: #/FABRIC, #/FABRIC/pod/3, #/FABRIC/node/leaf1, #/FABRIC/link/leaf1/p5--spine1/p1,
// #/FABRIC/incident/7; ?at=MILLISECONDS for a moment of the past.
export function parseRoute(hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [fabric = '', kind = '', ...rest] = path.split('/').map(decode);
  const at = Number(new URLSearchParams(query).get('at')) || 0;
  return { fabric, kind, id: rest.join('/'), at };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function routeText({ fabric, kind = '', id = '', at = 0 }) {
  const parts = [fabric, kind, ...String(id).split('/')].filter((part) => part !== '').map(encodeURIComponent);
  return `#/${parts.join('/')}${at ? `?at=${at}` : ''}`;
}
