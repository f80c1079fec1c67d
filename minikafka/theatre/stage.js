// The stage: what Python has drawn becomes elements, which are shown, moved and put in the light.

const SVG = 'http://www.w3.org/2000/svg';
// A layout stretches between these factors before the next one takes over (wide from 740 px of drawing on). A page that is
// narrower than the last one makes it smaller as a whole: nothing lies outside of the window.
const WIDE = 920, NARROW = 560, PHONE = 448;  // drawing.py
const WIDE_FROM = 740, LEAST = 0.8, MOST = 1.32;
// A page that has a window of its own is drawn larger, as far as the window is high: so much at most, and from this width on.
const MOST_GROWN = 1.45, GROWN_FROM = 780;
const A_MARGIN = 10, AN_EDGE = 4;
const MOVED = ['x', 'y', 'w', 'h', 'x2', 'y2'];
const widths = new Map();

let layouts, layout = null, elements = [], stretch = 1, grown = 1, moves = [], drawn = 0, flowing = false, frame = null;

// From differences to one Map of shapes a step.
function decode(packed) {
  const known = [], states = [], there = new Set();
  for (const [changes, come, go] of packed.steps) {
    for (const [shape, ...pairs] of changes) {
      let next = { ...known[shape] };
      for (let i = 0; i < pairs.length; i += 2) {
        const [attribute, value] = [pairs[i], pairs[i + 1]], name = play.attributes[attribute];
        if (attribute < 0) next = { ...known[value] };
        else if (value === null) delete next[name];
        else next[name] = attribute < play.numbers ? value : play.texts[value];
      }
      known[shape] = next;
    }
    come.forEach(shape => there.add(shape));
    go.forEach(shape => there.delete(shape));
    states.push(new Map([...there].map(shape => [shape, known[shape]])));
  }
  const lit = {};
  for (const step in packed.lit) lit[step] = packed.lit[step].map(shapes => new Set(shapes));
  return { ...packed, states, known, lit, ofLanes: new Set(packed.lanes), cursors: new Set(packed.cursor) };
}

// What was played to the end once may stay in sight, faintly, behind the cursor's present; but not its words and their plates,
// which would stand on those of the present.
function shapesAt(step) {
  const state = layout.states[step];
  if (!ended || step === last) return state;
  const stays = shape => layout.states[last].has(shape) && layout.known[shape].kind !== 'text' && !isPlate(layout.known[shape]);
  layout.later ??= layout.lanes.filter(stays).map(shape => [shape, { ...layout.states[last].get(shape), fade: 0.35, later: true }]);
  return new Map([...layout.later, ...state]);
}

const room = () => (document.querySelector('main').clientWidth - 32) / grown;
const wantedLayout = width => (width >= WIDE_FROM ? WIDE : width >= LEAST * NARROW ? NARROW : PHONE);

function choose() {
  const width = room(), svg = at('drawing');
  const fitting = layouts.find(each => each.width === wantedLayout(width)) ?? layouts.at(-1);
  tellLayout();
  stretch = Math.max(LEAST, Math.min(MOST, width / fitting.width));
  if (fitting !== layout) {
    layout = fitting;
    elements.forEach(({ node }) => node.remove());
    elements = layout.known.map(({ kind }, shape) => {
      const node = create(kind);
      node.style.display = 'none';
      [node, ...node.children].forEach(part => { part.dataset.shape = shape; });
      return { node, shape: null };
    });
    svg.append(...elements.map(({ node }) => node));
  }
  const { above, below } = strips();
  const [wide, high] = [Math.round(layout.width * stretch), height()];
  // An image would hide the levers in it.
  const role = above || below || layout.known.some(shape => shape && (shape.act || shape.grid)) ? 'group' : 'img';
  for (const [name, value] of Object.entries({ role, width: Math.round(wide * grown), height: Math.round(high * grown), viewBox: `0 ${-above} ${wide} ${high}` })) svg.setAttribute(name, value);
  if (drags()) drag.fit();
  // Where the drawing is wider than the page, it must scroll by keys too.
  const stage = at('stage'), scrolls = stage.scrollWidth > stage.clientWidth;
  for (const [name, value] of [['tabindex', '0'], ['role', 'region'], ['aria-label', 'the picture, scrolls sideways']]) {
    if (scrolls) stage.setAttribute(name, value);
    else stage.removeAttribute(name);
  }
}

const strips = () => (drags() ? drag.room() : { above: 0, below: 0 });
const height = () => layout.height + 4 + strips().above + strips().below;

// By what the rest of the page leaves of the window, at its highest.
function grow() {
  const main = document.querySelector('main'), isAlone = window.parent === window;
  grown = 1;
  main.style.minHeight = '';
  choose();
  if (isAlone && room() >= GROWN_FROM) {
    const above = prediction ? 0 : main.offsetTop;  // what asks scrolls that away (bringUp)
    const sheet = Math.max(0, sheetHeight - at('sheet').offsetHeight);  // what it lacks now of its height
    const around = above + main.offsetHeight + sheet - at('stage').offsetHeight;
    grown = Math.max(1, Math.min(MOST_GROWN, (innerHeight - around - 4) / height(), room() / GROWN_FROM));
    choose();
  }
  const gone = isSheet() && !data.strip ? at('stage').offsetTop - main.offsetTop - at('bar').offsetHeight : 0;
  if (isAlone && prediction) main.style.minHeight = `calc(100vh + ${gone}px)`;  // so that bringUp can bring it up
}

// -- one shape

const draws = kind => document.createElementNS(SVG, kind);
const boxOf = node => (node.tagName === 'g' ? node.firstChild : node);
const colour = name => (!name || name === 'none' ? 'none' : name === 'hatch' ? 'url(#hatch)' : `var(--${name})`);

function create(kind) {
  const node = draws(kind === 'cell' ? 'g' : kind);
  if (kind === 'cell') node.append(...['rect', 'text', 'text', 'text'].map(draws));
  return node;
}

// A cell is a box with its words in the middle (below each other in a tall box), and a number under it (svg.py: _parts).
function partsOf(s) {
  const { x, y, h, ink, text = '', more = '', below = '', weight, size = 13.5 } = s, tall = text && more && h >= 40;
  const plain = { kind: 'text', x: x + s.w / 2, y: y + (tall ? 18 : h / 2 + 5), fill: ink, size: size - 1, anchor: 'middle', text: '' };
  const bold = { ...plain, text, room: s.room, mono: 'yes', weight: 600, size, ink, more: tall ? '' : more };
  const number = { size: 12.5, text: below, mono: 'yes', weight, y: y + h + (h >= 30 ? 16 : 14), fill: ink === 'gone' ? 'gone' : weight ? 'ink' : 'quiet' };
  const words = text ? bold : { ...plain, text: more };
  return [{ ...s, kind: 'rect' }, words, { ...plain, text: tall ? more : '', y: y + 36 }, { ...plain, ...number }];
}

function place(node, s) {
  if (s.kind === 'cell') { partsOf(s).forEach((part, i) => place(node.children[i], part)); return; }
  const set = (name, value) => node.setAttribute(name, value);
  const x = s.x * stretch;
  if (s.kind === 'circle') { set('cx', x); set('cy', s.y); }
  else if (s.kind === 'line') { set('x1', x); set('y1', s.y); set('x2', s.x2 * stretch); set('y2', s.y2); }
  else if (s.kind === 'path') set('transform', `translate(${x} ${s.y})`);
  else { set('x', x); set('y', s.y); }
  if (s.kind === 'rect') { set('width', Math.max(0, s.w * stretch)); set('height', s.h); }
}

function paint(node, s) {
  node.style.pointerEvents = s.tip || s.act || s.of !== undefined ? '' : 'none';
  lever(node, s);
  if (s.kind === 'cell') { partsOf(s).forEach((part, i) => paint(node.children[i], part)); return; }
  Object.assign(node.style, { fill: colour(s.fill), stroke: colour(s.halo ?? s.line), strokeWidth: s.halo ? 4 : s.width || '', strokeDasharray: s.dash || '' });
  if (s.kind === 'text') paintText(node, s);
  if (s.kind === 'rect') node.setAttribute('rx', s.r || 0);
  if (s.kind === 'circle') node.setAttribute('r', s.r);
  if (s.kind === 'path') node.setAttribute('d', s.d);
  if (s.arrow) node.setAttribute('marker-end', 'url(#tip)');
}

function paintText(node, s) {
  if (s.more || node.textContent !== s.text) node.textContent = s.text;
  if (s.more) {
    const more = draws('tspan');
    more.setAttribute('class', s.mono ? 'plain more' : 'mono more');
    more.setAttribute('dx', s.mono ? 4 : 8);
    more.style.fill = colour(s.ink);
    if (s.mono) more.style.fontSize = `${s.size - 1}px`;  // of a cell
    more.textContent = s.more;
    node.append(more);
  }
  node.classList.toggle('mono', Boolean(s.mono));
  Object.assign(node.style, { fontSize: `${s.size}px`, fontWeight: s.weight || 400, textAnchor: s.anchor || 'start', paintOrder: s.halo ? 'stroke' : '' });
  if (s.room) cut(node, s);
}

// Fonts differ: the browser knows how wide a text is.
function cut(node, s) {
  const most = s.room * stretch, look = `${s.size} ${s.weight} ${s.mono} `;
  const wide = text => {
    if (!widths.has(look + text)) { node.textContent = text; widths.set(look + text, node.getComputedTextLength()); }
    return widths.get(look + text) > most;
  };
  let text = s.text;
  while (text && wide(text === s.text ? text : `${text}…`)) text = text.slice(0, -1).trimEnd();
  node.textContent = text === s.text ? text : text && `${text}…`;
}

// -- one step

// What moves, in the order in which it happened: requests, then what somebody knows, then records.
const stageOf = s => (s.arrow ? 0 : s.kind === 'cell' || s.from_x !== undefined ? 2 : 1);

// Nothing while the table stands in its place, where no text has a width: the way back to the stage draws.
function draw(step, moving, flow = false) {
  if (at('stage').hidden) return;
  cancelAnimationFrame(frame);
  moves.forEach(each => each.to(1));  // what was still on its way arrives first
  const now = shapesAt(step), staged = moving && step === drawn + 1;
  moves = flow ? passages(now) : [];
  if (!flow) {
    elements.forEach((element, shape) => {
      const to = now.get(shape) || null, from = element.shape;
      element.shape = to;
      if (!moving) settle(element.node, to);
      else if (to !== from) moves.push(eased(element.node, from, to, staged ? stageOf(to || from) : 0));
    });
    drawn = step;
  }
  flowing = flow;
  if (moves.length || flow) move();
  tabStops();
  light(step === cursor ? step : -1);
}

function settle(node, s) {
  node.style.display = s ? '' : 'none';
  if (!s) return;
  paint(node, s);
  place(node, s);
  node.style.opacity = s.fade ?? 1;
}

function light(step) {
  const [lit, outlined] = layout.lit[step] || [null, new Set()];
  elements.forEach(({ node }, shape) => {
    node.classList.toggle('dim', lit !== null && !lit.has(shape));
    boxOf(node).classList.toggle('lit', outlined.has(shape));
  });
  at('drawing').classList.toggle('bad', Boolean(steps[step]?.trouble));
}

// What the page is about now comes in sight: from a question on the controls are at the window's top, so that the picture has all of
// it. On a phone, where they stay there and the sheet covers part of the picture, the title goes if there is no room for both (in
// the end a picture may be lower); and what is in the light is above the sheet. In a frame only what is to be dragged is: there it
// isn't the picture that scrolls.
function bringUp(toControls = false) {
  const behavior = still.matches ? 'auto' : 'smooth', dragged = drags() ? drag.handle() : null;
  if (window.parent !== window) { dragged?.scrollIntoView({ block: 'nearest', behavior }); return; }
  const [bar, title, drawn, sheet] = ['bar', 'title', 'drawing', 'sheet'].map(id => at(id).getBoundingClientRect());
  let by = toControls && !at('bar').hidden ? bar.top - AN_EDGE : 0;
  if (isSheet()) {
    const above = AN_EDGE + bar.height + AN_EDGE, free = sheet.top - A_MARGIN, opens = !at('ask').hidden && toControls;
    if (prediction && cursor >= prediction.stop && !data.strip) {
      const ends = cursor === last, bottom = ends ? Math.max(...reaches(elements).map(each => each.bottom)) : drawn.bottom;
      const isTall = bottom - title.top > free - above, upper = isTall ? drawn.top : opens || ends ? title.top : above;
      by = opens || ends ? upper - above : Math.max(by, upper - above);
    }
    const lit = lightIn(free - above, dragged);
    if (lit) by += Math.min(lit[0] - by - above, Math.max(0, lit[1] - by - free));
  }
  if (by) scrollBy({ top: by, behavior });
}

// From where to where what is lit reaches, once it has come there; if that is more than there is room for, the things that a step
// names first.
function lightIn(room, dragged) {
  const [, outlined] = layout.lit[cursor] || [null, []];
  const boxes = dragged ? [dragged.getBoundingClientRect()] : reaches([...outlined].map(shape => elements[shape]));
  if (!boxes.length) return null;
  let [from, to] = [boxes[0].top, boxes[0].bottom];
  for (const { top, bottom } of boxes) {
    const [wider, lower] = [Math.min(from, top), Math.max(to, bottom)];
    if (lower - wider <= room) [from, to] = [wider, lower];
  }
  return [from, to];
}

function reaches(shown) {
  const drawn = at('drawing').getBoundingClientRect(), scale = drawn.height / height();
  return shown.map(({ shape }) => shape).filter(Boolean).map(({ kind, y, y2 = y, h = 0, r = 0, size = 0 }) => {
    const [up, down] = { circle: [r, r], text: [size, 0] }[kind] ?? [0, h];
    const [top, bottom] = [Math.min(y, y2) - up, Math.max(y, y2) + down].map(at => drawn.top + (at + strips().above) * scale);
    return { top, bottom };
  });
}

function move() {
  const started = performance.now(), stages = [...new Set(moves.map(each => each.stage))].sort();
  const time = Math.max(1, flowing ? steps[cursor].passes : MOTION) / speed(), lasts = Math.max(1, stages.length);
  const on = now => {
    const gone = Math.max(0, (now - started) / time);  // a frame is as old as its beginning
    if (flowing) clock(Math.min(1, gone));
    for (const each of moves) {
      const part = Math.min(1, gone - stages.indexOf(each.stage));
      if (part >= 0) each.to(part);
    }
    if (gone < lasts) frame = requestAnimationFrame(on);
    else moves = [];
  };
  on(started);
}

function between(node, start, end, part) {
  const now = { ...end };
  for (const name of MOVED) if (name in end) now[name] = (start[name] ?? end[name]) * (1 - part) + end[name] * part;
  place(node, now);
}

// To what has just happened. Who is new fades in.
function eased(node, from, to, stage) {
  const start = from || { ...to, x: to.from_x ?? to.x, y: to.from_y ?? to.y, fade: 0 }, end = to || { ...from, fade: 0 };
  let begun = false;
  return { stage, to: part => {
    if (!begun && to) paint(node, to);
    if (!begun) node.style.display = '';
    begun = true;
    const slower = part * (2 - part);
    between(node, start, end, slower);
    node.style.opacity = (start.fade ?? 1) * (1 - slower) + (end.fade ?? 1) * slower;
    if (part === 1) settle(node, to);
  } };
}

// -- while time passes: lengths grow with the clock, evenly, and so do numbers that say how long. All other words, and who comes
// or goes, belong to what happens at its end: until then they stay as they are.

const isPlate = s => s.fill === 'paper' && (s.line ?? 'none') === 'none';
const isLength = s => ['rect', 'line'].includes(s?.kind) && !s.later && !isPlate(s);
const goesOn = (from, to) => isLength(from) && isLength(to) && from.fill === to.fill && from.line === to.line;

function passages(now) {
  const cursorAt = [...layout.cursors].find(shape => elements[shape].shape && now.has(shape));
  const [begin, end] = [elements[cursorAt]?.shape.x, now.get(cursorAt)?.x], everything = play.flows === 'all';
  const told = end > begin ? layout.told.map(each => comes(each, now, begin, end)) : [];
  return [...told, ...elements.map((element, shape) => {
    const { shape: from } = element, to = now.get(shape);
    if (!to || to === from || to.later) return null;
    const isCursor = layout.cursors.has(shape), moves = everything || isCursor || layout.ofLanes.has(shape);
    if (from?.kind === 'text') return runs(element, to, moves);
    if (!moves) return null;
    if (from && isPlate(from) && isPlate(to)) return grows(element, { ...from, x: to.x, y: to.y });
    if ((isCursor && from) || goesOn(from, to)) return grows(element, to);
    const isNew = (!from || from.later) && isLength(to) && Math.max(to.w ?? 0, (to.x2 ?? 0) - to.x) > 0;
    return isNew ? appears(element, to, begin, end) : null;
  })].filter(Boolean);
}

function grows(element, to) {
  const { node, shape: from } = element;
  element.shape = to;
  paint(node, to);
  return { stage: 0, to: part => between(node, from, to, part) };
}

// What is new, as far as the cursor has come.
function appears(element, to, begin, end) {
  const { node } = element, start = { ...to, w: 0, x2: to.x, y2: to.y }, long = to.w ?? to.x2 - to.x;
  element.shape = to;
  settle(node, to);
  return { stage: 0, to: part => {
    const now = begin + (end - begin) * part;
    node.style.display = now > to.x || part === 1 ? '' : 'none';
    between(node, start, to, part === 1 ? 1 : Math.max(0, Math.min(1, (now - to.x) / long)));
  } };
}

// Words, which stay on what gets longer, and say how long it has lasted.
function runs(element, to, moves) {
  const { node, shape: from } = element, saying = durations(from.text, to.text);
  if (!moves && !saying) return null;
  const end = moves ? { ...from, x: to.x, y: to.y } : from;
  element.shape = { ...end, text: saying ? saying(1) : from.text };
  return { stage: 0, to: part => {
    const text = saying ? saying(part) : from.text;
    if (text !== node.textContent) paintText(node, { ...from, text });
    between(node, from, end, part);
  } };
}

// New words on a bar that goes on, which tell its length: they come as soon as it has room for them.
function comes([words, plate, bar], now, begin, end) {
  const to = now.get(words), length = now.get(bar), { node, shape: before } = elements[words], found = to ? [...to.text.matchAll(DURATION)] : [];
  if (before || found.length !== 1 || !goesOn(elements[bar].shape, length)) return null;
  const { ms, least, say } = read(found[0]), gap = passing(), a_unit = gap / (end - begin);
  if (Math.abs(ms - length.w * a_unit) > least + a_unit) return null;
  const shown = [words, plate].filter(shape => now.has(shape)).map(shape => elements[shape]);
  shown.forEach(element => { element.shape = now.get(Number(element.node.dataset.shape)); settle(element.node, element.shape); });
  const right = to.x + node.getComputedTextLength() / stretch + 4;
  return { stage: 0, to: part => {
    for (const element of shown) element.node.style.display = begin + (end - begin) * part > right ? '' : 'none';
    paintText(node, { ...to, text: to.text.replace(DURATION, say(Math.max(0, ms - gap * (1 - part)))) });
  } };
}

// Those of the two texts' numbers of seconds that differ by what passes (several of them in a sum) run.
const DURATION = /(\d+(?:\.(\d+))?) (ms|s)\b/g;

const passing = () => (steps[cursor + 1]?.at ?? 0) - steps[cursor].at;

function read([, number, places = '', unit]) {
  const one = unit === 's' ? 1000 : 1;
  return { ms: number * one, least: one / 10 ** places.length, say: ms => `${(ms / one).toFixed(places.length)} ${unit}` };
}

function durations(text, then) {
  const gap = passing(), [before, after] = [text, then].map(words => [...words.matchAll(DURATION)].map(read));
  if (gap <= 0 || before.length !== after.length) return null;
  const times = before.map(({ ms }, index) => Math.round((after[index].ms - ms) / gap));
  const fit = before.every(({ ms, least }, index) => Math.abs(after[index].ms - ms - times[index] * gap) <= Math.max(least, after[index].least));
  if (!fit || !times.some(Boolean)) return null;
  return part => { let index = -1; return text.replace(DURATION, () => { index += 1; return after[index].say(before[index].ms + times[index] * gap * part); }); };
}
