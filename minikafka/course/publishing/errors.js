// Hides the messages that a typed or pasted text is not about, and opens those that it is about, if they are few. It finds them as minikafka/course/errors.py does; here one may
// also type the beginning of a phrase.
'use strict';
(() => {
const SHORTEST_PHRASE = 12, LONGEST = 10000, ENOUGH_RARE_WORDS = 2, FEW = 3;
const CALLS = /\bat [\w.$/@<>]+\([^()]*\)|\bFile "[^"]*", line \d+, in \S+/g;  // of a stack trace: no words of a message
const NUMBER = /^\W*?(?:error[ _]?)?(?:code)?\W*?(-?\b\d{1,3})\W*$|\berrorCode=(-?\d{1,3})\b/gi;  // alone, or as Java prints an answer
const asked = document.getElementById('asked'), told = document.getElementById('told');
const sections = [...document.querySelectorAll('section[data-phrases]')];
const phrases = new Map(sections.map(section => [section, section.dataset.phrases.split('|')]));
const rare = new Map(sections.map(section => [section, section.dataset.rare.split(' ')]));
const others = asked.dataset.others.split('|');  // of Kafka's other errors
const names = new Map(asked.dataset.numbers.split('|').map(each => each.split(' ')));

function wordsOf(text) {
  const message = text.replace(CALLS, ' ').replace(NUMBER, (_, alone, inside) => names.get(alone ?? inside) ?? '');
  const parts = message.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  return parts.map(part => part.toLowerCase()).filter(word => word.length > 1);
}

// letters of the longest phrase that stands in a text
function longest(known, pasted) {
  const inside = known.filter(phrase => phrase.length > SHORTEST_PHRASE && pasted.includes(phrase));
  return Math.max(0, ...inside.map(phrase => phrase.length));
}

// a symptom's phrase counts only if no other does
function weight(section, pasted) {
  const letters = longest(phrases.get(section), pasted);
  return 'symptom' in section.dataset ? letters / LONGEST : letters;
}

function nearest(text) {
  const words = wordsOf(text), typed = ` ${words.join(' ')}`, pasted = `${typed} `;
  const found = sections.map(section => weight(section, pasted));
  const most = Math.max(...found), elsewhere = longest(others, pasted);
  if (most || elsewhere) return most >= elsewhere ? sections.filter((section, at) => found[at] === most) : [];
  const begun = sections.filter(section => phrases.get(section).some(phrase => phrase.includes(typed)));
  if (words.length && begun.length) return begun;
  const shared = section => rare.get(section).filter(word => words.includes(word)).length;
  return sections.filter(section => shared(section) >= ENOUGH_RARE_WORDS);
}

function look() {
  const text = asked.value.trim();
  const near = text ? nearest(text) : [];
  const shown = near.length ? near : sections;
  for (const section of sections) {
    section.hidden = !shown.includes(section);
    section.firstElementChild.open = near.length <= FEW && near.includes(section);
  }
  if (!text) told.textContent = '';
  else if (!near.length) told.textContent = `No message here is like that one. ${asked.dataset.next} These are all:`;
  else told.textContent = near.length === 1 ? '1 message' : `${near.length} messages`;
}

function openLinked() {
  const target = sections.find(section => section.id === location.hash.slice(1));
  if (!target) return;
  asked.value = '';
  look();
  target.firstElementChild.open = true;
  target.scrollIntoView();
}

document.getElementById('ask').hidden = false;
asked.addEventListener('input', look);
addEventListener('hashchange', openLinked);
openLinked();
})();
