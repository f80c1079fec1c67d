// Python beside the page: a question in JSON comes in, its answer goes out. Who answers is said in this script's address. What is to
// be followed comes in too, and has no answer: of that only the latest counts.

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
let latest = null;

// only programs need a stack that can be set aside
const call = (does, data) => ('Suspending' in WebAssembly ? does.callPromising(data) : does(data));

// One thing after the other: while a run gives way, the next message may be here already.
onmessage = ({ data }) => {
  const isFollowed = typeof data !== 'string';
  if (isFollowed) latest = data;
  before = before.then(async () => {
    const { answer, follow, collect } = await begun;
    if (!isFollowed) {
      postMessage({ answer: await call(answer, data) });
      collect();
    } else if (data === latest) await call(follow, data.follow);
  }).catch(error => postMessage({ failed: String(error) }));
};
