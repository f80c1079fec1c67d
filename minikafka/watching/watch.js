// Asks for news once a second, and shows them.
const EVERY_MS = 1000, LEAST = 300, MOST = 1400;
const at = id => document.getElementById(id);
let last = 0, shown = '', problems = '', said = '', table = '';

const width = () => Math.max(LEAST, Math.min(MOST, document.querySelector('main').clientWidth - 32));

function element(kind, text, name = '') {
  const made = document.createElement(kind);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function tell(words, bad) {
  const now = JSON.stringify(words);
  at('problems').classList.toggle('bad', bad);
  if (now === problems) return;
  problems = now;
  at('problems').replaceChildren(...words.map(each => element('li', each)));
  // A number that grows isn't read aloud every second.
  const aloud = words.join(' ').replace(/\d[\d,]*/g, '#');
  if (aloud === said) return;
  said = aloud;
  at('aloud').textContent = words.join(' ');
}

function show(news) {
  tell(news.problems, news.bad);
  at('looked').textContent = news.looked;
  at('picture').classList.toggle('away', news.away);
  if (news.svg !== shown) at('picture').innerHTML = shown = news.svg;
  const rows = JSON.stringify(news.rows);
  if (rows !== table) {
    table = rows;
    at('rows').querySelector('tbody').replaceChildren(...news.rows.map(row => {
      const made = document.createElement('tr');
      made.append(...row.map(each => element('td', each)));
      return made;
    }));
  }
  for (const [number, moment, words, trouble] of news.told) {
    if (number <= last) continue;
    last = number;
    const item = document.createElement('li');
    item.className = trouble ? 'trouble' : '';
    item.append(element('b', moment), element('span', words));
    at('told').prepend(item);
  }
  if (news.latest < last) { last = 0; at('told').replaceChildren(); }
  while (at('told').childElementCount > news.most) at('told').lastElementChild.remove();
  at('story').hidden = !news.tells;
}

async function ask() {
  try {
    const answer = await fetch(`now?width=${width()}&last=${last}`);
    if (!answer.ok) throw new Error(answer.statusText);
    show(await answer.json());
  } catch {
    tell(['minikafka watch has ended, or stands still. This page goes on when it is back.'], true);
    at('picture').classList.add('away');
  }
  setTimeout(ask, EVERY_MS);
}

at('text').addEventListener('click', () => {
  const wanted = at('rows').hidden;
  at('rows').hidden = !wanted;
  at('picture').hidden = wanted;
  at('text').setAttribute('aria-pressed', wanted);
});
document.body.classList.add('alone');
ask();
