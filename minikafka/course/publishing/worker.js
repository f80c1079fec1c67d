// Python beside the page: a question in JSON comes in, its answer goes out. Who answers is said in this script's address. Two other
// messages may come in, and of both only the latest counts: a question that may be asked soon (ahead), and what is to be followed,
// which has no answer.

import { loadPyodide } from './python/pyodide.mjs';

const answers = new URLSearchParams(location.search).get('answers') ?? 'playground';

async function begin() {
  const [python, { wheel }] = await Promise.all([loadPyodide(), fetch('python/wheel.json').then(found => found.json())]);
  python.unpackArchive(await (await fetch(`python/${wheel}`)).arrayBuffer(), 'wheel');
  await python.runPythonAsync(`from minikafka.course.publishing import ${answers}\nfrom minikafka.simulation.fibres_in_browser import collect`);
  python.runPython('import gc; gc.freeze()');  // what is loaded stays: no collection looks at it again
  const { answer, follow } = python.globals.get(answers);
  return { answer, follow, collect: python.globals.get('collect') };
}

const begun = begin();
let before = begun.then(() => postMessage({ ready: true }), error => postMessage({ failed: String(error) }));
const latest = {};

// only programs need a stack that can be set aside
const call = (does, data) => ('Suspending' in WebAssembly ? does.callPromising(data) : does(data));

// One thing after the other: while a run gives way, the next message may be here already.
onmessage = ({ data }) => {
  const [[kind, text]] = Object.entries(typeof data === 'string' ? { ask: data } : data);
  latest[kind] = data;
  before = before.then(async () => {
    if (kind !== 'ask' && data !== latest[kind]) return;
    const { answer, follow, collect } = await begun;
    const found = await call(kind === 'follow' ? follow : answer, text);
    if (kind === 'follow') return;
    postMessage(kind === 'ask' ? { answer: found } : { foreseen: { question: text, answer: found } });
    collect();
  }).catch(error => postMessage({ failed: String(error) }));
};
