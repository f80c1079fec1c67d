// The player: which step is shown, playing, hovering, the table, keys. page.py puts the scripts together, this one first:
// stage.js draws, asking.js asks and offers choices, drag.js lets an answer be dragged, hands.js and carry.js change a live run, strip.js
// shows one of many, notebook.js speaks with the page around and with the kernel.

const at = id => document.getElementById(id);
const make = (tag, properties, ...inside) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...inside);
  return node;
};
// ms for what is on its way, at speed 1, and of a look before a page plays by itself. How long steps stay, the page says (pace.py).
const MOTION = 320, A_LOOK = 600;
const data = JSON.parse(at('play').textContent);
const still = matchMedia('(prefers-reduced-motion: reduce)');

let play, steps, last, prediction, verdict, outcome, bold, released, yours;
let cursor = 0, furthest = 0, ended = false, playing = null, marked = [];
const limit = () => (released ? last : Math.min(prediction.stop, last));
const speed = () => Number(at('speed').value);

function load(given) {
  play = given;
  steps = [];
  for (const step of play.steps) steps.push({ ...steps.at(-1), ...step });
  last = steps.length - 1;
  layouts = play.layouts.map(decode);
  prediction = play.prediction;
  verdict = prediction ? prediction.verdict : '';
  outcome = { true: 'right', false: 'wrong' }[prediction?.right] ?? '';
  bold = prediction?.answer ? `(${prediction.answer}) ${prediction.options[prediction.answer - 1]}` : '';
  released = !prediction || !prediction.asks;
  yours = prediction?.said ? `You said ${prediction.said}.` : '';
  at('rows').querySelector('tbody').replaceChildren();
  at('bar').hidden = last === 0;
  at('scrub').max = last;
  at('title').textContent = play.title;
  at('corner').textContent = play.corner;
}

// -- one step

function show(step, moving) {
  const before = cursor;
  cursor = Math.max(0, Math.min(limit(), step));
  furthest = Math.max(furthest, cursor);
  const justEnded = cursor === last && !ended;
  if (cursor === last) ended = true;
  const scene = steps[cursor];
  at('said').classList.remove('note');
  const { scenario, sentence, time, number, of } = scene;
  for (const [id, words] of Object.entries({ scenario, sentence, time, when: time, number: `${number} of ${of}` })) at(id).textContent = words;
  if (!playing) tempo(cursor - 1, true);
  atLength();
  at('scrub').value = cursor;
  at('scrub').setAttribute('aria-valuetext', `event ${number} of ${of}, ${time}`);
  at('drawing').setAttribute('aria-label', `${sentence} ${scene.summary}.`);
  at('back').disabled = at('start').disabled = cursor === 0;
  at('on').disabled = at('chapter').disabled = cursor === last;
  unmark();
  draw(cursor, moving && !still.matches);
  if (justEnded || before !== cursor) ticks();
  rows();
  bringUp(ask());
  if (justEnded && data.strip) strip.goesOn();
  if (cursor !== before || last === 0) at('keys').hidden = at('help').getAttribute('aria-pressed') !== 'true';
}

function ticks() {
  const mark = (step, title, className = '') => {
    const tick = make('i', { title, className });
    tick.style.left = `${(100 * step) / Math.max(1, last)}%`;
    return tick;
  };
  const chapters = steps.map((scene, step) => scene.chapter && (ended || step <= furthest) && mark(step, scene.chapter));
  const flags = (play.flags || []).map(({ step, words, act = '' }) => {
    const flag = mark(step, words, 'flag');
    if (act) flag.dataset.act = act;
    return flag;
  });
  at('ticks').replaceChildren(...chapters.filter(Boolean), ...flags);
}

// A play from one of its steps on: nothing of the one before stays.
function anew(step) {
  cursor = furthest = drawn = step;
  ended = false;
  layout = null;
  setUpPrediction();
  resize();
  show(cursor, false);
  ticks();
}

// -- playing

const go = step => { pause(); show(step, true); };

function nextChapter() {
  const next = steps.findIndex((scene, step) => step > cursor && scene.chapter);
  go(next < 0 ? last : next);
}

function pause() {
  clearTimeout(playing);
  playing = null;
  if (drawn !== cursor || flowing) draw(cursor, false);
  tempo(cursor - 1, true);
  at('time').textContent = steps[cursor].time;
  button();
}

function turn() {
  if (cursor >= limit()) { pause(); return; }
  playing = playing || true;
  if (flows()) {
    draw(cursor + 1, true, true);
    tempo(cursor);
    playing = setTimeout(arrive, steps[cursor].passes / speed());
  } else arrive();
  button();
}

function arrive() {
  show(cursor + 1, true);
  tempo(cursor);
  playing = setTimeout(turn, until(cursor));
}

// Time passes first; then comes what happened.
const flows = () => play.flows && !still.matches;

// How long a step stays while it plays.
function until(step) {
  const { rests, passes } = steps[step];
  return (rests + (flows() ? 0 : passes)) / speed();
}

// Silence is played fast, and a burst in slow motion: the axis keeps their lengths, and how fast time runs to the next step is said. Whoever
// steps is told the same of the way to this one, and how long it was.
function tempo(step, arrived = false) {
  const { at: now, rests, passes } = steps[step] ?? {}, gap = (steps[step + 1]?.at ?? now) - now;
  const times = gap / Math.max(1, rests + passes), runs = times > 1.5 ? `${Math.round(times)}× time` : times < 0.5 && 'slow motion';
  if (!play.flows || !steps[step] || step >= last || !runs) { at('corner').textContent = play.corner; return; }
  const spare = words => make('span', { className: 'spare', textContent: words });
  at('corner').replaceChildren(...[play.corner && spare(`${play.corner} · `), runs, arrived && spare(` · ${lasted(gap)}`)].filter(Boolean));
}

function lasted(ms) {
  if (ms === 0) return 'at the same moment';
  if (ms < 1000) return `${ms} ms later`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s later` : `${Math.round(ms / 60_000)} min later`;
}

// While time passes the clock runs, in the words of its step (clock.py); thousandths only as long as they tell it from that.
function clock(part) {
  const { at: now, time } = steps[cursor], ms = now + ((steps[cursor + 1]?.at ?? now) - now) * part;
  const second = Math.floor(ms / 1000), thousandths = second === Math.floor(now / 1000) ? `.${String(Math.floor(ms % 1000)).padStart(3, '0')}` : '';
  const two = number => String(Math.floor(number)).padStart(2, '0'), places = /\.(\d+) s$/.exec(time);
  const running = `${two((ms / 3_600_000) % 24)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}`;
  const words = time.replace(/\d\d:\d\d(:\d\d)?(\.\d+)?/, (_, seconds, exact) => running.slice(0, seconds ? 8 : 5) + (exact ? thousandths : ''));
  at('time').textContent = places ? `${(ms / 1000).toFixed(places[1].length)} s` : words.replace(/^day \d+/, `day ${Math.floor(ms / 86_400_000)}`);
}

function toggle() {
  if (playing) { pause(); return; }
  if (cursor === last) show(0, false);
  turn();
}

function button() {
  at('go').querySelector('span').textContent = playing ? 'pause' : 'play';
  at('go').querySelector('path').setAttribute('d', playing ? 'M4,2h3v12h-3zM10,2h3v12h-3z' : 'M4,2v12l9,-6z');
}

// Alive on arrival: as soon as a third of the stage is in sight it plays, up to the question, unless somebody was faster. Whoever
// wants no motion finds it there already; and a link to a moment shows that moment.
function arriveInSight() {
  if (still.matches || cursor >= limit()) return;
  const heard = new AbortController(), [opened, options] = [cursor, { signal: heard.signal, capture: true }];
  const sight = new IntersectionObserver(([{ isIntersecting }]) => {
    if (isIntersecting) waits = setTimeout(() => { leave(); if (cursor === opened && !playing) turn(); }, A_LOOK);
    else clearTimeout(waits);
  }, { threshold: 0.3 });
  const leave = () => { heard.abort(); sight.disconnect(); clearTimeout(waits); };
  let waits;
  for (const touch of ['pointerdown', 'keydown', 'input']) document.addEventListener(touch, leave, options);
  sight.observe(at('stage'));
}

// -- hovering: an effect, and its cause

function unmark() {
  marked.forEach(node => node.classList.remove('cause'));
  marked = [];
  at('foot').textContent = steps[cursor].foot;
}

function explain(step, tip, same) {
  unmark();
  const because = step === undefined ? null : steps[step].because;
  if (!tip && step !== undefined && step !== cursor) tip = `${steps[step].time} ${steps[step].sentence}`;
  const cause = because === null ? '' : `because of event ${steps[because].number}, ${steps[because].time}: ${steps[because].sentence}`;
  at('foot').textContent = [tip, cause].filter(Boolean).join(' · ') || steps[cursor].foot;
  for (const { node, shape } of elements) {
    if (shape && (shape.of === because || (same && shape.same === same)) && node.style.display !== 'none') marked.push(boxOf(node));
  }
  marked.forEach(node => node.classList.add('cause'));
}

at('drawing').addEventListener('mouseover', event => {
  const shape = event.target.dataset.shape && elements[event.target.dataset.shape].shape;
  if (shape && (shape.tip || shape.of !== undefined)) explain(shape.of, shape.tip, shape.same);
  else unmark();
});
at('drawing').addEventListener('mouseleave', unmark);
at('said').addEventListener('mouseenter', () => explain(cursor, ''));
at('said').addEventListener('mouseleave', unmark);

// -- the table: rows up to where the learner has been

function rows() {
  if (at('rows').hidden) return;
  const box = at('rows'), body = box.querySelector('tbody'), upTo = ended ? last : furthest;
  for (let step = body.rows.length; step <= upTo; step++) {
    const { number, time, node, sentence } = steps[step], row = body.insertRow();
    row.insertCell().append(make('button', { type: 'button', textContent: number, ariaLabel: `go to event ${number}`, onclick: () => go(step) }));
    for (const words of [time, node, sentence]) row.insertCell().textContent = words;
  }
  [...body.rows].forEach((row, step) => row.toggleAttribute('aria-current', step === cursor));
  const { offsetTop, offsetHeight } = body.rows[cursor];
  if (offsetTop < box.scrollTop + 30) box.scrollTop = offsetTop - 30;
  else box.scrollTop = Math.max(box.scrollTop, offsetTop + offsetHeight - box.clientHeight);
}

function table() {
  const open = at('rows').hidden;
  if (open) {
    draw(cursor, false);
    at('rows').style.height = `${layout.height + 4}px`;
  }
  at('rows').hidden = !open;
  at('stage').hidden = open;
  at('text').setAttribute('aria-pressed', open);
  if (open) rows();
  else resize();
}

function help() {
  const open = at('help').getAttribute('aria-pressed') !== 'true';
  at('help').setAttribute('aria-pressed', open);
  at('keys').hidden = !open;
  fitFrame();
}

// -- buttons and keys: those that a focused control uses itself stay its own; a digit answers the question

const CONTROLS = {
  start: ['Home', () => go(0)], back: ['ArrowLeft', () => go(cursor - 1)], go: [' ', toggle], on: ['ArrowRight', () => go(cursor + 1)],
  chapter: ['n', nextChapter], text: ['t', table], help: ['?', help],
};
const KEYS = { End: () => go(last), ...Object.fromEntries(Object.values(CONTROLS)) };
for (const [id, [, does]] of Object.entries(CONTROLS)) at(id).onclick = does;
at('scrub').oninput = () => go(Number(at('scrub').value));
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (answerBy(event.key)) { event.preventDefault(); return; }
  if (!(event.key in KEYS)) return;
  const tag = event.target.tagName;
  if (event.target.id === 'stage' && event.key.startsWith('Arrow')) return;
  if (tag === 'SELECT' || (tag === 'BUTTON' && event.key === ' ') || (tag === 'INPUT' && !'nt '.includes(event.key))) return;
  event.preventDefault();
  KEYS[event.key]();
});

// -- the beginning: all scripts are there. The address of a page with choices says which play, and at which step (#3@17).

function begin() {
  const [, playAsked, stepAsked] = /^#(\d+)(?:@(\d+))?$/.exec(location.hash) || [];
  if (data.plays) chosen = Number(playAsked ?? data.first) % data.plays.length;
  load(data.plays ? data.plays[chosen] : data);
  theme();
  setUpChoices();
  setUpPrediction();
  choose();
  document.body.classList.toggle('alone', window.parent === window);
  const opens = still.matches && !released ? limit() : play.begin;
  show(Number(stepAsked ?? opens), false);
  ticks();
  resize();
  if (data.strip) strip.setUp(data.strip);
  listen();
  bringIntoView();
  if (stepAsked === undefined) arriveInSight();
}
