// The notebook around the page: a live run's kernel, the frame's height, JupyterLab's theme. A saved page has none of it,
// and a frame of another origin hides it.

// In a frame the picture stands alone, without the way to other pages (course/publishing/gallery.py).
document.documentElement.classList.toggle('framed', window.parent !== window);

const outside = look => { try { return look(); } catch { return null; } };
const cellAround = selector => outside(() => window.frameElement?.closest(selector));

// Shift+Enter runs the next cell, as it does beside the picture: the notebook has the focus again, and gets the key.
document.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || !event.shiftKey) return;
  outside(() => {
    const active = cellAround('.jp-Notebook')?.querySelector('.jp-Cell.jp-mod-active');
    if (!active) return;
    event.preventDefault();
    active.focus({ preventScroll: true });
    const { key, code, shiftKey } = event, pressed = { key, code, keyCode: 13, shiftKey, bubbles: true, cancelable: true };
    active.dispatchEvent(new window.parent.KeyboardEvent('keydown', pressed));
  });
});

// -- a live run: a new play comes back from the kernel (course/levers/controls.py)

// The frame and what is in it stay; what changed moves to its new place, and the effect plays on.
function take(given) {
  clearTimeout(asked);
  at('stage').removeAttribute('aria-busy');
  if (given.turn && taken) {  // the kernel has done what is shown already, or it couldn't
    const shown = given.of === taken && given.steps;
    taken = '';
    if (shown) return;
  }
  if (given.busy) { at('stage').setAttribute('aria-busy', 'true'); return; }
  const hasMap = typeof strip !== 'undefined';  // of runs: strip.js is on such a page only
  if (hasMap && (given.strip || given.ended || given.cell !== undefined)) strip.take(given);
  if (given.error) { say(given.error); return; }
  if (given.redrawn) {  // the same play, in another layout
    play = { ...play, texts: given.texts };
    layouts = given.layouts.map(decode);
    layout = null;
    choose();
    draw(cursor, false);
    resize();
    return;
  }
  if (given.cell !== undefined || !given.steps) return;
  const focused = document.activeElement?.dataset.act;
  loads += 1;
  load(given);
  anew(play.begin);
  if (focused) drawing.querySelector(`[data-act="${CSS.escape(focused)}"]`)?.focus();
  if (cursor < last && !still.matches) turn();
}

// Who asked waits no longer, whatever was wrong.
function hear(text) {
  try { take(JSON.parse(text)); } catch (error) {
    say(`The page could not show what came: ${error.message}. Load it again.`);
    throw error;
  }
}

function listen() {
  const cell = cellAround('.jp-Cell, .cell');
  if (!cell) return;
  let seen = null;
  const sent = name => beside(name)?.querySelector('[data-play]')?.dataset;
  const look = () => {
    tellLayout();
    const text = sent('data')?.play;
    if (text && text !== seen) { seen = text; hear(text); }
    foreseen = sent('ahead') ?? null;
    // A sentence with dials stands beside its plain words (course/levers/dials.py).
    const plain = cell.querySelector('.minikafka-plain');
    if (plain) plain.hidden = Boolean(beside('dials'));
    // A notebook that was closed has no widgets any more; the picture needs none.
    for (const node of cell.querySelectorAll('.jupyter-widgets')) {
      if (node.textContent.startsWith('Error displaying widget')) node.hidden = true;
    }
  };
  new MutationObserver(look).observe(cell, { childList: true, subtree: true, characterData: true });
  look();
}

// After a run, and not when a notebook is opened: the cell that was run is the one before the active cell, or itself.
const bringIntoView = () => outside(() => {
  const cell = cellAround('.jp-Cell');
  if (!cell) return;
  const id = `${cell.querySelector('.jp-InputPrompt')?.textContent} ${at('play').textContent.length}`;
  const active = cell.parentElement.querySelector('.jp-mod-active'), shown = window.parent.minikafkaShown ??= new Map();
  if (shown.get(cell) === id || !active) return;
  shown.set(cell, id);
  if (active !== cell && active !== cell.nextElementSibling) return;
  window.frameElement.scrollIntoView({ block: 'start', behavior: still.matches ? 'auto' : 'smooth' });
});

// -- the frame: height and theme

const fitFrame = () => outside(() => {
  const { height } = document.querySelector('main').getBoundingClientRect();
  if (window.frameElement) window.frameElement.style.height = `${Math.ceil(height)}px`;
  lift();
});

// On a phone what is said and asked is a sheet over the picture (player.css), at the bottom of the window; that of a frame is the
// bottom of what is seen of it, above the levers at the edge of the window (the playground's). The page is so long that the sheet
// covers nothing of it at its end.
const isSheet = () => getComputedStyle(at('sheet')).position === 'fixed';
// Or it stands below the controls, and what it lacks of its height is at the page's end (course/publishing/gallery.py).
const isInFlow = () => innerWidth <= 560 && !isSheet();
// Or it is a caption, and the question lies over the picture, at the bottom of what is seen of the frame (gallery.py, too).
const isOver = () => getComputedStyle(at('ask')).position === 'fixed';

const lift = () => outside(() => {
  if (!(isSheet() || isOver()) || !window.frameElement) return;
  const over = isOver() ? at('ask') : at('sheet');
  const { bottom, height } = window.frameElement.getBoundingClientRect(), levers = beside('reach')?.offsetHeight ?? 0;
  const below = bottom - (window.parent.innerHeight - levers);
  document.documentElement.style.setProperty('--up', `${Math.max(0, Math.min(below, height - over.offsetHeight))}px`);
});

const makeRoomForSheet = () => {
  const { height } = at('sheet').getBoundingClientRect();
  const covered = isSheet() ? `${sheetHeight}px` : '', lacks = isInFlow() || isOver() ? `${sheetHeight - height}px` : '';
  document.querySelector('main').style.paddingBottom = covered || lacks;
  document.documentElement.style.scrollPaddingBottom = covered;
};

outside(() => window.parent !== window && window.parent.addEventListener('scroll', lift, { capture: true, passive: true }));

// The highest text of any step decides, so nothing jumps while it plays. But a few long ones make no room at all other steps:
// they are written smaller, and scroll where that is not enough.
const LINES = 3;
// A wide page of its own has room for a line: what takes two is a little smaller.
const saidLines = () => (window.parent === window && innerWidth > 980 ? 1 : LINES);

function reserve(box, line, texts, lines = Infinity) {
  const words = line.textContent;
  box.style.height = box.style.minHeight = box.style.maxHeight = '';
  let most = 0;
  for (const text of new Set(texts)) {
    line.textContent = text;
    most = Math.max(most, box.getBoundingClientRect().height);
  }
  line.textContent = '–';
  const one = line.offsetHeight, around = box.offsetHeight - one;
  line.textContent = words;
  return Math.min(most, lines * one + around);
}

// With the widest of what stands beside it.
function reserveHeader() {
  const box = document.querySelector('header'), corner = [...at('corner').childNodes], time = at('time').textContent;
  if (play.flows) at('corner').textContent = [play.corner, 'slow motion'].filter(Boolean).join(' · ');
  at('time').textContent = steps.reduce((longest, step) => (step.time.length > longest.length ? step.time : longest), '');
  const height = reserve(box, at('scenario'), steps.map(step => step.scenario));
  box.style.minHeight = `${height}px`;
  at('corner').replaceChildren(...corner);
  at('time').textContent = time;
}

function reserveSaid() {
  const box = at('said'), { hidden } = box;
  box.hidden = false;
  box.classList.remove('long');
  box.style.height = `${reserve(box, at('sentence'), steps.map(step => step.sentence), saidLines())}px`;
  box.hidden = hidden;
}

// Whether a caption is too long for its box.
function atLength() {
  const box = at('said');
  box.classList.remove('long');
  box.classList.toggle('long', at('sentence').offsetHeight > box.clientHeight);
  box.scrollTop = 0;
  if (box.scrollHeight > box.clientHeight) box.setAttribute('tabindex', '0');  // it scrolls by keys too
  else box.removeAttribute('tabindex');
}

let wide = 0;

function resize() {
  if (at('stage').hidden) return;
  choose();
  draw(cursor, false);
  reserveHeader();
  reserveSaid();
  reserveSheet();
  makeRoomForSheet();
  if (isSheet()) Object.assign(at('said').style, { height: '', maxHeight: at('said').style.height });  // it grows upward, and moves nothing
  atLength();
  at('foot').style.minHeight = `${reserve(at('foot'), at('foot'), steps.map(step => step.foot), LINES)}px`;
  grow();
  draw(cursor, false);
  fitFrame();
  if (innerWidth === wide) return;  // a phone's window changes its height while one scrolls
  wide = innerWidth;
  bringUp(!at('ask').hidden);
}

addEventListener('resize', resize);

const theme = () => outside(() => {
  const light = window.parent.document.body.dataset.jpThemeLight;
  if (light) document.documentElement.dataset.theme = light === 'true' ? 'light' : 'dark';
});

outside(() => {
  if (window.parent === window) return;
  new MutationObserver(theme).observe(window.parent.document.body, { attributes: true, attributeFilter: ['data-jp-theme-light'] });
});
