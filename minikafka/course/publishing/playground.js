// The playground's page. Its first plays are made with the site and play at once; settings and levers ask Python in a worker, and the
// theatre's player shows what comes back. It finds here what it finds in a notebook's cell (theatre/notebook.js).

const at = id => document.getElementById(id);
const NAMES = ['shows', 'protocol'];
const NUMBERS = ['brokers', 'partitions', 'members', 'per_second', 'seed', 'seconds'];
const MOST_BROKERS = 3, MORE_SECONDS = 10, MOST_SECONDS = 120;
const WAITS = 'Python is still loading: what you clicked is done as soon as it is there.';
const LINKED = 'Python is loading (14 MB, once): it makes the run of this link.';
const CAN_NOT = 'This browser can’t run the cluster: it lacks WebAssembly’s stack switching (JSPI), which Chrome and Edge have from version 137 on, and Firefox 153 has. These runs and the pictures of the gallery play here, and the lessons can be read.';

const plays = JSON.parse(at('plays').textContent), first = Object.keys(plays)[0];
let asked = {}, times = [], watched = null, frame = document.querySelector('#stage iframe');
let turn = 0, since = 0, open = 0, ignored = 0, alive = false, worker = null;
let foreseen = null;  // the question that one pointed at last, and its answer
let width = 0, drawn = 0, redraws = false;  // of the layout that the player shows, and of the only one that it has, if it hasn't both

function say(words, state = at('status').dataset.state) {
  at('status').textContent = words;
  at('status').dataset.state = state;
}

// -- the link: a play that is ready, or every setting, every change, and the moment

const chosen = () => {
  const name = location.hash ? new URLSearchParams(location.hash.slice(1)).get('play') : first;
  return name in plays ? name : null;
};

function fromLink() {
  const given = new URLSearchParams(location.hash.slice(1)), settings = {};
  for (const name of [...NAMES, ...NUMBERS]) {
    if (given.has(name)) settings[name] = NUMBERS.includes(name) ? Number(given.get(name)) : given.get(name);
  }
  const changes = given.getAll('change').map(each => {
    const [ms, what, who] = each.split('~');
    return [Number(ms), what, who];
  });
  return { settings, changes, ...(given.has('ms') && { ms: Number(given.get('ms')) }) };
}

function link(ms) {
  const words = new URLSearchParams({ ...asked.settings, ms });
  for (const change of asked.changes) words.append('change', change.join('~'));
  return `#${words}`;
}

const inside = id => frame?.contentDocument?.getElementById(id);
const moment = () => times[Number(inside('scrub')?.value ?? 0)];

// -- questions and answers

function ask(more) {
  if (!worker) { say(CAN_NOT, 'trouble'); tell({ error: CAN_NOT }); return; }
  since = performance.now();
  redraws = Boolean(more.redraws);
  open += 1;
  if (alive) document.body.setAttribute('aria-busy', 'true');
  else if (frame) tell({ error: WAITS });
  const question = questionOf(more);
  if (foreseen?.question === question) take(JSON.parse(foreseen.answer));
  else worker.postMessage(question);
}

const questionOf = more => JSON.stringify({ ...asked, ...more, width, first: !frame });

// What a lever does is asked while one points at it; it takes the run that stood ready, so another one is made ready.
function askAhead(more) {
  if (!alive || open || foreseen?.question === questionOf(more)) return;
  worker.postMessage({ ahead: questionOf(more) });
  prepare();
}

// A run of what is shown stands ready at its moment: a click goes on from there.
function prepare() {
  if (alive && !open) worker.postMessage({ follow: JSON.stringify({ ...asked, ms: moment() }) });
}

// Another layout is shown than the one that was asked for.
at('width').addEventListener('change', ({ target }) => {
  width = Number(target.value);
  redraw();
});

function redraw() {
  if (drawn && drawn !== width && !open) ask({ ms: moment(), redraws: true });
}

function take(answer) {
  open -= 1;
  if (ignored) { ignored -= 1; return; }
  if (open) return;  // something else has been asked since
  document.body.removeAttribute('aria-busy');
  if (answer.error) {
    if (frame) tell({ error: answer.error });
    say(answer.error);
    return;
  }
  lay(answer);
  if (frame) {
    const { layouts, texts } = answer.play;
    drawn = layouts.length === 1 ? layouts[0].width : 0;
    tell(redraws ? { layouts, texts, redrawn: true } : answer.play);
  } else put({ srcdoc: answer.page });
  redraw();
  const took = Math.round(performance.now() - since);
  say(`${answer.settings.seconds} virtual seconds took ${took} ms. Choose a member or a broker, at any moment.`);
}

// What stands around the picture.
function lay({ settings, changes, code, ...found }) {
  asked = { settings, changes };
  ({ times, watched } = found);
  for (const name in settings) at(name).value = settings[name];
  at('more').disabled = settings.seconds >= MOST_SECONDS;
  at('code').textContent = code.join('\n');
  const name = Object.keys(plays).find(each => JSON.stringify([plays[each].settings, plays[each].changes]) === JSON.stringify([settings, changes]));
  for (const each of document.querySelectorAll('.plays a')) {
    if (each.hash === `#play=${name}`) each.setAttribute('aria-current', 'true');
    else each.removeAttribute('aria-current');
  }
}

// Another picture has another page, which is not to play what was told to the one before.
function put(page) {
  document.querySelector('.minikafka-data').replaceChildren();
  drawn = 0;
  frame?.remove();
  frame = Object.assign(document.createElement('iframe'), { title: 'the cluster', ...page });
  frame.addEventListener('load', follow);
  at('stage').append(frame);
}

// What the player listens to: the text of an element beside it.
function tell(play) {
  const node = document.createElement('i');
  node.dataset.play = JSON.stringify({ ...play, turn: ++turn });
  document.querySelector('.minikafka-data').replaceChildren(node);
}

// -- what one watches: each number up to the moment that the picture shows

const WIDE = 100, TALL = 30;

function follow() {
  reached = '';
  const number = inside('number'), moved = () => { strip(); prepare(); };
  moved();
  if (number) new MutationObserver(moved).observe(number, { childList: true });
  if (number) new MutationObserver(reachSoon).observe(inside('drawing'), { attributeFilter: ['style', 'data-act'], childList: true, subtree: true });
  reach();
}

function strip() {
  const now = moment(), shown = watched.at.filter(ms => ms <= now), end = watched.at.at(-1);
  at('watched').replaceChildren(...Object.entries(watched.numbers).map(([name, values]) => tile(name, values, shown, end)));
}

function tile(name, values, shown, end) {
  const make = (tag, words) => Object.assign(document.createElement(tag), { textContent: words });
  const box = make('div', ''), most = Math.max(1, ...values), points = [];
  const high = value => TALL - TALL * value / most, far = ms => WIDE * ms / end;
  shown.forEach((ms, at) => {
    if (at) points.push(`${far(ms)},${high(values[at - 1])}`);
    points.push(`${far(ms)},${high(values[at])}`);
  });
  box.append(make('dt', name), make('dd', values[shown.length - 1] ?? '–'));
  box.lastChild.insertAdjacentHTML('beforeend', `<svg viewBox="0 0 ${WIDE} ${TALL}" preserveAspectRatio="none" aria-hidden="true"><line x1="0" x2="${WIDE}" y1="${TALL}" y2="${TALL}"/><polyline points="${points.join(' ')}"/></svg>`);
  return box;
}

// -- on a phone: the levers that the picture has now, and doesn't draw, by whom they are about

const ADDS = '+ member';
let whose = '', reached = '', waits = 0;  // whose levers are within reach, and all that is; what looks again with the next frame

function reachSoon() {
  waits ||= requestAnimationFrame(() => { waits = 0; reach(); });
}

function reach() {
  const levers = [...inside('drawing')?.querySelectorAll('[data-apart]') ?? []].filter(node => node.style.display !== 'none');
  const found = new Map();
  for (const lever of levers) {
    const [does, ...rest] = lever.dataset.act.split(' '), [who, from] = rest.join(' ').split(', ');
    found.set(who, [...found.get(who) ?? [], { act: lever.dataset.act, words: !who ? ADDS : from ? `${does} from ${from}` : does }]);
  }
  const names = [...found.keys()].filter(Boolean).sort();
  if (!names.includes(whose)) whose = names[0];
  const all = JSON.stringify([whose, levers.map(lever => lever.dataset.act)]);
  if (all === reached) return;
  reached = all;
  const choices = names.map(name => thumb(name, () => { whose = name; reach(); }, name === whose));
  const does = ({ act, words }) => thumb(words, () => pull(act));
  const rows = [[...choices, ...(found.get('') ?? []).map(does)], (found.get(whose) ?? []).map(does)];
  at('reach').hidden = !levers.length;
  at('reach').replaceChildren(...rows.map(buttons => {
    const row = document.createElement('p');
    row.append(...buttons);
    return row;
  }));
}

// What it does is seen from the picture's top.
function pull(act) {
  leverOf(act).dispatchEvent(new MouseEvent('click', { bubbles: true }));
  at('stage').scrollIntoView();
}

const leverOf = act => inside('drawing').querySelector(`[data-act="${CSS.escape(act)}"]`);

function thumb(words, does, pressed) {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: words });
  if (pressed !== undefined) button.setAttribute('aria-pressed', pressed);
  button.addEventListener('click', does);
  return button;
}

// -- what one does

function settle() {
  const settings = {};
  for (const name of NAMES) settings[name] = at(name).value;
  for (const name of NUMBERS) settings[name] = Number(at(name).value);
  if (settings.shows !== 'the group' && settings.brokers < 2) settings.brokers = MOST_BROKERS;
  const more = frame ? { ms: moment() } : {};
  if (settings.shows !== asked.settings.shows && worker) {
    frame?.remove();
    frame = null;
  }
  asked = { settings, changes: asked.changes };
  ask(more);
}

at('settings').addEventListener('change', settle);
at('settings').addEventListener('submit', event => event.preventDefault());

// The player writes here what was clicked on its stage, and what one points at.
const listen = (name, does) => document.querySelector(`.minikafka-${name} input`).addEventListener('change', ({ target }) => {
  const { act, at: at_ms } = JSON.parse(target.value);
  does({ act, at_ms });
});

listen('act', ask);
listen('point', askAhead);

at('more').addEventListener('click', () => {
  const ms = moment();
  asked.settings.seconds = Math.min(asked.settings.seconds + MORE_SECONDS, MOST_SECONDS);
  ask({ ms });
});

at('reset').addEventListener('click', () => {
  asked.changes = [];
  ask({});
});

at('link').addEventListener('click', async () => {
  history.replaceState(null, '', link(moment()));
  try {
    await navigator.clipboard.writeText(location.href);
    say('The link to this moment is copied: whoever opens it sees the same.');
  } catch {
    say('The link to this moment is in the address bar: whoever opens it sees the same.');
  }
});

function openLink() {
  const name = chosen();
  if (name) {
    ignored = open;  // what was asked of the run before
    document.body.removeAttribute('aria-busy');
    lay(plays[name]);
    put({ src: `plays/${name}.html` });
    return;
  }
  asked = fromLink();
  frame?.remove();
  frame = null;
  if (worker && !alive) say(LINKED);
  ask({});
}

addEventListener('hashchange', openLink);

// A play that one has changed begins anew, too, though the address is the same.
document.querySelector('.plays').addEventListener('click', ({ target }) => {
  if (target.closest('a')?.hash === location.hash) openLink();
});

// -- the beginning: the play that is asked for, and Python

function begin() {
  const name = chosen();
  if (name) lay(plays[name]);
  if (name === first) {
    frame.addEventListener('load', follow);
    if (frame.contentDocument?.readyState === 'complete') follow();
  } else if (name) put({ src: `plays/${name}.html` });
  if ('Suspending' in WebAssembly) python();
  else {
    say(CAN_NOT, 'trouble');
    at('controls').disabled = true;
  }
  if (name) return;
  asked = fromLink();
  frame.remove();
  frame = null;
  if (worker) { say(LINKED); ask({}); }
}

function python() {
  worker = new Worker('worker.js', { type: 'module' });
  worker.onmessage = ({ data }) => {
    if (data.ready) {
      alive = true;
      since = performance.now();  // loading is not the run's time
      prepare();
      say('Alive: choose a member or a broker, at any moment.', 'alive');
    } else if (data.answer) take(JSON.parse(data.answer));
    else if (data.foreseen) foreseen = data.foreseen;
    else if (data.failed) {
      open = Math.max(0, open - 1);
      say(`Python did not go on: ${data.failed.trim().split('\n').pop()}. Load the page again.`, 'trouble');
    }
  };
  worker.onerror = () => say('Python could not be loaded. Load the page again; from a file it can’t be, a web server must serve it.', 'trouble');
}

begin();
