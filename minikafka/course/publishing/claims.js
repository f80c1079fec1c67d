// Hides the claims that are not asked for: by verdict, lesson, topic, and words that all must be in a claim or its evidence.
'use strict';
(() => {
const articles = [...document.querySelectorAll('article')];
const sections = [...document.querySelectorAll('main section')];
const texts = new Map(articles.map(article => [article, article.textContent.toLowerCase()]));
const chosen = ['verdict', 'lesson', 'topic'].map(name => document.getElementById(name));
const words = document.getElementById('words'), told = document.getElementById('told');

function fits(article, typed) {
  const text = texts.get(article);
  return chosen.every(select => !select.value || article.dataset[select.id] === select.value)
    && typed.every(word => text.includes(word));
}

function look() {
  const typed = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const article of articles) article.hidden = !fits(article, typed);
  for (const section of sections) section.hidden = !section.querySelector('article:not([hidden])');
  const shown = articles.filter(article => !article.hidden).length;
  told.textContent = shown === articles.length ? `all ${shown} claims` : `${shown} of ${articles.length} claims`;
}

function showAll() {
  for (const field of [...chosen, words]) field.value = '';
  look();
}

document.getElementById('filters').hidden = false;
for (const field of [...chosen, words]) field.addEventListener('input', look);
document.getElementById('all').addEventListener('click', showAll);
addEventListener('hashchange', () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.hidden) return;
  showAll();
  target.scrollIntoView();
});
look();
})();
