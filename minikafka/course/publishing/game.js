// The game's page: the board is the map of all faults over the picture of one run (theatre/strip.js). It asks here, as it asks a
// kernel in a notebook, and Python in workers runs what is asked (fault_game.py). A search for every moment goes to several.
// A puzzle (game_levels.py) fixes the shop and the faults, and says what is to be lost.

const at = id => document.getElementById(id);
const SETTINGS = ['acks', 'lasts_ms', 'step_ms'], FIRST_MS = 4980, COLUMNS = 20, MOST_WORKERS = 4, MOST_FAULTS = 4;
const A_PAUSE = 700;  // ms without another step: then the run begins
const AN_EDGE = 4;  // px
const FIRST = '0/0';  // the cell that the board marks before one is chosen
const frame = document.querySelector('#stage iframe'), still = matchMedia('(prefers-reduced-motion: reduce)');

let settings = { acks: '1', lasts_ms: 12000, step_ms: 5, first_ms: FIRST_MS, also: [], cuts: false };
let map = null, chosen = null, solution = null, turn = 0, search = 0, stepping = 0;
let puzzle = null, name = '', ran = [], isSolved = false;  // puzzle: null in free play. ran: its runs, each with its faults, and how it ended
const answers = new Map(), named = key => JSON.stringify([settings, key]);

function say(...words) {
  at('verdict').replaceChildren(...words);
  at('told').classList.remove('folded');
  at('more').hidden = true;
  at('copied').textContent = '';
}

// On a phone two lines of it stay, so that the board does; rest: what the button to the others is called.
function fold(rest) {
  const isFolded = at('told').classList.toggle('folded');
  at('more').textContent = isFolded ? rest : 'less';
  at('more').ariaExpanded = !isFolded;
  at('more').onclick = () => fold(rest);
}

function sayInShort(rest, ...words) {
  say(...words);
  fold(rest);
  at('more').hidden = at('verdict').scrollHeight <= at('verdict').clientHeight;
}

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
      if (data.ready) return;
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

// -- the map

// The board, with the end of the run that has only the faults of every run; words: what is said then.
async function anew(words) {
  const now = search += 1;
  clearTimeout(stepping);
  chosen = null;
  const found = await ask('map', { given: puzzle?.also.length ?? 0, draws: true });
  if (now !== search) return;
  map = found.strip;
  for (const { faults, cell, ended } of ran) {
    if (cell && faults.slice(0, -1).join() === settings.also.join()) look(cell, ended);
  }
  for (const each of SETTINGS) at(each).value = settings[each];
  tell(found);
  say(words);
  score();
}

// How the run of a cell ended.
function look(key, ended) {
  const [row, column] = key.split('/').map(Number);
  map.cells[row][column] = ended;
  return { ended: { [key]: ended } };
}

async function one(key) {
  if (map === null) {  // Python has just come
    await first();
    choosing(key);
  }
  const cell = key.split('/').map(Number), now = search;
  const answer = await ask('try', { cell, draws: true });
  if (now !== search) return;
  answers.set(named(key), answer);
  tell({ ...look(key, answer.ended), ...answer.play, cell: key });
  if (chosen === key) judge(answer);
}

// A cell was chosen whose run is here, or is asked for with the same click.
function choosing(key) {
  clearTimeout(stepping);
  chosen = key;
  score();
  bringUp();
  const answer = answers.get(named(key));
  if (!answer) { say('It runs …'); return; }
  tell(look(key, answer.ended));
  judge(answer);
}

// A finger is wider than a cell: these go along its row, and where one stops the run begins.
function step(by) {
  const [row, column] = (chosen ?? FIRST).split('/').map(Number), send = what => frame.contentWindow.dispatchEvent(new CustomEvent(what, { detail: chosen }));
  clearTimeout(stepping);
  chosen = `${row}/${column + by}`;
  score();
  say(`${map.faults[row]} at ${map.moments[column + by]}`);
  send('point');
  stepping = setTimeout(() => send('choose'), A_PAUSE);
}

// A finger is on its way along a row: a run begins where it lets go.
function pass(key) {
  const [row, column] = key.split('/').map(Number), answer = key === chosen && answers.get(named(key));
  if (answer) judge(answer);
  else if (map) say(`${map.faults[row]} at ${map.moments[column]}`);
}

at('earlier').addEventListener('click', () => step(-1));
at('later').addEventListener('click', () => step(1));

// On a phone the goal comes to the window's top, and the rules above it, unless all rows are in sight already; on a wide page as far as
// the picture below the board needs it.
function bringUp() {
  const [now, told, { top, bottom }] = [at('goal'), at('told'), frame].map(node => node.getBoundingClientRect());
  const rows = frame.contentDocument.querySelector('#strip .map').getBoundingClientRect(), covered = top + rows.bottom - told.top;
  const isPhone = getComputedStyle(at('told')).position === 'fixed', behavior = still.matches ? 'auto' : 'smooth';
  if (!isPhone) scrollBy({ top: Math.max(0, Math.min(now.top - AN_EDGE, bottom - innerHeight)), behavior });
  else if (top + rows.top < 0 || covered > 0) scrollBy({ top: Math.min(Math.max(now.top, covered + AN_EDGE), top + rows.top), behavior });
}

function hear() {
  frame.contentWindow.addEventListener('chosen', ({ detail }) => choosing(detail));
  frame.contentWindow.addEventListener('passed', ({ detail }) => pass(detail));
}

frame.addEventListener('load', hear);
if (frame.contentDocument?.getElementById('strip')) hear();

// From coarse to fine, and what lies between two that ended alike is taken to end so; in the last puzzle, where nothing is to be
// believed, every cell runs.
async function every() {
  if (map === null) await first();
  const now = ++search, known = [], began = performance.now();
  const many = Math.max(2, Math.min(MOST_WORKERS, navigator.hardwareConcurrency - 1));
  while (runners.length < many) runners.push(new Runner());
  const run = async ([row, column]) => {
    if (now !== search) return;
    const answer = await ask('try', { cell: [row, column] });
    if (now !== search) return;
    known.push([row, column, answer.ended[0], answer.ended[2]]);
    tell(look(`${row}/${column}`, answer.ended));
    say(`${known.length} runs so far, in ${runners.length} workers …`);
  };
  at('every').disabled = true;
  try {
    for (;;) {
      const cells = puzzle ? untried(known) : (await ask('next', { known })).cells;
      if (!cells.length || now !== search) break;
      // each worker takes the next one when it is free: a cell that is chosen meanwhile does not wait for all of them
      await Promise.all(runners.map(async () => { while (cells.length) await run(cells.shift()); }));
    }
  } finally { at('every').disabled = false; }
  if (now !== search) return;
  if (!puzzle) guess();
  const lost = known.filter(([, , kind]) => kind === 'lost').length, took = ((performance.now() - began) / 1000).toFixed(0);
  const runs = `${known.length} runs in ${took} s.`;
  if (isHopeless()) { understand(`${lost ? '' : 'No run lost an order. '}${runs}`); return; }
  say(bold(lost ? 'There are moments at which an order gets lost: choose one.' : 'No run lost an order.'), ` ${runs}`);
}

const untried = known => (known.length ? [] : map.faults.flatMap((_, row) => map.moments.map((_, column) => [row, column])));

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

// The squares have the colours of the board.
const SIGNS = { nothing: '⬜', waited: '🟦', nobody: '🟪', lost: '🟧' };
const MEANS = { nothing: 'no harm', waited: 'the shop waited', nobody: 'nobody leads', lost: 'orders lost' };
const WHY = 'You can’t win this one, and that is the point. With acks=all Kafka says “done” when every broker in the ISR has the order: here all'
  + ' three, and never fewer than two. Only a broker that has it may lead next. To lose it, all of them would have to lose their disks, or their'
  + ' power before it is written to disk. Or you allow a broker that missed it to lead: unclean.leader.election.enable=true. The waiting is the'
  + ' price.';

function judge({ ended, plan, said, why, lost, code }) {
  const isLost = ended[0] === 'lost', solves = isLost && isAsked(plan, lost);
  solution = isLost ? { faults: plan, acks: settings.acks } : null;
  at('link').disabled = !solution;
  at('code').textContent = code.join('\n');
  count({ faults: plan, cell: chosen, ended, lost, solves });
  if (isHopeless() && hasTriedEnough()) { understand(`${said} ${why}`); return; }
  const begin = solves ? 'Solved. ' : isLost && puzzle && isFull(plan) ? 'Not what this puzzle asks for. ' : '';
  const helps = hint();
  sayInShort(helps ? 'hint' : 'why', bold(begin + said), ` ${why} `, helps);
}

const isHopeless = () => puzzle?.acks === 'all';
const isFull = faults => faults.length === puzzle.faults;
const isAsked = (faults, lost) => Boolean(puzzle) && faults.length <= puzzle.faults && (!puzzle.lost || puzzle.lost.join() === lost.join());

// With fewer faults than the puzzle takes, a run is no try: it is there to see what they do. In the one that can't be won every run is.
const tries = () => ran.filter(({ faults, solves }) => solves || isHopeless() || isFull(faults));
const ENOUGH = 5, hasTwo = () => ran.some(({ faults }) => faults.length > 1);
const hasTriedEnough = () => isSolved || (tries().length >= ENOUGH && hasTwo());

function hint() {
  if (!puzzle || isSolved) return '';
  if (isHopeless()) return tries().length >= ENOUGH - 1 && !hasTwo() ? 'A hint: try two faults. Keep one, then choose another.' : '';
  return puzzle.hint && tries().length >= Math.max(2, puzzle.par) ? `A hint: ${puzzle.hint}` : '';
}

// The puzzle that can't be won is done when that is understood.
function understand(words) {
  solved();
  say(`${words} `, Object.assign(document.createElement('p'), { textContent: WHY }));
}

function solved() {
  if (!isSolved) {
    isSolved = true;
    keep();
  }
  score();
}

// A run that was seen before costs nothing.
function count(run) {
  if (!puzzle || isSolved || ran.some(({ faults }) => faults.join() === run.faults.join())) return;
  ran.push(run);
  if (run.solves) solved();
  score();
}

// As the board shows them, and in words that can be pasted.
const chips = () => tries().map(({ ended: [kind, sign], solves }) => Object.assign(document.createElement('i'), {
  className: `${kind} ${solves ? 'solves' : ''}`, title: MEANS[kind], textContent: sign.replace('.', '·'),
}));
const signs = () => tries().map(({ ended: [kind] }) => SIGNS[kind] ?? '⬛').join('');
const soFar = () => (tries().length === 1 ? '1 try' : `${tries().length} tries`), good = () => (puzzle.par ? ` (${puzzle.par} is good)` : '');
const times = () => soFar() + good();

// One more fault in every run is possible as long as the puzzle takes another one after it.
const canKeep = () => chosen !== null && (!isSolved || isHopeless()) && settings.also.length + 1 < (puzzle?.faults ?? MOST_FAULTS);

function score() {
  at('tries').replaceChildren(...(puzzle ? [soFar(), Object.assign(document.createElement('span'), { textContent: good() }), ' ', ...chips()] : []));
  const next = isSolved && Number(name) < levels.length;
  // room is kept for what may come, so that nothing moves then (not on a phone)
  for (const [id, isOfThis, isThere] of [['keep', !next, canKeep()], ['next', next, true], ['result', Boolean(puzzle), isSolved],
    ['every', !puzzle || isHopeless(), !puzzle || hasTriedEnough()]]) {
    at(id).hidden = !isOfThis;
    at(id).classList.toggle('waits', !isThere);
  }
  const column = Number((chosen ?? FIRST).split('/')[1]);
  for (const [id, end] of [['earlier', 0], ['later', COLUMNS - 1]]) {
    at(id).hidden = map === null || isSolved;
    at(id).disabled = column === end;
  }
  at('told').classList.toggle('brief', chosen === null && !document.querySelector('#acts button:not([hidden], .waits, .step)'));
}

// -- the puzzles

const { levels, days } = JSON.parse(at('puzzles').textContent), DAY_MS = 86_400_000;
const today = new Date().toISOString().slice(0, 10);  // the same for everybody, wherever they are
const ofToday = () => days[Math.floor(Date.now() / DAY_MS) % days.length];
const find = which => (which === 'today' ? ofToday() : levels[Number(which) - 1] ?? null);
const SPARE = 120;  // px of the puzzles before the chosen one, on a phone
const FREE = 'Free play: any fault, any shop, and a link to what you find.', CHOOSE = 'Choose a cell.';

function choose(which, isAgain = false) {
  puzzle = find(which);
  name = puzzle ? which : 'free';
  const before = isAgain ? undefined : kept[keptAs()];
  ran = before?.ran ?? [];
  isSolved = Boolean(before);
  chosen = solution = null;
  at('link').disabled = true;
  for (const button of document.querySelectorAll('.puzzles button')) button.setAttribute('aria-pressed', button.dataset.name === name);
  document.querySelector('.puzzles').scrollLeft = document.querySelector('.puzzles [aria-pressed=true]').offsetLeft - SPARE;
  at('goal').textContent = puzzle?.goal ?? FREE;
  at('now').classList.toggle('hopeless', isHopeless());
  at('settings').hidden = Boolean(puzzle);
  const { acks, lasts_ms, also, cuts } = puzzle ?? { acks: '1', lasts_ms: 12000, also: [], cuts: false };
  settings = { acks, lasts_ms, step_ms: 5, first_ms: FIRST_MS, also: [...(before?.also ?? also)], cuts };
  score();
}

const linkTo = which => (Number(which) ? `#level=${which}` : `#${which}`);

async function start(which, isAgain = false) {
  choose(which, isAgain);
  history.replaceState(null, '', linkTo(name));
  await first();
}

const first = () => anew(isSolved ? `Solved: ${times()}. “Start again” clears the board.` : CHOOSE);

for (const [which, words] of [...levels.map((_, number) => [`${number + 1}`, `${number + 1}`]), ['today', 'today’s'], ['free', 'free play']]) {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: words });
  button.dataset.name = which;
  button.addEventListener('click', () => attempt(() => start(which)));
  document.querySelector('.puzzles').append(button);
}

// -- what stays in this browser: of every puzzle that was solved, its runs. Where that is refused, they stay as long as the page.

const KEPT = 'minikafka.puzzles';
const kept = (() => { try { return JSON.parse(localStorage.getItem(KEPT)) ?? {}; } catch { return {}; } })();
const keptAs = (which = name) => (which === 'today' ? today : which);

// The best one stays.
function keep() {
  const now = { ran, also: [...settings.also], tries: tries().length };
  if (now.tries <= (kept[keptAs()]?.tries ?? Infinity)) kept[keptAs()] = now;
  try { localStorage.setItem(KEPT, JSON.stringify(kept)); } catch { /* it may be refused */ }
  tick();
}

function tick() {
  for (const button of document.querySelectorAll('.puzzles button')) {
    const best = kept[keptAs(button.dataset.name)]?.tries;
    button.classList.toggle('solved', best !== undefined);
    button.title = best === undefined ? '' : `solved; tries: ${best}`;
  }
}

tick();

at('next').addEventListener('click', () => attempt(() => start(`${Number(name) + 1}`)));
at('result').addEventListener('click', () => {
  const used = Object.keys(SIGNS).filter(kind => tries().some(({ ended }) => ended[0] === kind));
  const lost = tries().at(-1).lost, words = lost.length ? `Lost: ${lost.length === 1 ? 'order' : 'orders'} ${lost.join(', ')}` : 'Nothing lost';
  copy([`Lose an acknowledged order, ${name === 'today' ? today : `level ${name}`}: ${times()}`, `${signs()} ${words}`,
    used.map(kind => `${SIGNS[kind]} ${MEANS[kind]}`).join(', '), puzzle.goal, new URL(linkTo(name), location.href)].join('\n'), 'Copied: paste it wherever you like.');
});

async function copy(text, copied) {
  try {
    await navigator.clipboard.writeText(text);
    at('copied').textContent = copied;
  } catch { at('copied').textContent = text; }
}

// -- what one does

// The strip writes here what was clicked.
document.querySelector('.minikafka-act input').addEventListener('change', ({ target }) => {
  const [what, which] = JSON.parse(target.value).act.split(' ');
  attempt(async () => {
    if (what === 'cell') { await one(which); return; }
    settings.also.splice(Number(which), 1);
    await withFaults();
  });
});

at('keep').addEventListener('click', () => attempt(async () => {
  const { fault } = await ask('pin', { cell: chosen.split('/').map(Number) });
  settings.also.push(fault);
  await withFaults();
}));

const withFaults = () => anew(settings.also.length > (puzzle?.also.length ?? 0) ? 'Kept: this fault strikes in every run now. Choose one more.' : CHOOSE);

async function attempt(does) {
  try { await does(); } catch (error) {
    say(error.message);
    tell({ error: error.message });
  }
}

at('settings').addEventListener('submit', event => event.preventDefault());
at('settings').addEventListener('change', () => {
  const step = Number(at('step_ms').value);
  let first_ms = FIRST_MS;
  if (step === 1) {
    const column = chosen ? Number(chosen.split('/')[1]) : 4;
    first_ms = settings.first_ms + column * settings.step_ms - COLUMNS / 2;
    if (settings.step_ms === 1) first_ms = settings.first_ms;
  }
  settings = { ...settings, acks: at('acks').value, lasts_ms: Number(at('lasts_ms').value), step_ms: step, first_ms };
  attempt(first);
});
at('every').addEventListener('click', () => attempt(every));
at('again').addEventListener('click', () => attempt(() => start(name, true)));

// On a phone what is said stays at the edge of the window, and the page ends above it.
new ResizeObserver(([{ target }]) => {
  document.body.style.paddingBottom = getComputedStyle(target).position === 'fixed' ? `${target.offsetHeight}px` : '';
}).observe(at('told'));

// -- the link holds a whole solution; who opens it runs it

at('link').addEventListener('click', async () => {
  const words = new URLSearchParams({ acks: solution.acks });
  for (const fault of solution.faults) words.append('fault', fault);
  history.replaceState(null, '', `#${words}`);
  await copy(location.href, 'Copied, and in the address bar: it runs the same faults in any tab.');
});

async function fromLink() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.has('fault')) {
    if (['today', 'free'].some(each => given.has(each))) choose(given.has('today') ? 'today' : 'free');
    else choose(given.get('level') ?? '1');
    await first();
    return;
  }
  choose('free');
  settings = { ...settings, acks: given.get('acks') ?? '1', also: given.getAll('fault') };
  await anew('The solution of this link runs …');
  const answer = await ask('try', { draws: true });
  tell({ ...answer.play });
  judge(answer);
  at('verdict').append(' This tab ran it again, with the same result.');
}

addEventListener('hashchange', () => attempt(fromLink));
attempt(fromLink);
