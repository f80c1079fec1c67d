// Python beside the page: a question in JSON comes in, its answer goes out. Who answers is said in this script's address.

import { loadPyodide } from './python/pyodide.mjs';

const answers = new URLSearchParams(location.search).get('answers') ?? 'playground';

async function begin() {
  const [python, { wheel }] = await Promise.all([loadPyodide(), fetch('python/wheel.json').then(found => found.json())]);
  python.unpackArchive(await (await fetch(`python/${wheel}`)).arrayBuffer(), 'wheel');
  await python.runPythonAsync(`from minikafka.course.publishing.${answers} import answer\nfrom minikafka.simulation.fibres_in_browser import collect`);
  return { answer: python.globals.get('answer'), collect: python.globals.get('collect') };
}

const begun = begin();
let before = begun.then(() => postMessage({ ready: true }), error => postMessage({ failed: String(error) }));

// One question after the other: while a run gives way, the next message may be here already.
onmessage = ({ data }) => {
  before = before.then(async () => {
    const { answer, collect } = await begun;
    // only programs need a stack that can be set aside
    postMessage({ answer: 'Suspending' in WebAssembly ? await answer.callPromising(data) : answer(data) });
    collect();
  }).catch(error => postMessage({ failed: String(error) }));
};
