// What the learner is asked: a prediction before the surprise; and choices, each of which is another play of the same page.

// -- prediction

const drags = () => typeof drag !== 'undefined';  // an answer along an axis: drag.js is on such a page only

function ask() {
  if (!prediction) return;
  const asking = !released && cursor >= limit();
  const told = released && cursor >= prediction.decided && verdict !== '';
  const waits = released && !told && yours !== '' && prediction.stop !== null && cursor >= prediction.stop;
  const opens = asking && at('ask').hidden, changed = opens || at('ask').hidden === asking || at('verdict').hidden === told || at('yours').hidden === waits;
  at('answer').classList.toggle('empty', !asking && !told && !waits);
  at('ask').hidden = !asking;
  at('yours').hidden = !waits;
  at('verdict').hidden = !told;
  if (waits) tellYours(yours);
  at('on').disabled = at('chapter').disabled = asking || cursor === last;
  at('go').disabled = asking;
  if (told) tellVerdict(verdict);
  at('verdict').className = right === null ? '' : right ? 'right' : 'wrong';
  if (changed && drags()) choose();
  if (changed) fitFrame();
  if (opens && drags()) drag.comeInReach();
  if (opens && document.hasFocus()) at('question').focus({ preventScroll: true });
}

// Whether a digit has answered it.
function answerBy(key) {
  const option = at('ask').hidden || !/^[1-9]$/.test(key) ? null : at('options').children[key - 1];
  if (!option || Number(key) > prediction.options.length) return false;
  option.click();
  return true;
}

// Until its verdict the question stays open, with all that could be said, and what was.
function tellYours(words) {
  const options = prediction.options.map((option, index) => {
    const chosen = said(index + 1) === words, each = `(${index + 1}) ${option}`;
    return make('span', { className: chosen ? 'said' : '', textContent: chosen ? `You said ${each}` : each });
  });
  const spoken = options.some(node => node.className) ? '' : ` ${words}`;
  at('yours').replaceChildren(make('b', { textContent: prediction.question }), spoken, make('span', { className: 'options' }, ...options));
}

// The answer stands out, and not the reasons.
function tellVerdict(words) {
  const { answer, options } = prediction, was = answer ? `(${answer}) ${options[answer - 1]}` : '';
  const begin = was ? words.lastIndexOf(was) : -1;
  if (begin < 0) at('verdict').textContent = words;
  else at('verdict').replaceChildren(words.slice(0, begin), make('b', { textContent: was }), words.slice(begin + was.length));
}

// There is one box, as high as the highest of what it will say: nothing moves while one watches.
let answerHeight = 0;

function reserveAnswer() {
  answerHeight = 0;
  if (!prediction) return;
  const box = at('answer'), parts = ['ask', 'yours', 'verdict'].map(at), mine = document.getElementById('mine');
  const before = [...parts, ...(mine ? [mine] : [])].map(node => [node, node.hidden]);
  box.style.minHeight = '';
  box.classList.remove('empty');
  if (mine) mine.hidden = false;
  let most = 0;
  const measure = shown => {
    for (const part of parts) part.hidden = part !== shown;
    most = Math.max(most, Math.ceil(box.getBoundingClientRect().height));
  };
  if (prediction.asks) {
    measure(parts[0]);
    for (const words of [GOES_ON, ...prediction.options.map((_, index) => said(index + 1))]) {
      tellYours(words);
      measure(parts[1]);
    }
  }
  for (const words of [prediction.verdict, ...(prediction.asks ? prediction.verdicts : [])]) {
    tellVerdict(words);
    measure(parts[2]);
  }
  for (const [node, hidden] of before) node.hidden = hidden;
  answerHeight = most;
  box.style.minHeight = isSheet() ? '' : `${most}px`;
  ask();
}

const GOES_ON = 'You go on without an answer.';
const said = option => `You said (${option}) ${prediction.options[option - 1]}.`;

// option: the number of the one that was chosen; the notebook's kernel hears it (course/predictions.py).
function release(words, is_right, option) {
  [verdict, right, released] = [words, is_right, true];
  yours = option ? said(option) : GOES_ON;
  if (option) tell('said', JSON.stringify({ option, turn: Date.now() }));
  ask();
  at('go').focus({ preventScroll: isSheet() });  // a phone stays where the answer will be seen
  turn();
}

function setUpPrediction() {
  at('answer').hidden = !prediction;
  at('ask').hidden = at('yours').hidden = at('verdict').hidden = true;
  if (drags()) drag.setUp();
  if (!prediction) return;
  at('question').textContent = prediction.question;
  const option = (textContent, ...answer) => make('button', { type: 'button', textContent, onclick: () => release(...answer) });
  const options = prediction.options.map((words, index) => {
    const is_right = prediction.answer === null ? null : index + 1 === prediction.answer;
    return option(`(${index + 1}) ${words}`, prediction.verdicts[index], is_right, index + 1);
  });
  at('options').replaceChildren(...options, option('go on without one', prediction.verdict, null));
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
