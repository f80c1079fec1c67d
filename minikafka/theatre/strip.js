// The strip: a map of runs under the timeline, one of which the picture shows (strip.py). Pointing at a cell, or going to it by
// the arrow keys, shows how its run ended; choosing it plays the run. A mouse or a finger that is dragged along a row takes its
// fault along time, and the run follows; where it is let go the fault stays. Runs are in the page, or come from the kernel or from
// the tab's Python; what came once is kept. A map that asks is blank but for the run that is shown, until the learner has said where.

const strip = (() => {
  let map = null, cells = [], chosenKey = null, shownKey = null, wantedKey = null, askedKey = null, plays = false, held = null, asks = '';
  const runs = new Map(), box = at('strip');

  const place = key => key.split('/').map(Number);
  const endedAs = key => { const [row, column] = place(key); return map.cells[row][column]; };
  const nameOf = key => { const [row, column] = place(key); return `${map.faults[row]} at ${map.moments[column]}`; };
  const isAsked = key => asks && key !== map.chosen;
  const nodeOf = key => cells.find(node => node.dataset.key === key);

  const sameRuns = (one, other) => ['name', 'also', 'faults', 'moments'].every(part => JSON.stringify(one[part]) === JSON.stringify(other[part]));

  // -- what is there

  function setUp(given) {
    const focused = document.activeElement?.dataset.key, before = map, again = before && sameRuns(before, given);
    if (!again) { runs.clear(); wantedKey = askedKey = null; }
    map = given;
    if (!before) asks = given.asks ?? '';
    box.hidden = false;
    const rows = map.faults.map((name, row) => make('div', { role: 'row' },
      make('span', { role: 'rowheader', textContent: name, title: name }), ...map.moments.map((_, column) => cellFor(`${row}/${column}`))));
    for (const node of rows) node.setAttribute('role', 'row');
    cells = rows.flatMap(row => [...row.querySelectorAll('button')]);
    const grid = make('div', { className: 'map', ariaLabel: map.name }, ...rows);
    grid.setAttribute('role', 'grid');
    box.style.setProperty('--columns', map.moments.length);
    grid.addEventListener('pointerover', over);
    grid.addEventListener('pointerdown', grab);
    grid.addEventListener('pointermove', drag);
    grid.addEventListener('pointerup', letGo);
    grid.addEventListener('pointercancel', leftOff);
    grid.addEventListener('pointerleave', leave);
    grid.addEventListener('keydown', keyed);
    grid.addEventListener('focusin', event => point(event.target.dataset.key));
    grid.addEventListener('click', event => { if (event.target.dataset.key) choose(event.target.dataset.key); });
    box.replaceChildren(make('p', { className: 'name', textContent: map.name }), pinned(), asking(), make('div', { className: 'board' }, ...tracks(), grid, axis()), make('div', { className: 'told' }, make('p', { className: 'fate' }), legend()));
    mark(map.chosen ?? (again ? chosenKey : '0/0'));
    if (before && !again && endedAs(chosenKey)) want(chosenKey, false);
    if (focused) nodeOf(focused)?.focus({ preventScroll: true });
    apart();
    fitFrame();
  }

  function cellFor(key) {
    const node = make('button', { type: 'button', tabIndex: -1 });
    node.setAttribute('role', 'gridcell');
    node.dataset.key = key;
    look(node);
    return node;
  }

  function look(node) {
    const { key } = node.dataset, ended = isAsked(key) ? null : endedAs(key), [kind, sign, words, isRun] = ended || ['', '', asks ? 'here?' : 'not tried yet', false];
    node.textContent = sign === '.' ? '·' : sign;
    node.setAttribute('aria-label', `${map.moments[place(key)[1]]}: ${words}`);
    node.title = words;
    const [fill, ink] = coloursOf(kind);
    Object.assign(node.style, { background: colour(fill), color: colour(ink) });
    node.classList.toggle('guessed', Boolean(ended) && !isRun);
    node.classList.toggle('untried', !ended);
  }

  const coloursOf = kind => (kind ? map.looks[kind] || map.other : ['paper', 'quiet']);

  // Cells of which more is known by now.
  function learn(ended) {
    for (const key in ended) {
      const [row, column] = place(key);
      map.cells[row][column] = ended[key];
      look(nodeOf(key));
    }
    box.querySelector('.legend').replaceWith(legend());
    say(shownKey);
  }

  // -- where it is guessed first

  function asking() {
    const open = make('button', { type: 'button', textContent: 'show all', onclick: showAll, onpointerup: stand });
    return make('p', { className: 'asks', hidden: !asks }, make('span', { ariaLive: 'polite', textContent: `${map.question} Choose a cell.` }), open);
  }

  function guess(key) {
    const [kind, , words] = endedAs(key) ?? [''], sought = asks, count = map.cells.flat().filter(cell => cell?.[0] === sought).length;
    uncover();
    const ends = kind === 'nothing' ? 'nothing goes wrong' : words, right = kind === sought ? '✓' : '✗';
    box.querySelector('.asks').replaceChildren(make('span', { textContent: `${right} You chose “${nameOf(key)}”: ${ends}. ${count} of ${cells.length} runs end like this: ${sought}.` }));
  }

  function showAll() {
    const [sought] = cells.filter(({ dataset }) => endedAs(dataset.key)?.[0] === asks);
    uncover();
    choose(sought.dataset.key);
  }

  function uncover() {
    asks = '';
    cells.forEach(look);
    box.querySelector('.asks').replaceChildren();
    box.querySelector('.legend').replaceWith(legend());
    dispatchEvent(new Event('resize'));
  }

  // Faults of every run, each of which can be taken out, but for those that are given.
  function pinned() {
    const line = make('p', { className: 'pinned', hidden: !map.also.length }, make('span', { textContent: 'in every run:' }));
    map.also.forEach((words, number) => line.append(number < map.given ? make('b', { textContent: words })
      : make('button', { type: 'button', textContent: `${words} ✕`, ariaLabel: `take out: ${words}`, onclick: () => ask(`unpin ${number}`) })));
    return line;
  }

  // Along the moments, a line for everything that has some of its own.
  function tracks() {
    return Object.entries(map.tracks ?? {}).map(([name, marks]) => {
      const line = make('div', { className: 'moments' }), all = marks.map(([column, words]) => `${words} after ${map.moments[Math.floor(column)]}`);
      for (const [column, words] of marks) put(line, column, [words], 'happens');
      const track = make('div', { className: 'track', ariaLabel: `${name}: ${all.join(', ') || 'nothing'}` }, make('span', { textContent: name }), line);
      track.setAttribute('role', 'img');
      return track;
    });
  }

  function put(line, column, words, className) {
    const node = make('span', { className }, ...words);
    node.style.left = `${(100 * column) / map.moments.length}%`;
    line.append(node);
  }

  function axis() {
    const line = make('div', { className: 'moments', ariaHidden: 'true' }), count = map.moments.length;
    for (const [column, words] of map.marks) {
      const [last, ...spare] = words.split(' ').reverse();
      put(line, column, [...spare.reverse().map(textContent => make('i', { textContent })), last], 'happens');
    }
    put(line, 0, [map.moments[0]], 'first');
    put(line, count, [map.moments.at(-1)], 'last');
    return make('div', { className: 'axis' }, make('span'), line);
  }

  // Words that would lie on others stand left of their stroke, or not at all.
  function apart() {
    for (const line of box.querySelectorAll('.moments')) apartOn(line);
  }

  function apartOn(line) {
    const marks = [...line.querySelectorAll('.happens')], [first, last] = ['.first', '.last'].map(end => line.querySelector(end) ?? make('i'));
    const lieOnEachOther = (one, other) => {
      const [a, b] = [one, other].map(node => node.getBoundingClientRect());
      return a.left < b.right && b.left < a.right;
    };
    for (const node of marks) node.classList.remove('before', 'bare');
    first.hidden = last.hidden = false;
    const fits = node => ![...marks, last].some(other => other !== node && lieOnEachOther(node, other));
    for (const node of marks) {
      if (fits(node)) continue;
      node.classList.add('before');
      if (!fits(node)) node.classList.replace('before', 'bare');
    }
    for (const end of [first, last]) end.hidden = marks.some(node => lieOnEachOther(node, end));
  }

  function legend() {
    const counts = new Map(), line = make('p', { className: 'legend' });
    let tried = 0;
    if (asks) return line;
    for (const ended of map.cells.flat()) {
      const [kind, sign, , isRun] = ended || ['not tried yet', '', '', false];
      const [count, signs] = counts.get(kind) ?? [0, new Set()];
      counts.set(kind, [count + 1, signs.add(sign)]);
      tried += isRun;
    }
    for (const [kind, [count, signs]] of [...counts].sort((one, other) => other[1][0] - one[1][0])) {
      const all = [...signs].sort(), sign = all.length > 1 ? `${all[0]} to ${all.at(-1)}` : all[0];
      const chip = make('i', { textContent: sign === '.' ? '·' : sign || '\u00a0', className: sign ? '' : 'untried' });
      const [fill, ink] = coloursOf(sign && kind);
      Object.assign(chip.style, { background: colour(fill), color: colour(ink) });
      line.append(make('span', {}, chip, ` ${map.kinds[kind] ?? kind}: ${count}`));
    }
    const guessed = cells.some(node => node.classList.contains('guessed'));
    line.append(`${tried === 1 ? '1 run' : `${tried} runs`}${guessed ? '; pale: not run, both neighbours ended this way' : ''}`);
    return line;
  }

  // -- which run the picture shows

  function mark(key) {
    chosenKey = key;
    for (const node of cells) {
      node.setAttribute('aria-selected', node.dataset.key === key);
      node.tabIndex = node.dataset.key === key ? 0 : -1;
    }
    say(key);
  }

  function say(key) {
    shownKey = key;
    for (const node of cells) node.classList.toggle('shown', node.dataset.key === key);
    box.style.setProperty('--shown', place(key)[1]);
    const words = isAsked(key) ? '?' : endedAs(key)?.[2] ?? 'not tried yet', pin = make('button', { type: 'button', textContent: 'keep this fault, add another', onclick: () => ask(`pin ${key}`) });
    pin.title = 'this fault in every run: what does one more do?';
    box.querySelector('.fate').replaceChildren(make('span', { ariaLive: 'polite' }, `${nameOf(key)}: `, make('b', { textContent: words })), ...(levers() && map.keeps && !asks ? [pin] : []));
  }

  const levers = () => Boolean(beside('act'));

  function point(key) {
    if (!key || key === shownKey) return;
    say(key);
    if (endedAs(key) && !isAsked(key)) want(key, false);
  }

  function choose(key, playsOn = true) {
    if (asks) guess(key);
    mark(key);
    // the game's page says how the run ended that was chosen, whether it is here or is asked for
    dispatchEvent(new CustomEvent('chosen', { detail: key }));
    want(key, playsOn);
  }

  // The kernel draws a run for the width that the page has.
  const fits = key => runs.get(key).layouts.some(each => each.width === wantedLayout(room()));

  async function want(key, playsOn) {
    wantedKey = key;
    plays = playsOn;
    if (runs.has(key) && levers() && !fits(key)) { tellLayout(); runs.delete(key); }
    if (!runs.has(key) && map.runs[key]) runs.set(key, await unpacked(map.runs[key]));
    if (wantedKey !== key) return;
    if (runs.has(key)) become(key);
    else if (askedKey === null) askFor(key);
  }

  function askFor(key) {
    if (!send(`cell ${key}`)) { box.querySelector('.fate').append(' Its picture needs the kernel: run this cell again.'); return; }
    askedKey = key;
    box.setAttribute('aria-busy', 'true');
  }

  function ask(words) {
    if (send(words)) box.setAttribute('aria-busy', 'true');
  }

  // An answer: the run that was asked for, a new map, or why there is none.
  function take(given) {
    box.removeAttribute('aria-busy');
    if (given.strip) setUp(given.strip);
    if (given.ended) learn(given.ended);
    if (given.cell === undefined) return;
    askedKey = null;
    if (given.steps) runs.set(given.cell, given);
    if (wantedKey === given.cell || runs.has(wantedKey)) { if (runs.has(wantedKey)) become(wantedKey); }
    else if (wantedKey !== null) askFor(wantedKey);
  }

  function become(key) {
    const given = runs.get(key);
    wantedKey = null;
    pause();
    load(given);
    anew(plays ? play.begin : last);
    if (!plays) return;
    if (map.asks) at('stage').scrollIntoView({ block: 'nearest' });  // elsewhere the page around stays where it is
    if (!still.matches) turn();
  }

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).text());
  }

  // -- by mouse, finger and keys

  // A mouse that stands still points at nothing new, even where the page scrolls under it.
  let stoodAt = '';
  const stand = ({ screenX, screenY }) => (stoodAt = `${screenX} ${screenY}`);
  const over = ({ pointerType, target, screenX, screenY }) => {
    const before = stoodAt, hasMoved = stand({ screenX, screenY }) !== before;
    if (pointerType === 'mouse' && !held && hasMoved) point(target.dataset.key);
  };

  function grab(event) {
    const { key } = event.target.dataset;
    if (key && event.button === 0) held = { row: place(key)[0], moved: false };
  }

  function columnAt(x) {
    const count = map.moments.length, left = nodeOf('0/0').getBoundingClientRect().left, { right } = nodeOf(`0/${count - 1}`).getBoundingClientRect();
    return Math.max(0, Math.min(count - 1, Math.floor((count * (x - left)) / (right - left))));
  }

  // The game's page names the cell under a finger.
  function pass(key) {
    point(key);
    dispatchEvent(new CustomEvent('passed', { detail: key }));
  }

  // Along its own row, wherever the pointer is.
  function drag(event) {
    stand(event);
    if (!held) return;
    const key = `${held.row}/${columnAt(event.clientX)}`;
    if (key === shownKey) return;
    held.moved = true;
    event.currentTarget.setPointerCapture(event.pointerId);
    pass(key);
  }

  // A run that is there has followed all the way; one that nobody has tried begins now.
  function letGo() {
    if (held?.moved && !asks) choose(shownKey, !endedAs(shownKey));
    held = null;
  }

  // The finger scrolls the page, and chooses nothing.
  function leftOff() {
    if (held?.moved) pass(chosenKey);
    held = null;
    say(chosenKey);
  }

  // The picture is the chosen run's again.
  function leave(event) {
    if (event.pointerType !== 'mouse' || held || asks || shownKey === chosenKey) return;
    say(chosenKey);
    if (endedAs(chosenKey)) want(chosenKey, false);
  }

  function keyed(event) {
    if (!event.target.dataset.key || event.ctrlKey || event.metaKey || event.altKey) return;
    const [row, column] = place(event.target.dataset.key), end = map.moments.length - 1;
    const there = { ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], Home: [row, 0], End: [row, end] }[event.key];
    if (!there && ![' ', 'Enter'].includes(event.key)) return;
    event.stopPropagation();
    if (!there) return;  // the button's own click chooses
    event.preventDefault();
    const next = nodeOf(there.join('/'));
    if (!next) return;
    for (const node of cells) node.tabIndex = node === next ? 0 : -1;
    next.focus();
  }

  addEventListener('resize', () => { if (map) apart(); });
  addEventListener('resize', () => { if (runs.has(shownKey) && levers() && !fits(shownKey)) want(shownKey, false); });

  // The game's page steps along a row, too.
  addEventListener('point', ({ detail }) => point(detail));
  addEventListener('choose', ({ detail }) => choose(detail));

  // A run was shown: what is asked comes next.
  function goesOn() {
    if (asks) box.scrollIntoView({ block: 'nearest', behavior: still.matches ? 'auto' : 'smooth' });
  }

  return { setUp, take, goesOn };
})();
