// The playground's page: its settings and levers ask Python in a worker, and the theatre's player shows what comes back.
// The player is the one of the lessons; it finds here what it finds in a notebook's cell (theatre/notebook.js).

const at = id => document.getElementById(id);
const NAMES = ['shows', 'protocol'];
const NUMBERS = ['brokers', 'partitions', 'members', 'per_second', 'seed', 'seconds'];
const MOST_BROKERS = 3, MORE_SECONDS = 10, MOST_SECONDS = 120;

let asked = fromLink(), times = [], frame = null, turn = 0, since = 0, open = 0;

const say = words => { at('status').textContent = words; };

// -- the link: every setting, every change, and the moment

function fromLink() {
  const given = new URLSearchParams(location.hash.slice(1)), settings = {};
  for (const name of [...NAMES, ...NUMBERS]) {
    if (given.has(name)) settings[name] = NUMBERS.includes(name) ? Number(given.get(name)) : given.get(name);
  }
  const changes = given.getAll('change').map(each => {
    const [ms, what, who] = each.split('~');
    return [Number(ms), what, who];
  });
  return { settings, changes, ...(given.has('ms') && { ms: Number(given.get('ms')) }) };
}

function link(ms) {
  const words = new URLSearchParams({ ...asked.settings, ms });
  for (const change of asked.changes) words.append('change', change.join('~'));
  return `#${words}`;
}

const moment = () => times[Number(frame.contentDocument.getElementById('scrub').value)];

// -- questions and answers

function ask(more) {
  since = performance.now();
  document.body.setAttribute('aria-busy', 'true');
  open += 1;
  worker.postMessage(JSON.stringify({ ...asked, ...more, first: !frame }));
}

function take(answer) {
  open -= 1;
  if (open) return;  // something else has been asked since
  document.body.removeAttribute('aria-busy');
  if (answer.error) {
    if (frame) tell({ error: answer.error });
    say(answer.error);
    return;
  }
  const { settings, changes, play, page } = answer;
  asked = { settings, changes };
  times = answer.times;
  for (const name in settings) at(name).value = settings[name];
  at('more').disabled = settings.seconds >= MOST_SECONDS;
  at('code').textContent = answer.code.join('\n');
  if (frame) tell(play);
  else show(page);
  const took = Math.round(performance.now() - since);
  say(`${settings.seconds} virtual seconds took ${took} ms. Click a member or a broker, at any moment.`);
}

function show(page) {
  frame = document.createElement('iframe');
  frame.title = 'the cluster';
  frame.srcdoc = page;
  at('stage').append(frame);
}

// What the player listens to: the text of an element beside it.
function tell(play) {
  const node = document.createElement('i');
  node.dataset.play = JSON.stringify({ ...play, turn: ++turn });
  document.querySelector('.minikafka-data').replaceChildren(node);
}

// -- what one does

function settle() {
  const settings = {};
  for (const name of NAMES) settings[name] = at(name).value;
  for (const name of NUMBERS) settings[name] = Number(at(name).value);
  if (settings.shows !== 'the group' && settings.brokers < 2) settings.brokers = MOST_BROKERS;
  const more = frame ? { ms: moment() } : {};
  if (settings.shows !== asked.settings.shows) {  // another picture has another page
    frame?.remove();
    frame = null;
  }
  asked = { settings, changes: asked.changes };
  ask(more);
}

at('settings').addEventListener('change', settle);
at('settings').addEventListener('submit', event => event.preventDefault());

// The player writes here what was clicked on its stage.
document.querySelector('.minikafka-act input').addEventListener('change', ({ target }) => {
  const clicked = JSON.parse(target.value);
  ask({ act: clicked.act, at_ms: clicked.at });
});

at('more').addEventListener('click', () => {
  const ms = moment();
  asked.settings.seconds = Math.min(asked.settings.seconds + MORE_SECONDS, MOST_SECONDS);
  ask({ ms });
});

at('reset').addEventListener('click', () => {
  asked.changes = [];
  ask({});
});

at('link').addEventListener('click', async () => {
  history.replaceState(null, '', link(moment()));
  try {
    await navigator.clipboard.writeText(location.href);
    say('The link to this moment is copied: whoever opens it sees the same.');
  } catch {
    say('The link to this moment is in the address bar: whoever opens it sees the same.');
  }
});

addEventListener('hashchange', () => {
  asked = fromLink();
  frame?.remove();
  frame = null;
  ask({});
});

// -- Python

let worker = null;

function begin() {
  if (!('Suspending' in WebAssembly)) {
    say('This browser can’t run the cluster: it lacks WebAssembly’s stack switching (JSPI), which Chrome and Edge have from version 137 on. The pictures of the gallery play here, and the lessons can be read.');
    at('controls').disabled = true;
    return;
  }
  worker = new Worker('worker.js', { type: 'module' });
  worker.onmessage = ({ data }) => {
    if (data.ready) since = performance.now();  // loading is not the run's time
    else if (data.answer) take(JSON.parse(data.answer));
    else if (data.failed) {
      open -= 1;
      say(`Python did not go on: ${data.failed.trim().split('\n').pop()}. Load the page again.`);
    }
  };
  worker.onerror = () => say('Python could not be loaded. Load the page again; from a file it can’t be, a web server must serve it.');
  ask({});
}

begin();
