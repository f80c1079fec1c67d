// Shows only the items that match the lists and hold all the words typed. Typing opens what is folded.
'use strict';
(() => {
const items = [...document.querySelectorAll('article, tbody tr')];
const sections = [...document.querySelectorAll('main section')];
const folded = document.querySelectorAll('section > details');
const texts = new Map(items.map(item => [item, item.textContent.toLowerCase()]));
const chosen = [...document.querySelectorAll('#filters select')];
const [words, told, all] = ['words', 'told', 'all'].map(id => document.getElementById(id));

function fits(item, typed) {
  const text = texts.get(item);
  return chosen.every(list => !list.value || item.dataset[list.id] === list.value)
    && typed.every(word => text.includes(word));
}

function look() {
  const typed = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const item of items) item.hidden = !fits(item, typed);
  for (const section of sections) section.hidden = !items.some(item => !item.hidden && section.contains(item));
  for (const part of folded) part.open = typed.length > 0;
  all.hidden = !typed.length && chosen.every(list => !list.value);
  const shown = items.filter(item => !item.hidden).length, what = told.dataset.what;
  told.textContent = shown === items.length ? `all ${shown} ${what}` : `${shown} of ${items.length} ${what}`;
}

function showAll() {
  for (const field of [...chosen, words]) field.value = '';
  look();
}

document.getElementById('filters').hidden = false;
for (const field of [...chosen, words]) field.addEventListener('input', look);
all.addEventListener('click', showAll);
// on a phone a button opens the lists
const more = document.getElementById('more');
more?.addEventListener('click', () => more.setAttribute('aria-expanded', more.ariaExpanded !== 'true'));
addEventListener('hashchange', () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.hidden) return;
  showAll();
  target.scrollIntoView();
});
look();
})();
