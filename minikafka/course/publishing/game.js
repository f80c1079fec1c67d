// The game's page: the map of all faults stands over the picture of one run (theatre/strip.js), and asks here, as it asks a
// kernel in a notebook; Python in workers runs what is asked (fault_game.py). A search for every moment goes to several.

const at = id => document.getElementById(id);
const SETTINGS = ['acks', 'lasts_ms', 'step_ms'], FIRST_MS = 4980, COLUMNS = 20, MOST_WORKERS = 4;
const frame = document.querySelector('#stage iframe');

let settings = { acks: '1', lasts_ms: 12000, step_ms: 5, first_ms: FIRST_MS, also: [] };
let map = null, chosen = null, solution = null, turn = 0, search = 0;
const best = {}, safe = new Set();  // safe: the plans that lost nothing with acks=all

const say = (...words) => at('verdict').replaceChildren(...words);
const bold = words => Object.assign(document.createElement('b'), { textContent: words });

// What the player listens to: the text of an element beside it.
function tell(news) {
  const node = document.createElement('i');
  node.dataset.play = JSON.stringify({ ...news, turn: ++turn });
  document.querySelector('.minikafka-data').replaceChildren(node);
}

// -- workers: each does one thing after the other; the first is there from the beginning, the others where a search pays for them

class Runner {
  constructor() {
    this.open = [];
    this.worker = new Worker('worker.js?answers=fault_game', { type: 'module' });
    this.worker.onmessage = ({ data }) => {
      if (data.ready) { ready(); return; }
      const { done, fails } = this.open.shift() ?? {};
      if (!done) { say(`Python did not begin: ${data.failed}`); return; }
      const found = data.answer ? JSON.parse(data.answer) : { error: data.failed.trim().split('\n').pop() };
      if (found.error) fails(new Error(found.error));
      else done(found);
    };
    this.worker.onerror = () => say('Python could not be loaded. Load the page again; from a file it can’t be, a web server must serve it.');
  }

  ask(question) {
    return new Promise((done, fails) => {
      this.open.push({ done, fails });
      this.worker.postMessage(JSON.stringify(question));
    });
  }
}

const runners = [new Runner()];
const least = () => runners.reduce((one, other) => (other.open.length < one.open.length ? other : one));
const ask = (what, more = {}) => least().ask({ do: what, settings, ...more });

function ready() {
  if (!at('every').disabled) return;
  at('every').disabled = false;
  if (map === null) say('Choose a cell, or try every moment.');
}

// -- the map

async function anew() {
  search += 1;
  chosen = null;
  map = (await ask('map')).strip;
  for (const name of SETTINGS) at(name).value = settings[name];
  tell({ strip: map });
}

function found(key, ended) {
  const [row, column] = key.split('/').map(Number);
  map.cells[row][column] = ended;
  return { ended: { [key]: ended } };
}

async function one(key) {
  if (map === null) await anew();
  say('It runs …');
  const cell = key.split('/').map(Number), now = search;
  const answer = await ask('try', { cell, draws: true });
  if (now !== search) return;
  chosen = key;
  tell({ ...found(key, answer.ended), ...answer.play, cell: key });
  judge(answer);
}

// From coarse to fine, and what lies between two that ended alike is taken to end so.
async function every() {
  if (map === null) await anew();
  const now = ++search, known = [], began = performance.now();
  const many = Math.max(2, Math.min(MOST_WORKERS, navigator.hardwareConcurrency - 1));
  while (runners.length < many) runners.push(new Runner());
  const run = async ([row, column]) => {
    if (now !== search) return;
    const answer = await ask('try', { cell: [row, column] });
    if (now !== search) return;
    known.push([row, column, answer.ended[0], answer.ended[2]]);
    if (settings.acks === 'all') note(answer);
    tell(found(`${row}/${column}`, answer.ended));
    say(`${known.length} runs so far, in ${runners.length} workers …`);
  };
  at('every').disabled = true;
  try {
    for (;;) {
      const { cells } = await ask('next', { known });
      if (!cells.length || now !== search) break;
      // each worker takes the next one when it is free: a cell that is chosen meanwhile does not wait for all of them
      await Promise.all(runners.map(async () => { while (cells.length) await run(cells.shift()); }));
    }
  } finally { at('every').disabled = false; }
  if (now !== search) return;
  guess();
  const lost = known.filter(([, , kind]) => kind === 'lost').length, took = ((performance.now() - began) / 1000).toFixed(0);
  say(bold(lost ? 'There are moments at which an order gets lost: choose one.' : 'No run lost an order.'), ` ${known.length} runs in ${took} s.`,
    lost || settings.acks === '1' ? '' : ' With acks=all the map stays so, whatever you pin: what was acknowledged is on every replica that may lead next. The waiting is its price.');
}

// Cells between two that were run.
function guess() {
  const ended = {};
  map.cells.forEach((cells, row) => cells.forEach((cell, column) => {
    if (cell || !cells[column - 1]) return;
    cells[column] = [...cells[column - 1].slice(0, 3), false];
    ended[`${row}/${column}`] = cells[column];
  }));
  tell({ ended });
}

// -- the verdict

function judge({ ended: [kind, , words], words: plan, plan: faults, window_ms: window, acknowledged, code }) {
  solution = kind === 'lost' ? { faults, acks: settings.acks } : null;
  at('link').disabled = !solution;
  at('code').textContent = code.join('\n');
  const what = `${plan.length === 1 ? '1 fault' : `${plan.length} faults`}, window ${window.toLocaleString('en')} ms: ${plan.join('; ') || 'nothing goes wrong'}.`;
  note({ ended: [kind], plan: faults, window_ms: window });
  if (!solution) { say(bold(`Nothing is lost: ${words}.`), ` ${acknowledged} of 5 orders acknowledged. ${what}`); return; }
  say(bold(`${words[0].toUpperCase()}${words.slice(1)}: acknowledged, and gone.`), ` ${what}`);
}

// What the levels say: the best so far, and with acks=all how much was tried.
function note({ ended: [kind], plan, window_ms: window }) {
  if (kind === 'lost') {
    best.faults = Math.min(plan.length, best.faults ?? plan.length);
    best.window = Math.min(window, best.window ?? window);
    at('fewest').textContent = best.faults === 1 ? 'your best: 1 fault' : `your best: ${best.faults} faults`;
    at('smallest').textContent = `your best: ${best.window.toLocaleString('en')} ms`;
  } else if (settings.acks === 'all') {
    safe.add(plan.join());
    at('all').textContent = safe.size === 1 ? '1 run, nothing lost' : `${safe.size} runs, nothing lost`;
  }
}

// -- what one does

// The strip writes here what was clicked.
document.querySelector('.minikafka-act input').addEventListener('change', ({ target }) => {
  const [what, which] = JSON.parse(target.value).act.split(' ');
  attempt(async () => {
    if (what === 'cell') { await one(which); return; }
    if (what === 'pin') {
      const [row, column] = which.split('/').map(Number);
      settings.also.push((await ask('pin', { cell: [row, column] })).fault);
    } else settings.also.splice(Number(which), 1);
    await anew();
    say(settings.also.length ? 'Pinned: it happens in every run now. What does one more do?' : 'Choose a cell, or try every moment.');
  });
});

async function attempt(does) {
  try { await does(); } catch (error) {
    say(error.message);
    tell({ error: error.message });
  }
}

at('settings').addEventListener('submit', event => event.preventDefault());
at('settings').addEventListener('change', () => {
  const step = Number(at('step_ms').value);
  let first = FIRST_MS;
  if (step === 1) {
    const column = chosen ? Number(chosen.split('/')[1]) : 4;
    first = settings.first_ms + column * settings.step_ms - COLUMNS / 2;
    if (settings.step_ms === 1) first = settings.first_ms;
  }
  settings = { ...settings, acks: at('acks').value, lasts_ms: Number(at('lasts_ms').value), step_ms: step, first_ms: first };
  attempt(anew);
});
at('every').addEventListener('click', () => attempt(every));
at('again').addEventListener('click', () => {
  settings.also = [];
  attempt(anew);
});

// -- the link holds a whole solution; who opens it runs it

at('link').addEventListener('click', async () => {
  const words = new URLSearchParams({ acks: solution.acks });
  for (const fault of solution.faults) words.append('fault', fault);
  history.replaceState(null, '', `#${words}`);
  try {
    await navigator.clipboard.writeText(location.href);
    say('The link is copied: whoever opens it runs the same faults in their own tab.');
  } catch {
    say('The link is in the address bar: whoever opens it runs the same faults in their own tab.');
  }
});

async function fromLink() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.has('fault')) return;
  settings = { ...settings, acks: given.get('acks') ?? '1', also: given.getAll('fault') };
  say('The solution of this link runs, as soon as Python is there …');
  await anew();
  const answer = await ask('try', { draws: true });
  tell({ ...answer.play });
  judge(answer);
  at('verdict').append(answer.ended[0] === 'lost' ? ' It ran in this tab just now: the link is right.' : ' It ran in this tab just now.');
}

addEventListener('hashchange', () => attempt(fromLink));
attempt(fromLink);
