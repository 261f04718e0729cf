// Charts and tables of a page that stands alone, saved as files.
import { element } from './text.js';

export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  element('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
export const csv = (rows) => `${rows.map((row) => row.map((cell) => quoted(String(cell))).join(',')).join('\r\n')}\r\n`;

// A button for each chart and each table of the page.
export function addSaving() {
  const button = (text, act) => element('button', { type: 'button', onclick: act }, text);
  const style = document.querySelector('style').textContent;
  document.querySelectorAll('svg').forEach((svg, i) => {
    const act = () => {
      const copy = svg.cloneNode(true);
      copy.prepend(element('style', {}, style));
      save(`chart-${i + 1}.svg`, 'image/svg+xml', new XMLSerializer().serializeToString(copy));
    };
    svg.after(element('div', { class: 'tools' }, button('SVG', act)));
  });
  document.querySelectorAll('table').forEach((table, i) => {
    const rows = () => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
    table.after(element('div', { class: 'tools' }, button('CSV', () => save(`table-${i + 1}.csv`, 'text/csv', csv(rows())))));
  });
}
