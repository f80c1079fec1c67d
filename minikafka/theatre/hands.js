// Hands on a live run: what is clicked or dragged goes to the kernel, with the moment that is shown (course/levers/controls.py).
// A lever that is dragged (onto) takes its place on one of the things whose names begin so. It can also be picked up by
// a click and put down by another, or moved by the arrow keys.

const ANSWER_MS = 4000, PICKED = 'Now click on its new place; or use ← →, and Enter. Escape lets go.';
let asked = 0, held = null;

// The levers stand in the cell of this frame; none in a saved page.
const beside = name => cellAround('.jp-Cell, .cell')?.querySelector(`.minikafka-${name}`);

function lever(node, s) {
  const names = { 'data-act': s.act, role: 'button', tabindex: '0', 'aria-label': s.tip || s.act };
  if (s.grid) gridded(node, s);
  else if (s.act) for (const name in names) node.setAttribute(name, names[name]);
  else if (node.dataset.act) Object.keys(names).forEach(name => node.removeAttribute(name));
  for (const name of ['onto', 'apart']) node.toggleAttribute(`data-${name}`, Boolean(s[name]));
}

// Whether there is somebody in the kernel to hear of it.
function tell(name, text) {
  const field = beside(name)?.querySelector('input');
  if (!field) return false;
  field.value = text;
  for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, { bubbles: true }));
  return true;
}

// An act's name: the same lever at the same moment does something else in another run.
const opened = Date.now();
let loads = 0;
const nameOf = (words, onto = '') => `${opened}.${loads} ${steps[cursor].at} ${words} ${onto}`;
const message = (words, onto) => JSON.stringify({ act: words, onto, at: steps[cursor].at, of: nameOf(words, onto), turn: Date.now() });
const send = (words, onto) => tell('act', message(words, onto));

function act(words, onto) {
  pause();
  clearTimeout(pointing);
  if (words.startsWith('step ')) { go(Number(words.slice(5))); return; }  // the page has what comes of it
  const name = nameOf(words, onto);
  if (!send(words, onto)) { say('Run this cell again: the levers need its kernel.'); return; }
  if (foreseen?.of === name) { taken = name; take(JSON.parse(foreseen.play)); return; }
  at('stage').setAttribute('aria-busy', 'true');
  clearTimeout(asked);
  asked = setTimeout(() => say('No answer yet: Python is busy. If this stays, run the cell again, or load the page again.'), ANSWER_MS);
}

// What comes of a lever is asked for as soon as somebody points at it, so that a click finds it here.
const POINTS_MS = 80;
let pointing = 0, foreseen = null, taken = '';

function point(words, onto) {
  clearTimeout(pointing);
  if (!words || words.startsWith('step ') || playing || foreseen?.of === nameOf(words, onto)) return;
  pointing = setTimeout(() => {
    if (!taken && !at('stage').hasAttribute('aria-busy')) tell('point', message(words, onto));
  }, POINTS_MS);
}

// A re-run draws only the layout that is shown (course/levers/controls.py): the kernel hears which that is, and sends the
// other one when it is wanted.
let toldLayout = 0;

function tellLayout() {
  const wanted = wantedLayout(room());
  if (wanted !== toldLayout && tell('width', String(wanted))) toldLayout = wanted;
}

// -- a grid: shapes that arrow keys go through, with one stop of the tab key. The focus marks what hovering marks. Where digits
// are typed onto a shape, the last one changes it.

let typed = '';
const inGrid = name => [...drawing.querySelectorAll(`[data-grid=${name}]`)].filter(node => node.style.display !== 'none');

function gridded(node, s) {
  Object.assign(node.dataset, { grid: s.grid, ...(s.act && { act: s.act }), ...(s.digits && { digits: s.digits }) });
  for (const [name, value] of [['role', s.act ? 'button' : 'img'], ['aria-label', s.tip]]) node.setAttribute(name, value);
  if (!node.hasAttribute('tabindex')) node.setAttribute('tabindex', '-1');
}

function tabStops() {
  for (const name of new Set([...drawing.querySelectorAll('[data-grid]')].map(node => node.dataset.grid))) {
    const nodes = inGrid(name);
    if (nodes.length && !nodes.some(node => node.tabIndex === 0)) nodes[0].setAttribute('tabindex', '0');
  }
}

function neighbour(node, key) {
  const nodes = inGrid(node.dataset.grid), at = nodes.indexOf(node);
  if (key === 'ArrowLeft' || key === 'ArrowRight') return nodes[at + (key === 'ArrowLeft' ? -1 : 1)];
  const down = key === 'ArrowDown' ? 1 : -1, box = node.getBoundingClientRect();
  const far = other => down * (other.getBoundingClientRect().top - box.top), aside = other => Math.abs(middle(other) - middle(node));
  const beyond = nodes.filter(other => far(other) > 2);
  return beyond.sort((one, other) => far(one) + aside(one) - far(other) - aside(other))[0];
}

// Shown where it is typed, until it is done or left.
function type(node, digits) {
  const hex = node.nextElementSibling, { shape } = elements[hex.dataset.shape];
  typed = digits;
  node.classList.toggle('held', digits !== '');
  hex.textContent = digits ? digits.padEnd(node.dataset.digits, '_') : shape.text;
}

function press(node, key) {
  if (node.dataset.digits && /^[0-9a-f]$/i.test(key)) {
    type(node, typed + key.toLowerCase());
    if (typed.length < Number(node.dataset.digits)) return true;
    act(node.dataset.act, typed);
    typed = '';
    node.classList.remove('held');
    return true;
  }
  if (key.startsWith('Arrow')) { neighbour(node, key)?.focus(); return true; }
  if (key === 'Escape' && typed) { type(node, ''); return true; }
  const acts = node.dataset.act && !node.dataset.digits;
  return !acts && (key === 'Enter' || key === ' ');
}

function say(words) {
  at('stage').removeAttribute('aria-busy');
  at('said').hidden = false;
  at('said').classList.add('note');
  at('sentence').textContent = words;
}

// A finger is wider than a lever: the nearest one within its reach is meant.
const REACH = 22;

function meant(event) {
  const direct = event.target.closest('[data-act]');
  if (direct || event.pointerType !== 'touch') return direct;
  let nearest = null, least = REACH;
  for (const node of drawing.querySelectorAll('[data-act]:not([data-apart])')) {
    const { left, right, top, bottom } = node.getBoundingClientRect(), { clientX: x, clientY: y } = event;
    const away = Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
    if (node.style.display !== 'none' && away < least) [nearest, least] = [node, away];
  }
  return nearest;
}

// -- dragging

const middle = node => { const { left, width } = node.getBoundingClientRect(); return left + width / 2; };

function pick(node) {
  const { shape } = elements[node.dataset.shape], places = new Map();
  for (const each of elements) {
    const name = each.node.style.display === 'none' ? '' : each.shape?.same || '';
    if (name.startsWith(`${shape.onto}/`) && !places.has(name)) places.set(name, { name, box: boxOf(each.node), x: middle(boxOf(each.node)) });
  }
  pause();
  if (!places.size) return;
  held = { node, act: shape.act, home: middle(node), places: [...places.values()].sort((one, other) => one.x - other.x), place: null };
  node.classList.add('held');
}

function aim(place) {
  held.place?.box.classList.remove('aimed');
  held.place = place;
  place.box.classList.add('aimed');
  point(held.act, place.name);
  held.node.style.translate = `${(place.x - held.home) / grown}px`;
}

// A reader is between two records: of places that are equally near, the right one is meant (home + 1).
const nearest = x => held.places.reduce((best, place) => (Math.abs(place.x - x) < Math.abs(best.x - x) ? place : best));

function drop(takes) {
  const { node, place, act: words } = held;
  held = null;
  node.style.translate = '';
  node.classList.remove('held');
  place?.box.classList.remove('aimed');
  if (takes && place) act(words, place.name);
  else show(cursor, false);
}

const drawing = at('drawing');
drawing.addEventListener('pointerdown', event => {
  const grabbed = meant(event), node = grabbed?.hasAttribute('data-onto') ? grabbed : null;
  if (held && event.target !== held.node) { aim(nearest(event.clientX)); drop(true); }
  else if (node && !held) { pick(node); if (held) held.from = event.clientX; drawing.setPointerCapture(event.pointerId); }
});
drawing.addEventListener('pointermove', event => {
  if (held && (held.place || Math.abs(event.clientX - held.from) > 4) && event.buttons) aim(nearest(event.clientX));
});
drawing.addEventListener('pointerup', () => {
  if (held?.place) drop(true);
  else if (held) say(PICKED);
});

drawing.addEventListener('click', event => {
  const clicked = meant(event);
  if (clicked?.dataset.digits) clicked.focus();
  else if (clicked && !clicked.hasAttribute('data-onto')) act(clicked.dataset.act);
});

drawing.addEventListener('pointerover', event => {
  const lever = event.target.closest('[data-act]:not([data-onto], [data-digits])');
  if (!held && event.pointerType === 'mouse') point(lever?.dataset.act);
});

drawing.addEventListener('focusin', event => {
  const node = event.target, shape = elements[node.dataset.shape]?.shape;
  if (node.matches('[data-act]:not([data-onto], [data-digits])')) point(node.dataset.act);
  if (!shape?.grid) return;
  inGrid(shape.grid).forEach(other => other.setAttribute('tabindex', other === node ? '0' : '-1'));
  explain(shape.of, shape.tip, shape.same);
});

drawing.addEventListener('focusout', event => {
  if (!event.target.dataset.grid) return;
  if (typed) type(event.target, '');
  unmark();
});

drawing.addEventListener('keydown', event => {
  const node = event.target.closest('[data-act]'), step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], pressed = [' ', 'Enter'].includes(event.key);
  const cell = event.target.closest('[data-grid]');
  if (cell && !event.ctrlKey && !event.metaKey && !event.altKey && press(cell, event.key)) { /* done */ }
  else if (held && event.key === 'Escape') drop(false);
  else if (held && step) aim(held.places[held.places.indexOf(held.place ?? nearest(held.home + 1)) + step] ?? held.place ?? held.places[0]);
  else if (held && pressed) drop(true);
  else if (node && pressed && node.hasAttribute('data-onto')) { pick(node); say(PICKED); }
  else if (node && pressed) act(node.dataset.act);
  else return;
  event.preventDefault();
  event.stopPropagation();
});
