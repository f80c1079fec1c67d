// Along the timeline: a lever that is pulled onto it, or onto the axis in the picture, acts at the moment where it is let go; the flag of
// a change is pulled to another moment. Meanwhile the picture shows the moment. Keys need none of it: the timeline has its own, and a
// lever acts at the moment that is shown.

const PULLED = 6, NEAR = 18;  // px
let carried = null, pulled = false;

const momentAt = ({ clientX: x, clientY: y }) => {
  const scrub = at('scrub').getBoundingClientRect();
  if (Math.abs(y - (scrub.top + scrub.bottom) / 2) < NEAR + scrub.height / 2) return Math.round((last * (x - scrub.left)) / scrub.width);
  const line = [...layout.cursors].find(shape => layout.known[shape].kind === 'line' && elements[shape].shape);
  if (line === undefined) return null;
  const { top, bottom } = elements[line].node.getBoundingClientRect(), drawn = drawing.getBoundingClientRect();
  if (y < top - NEAR || y > bottom + NEAR) return null;
  const value = ((x - drawn.left) * layout.width) / drawn.width, far = state => Math.abs((state.get(line)?.x ?? Infinity) - value);
  return layout.states.reduce((best, state, step) => (far(state) < far(layout.states[best]) ? step : best), 0);
};

function takeUp(event, node, words) {
  if (event.button !== 0 || event.pointerType === 'touch' || !beside('act')) return;
  carried = { words, label: (node.getAttribute('aria-label') || node.title).replace(/ now$/, ''), x: event.clientX, y: event.clientY, home: cursor, onto: null, ghost: null };
  pulled = false;
}

function pull(event) {
  if (!carried || !event.buttons) return;
  const { x, y } = carried;
  if (!carried.ghost) {
    if (Math.hypot(event.clientX - x, event.clientY - y) < PULLED) return;
    pulled = true;
    pause();
    carried.ghost = make('div', { id: 'carried' });
    document.body.append(carried.ghost);
    document.documentElement.setPointerCapture(event.pointerId);
  }
  carried.onto = momentAt(event);
  show(carried.onto ?? carried.home, false);
  carried.ghost.textContent = carried.onto === null ? `${carried.label}: onto the timeline` : `${carried.label}: at ${steps[cursor].time}`;
  Object.assign(carried.ghost.style, { left: `${event.clientX}px`, top: `${event.clientY}px` });
}

function letGo(takes) {
  if (!carried) return;
  const { ghost, onto, words, home } = carried;
  carried = null;
  if (!ghost) return;
  ghost.remove();
  if (takes && onto !== null) act(words);
  else show(home, false);
}

drawing.addEventListener('pointerdown', event => {
  const node = meant(event);
  if (node && !node.hasAttribute('data-onto') && !node.dataset.digits) takeUp(event, node, node.dataset.act);
});
at('ticks').addEventListener('pointerdown', event => {
  if (event.target.dataset.act) takeUp(event, event.target, event.target.dataset.act);
});
document.addEventListener('pointermove', pull);
document.addEventListener('pointerup', () => letGo(true));
document.addEventListener('pointercancel', () => letGo(false));
document.addEventListener('keydown', event => { if (event.key === 'Escape') letGo(false); });
// what was pulled is not clicked, too
document.addEventListener('click', event => { if (pulled) event.stopPropagation(); pulled = false; }, true);
