// Plays what Python has drawn: every step's shapes are in the data, this only shows, moves and explains them.
'use strict';
(() => {
  const SVG = 'http://www.w3.org/2000/svg';
  // A layout stretches between these factors before the next one takes over (wide from 740 px of drawing on).
  const WIDE_FROM = 740, LEAST = 0.8, MOST = 1.32;
  const MOVED = ['x', 'y', 'w', 'h', 'x2', 'y2'];
  const at = id => document.getElementById(id);
  // At speed 1: ms for what is on its way, for reading, and more where the rest is dimmed.
  const MOTION = 320, READING = 900, A_LETTER = 40, MORE_OF_THE_SAME = 300, HOLD = 2000;
  const data = JSON.parse(at('play').textContent);
  // A page with choices holds a play for each: the address says which one, and at which step (page.html#3@17).
  const [, asksFor, stepAsked] = /^#(\d+)(?:@(\d+))?$/.exec(location.hash) || [];
  let chosen = data.plays ? Number(asksFor ?? data.first) % data.plays.length : 0;
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  const widths = new Map();

  let play, steps, last, layouts, prediction, verdict, right, released;
  let cursor = 0, furthest = 0, ended = false, playing = null, frame = null;
  let layout = null, elements = [], stretch = 1, marked = [], moves = [], drawn = 0;
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
    right = prediction ? prediction.right : null;
    released = !prediction || !prediction.asks;
    at('scrub').max = last;
    at('title').textContent = play.title;
    at('corner').textContent = play.corner;
  }

  // -- from differences to one Map of shapes a step

  function decode(packed) {
    const known = [], states = [];
    let there = new Set();
    for (const [changes, come, go] of packed.steps) {
      for (const [shape, ...pairs] of changes) {
        let next = { ...known[shape] };
        for (let i = 0; i < pairs.length; i += 2) {
          const [attribute, value] = [pairs[i], pairs[i + 1]];
          if (attribute < 0) { next = { ...known[value] }; continue; }
          const name = play.attributes[attribute];
          if (value === null) delete next[name];
          else next[name] = attribute < play.numbers ? value : play.texts[value];
        }
        known[shape] = next;
      }
      there = new Set(there);
      come.forEach(shape => there.add(shape));
      go.forEach(shape => there.delete(shape));
      states.push(new Map([...there].map(shape => [shape, known[shape]])));
    }
    const lit = {};
    for (const step in packed.lit) lit[step] = packed.lit[step].map(shapes => new Set(shapes));
    return { ...packed, states, known, lit };
  }

  // What was played to the end once may stay in sight, faintly, behind the cursor's present.
  function shapesAt(step) {
    const state = layout.states[step];
    if (!ended || step === last) return state;
    const all = new Map(state);
    for (const shape of layout.lanes) {
      if (!all.has(shape) && layout.states[last].has(shape)) all.set(shape, { ...layout.states[last].get(shape), fade: 0.35 });
    }
    return all;
  }

  // -- drawing

  function choose() {
    const width = document.querySelector('main').clientWidth - 32;
    const chosen = layouts[width >= WIDE_FROM ? 0 : layouts.length - 1];
    stretch = Math.max(LEAST, Math.min(MOST, width / chosen.width));
    const svg = at('drawing');
    if (chosen !== layout) {
      layout = chosen;
      // An image would hide the levers in it.
      svg.setAttribute('role', layout.known.some(shape => shape && shape.act) ? 'group' : 'img');
      elements.forEach(element => element && element.node.remove());
      elements = [];
      for (let shape = 0; shape < layout.shapes; shape++) {
        const node = create(layout.known[shape].kind);
        node.style.display = 'none';
        [node, ...node.children].forEach(part => { part.dataset.shape = shape; });
        svg.append(node);
        elements.push({ node, shape: null });
      }
    }
    svg.setAttribute('width', Math.round(layout.width * stretch));
    svg.setAttribute('height', layout.height + 4);
    svg.setAttribute('viewBox', `0 0 ${Math.round(layout.width * stretch)} ${layout.height + 4}`);
    reach();
  }

  // Where the drawing is wider than the page, it must scroll by keys too.
  function reach() {
    const stage = at('stage'), scrolls = stage.scrollWidth > stage.clientWidth;
    for (const [name, value] of [['tabindex', '0'], ['role', 'region'], ['aria-label', 'the picture, scrolls sideways']]) {
      if (scrolls) stage.setAttribute(name, value);
      else stage.removeAttribute(name);
    }
  }

  // A cell is a box with its words: text and more in the middle (below each other in a tall box), a number under it.
  function create(kind) {
    const make = name => document.createElementNS(SVG, name);
    if (kind !== 'cell') return make(kind);
    const group = make('g');
    const [box, words, more, below] = [make('rect'), make('text'), make('text'), make('text')];
    group.append(box, words, more, below);
    for (const text of [words, more, below]) { text.style.textAnchor = 'middle'; text.style.fontSize = '12.5px'; }
    below.setAttribute('class', 'mono');
    return group;
  }

  const isTall = s => s.more && s.h >= 40;

  function paintCell(node, s) {
    const [box, words, more, below] = node.children;
    paint(box, { ...s, kind: 'rect' });
    words.textContent = '';
    for (const [text, type] of [[s.text, 'mono key'], [isTall(s) ? '' : s.more, '']]) {
      if (!text) continue;
      const span = document.createElementNS(SVG, 'tspan');
      span.setAttribute('class', type);
      span.textContent = words.firstChild ? ` ${text}` : text;
      span.dataset.shape = node.dataset.shape;
      words.append(span);
    }
    words.style.fill = more.style.fill = `var(--${s.ink})`;
    more.textContent = isTall(s) ? s.more : '';
    below.textContent = s.below || '';
    below.style.fill = `var(--${s.ink === 'gone' ? 'gone' : s.weight ? 'ink' : 'quiet'})`;
    below.style.fontWeight = s.weight || 400;
  }

  function placeCell(node, s) {
    const [box, words, more, below] = node.children;
    place(box, { ...s, kind: 'rect' });
    const baselines = [s.y + (isTall(s) ? 18 : s.h / 2 + 5), s.y + 36, s.y + s.h + (s.h >= 30 ? 16 : 14)];
    [words, more, below].forEach((text, i) => {
      text.setAttribute('x', (s.x + s.w / 2) * stretch);
      text.setAttribute('y', baselines[i]);
    });
  }

  function place(node, s) {
    if (s.kind === 'cell') { placeCell(node, s); return; }
    const set = (name, value) => node.setAttribute(name, value);
    const x = s.x * stretch;
    if (s.kind === 'rect') { set('x', x); set('y', s.y); set('width', Math.max(0, s.w * stretch)); set('height', s.h); }
    else if (s.kind === 'circle') { set('cx', x); set('cy', s.y); }
    else if (s.kind === 'line') { set('x1', x); set('y1', s.y); set('x2', s.x2 * stretch); set('y2', s.y2); }
    else if (s.kind === 'path') set('transform', `translate(${x} ${s.y})`);
    else { set('x', x); set('y', s.y); }
  }

  function paint(node, s) {
    node.style.pointerEvents = s.tip || s.act || s.of !== undefined ? '' : 'none';
    lever(node, s);
    if (s.kind === 'cell') { paintCell(node, s); return; }
    const style = node.style;
    style.fill = s.fill === 'hatch' ? 'url(#hatch)' : !s.fill || s.fill === 'none' ? 'none' : `var(--${s.fill})`;
    style.stroke = !s.line || s.line === 'none' ? 'none' : `var(--${s.line})`;
    style.strokeWidth = s.width || '';
    style.strokeDasharray = s.dash || '';
    if (s.kind === 'text') {
      if (node.textContent !== s.text + (s.more || '')) node.textContent = s.text;
      if (s.more) {
        node.textContent = s.text;
        const span = document.createElementNS(SVG, 'tspan');
        span.setAttribute('class', 'mono more');
        span.setAttribute('dx', 8);
        span.style.fill = `var(--${s.ink})`;
        span.textContent = s.more;
        node.append(span);
      }
      node.classList.toggle('mono', Boolean(s.mono));
      style.fontSize = `${s.size}px`;
      style.fontWeight = s.weight || 400;
      style.textAnchor = s.anchor || 'start';
      if (s.room) cut(node, s);
      if (s.halo) { style.stroke = `var(--${s.halo})`; style.strokeWidth = 4; style.paintOrder = 'stroke'; }
    }
    if (s.kind === 'rect') node.setAttribute('rx', s.r || 0);
    if (s.kind === 'circle') node.setAttribute('r', s.r);
    if (s.kind === 'path') node.setAttribute('d', s.d);
    if (s.arrow) node.setAttribute('marker-end', 'url(#tip)');
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

  // What moves, in the order in which it happened: requests, then what somebody knows, then records.
  const stageOf = s => (s.arrow ? 0 : s.kind === 'cell' || s.from_x !== undefined ? 2 : 1);

  function draw(step, moving) {
    cancelAnimationFrame(frame);
    moves.forEach(each => animate(each, 1));  // what was still on its way arrives first
    const now = shapesAt(step), staged = moving && step === drawn + 1;
    moves = [];
    elements.forEach((element, shape) => {
      const to = now.get(shape) || null, from = element.shape;
      const { node } = element;
      element.shape = to;
      if (!moving) settle(node, to);
      else if (to !== from) moves.push({ node, from, to, stage: staged ? stageOf(to || from) : 0, begun: false });
    });
    drawn = step;
    if (moves.length) move();
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
      (node.firstChild && node.tagName === 'g' ? node.firstChild : node).classList.toggle('lit', outlined.has(shape));
    });
    at('drawing').classList.toggle('bad', Boolean(steps[step]?.trouble));
  }

  function move() {
    const begin = performance.now(), even = flows() && playing;
    const stages = [...new Set(moves.map(each => each.stage))].sort();
    const time = Math.max(1, even ? passes(cursor) : MOTION) / speed();
    const turn = now => {
      const gone = (now - begin) / time;
      for (const each of moves) {
        const part = Math.min(1, gone - stages.indexOf(each.stage));
        if (part >= 0) animate(each, part, even);
      }
      if (gone < stages.length) frame = requestAnimationFrame(turn);
      else moves = [];
    };
    turn(begin);
  }

  function animate(each, part, evenly) {
    const { node, from, to } = each;
    if (!each.begun) {
      each.begun = true;
      node.style.display = '';
      if (to) paint(node, to);
    }
    const eased = evenly ? part : part * (2 - part);
    // What is new fades in; where time flows it is drawn from its left end on.
    const first = evenly ? { ...to, w: 0, x2: to?.x, y2: to?.y } : { ...to, x: to?.from_x ?? to?.x, y: to?.from_y ?? to?.y, fade: 0 };
    const start = from || first, end = to || { ...from, fade: 0 };
    const between = { ...end };
    for (const name of MOVED) if (name in end) between[name] = (start[name] ?? end[name]) * (1 - eased) + end[name] * eased;
    place(node, between);
    node.style.opacity = (start.fade ?? 1) * (1 - eased) + (end.fade ?? 1) * eased;
    if (part === 1) settle(node, to);
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
    at('scenario').textContent = scene.scenario;
    at('time').textContent = at('when').textContent = scene.time;
    at('sentence').textContent = scene.sentence;
    at('number').textContent = `${scene.number} of ${scene.of}`;
    at('scrub').value = cursor;
    at('scrub').setAttribute('aria-valuetext', `event ${scene.number} of ${scene.of}, ${scene.time}`);
    at('drawing').setAttribute('aria-label', `${scene.sentence} ${scene.summary}.`);
    at('back').disabled = at('start').disabled = cursor === 0;
    at('on').disabled = at('chapter').disabled = cursor === last;
    unmark();
    draw(cursor, moving && !still.matches);
    if (justEnded || before !== cursor) ticks();
    rows();
    ask();
    if (cursor !== before) at('keys').hidden = at('help').getAttribute('aria-pressed') !== 'true';
  }

  function ticks() {
    at('ticks').textContent = '';
    steps.forEach((scene, step) => {
      if (!scene.chapter || (step > furthest && !ended)) return;
      const tick = document.createElement('i');
      tick.style.left = `${(100 * step) / Math.max(1, last)}%`;
      tick.title = scene.chapter;
      at('ticks').append(tick);
    });
    for (const { step, words } of play.flags || []) {
      const flag = document.createElement('i');
      flag.className = 'flag';
      flag.style.left = `${(100 * step) / Math.max(1, last)}%`;
      flag.title = words;
      at('ticks').append(flag);
    }
  }

  function nextChapter() {
    let step = cursor + 1;
    while (step < last && !steps[step].chapter) step++;
    pause();
    show(step, true);
  }

  // -- playing

  function pause() {
    clearTimeout(playing);
    playing = null;
    if (drawn !== cursor) draw(cursor, false);
    button();
  }

  function turn() {
    if (cursor >= limit()) { pause(); return; }
    playing = playing || true;
    if (flows()) {
      draw(cursor + 1, true);
      playing = setTimeout(arrive, passes(cursor) / speed());
    } else arrive();
    button();
  }

  function arrive() {
    show(cursor + 1, true);
    playing = setTimeout(turn, until(cursor));
  }

  // Time passes first; then comes what happened.
  const flows = () => play.whole_s && !still.matches;

  // How long a step stays while it plays.
  function until(step) {
    const told = prediction && step === prediction.decided ? HOLD : 0, lit = layout.lit[step] ? HOLD : 0;
    const { again, sentence } = steps[step];
    const rest = flows() ? 0 : play.whole_s ? passes(step) : again ? MORE_OF_THE_SAME : READING + A_LETTER * sentence.length;
    return (rest + Math.max(told, lit)) / speed();
  }

  // Where time is the story: its share of the whole.
  function passes(step) {
    const now = steps[step].at;
    return (1000 * play.whole_s * ((steps[step + 1]?.at ?? now) - now)) / (steps[last].at - steps[0].at || 1);
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

  const go = step => { pause(); show(step, true); };

  // -- prediction

  function ask() {
    if (!prediction) return;
    const asking = !released && cursor >= limit();
    const told = released && cursor >= prediction.decided && verdict !== '';
    const changed = at('ask').hidden === asking || at('verdict').hidden === told;
    at('ask').hidden = !asking;
    at('verdict').hidden = !told;
    at('on').disabled = at('chapter').disabled = asking || cursor === last;
    if (told) at('verdict').textContent = verdict;
    at('verdict').className = right === null ? '' : right ? 'right' : 'wrong';
    if (asking) at('go').disabled = true;
    else at('go').disabled = false;
    if (changed) fitFrame();
  }

  function release(words, is_right) {
    verdict = words;
    right = is_right;
    released = true;
    ask();
    at('go').disabled = false;
    at('go').focus();
    turn();
  }

  function setUpPrediction() {
    at('options').textContent = '';
    at('ask').hidden = at('verdict').hidden = true;
    if (!prediction) return;
    at('question').textContent = prediction.question;
    prediction.options.forEach((option, index) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = `(${index + 1}) ${option}`;
      button.onclick = () => release(prediction.verdicts[index], prediction.answer === null ? null : index + 1 === prediction.answer);
      at('options').append(button);
    });
    const on = document.createElement('button');
    on.type = 'button';
    on.textContent = 'go on without one';
    on.onclick = () => release(prediction.verdict, null);
    at('options').append(on);
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
      if (shape && (shape.of === because || (same && shape.same === same)) && node.style.display !== 'none') {
        const box = shape.kind === 'cell' ? node.firstChild : node;
        box.classList.add('cause');
        marked.push(box);
      }
    }
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
    const body = at('rows').querySelector('tbody'), upTo = ended ? last : furthest;
    for (let step = body.rows.length; step <= upTo; step++) {
      const scene = steps[step], row = body.insertRow();
      const number = document.createElement('button');
      number.type = 'button';
      number.textContent = scene.number;
      number.setAttribute('aria-label', `go to event ${scene.number}`);
      number.onclick = () => go(step);
      row.insertCell().append(number);
      for (const words of [scene.time, scene.node, scene.sentence]) row.insertCell().textContent = words;
    }
    [...body.rows].forEach((row, step) => row.toggleAttribute('aria-current', step === cursor));
    const row = body.rows[cursor];
    const box = at('rows');
    if (row.offsetTop < box.scrollTop + 30) box.scrollTop = row.offsetTop - 30;
    else if (row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = row.offsetTop + row.offsetHeight - box.clientHeight;
  }

  function table() {
    const open = at('rows').hidden;
    at('rows').style.height = `${layout.height + 4}px`;
    at('rows').hidden = !open;
    at('stage').hidden = open;
    at('text').setAttribute('aria-pressed', open);
    if (open) rows();
    else { choose(); draw(cursor, false); }
  }

  // -- choices: another play of the same page

  function setUpChoices() {
    if (!data.plays) return;
    document.title = play.title;
    const row = at('choices');
    row.textContent = '';
    row.hidden = false;
    const name = document.createElement('strong');
    name.textContent = data.name;
    const link = document.createElement('button');
    link.type = 'button';
    link.id = 'link';
    link.textContent = 'copy link to this moment';
    link.onclick = copyLink;
    row.append(name, link);
    let weight = data.plays.length;
    for (const { name, options } of data.choices) {
      weight /= options.length;
      const group = document.createElement('div'), label = document.createElement('span'), now = Math.floor(chosen / weight) % options.length;
      group.setAttribute('role', 'group');
      group.setAttribute('aria-label', label.textContent = name);
      group.append(label);
      const each = weight;
      options.forEach((words, option) => {
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = words;
        button.setAttribute('aria-pressed', option === now);
        button.onclick = () => switchTo(chosen + (option - now) * each, [name, option]);
        group.append(button);
      });
      row.append(group);
    }
    const code = document.createElement('code');
    code.textContent = data.code[chosen];
    row.append(code);
    at('about').textContent = data.about;
    at('about').hidden = false;
  }

  // In place, at the moment that was shown.
  function switchTo(number, [name, option]) {
    const moment = cursor > play.begin ? steps[cursor].at : null;
    pause();
    chosen = number;
    load(data.plays[chosen]);
    anew(moment === null ? play.begin : stepAt(moment));
    setUpChoices();
    at('choices').querySelectorAll(`[aria-label="${name}"] button`)[option].focus();
    resize();
  }

  const stepAt = ms => Math.max(0, steps.findLastIndex(step => step.at <= ms));

  async function copyLink() {
    history.replaceState(null, '', `#${chosen}@${cursor}`);
    try {
      await navigator.clipboard.writeText(location.href);
      at('link').textContent = 'copied';
    } catch { at('link').textContent = 'the address bar has it'; }
  }

  // -- a live run: what is clicked goes to the kernel, at the moment that is shown; a new play comes back (live.py)

  const ANSWER_MS = 4000;
  let asked = 0;

  // The levers stand in the cell of this frame; none in a saved page.
  function beside(name) {
    try {
      return window.frameElement?.closest('.jp-Cell, .cell')?.querySelector(`.minikafka-${name}`);
    } catch { return null; /* a frame of another origin */ }
  }

  function lever(node, s) {
    if (!s.act) { if (node.dataset.act) for (const name of ['data-act', 'role', 'tabindex', 'aria-label']) node.removeAttribute(name); return; }
    node.dataset.act = s.act;
    node.setAttribute('role', 'button');
    node.setAttribute('tabindex', '0');
    node.setAttribute('aria-label', s.tip || s.act);
  }

  function act(words) {
    const field = beside('act')?.querySelector('input');
    pause();
    if (!field) { say('Run this cell again: the levers need its kernel.'); return; }
    field.value = JSON.stringify({ act: words, at: steps[cursor].at, turn: Date.now() });
    for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, { bubbles: true }));
    at('stage').setAttribute('aria-busy', 'true');
    clearTimeout(asked);
    asked = setTimeout(() => say('No answer yet. If the kernel is not busy, run this cell again.'), ANSWER_MS);
  }

  function say(words) {
    at('stage').removeAttribute('aria-busy');
    at('said').classList.add('note');
    at('sentence').textContent = words;
  }

  function anew(step) {
    cursor = furthest = drawn = step;
    ended = false;
    layout = null;
    setUpPrediction();
    resize();
    show(cursor, false);
    ticks();
  }

  // The frame and what is in it stay; what changed moves to its new place, and the effect plays on.
  function take(given) {
    clearTimeout(asked);
    at('stage').removeAttribute('aria-busy');
    if (given.error) { say(given.error); return; }
    load(given);
    anew(play.begin);
    if (cursor < last && !still.matches) turn();
  }

  function listen() {
    const cell = (() => { try { return window.frameElement?.closest('.jp-Cell, .cell'); } catch { return null; } })();
    if (!cell) return;
    let taken = null;
    const look = () => {
      const text = beside('data')?.querySelector('[data-play]')?.dataset.play;
      if (text && text !== taken) { taken = text; take(JSON.parse(text)); }
      // A notebook that was closed has no widgets any more; the picture needs none.
      for (const node of cell.querySelectorAll('.jupyter-widgets')) {
        if (node.textContent.startsWith('Error displaying widget')) node.hidden = true;
      }
    };
    new MutationObserver(look).observe(cell, { childList: true, subtree: true, characterData: true });
    look();
  }

  // After a run, and not when a notebook is opened: the cell that was run is the one before the active cell, or itself.
  function bringIntoView() {
    try {
      const cell = window.frameElement?.closest('.jp-Cell');
      if (!cell) return;
      const parent = window.parent, id = `${cell.querySelector('.jp-InputPrompt')?.textContent} ${at('play').textContent.length}`;
      const active = cell.parentElement.querySelector('.jp-mod-active');
      parent.minikafkaShown ??= new Map();
      if (parent.minikafkaShown.get(cell) === id || !active) return;
      parent.minikafkaShown.set(cell, id);
      if (active !== cell && active !== cell.nextElementSibling) return;
      window.frameElement.scrollIntoView({ block: 'start', behavior: still.matches ? 'auto' : 'smooth' });
    } catch { /* a frame of another origin */ }
  }

  // -- the frame around it: height and theme

  function fitFrame() {
    try {
      if (window.frameElement) window.frameElement.style.height = `${Math.ceil(document.querySelector('main').getBoundingClientRect().height)}px`;
    } catch { /* a frame of another origin keeps the height it was given */ }
  }

  // The highest text of any step decides: nothing jumps while it plays.
  function reserve(box, line, texts) {
    const words = line.textContent;
    box.style.minHeight = '';
    let most = 0;
    for (const text of new Set(texts)) {
      line.textContent = text;
      most = Math.max(most, box.offsetHeight);
    }
    line.textContent = words;
    box.style.minHeight = `${most}px`;
  }

  function fitTexts() {
    reserve(at('said'), at('sentence'), steps.map(scene => scene.sentence));
    reserve(at('foot'), at('foot'), steps.map(scene => scene.foot));
  }

  function resize() {
    if (at('stage').hidden) return;
    choose();
    draw(cursor, false);
    fitTexts();
    fitFrame();
  }

  function theme() {
    try {
      const light = window.parent.document.body.dataset.jpThemeLight;
      if (light) document.documentElement.dataset.theme = light === 'true' ? 'light' : 'dark';
    } catch { /* not inside JupyterLab: the system's theme holds */ }
  }

  try {
    if (window.parent !== window) {
      new MutationObserver(theme).observe(window.parent.document.body, { attributes: true, attributeFilter: ['data-jp-theme-light'] });
    }
  } catch { /* another origin */ }

  // -- keys: those that a focused control uses itself stay its own

  const KEYS = {
    ' ': toggle, '?': help, ArrowRight: () => go(cursor + 1), ArrowLeft: () => go(cursor - 1), Home: () => go(0), End: () => go(last), n: nextChapter, t: table,
  };
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    const tag = event.target.tagName;
    if (event.target.dataset.act && ' Enter'.includes(event.key)) return;
    if (event.target.id === 'stage' && event.key.startsWith('Arrow')) return;
    if (tag === 'SELECT' || (tag === 'BUTTON' && event.key === ' ') || (tag === 'INPUT' && !'nt '.includes(event.key))) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  function help() {
    const open = at('help').getAttribute('aria-pressed') !== 'true';
    at('help').setAttribute('aria-pressed', open);
    at('keys').hidden = !open;
    fitFrame();
  }

  at('drawing').addEventListener('click', event => {
    const lever = event.target.closest('[data-act]');
    if (lever) act(lever.dataset.act);
  });
  at('drawing').addEventListener('keydown', event => {
    const lever = event.target.closest('[data-act]');
    if (!lever || (event.key !== 'Enter' && event.key !== ' ')) return;
    event.preventDefault();
    act(lever.dataset.act);
  });
  at('help').onclick = help;
  at('start').onclick = () => go(0);
  at('back').onclick = () => go(cursor - 1);
  at('on').onclick = () => go(cursor + 1);
  at('go').onclick = toggle;
  at('chapter').onclick = nextChapter;
  at('text').onclick = table;
  at('scrub').oninput = () => { pause(); show(Number(at('scrub').value), true); };
  addEventListener('resize', resize);
  load(data.plays ? data.plays[chosen] : data);
  theme();
  setUpChoices();
  setUpPrediction();
  choose();
  document.body.classList.toggle('alone', window.parent === window);
  show(Number(stepAsked ?? play.begin), false);
  ticks();
  resize();
  listen();
  bringIntoView();
})();
