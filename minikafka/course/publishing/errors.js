// Hides the messages that what is typed is not about. What is like what is as in minikafka/course/errors.py; there a message
// is pasted, here its words may be typed by and by.
'use strict';
(() => {
const SHORTEST_PHRASE = 8, SHORTEST_WORD = 4;
const sections = [...document.querySelectorAll('section[data-words]')];
const items = new Map([...document.querySelectorAll('#list li')].map(item => [item.dataset.of, item]));
const vocabulary = new Map(sections.map(section => [section, section.dataset.words.split(' ')]));
const asked = document.getElementById('asked'), told = document.getElementById('told');

function wordsOf(text) {
  const parts = text.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  return parts.map(part => part.toLowerCase())
    .filter(word => word.length >= SHORTEST_WORD && word !== 'error' && word !== 'exception');
}

// letters of the longest phrase in common
function phrase(section, text) {
  const pasted = wordsOf(text).join('');
  const shared = section.dataset.phrases.split(' ')
    .filter(each => each.includes(pasted) || pasted.includes(each))
    .map(each => Math.min(each.length, pasted.length));
  return Math.max(0, ...shared.filter(length => length >= SHORTEST_PHRASE));
}

// words in common: those that few sections have count more
function weight(section, typed) {
  const begins = (each, word) => vocabulary.get(each).some(known => known.startsWith(word));
  const common = typed.filter(word => begins(section, word));
  return common.reduce((sum, word) => sum + 1 / sections.filter(each => begins(each, word)).length, 0);
}

function nearest(text) {
  const typed = [...new Set(text.length < SHORTEST_WORD ? [text.toLowerCase()] : wordsOf(text))];
  for (const likeness of [each => phrase(each, text), each => weight(each, typed)]) {
    const found = sections.map(likeness), most = Math.max(...found);
    if (most > 0) return sections.filter((section, at) => found[at] > most - 0.001);
  }
  return [];
}

function look() {
  const text = asked.value.trim();
  const near = text ? nearest(text) : [];
  const shown = near.length ? near : sections;
  for (const section of sections) {
    section.hidden = !shown.includes(section);
    items.get(section.id).hidden = section.hidden;
  }
  if (!text) told.textContent = '';
  else if (!near.length) told.textContent = 'No message here is like that one. These are all:';
  else told.textContent = near.length === 1 ? '1 message' : `${near.length} messages`;
}

document.getElementById('ask').hidden = false;
asked.addEventListener('input', look);
addEventListener('hashchange', () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target?.hidden) return;
  asked.value = '';
  look();
  target.scrollIntoView();
});
})();
