// A button at each block of code, but not of output, which copies it. Browsers allow it on https and on this machine.
'use strict';
const SHORT = 30;  // letters of a last line that leave room for the button on a phone
for (const code of navigator.clipboard ? document.querySelectorAll('main .highlight pre') : []) {
  const block = document.createElement('div'), button = document.createElement('button');
  const last = code.textContent.trimEnd().split('\n').at(-1);
  block.className = last.length > SHORT && !code.matches('.line') ? 'block below' : 'block';
  button.type = 'button';
  button.textContent = 'copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(code.textContent.trimEnd());
    button.textContent = 'copied';
    setTimeout(() => { button.textContent = 'copy'; }, 2000);
  });
  code.before(block);
  block.append(code, button);
}
