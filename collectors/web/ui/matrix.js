// The fabric as cells: each cable is one, in the row of its leaf (hosts below it, spines above it) or of its
// spine (cores); a tile a pod. Healthy cells are one colour; what is not stands out with a sign over it.
import { colour, isBad } from './signs.js';
import { Scene } from './scene.js';

const kGap = 3; // cells between two blocks of a tile
const kTitle = 20;
const kPad = 8;
const kCaption = 14; // of a block, where rows have names

// Tiles of blocks of rows of links: [{pod, blocks: [{title, rows: [{node, links}]}]}].
export function tilesOf(model, only = null) {
  const tiles = new Map();
  for (let l = 0; l < model.linkCount; ++l) {
    const low = model.lower(l);
    const row = model.isHost(low) ? model.upper(l) : low;
    const pod = model.pods[row];
    if (only !== null && pod !== only) continue;
    if (!tiles.has(pod)) tiles.set(pod, new Map());
    const blocks = tiles.get(pod);
    const level = model.tiers[low];
    if (!blocks.has(level)) blocks.set(level, new Map());
    const rows = blocks.get(level);
    if (!rows.has(row)) rows.set(row, []);
    rows.get(row).push(l);
  }
  const tierNames = ['hosts', 'leaves', 'spines', 'cores', 'tier 4', 'tier 5', 'tier 6'];
  return [...tiles].sort((a, b) => a[0] - b[0]).map(([pod, blocks]) => ({
    pod,
    blocks: [...blocks].sort((a, b) => a[0] - b[0]).map(([level, rows]) => ({
      title: `${tierNames[level]} – ${tierNames[level + 1] ?? 'above'}`,
      rows: [...rows].map(([node, links]) => ({ node, links })),
    })),
  }));
}

const columnsOf = (block) => Math.max(...block.rows.map((row) => row.links.length));
const widthOf = (tile) => tile.blocks.reduce((sum, block) => sum + columnsOf(block) + kGap, -kGap);
const heightOf = (tile) => Math.max(...tile.blocks.map((block) => block.rows.length));

export function matrixScene(model, tiles, { width, height, labels }) {
  const cells = { w: Math.max(...tiles.map(widthOf)), h: Math.max(...tiles.map(heightOf)) };
  const margin = labels ? Math.max(...tiles.flatMap((t) => t.blocks.flatMap((b) => b.rows.map((r) => model.names[r.node].length)))) * 7 + 10 : 0;
  const blocks = Math.max(...tiles.map((tile) => tile.blocks.length));
  const head = kTitle + (labels ? kCaption : 0);
  let best = { size: 0, across: 1 };
  for (let across = 1; across <= tiles.length; ++across) {
    const down = Math.ceil(tiles.length / across);
    const size = Math.min((width / across - 2 * kPad - margin * blocks) / cells.w, ((height - 6) / down - head - kPad) / cells.h);
    if (size > best.size) best = { size, across };
  }
  const least = labels ? 8 : 1; // signs are larger than cells: they show at any size
  if (best.size < least) { // too much for one sight: as wide as the frame, and it scrolls
    best.across = Math.max(1, Math.floor(width / (cells.w * least + margin * blocks + 2 * kPad)));
    best.size = (width / best.across - 2 * kPad - margin * blocks) / cells.w;
  }
  const size = Math.max(least, Math.min(26, best.size >= 4 ? Math.floor(best.size) : best.size));
  const tileWidth = cells.w * size + margin * blocks + 2 * kPad;
  const tileHeight = cells.h * size + head + kPad;
  const down = Math.ceil(tiles.length / best.across);
  const scene = new Scene(Math.max(width, Math.ceil(tileWidth * best.across)), Math.max(height - 4, Math.ceil(tileHeight * down)));
  const areas = [];
  tiles.forEach((tile, i) => {
    const x = (i % best.across) * tileWidth + kPad;
    const y = Math.floor(i / best.across) * tileHeight;
    if (tile.pod > 0 && !labels)
      scene.stops.push({ x: x - 4, y: y + 2, w: tileWidth - kPad, h: tileHeight - 6, label: `pod ${tile.pod}`, go: { kind: 'pod', id: tile.pod } });
    addTile(scene, areas, model, tile, { x, y, size, margin, labels, head });
  });
  scene.signs(Math.max(size - 2, 11));
  scene.pick = (px, py) => linkAt(model, areas, size, px, py);
  const under = scene.at.bind(scene);
  scene.at = (px, py) => {
    const cell = scene.pick(px, py);
    return cell && (labels || !model.hasPods || bearsSign(scene, cell)) ? cell : under(px, py);
  };
  return scene;
}

// In the overview a cell is hit where it bears a sign.
function bearsSign(scene, cell) {
  return scene.moment?.marked.includes(cell.go.link) || scene.moment?.avoided.has(cell.go.link);
}

function addTile(scene, areas, model, tile, { x, y, size, margin, labels, head }) {
  let left = x;
  scene.steps.push((ctx) => {
    ctx.fillStyle = colour('ink');
    ctx.font = '600 13px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.fillText(tile.pod > 0 ? `pod ${tile.pod}` : 'cables by leaf and spine', x, y + 13);
  });
  for (const block of tile.blocks) {
    const top = y + head;
    const at = left + margin;
    scene.steps.push((ctx, moment) => drawBlock(ctx, moment, model, block, { x: at, y: top, size, labels, room: columnsOf(block) * size }));
    block.rows.forEach((row, r) => {
      row.links.forEach((l, c) => scene.places.set(l, [at + (c + 0.5) * size, top + (r + 0.5) * size]));
      if (labels)
        scene.stops.push({ x: left, y: top + r * size, w: margin - 4, h: size, label: model.names[row.node], go: { kind: 'node', id: model.names[row.node] } });
    });
    areas.push({ x: at, y: top, block });
    left = at + columnsOf(block) * size + kGap * size;
  }
}

function drawBlock(ctx, moment, model, block, { x, y, size, labels, room }) {
  ctx.fillStyle = colour('faint');
  ctx.font = '11px system-ui, sans-serif';
  ctx.textBaseline = 'middle';
  if (labels) ctx.fillText(block.title, x, y - 8, room);
  block.rows.forEach((row, r) => {
    const top = y + r * size;
    ctx.fillStyle = colour('h');
    fillCells(ctx, x, top, row.links.length * size, size);
    row.links.forEach((l, c) => {
      const letter = moment.link(l);
      if (letter !== 'h') drawCell(ctx, letter, x + c * size, top, size);
    });
    if (labels) {
      ctx.fillStyle = colour('ink');
      ctx.font = `${Math.min(12, size)}px system-ui, sans-serif`;
      ctx.textAlign = 'right';
      ctx.fillText(model.names[row.node], x - 6, top + size / 2);
      ctx.textAlign = 'left';
    }
  });
  if (size < 4) return;
  ctx.strokeStyle = colour('ground'); // the grid
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let r = 0; r <= block.rows.length; ++r) ctx.moveTo(x, y + r * size), ctx.lineTo(x + room, y + r * size);
  for (let c = 0; c * size <= room; ++c) ctx.moveTo(x + c * size, y), ctx.lineTo(x + c * size, y + block.rows.length * size);
  ctx.stroke();
}

// On whole pixels, so that no seam shows between two cells.
function fillCells(ctx, x, y, w, h) {
  const [left, top] = [Math.round(x), Math.round(y)];
  ctx.fillRect(left, top, Math.round(x + w) - left, Math.round(y + h) - top);
}

// Unknown cells are hollow, those that the plan does not cover faint.
function drawCell(ctx, letter, x, y, size) {
  ctx.fillStyle = letter === 'u' || letter === 'n' ? colour('ground') : colour(letter);
  fillCells(ctx, x, y, size, size);
  if (isBad(letter)) return;
  ctx.fillStyle = colour(letter === 'u' ? 'u' : 'line');
  const inset = size * 0.25;
  ctx.fillRect(x + inset, y + inset, size - 2 * inset, size - 2 * inset);
}

function linkAt(model, areas, size, px, py) {
  for (const { x, y, block } of areas) {
    const r = Math.floor((py - y) / size);
    const c = Math.floor((px - x) / size);
    const l = r >= 0 && c >= 0 ? block.rows[r]?.links[c] : undefined;
    if (l === undefined) continue;
    return { x: x + c * size, y: y + r * size, w: size, h: size, label: model.shortName(l), go: { kind: 'link', id: model.linkName(l), link: l } };
  }
  return null;
}
