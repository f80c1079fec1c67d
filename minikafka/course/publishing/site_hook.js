// The front page's question: a click on a partition answers it, then a reader reads them all. What happens is what the page's run did.

const { chosen, read, because } = JSON.parse(document.getElementById('facts').textContent);
const [before, asked] = chosen;
const hook = document.getElementById('hook'), one = selector => hook.querySelector(selector);
const still = matchMedia('(prefers-reduced-motion: reduce)');
const began = [one('.stage').innerHTML, one('#told').innerHTML];

const lane = number => hook.querySelector(`[data-partition="${number}"]`);
const recordOf = value => hook.querySelector(`.lanes [data-value="${value}"]`);

// To its new place, from where it was: the eye follows.
function fly(node, from, to, ms) {
  to.append(node);
  const there = node.getBoundingClientRect(), move = `translate(${from.left - there.left}px, ${from.top - there.top}px)`;
  if (still.matches) return Promise.resolve();
  return node.animate([{ transform: move, zIndex: 2 }, { transform: 'none', zIndex: 2 }], { duration: ms, easing: 'cubic-bezier(.5, 0, .2, 1)' }).finished;
}

function say(verdict, words, sums = []) {
  const line = (tag, className, textContent) => Object.assign(document.createElement(tag), { className, textContent });
  one('#told').replaceChildren(line('strong', '', verdict), line('span', '', ` ${words}`), ...sums.map(sum => line('code', 'sum', sum)));
}

function offer(id) {
  for (const each of hook.querySelectorAll('.then')) each.hidden = each.id !== id;
  document.querySelector(`#${id} .go`)?.focus({ preventScroll: true });
}

const sum = ({ value, hash, partitions, partition, key }) => `murmur2("${key}") % ${partitions} = ${hash} % ${partitions} = ${partition}: ${value}`;

async function answer(mine) {
  if (hook.dataset.state !== 'asks') return;
  hook.dataset.state = 'answered';
  for (const each of hook.querySelectorAll('.lane')) each.setAttribute('aria-disabled', 'true');
  lane(mine).classList.add('mine');
  const right = mine === asked.partition, paid = one('.hand .record');
  await fly(paid, paid.getBoundingClientRect(), lane(asked.partition).querySelector('.place:empty'), 1100);
  lane(asked.partition).classList.add('truth');
  const why = right ? because[mine] : `${because[mine]} ${because[asked.partition]}`;
  say(right ? 'Right.' : `It goes to partition ${asked.partition}.`, why, [sum(before), sum(asked)]);
  offer('then-read');
}

async function readAll() {
  hook.dataset.state = 'reads';
  const places = hook.querySelectorAll('.got li');
  for (const [number, { partition, value }] of read.entries()) {
    lane(partition).classList.add('read');
    const copy = recordOf(value).cloneNode(true);
    await fly(copy, recordOf(value).getBoundingClientRect(), places[number], 1100);
    lane(partition).classList.remove('read');
  }
  const [first, second] = read.map(({ value }) => value);
  say(`The reader got ${first} before ${second}, and Kafka did nothing wrong.`, 'Kafka promises order within a partition. The promise was never about the key.');
  hook.dataset.state = 'done';
  offer('then-more');
}

function again() {
  [one('.stage').innerHTML, one('#told').innerHTML] = began;
  hook.dataset.state = 'asks';
  offer('then-start');
  one('.lane').focus({ preventScroll: true });
}

one('.stage').addEventListener('click', ({ target }) => {
  const clicked = target.closest('.lane');
  if (clicked) answer(Number(clicked.dataset.partition));
});
one('#read').addEventListener('click', readAll);
one('#again').addEventListener('click', again);
