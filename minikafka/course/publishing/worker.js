// Python and the playground's cluster, beside the page: a question in JSON comes in, its answer goes out.

import { loadPyodide } from './python/pyodide.mjs';

async function begin() {
  const [python, { wheel }] = await Promise.all([loadPyodide(), fetch('python/wheel.json').then(found => found.json())]);
  python.unpackArchive(await (await fetch(`python/${wheel}`)).arrayBuffer(), 'wheel');
  await python.runPythonAsync('from minikafka.course.publishing.playground import answer\nfrom minikafka.simulation.fibres_in_browser import collect');
  return { answer: python.globals.get('answer'), collect: python.globals.get('collect') };
}

const begun = begin();
let before = begun.then(() => postMessage({ ready: true }), error => postMessage({ failed: String(error) }));

// One question after the other: while a run gives way, the next message may be here already.
onmessage = ({ data }) => {
  before = before.then(async () => {
    const { answer, collect } = await begun;
    postMessage({ answer: await answer.callPromising(data) });
    collect();
  }).catch(error => postMessage({ failed: String(error) }));
};
