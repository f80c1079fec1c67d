// The answer in the picture (ruler.py): the learner drags a line along an axis, and says that this is the answer; when it is
// decided the truth is drawn beside it. By the mouse, a finger, or the arrow keys: for these the handle is a slider. Both stand
// in a strip of their own, under the drawing or over it, where no other words are.

const drag = (() => {
  const ROW = 22, STRIP = 2 * ROW + 8, FAST = 10;
  const svg = at('drawing'), group = draws('g'), parts = {};
  let given = null, place = null, said = false, askHeight = 0;

  const last = () => given.words.length - 1;
  const there = () => Boolean(given && layout?.ruler && (!released || said));

  function setUp() {
    given = prediction?.asks ? prediction.drag : null;
    place = null;
    said = false;
    group.remove();
    document.getElementById('drag')?.remove();
    if (!given) return;
    const button = make('button', { type: 'button', id: 'mine', className: 'main', onclick: answer });
    at('options').before(make('p', { id: 'drag' }, make('span', { textContent: 'Drag the handle in the picture, or choose:' }), button));
    group.replaceChildren();
    for (const [name, kind] of Object.entries({ track: 'line', reach: 'path', line: 'path', bar: 'rect', truth: 'path', trueBar: 'rect', words: 'text', trueWords: 'text' })) {
      group.append(parts[name] = draws(kind));
      parts[name].setAttribute('class', name);
    }
    parts.handle = draws('g');
    parts.handle.append(draws('circle'), draws('path'));
    parts.handle.lastChild.setAttribute('d', 'M-2,-4l-4,4l4,4M2,-4l4,4l-4,4');
    group.append(parts.handle);
    group.setAttribute('class', 'drag');
    const slider = { role: 'slider', tabindex: '0', 'aria-label': prediction.question, 'aria-valuemin': 0, 'aria-valuemax': last() };
    for (const name in slider) parts.handle.setAttribute(name, slider[name]);
  }

  // -- where things are

  const x = value => {
    const { left, right, first, last: end } = layout.ruler;
    return stretch * (left + (right - left) * (Math.min(Math.max(value, first), end) - first) / (end - first));
  };
  const valueOf = number => given.begin + number * given.step;

  // What the strip takes, over the drawing and under it.
  const room = () => {
    if (!there()) return { above: 0, below: 0 };
    return layout.ruler.above ? { above: STRIP, below: 0 } : { above: 0, below: STRIP };
  };

  const put = (node, attributes) => { for (const name in attributes) node.setAttribute(name, attributes[name]); };
  const show = (...names) => { for (const name in parts) parts[name].style.display = names.includes(name) ? '' : 'none'; };

  function fit() {
    if (!there()) { group.remove(); return; }
    if (svg.lastChild !== group) svg.append(group);  // in front
    const { above } = layout.ruler, top = above ? -STRIP : layout.height + 8;
    const y = top + ROW / 2, end = valueOf(place ?? 0), told = said && given.truth && cursor >= prediction.decided;
    put(parts.track, { x1: x(given.begin), x2: x(valueOf(last())), y1: y, y2: y });
    upright(parts.line, end, y);
    upright(parts.reach, end, y);
    span(parts.bar, given.begin, end, y);
    label(parts.words, place === null ? '← drag →' : `${said ? 'you said' : 'you say'} ${given.words[place]}`, end, y, said ? 6 : 16);
    parts.handle.setAttribute('transform', `translate(${x(end)} ${y})`);
    if (told) {
      const [from, until] = given.truth;
      upright(parts.truth, until, y + ROW);
      span(parts.trueBar, from, until, y + ROW);
      label(parts.trueWords, `it was ${given.was}`, until, y + ROW, 6);
    }
    const asks = said || cursor >= limit(), mine = ['line', 'bar', 'words', ...(said ? [] : ['track', 'reach', 'handle'])];
    show(...(asks ? mine : []), ...(told ? ['truth', 'trueBar', 'trueWords'] : []));
    slide();
  }

  // Through the picture, and on to the strip; between the two are the axis's own words.
  function upright(node, value, y) {
    const { edge, reach, above } = layout.ruler;
    put(node, { d: `M${x(value)},${reach}V${edge}M${x(value)},${above ? -2 : layout.height + 6}V${y}` });
  }

  const span = (node, begin, end, y) => put(node, { x: x(begin), y: y - 6, width: given.length ? x(end) - x(begin) : 0, height: 12 });

  // Right of its end; left of it where there is no room.
  function label(node, words, value, y, beside) {
    node.textContent = words;
    const wide = node.getComputedTextLength() + beside, fits = x(value) + wide < layout.width * stretch;
    put(node, { x: fits ? x(value) + beside : x(value) - beside, y: y + 4.5, 'text-anchor': fits ? 'start' : 'end' });
  }

  function slide() {
    const words = given.words[place ?? 0];
    put(parts.handle, { 'aria-valuenow': place ?? 0, 'aria-valuetext': words });
    at('mine').hidden = place === null;
    at('mine').textContent = `my answer: ${words}`;
  }

  // -- dragging

  function take(number) {
    place = Math.min(Math.max(number, 0), last());
    fit();
    if (at('ask').offsetHeight !== askHeight) { askHeight = at('ask').offsetHeight; fitFrame(); }
  }
  function aim(event) {
    const { left, right, first, last: end } = layout.ruler, drawn = svg.getBoundingClientRect();
    const at = (event.clientX - drawn.left) * layout.width / drawn.width;
    const value = first + (end - first) * (at - left) / (right - left);
    take(Math.round((value - given.begin) / given.step));
  }

  function answer() {
    if (place === null) place = 0;
    said = true;
    const { words, right, was, because } = given, mine = `ou said ${words[place]}`;
    const isRight = right && place >= right[0] && place <= right.at(-1);
    const found = was ? `${isRight ? 'Y' : 'Not quite: y'}${mine}, it was ${was}. ${because}` : `Y${mine}.`;
    release(found, right && (isRight ? 'right' : 'near'), isRight ? prediction.answer : words[place], `it was ${was}`);
  }

  group.addEventListener('pointerdown', event => {
    if (said) return;
    event.stopPropagation();
    group.setPointerCapture(event.pointerId);
    parts.handle.focus({ preventScroll: true });
    aim(event);
  });
  group.addEventListener('pointermove', event => { if (!said && group.hasPointerCapture(event.pointerId)) aim(event); });

  group.addEventListener('keydown', event => {
    if (said || event.ctrlKey || event.metaKey || event.altKey) return;
    const now = place ?? 0, { key } = event;
    const to = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, PageDown: now - FAST, PageUp: now + FAST, Home: 0, End: last() }[key];
    if (to !== undefined) take(to);
    else if (key === 'Enter' || key === ' ') answer();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  // What is to be dragged now.
  const handle = () => (there() && !said && cursor >= limit() ? parts.handle : null);

  return { setUp, fit, room, there, handle };
})();
