// What the learner is asked: a prediction before the surprise; and choices, each of which is another play of the same page.

// -- prediction

const drags = () => typeof drag !== 'undefined';  // an answer along an axis: drag.js is on such a page only

// Whether a question opens.
function ask() {
  if (!prediction) return false;
  const asking = !released && cursor >= limit();
  const told = released && cursor >= prediction.decided && verdict !== '';
  const waits = released && !told && yours !== '' && prediction.stop !== null && cursor >= prediction.stop;
  const opens = asking && at('ask').hidden, changed = opens || at('ask').hidden === asking || at('verdict').hidden === told || at('yours').hidden === waits;
  at('ask').hidden = !asking;
  at('yours').hidden = !waits;
  at('verdict').hidden = !told;
  if (waits) at('yours').textContent = yours;
  at('on').disabled = at('chapter').disabled = asking || cursor === last;
  at('go').disabled = asking;
  if (told) tellVerdict(verdict);
  at('said').hidden = asking && !isOver();
  at('verdict').className = outcome;
  keepRoom();
  if (changed && drags()) choose();
  if (changed) fitFrame();
  if (opens && document.hasFocus()) at('question').focus({ preventScroll: true });
  return opens;
}

// Whether a digit has answered it.
function answerBy(key) {
  const option = at('ask').hidden || !/^[1-9]$/.test(key) ? null : at('options').children[key - 1];
  if (!option || Number(key) > prediction.options.length) return false;
  option.click();
  return true;
}

// The answer stands out, with a sentence; on a phone the rest of the reasons is behind "why" (player.css).
const WITH_A_SENTENCE = /^(?:[.,] ?(?:and so it was\. ?)?)?.*?[.?!](?= [A-Z“]|$)/;

function tellVerdict(words) {
  const lines = words.split('\n'), last = lines.pop(), begin = bold ? last.lastIndexOf(bold) : -1;
  const after = last.slice(begin + bold.length), [seen] = (begin < 0 ? null : WITH_A_SENTENCE.exec(after)) ?? [after];
  const shown = begin < 0 ? [last] : [last.slice(0, begin), make('b', { textContent: bold }), seen];
  const more = words => make('span', { className: 'more', textContent: words });
  const rest = begin < 0 ? '' : after.slice(seen.length), folded = lines.length || rest;
  const why = make('button', { type: 'button', id: 'why', textContent: 'why', onclick: unfold });
  at('verdict').replaceChildren(...lines.map(line => more(`${line}\n`)), ...shown, ...(rest ? [more(rest)] : []), ...(folded ? [' ', why] : []));
}

function unfold() {
  at('sheet').classList.add('unfolded');
  at('verdict').focus();
  fitFrame();
}

// One box holds all words. It is as high as the longest of them needs, so that nothing moves while one watches. On a page of its own
// it is as high as a caption until the question opens: there the page moves anyway (bringUp). A question that lies over the picture
// makes it no higher either: its answer does.
let sheetHeight = 0;

function keepRoom() {
  const isAlone = window.parent === window, isBefore = prediction && cursor < prediction.stop;
  const isLow = (isAlone && isBefore) || (isOver() && (isBefore || !released));
  at('sheet').style.minHeight = isSheet() || isInFlow() || isLow ? '' : `${sheetHeight}px`;
  makeRoomForSheet();
}

function reserveSheet() {
  const box = at('sheet'), parts = ['said', 'ask', 'yours', 'verdict'].map(at), mine = document.getElementById('mine');
  const before = [...parts, ...(mine ? [mine] : [])].map(node => [node, node.hidden]);
  box.style.minHeight = '';
  if (mine) mine.hidden = false;
  sheetHeight = 0;
  const measure = (...shown) => {
    for (const part of parts) part.hidden = !shown.includes(part);
    sheetHeight = Math.max(sheetHeight, Math.ceil(box.getBoundingClientRect().height));
  };
  const [telling, asking, waiting, told] = parts;
  measure(telling);
  if (prediction?.asks) {
    if (!isOver()) measure(asking);
    for (const words of [GOES_ON, ...prediction.options.map((_, index) => said(index + 1))]) {
      at('yours').textContent = words;
      measure(telling, waiting);
    }
  }
  for (const words of prediction ? [prediction.verdict, ...(prediction.asks ? prediction.verdicts : [])] : []) {
    tellVerdict(words);
    measure(telling, told);
  }
  for (const [node, hidden] of before) node.hidden = hidden;
  keepRoom();
  ask();
}

const GOES_ON = 'You go on without an answer.';
const said = option => `You said (${option}) ${prediction.options[option - 1]}.`;

// found: what became of it, as a class of its verdict. chosen: the option's number, or the words that were dragged and are none; the
// notebook's kernel hears it (course/predictions.py). answer: what stands out in the verdict.
function release(words, found, chosen, answer = bold) {
  [verdict, outcome, bold, released] = [words, found ?? '', answer, true];
  yours = !chosen ? GOES_ON : typeof chosen === 'number' ? said(chosen) : `You said ${chosen}.`;
  if (chosen) tell('said', JSON.stringify({ option: chosen, turn: Date.now() }));
  ask();
  at('go').focus({ preventScroll: true });
  bringUp(true);
  turn();
}

function setUpPrediction() {
  at('ask').hidden = at('yours').hidden = at('verdict').hidden = true;
  at('sheet').classList.remove('unfolded');
  if (drags()) drag.setUp();
  if (!prediction) return;
  at('question').textContent = prediction.question;
  const option = (textContent, ...answer) => make('button', { type: 'button', textContent, onclick: () => release(...answer) });
  const options = prediction.options.map((words, index) => {
    const found = prediction.answer === null ? '' : index + 1 === prediction.answer ? 'right' : 'wrong';
    return option(`(${index + 1}) ${words}`, prediction.verdicts[index], found, index + 1);
  });
  at('options').replaceChildren(...options, option('go on without one', prediction.verdict, ''));
}

// -- choices

let chosen = 0;

function setUpChoices() {
  if (!data.plays) return;
  document.title = play.title;
  let weight = data.plays.length;
  const groups = data.choices.map(({ name, options }) => {
    const each = weight /= options.length, now = Math.floor(chosen / each) % options.length;
    const group = make('div', { role: 'group', ariaLabel: name }, make('span', { textContent: name }));
    options.forEach((textContent, option) => {
      const onclick = () => switchTo(chosen + (option - now) * each, [name, option]);
      group.append(make('button', { type: 'button', textContent, ariaPressed: option === now, onclick }));
    });
    return group;
  });
  const link = make('button', { type: 'button', id: 'link', textContent: 'copy link to this moment', onclick: copyLink });
  at('choices').replaceChildren(make('strong', { textContent: data.name }), link, ...groups, make('code', { textContent: data.code[chosen] }));
  at('about').textContent = data.about;
  at('choices').hidden = at('about').hidden = false;
}

// In place, at the moment that was shown.
function switchTo(number, [name, option]) {
  const moment = cursor > play.begin ? steps[cursor].at : null;
  pause();
  chosen = number;
  load(data.plays[chosen]);
  anew(moment === null ? play.begin : Math.max(0, steps.findLastIndex(step => step.at <= moment)));
  setUpChoices();
  at('choices').querySelectorAll(`[aria-label="${name}"] button`)[option].focus();
  resize();
}

async function copyLink() {
  history.replaceState(null, '', `#${chosen}@${cursor}`);
  try {
    await navigator.clipboard.writeText(location.href);
    at('link').textContent = 'copied';
  } catch { at('link').textContent = 'the address bar has it'; }
}
