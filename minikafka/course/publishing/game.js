// The game's page: the board is the map of all faults over the picture of one run (theatre/strip.js). It asks here, as it asks a
// kernel in a notebook, and Python in workers runs what is asked (fault_game.py). A search for every moment goes to several.
// A puzzle (game_levels.py) fixes the shop and the faults, and says what is to be lost.

const at = id => document.getElementById(id);
const SETTINGS = ['acks', 'lasts_ms', 'step_ms'], FIRST_MS = 4980, COLUMNS = 20, MOST_WORKERS = 4;
const frame = document.querySelector('#stage iframe');

let settings = { acks: '1', lasts_ms: 12000, step_ms: 5, first_ms: FIRST_MS, also: [] };
let map = null, chosen = null, solution = null, turn = 0, search = 0;
let puzzle = null, name = '', tries = [], isSolved = false;  // puzzle: null in free play. tries: how each ended, in a letter
const answers = new Map(), named = key => JSON.stringify([settings, key]);
const seen = new Set();  // the plans that this puzzle has counted

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
  if (map === null) say('Choose a cell.');
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
  answers.set(named(key), answer);
  tell({ ...found(key, answer.ended), ...answer.play, cell: key });
}

// The board shows the run of a cell that was chosen: the one that it asked for, or one that it had already.
function shown(key) {
  const answer = answers.get(named(key));
  if (!answer) return;
  chosen = key;
  tell(found(key, answer.ended));
  judge(answer);
}

const hear = () => frame.contentWindow.addEventListener('chosen', ({ detail }) => shown(detail));
frame.addEventListener('load', hear);
if (frame.contentDocument?.getElementById('strip')) hear();

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
    lost || settings.acks === '1' ? '' : WHY);
}

const WHY = ' Nor will any other with acks=all and a minimum of two in sync, whatever you pin: an order is acknowledged only when every'
  + ' replica that may lead next has it. To lose it, two machines have to lose their disks, or their power in the same second. That is'
  + ' what acks=all and a minimum of two in sync buy you, and the waiting is the price.';

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

function judge({ ended: [kind, , words], words: plan, plan: faults, window_ms: window, acknowledged, lost, code }) {
  solution = kind === 'lost' ? { faults, acks: settings.acks } : null;
  at('link').disabled = !solution;
  at('code').textContent = code.join('\n');
  const faultsSaid = plan.length === 1 ? '1 fault' : `${plan.length} faults`, all = plan.join('; ') || 'nothing goes wrong';
  const what = `${faultsSaid}, window ${window.toLocaleString('en')} ms: ${all}.`;
  const solves = kind === 'lost' && isAsked(faults, lost);
  count(faults, { lost: `${lost}`, waited: 'w' }[kind] ?? '.', solves);
  if (!solution) {
    say(bold(`Nothing is lost: ${words}.`), ` ${acknowledged} of 5 orders acknowledged. ${what}`, triedEnough() ? WHY : '');
    return;
  }
  const begin = solves ? 'Solved. ' : puzzle ? 'Not what this puzzle asks for. ' : '';
  say(bold(`${begin}${words[0].toUpperCase()}${words.slice(1)}: acknowledged, and gone.`), ` ${what}`);
}

const isAsked = (faults, lost) => Boolean(puzzle) && faults.length <= puzzle.faults && (puzzle.lost ?? lost) === lost;
const triedEnough = () => puzzle?.acks === 'all' && tries.length >= 5;

// A run that was seen before costs nothing.
function count(faults, letter, solves) {
  if (!puzzle || isSolved || seen.has(faults.join())) return;
  seen.add(faults.join());
  tries.push(letter);
  isSolved = solves;
  if (isSolved) document.querySelector(`.puzzles [data-name="${name}"]`).classList.add('solved');
  score();
}

function score() {
  const times = tries.length === 1 ? '1 try' : `${tries.length} tries`, par = puzzle?.par ? `, par ${puzzle.par}` : '';
  at('tries').textContent = puzzle ? `${times}${par}${tries.length ? `: ${tries.join(' ')}` : ''}` : '';
  at('result').hidden = !(isSolved || triedEnough());
  at('next').hidden = at('result').hidden || !(Number(name) < levels.length);
  at('every').hidden = Boolean(puzzle) && !triedEnough();
}

// -- the puzzles

const { levels, days } = JSON.parse(at('puzzles').textContent), DAY_MS = 86_400_000;
const today = new Date().toISOString().slice(0, 10);  // the same for everybody, wherever they are
const ofToday = () => days[Math.floor(Date.now() / DAY_MS) % days.length];
const find = which => (which === 'today' ? ofToday() : levels[Number(which) - 1] ?? null);
const FREE = 'Free play: any fault, any shop, and a link to what you find.';

function choose(which) {
  puzzle = find(which);
  name = puzzle ? which : 'free';
  tries = [];
  isSolved = false;
  solution = null;
  at('link').disabled = true;
  seen.clear();
  for (const button of document.querySelectorAll('.puzzles button')) button.setAttribute('aria-pressed', button.dataset.name === name);
  at('goal').textContent = puzzle?.goal ?? FREE;
  at('settings').hidden = Boolean(puzzle);
  const { acks, lasts_ms, also } = puzzle ?? { acks: '1', lasts_ms: 12000, also: [] };
  settings = { acks, lasts_ms, step_ms: 5, first_ms: FIRST_MS, also: [...also] };
  score();
}

async function start(which) {
  choose(which);
  await anew();
  say('Choose a cell.');
}

const chips = levels.map((_, number) => [`${number + 1}`, `${number + 1}`]);
for (const [which, words] of [...chips, ['today', 'today’s'], ['free', 'free play']]) {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: words });
  button.dataset.name = which;
  button.addEventListener('click', () => attempt(() => start(which)));
  document.querySelector('.puzzles').append(button);
}

at('next').addEventListener('click', () => attempt(() => start(`${Number(name) + 1}`)));
at('result').addEventListener('click', () => {
  const what = name === 'today' ? `the puzzle of ${today}` : `puzzle ${name}`, ended = isSolved ? 'solved' : 'nothing lost';
  const link = new URL(name === 'today' ? '#today' : `#level=${name}`, location.href);
  const text = `minikafka, ${what}: ${puzzle.goal}\n${ended}, ${at('tries').textContent}\n${link}`;
  copy(text, 'The result is copied: paste it wherever you like.');
});

async function copy(text, copied) {
  try {
    await navigator.clipboard.writeText(text);
    say(copied);
  } catch { say(text); }
}

// -- what one does

// The strip writes here what was clicked.
document.querySelector('.minikafka-act input').addEventListener('change', ({ target }) => {
  const [what, which] = JSON.parse(target.value).act.split(' ');
  attempt(async () => {
    if (what === 'cell') { await one(which); return; }
    const most = puzzle?.faults ?? Infinity, given = puzzle?.also.length ?? 0;
    if (what === 'pin' && settings.also.length + 2 > most) {
      throw new Error(`This puzzle takes ${most === 1 ? 'one fault' : `${most} faults`}.`);
    }
    if (what !== 'pin' && Number(which) < given) throw new Error('This fault is given: it stays.');
    if (what === 'pin') {
      const [row, column] = which.split('/').map(Number);
      settings.also.push((await ask('pin', { cell: [row, column] })).fault);
    } else settings.also.splice(Number(which), 1);
    await anew();
    say(settings.also.length ? 'Pinned: it happens in every run now. What does one more do?' : 'Choose a cell.');
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
at('again').addEventListener('click', () => attempt(() => start(name)));

// -- the link holds a whole solution; who opens it runs it

at('link').addEventListener('click', async () => {
  const words = new URLSearchParams({ acks: solution.acks });
  for (const fault of solution.faults) words.append('fault', fault);
  history.replaceState(null, '', `#${words}`);
  await copy(location.href, 'The link is copied, and in the address bar: it runs the same faults in any tab.');
});

async function fromLink() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.has('fault')) {
    if (given.has('today')) choose('today');
    else choose(given.get('level') ?? '1');
    if (name !== '1') await start(name);
    return;
  }
  choose('free');
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
