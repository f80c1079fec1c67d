// A button at each block of code, but not of output, which copies it. Browsers allow it on https and on this machine.
'use strict';
for (const code of navigator.clipboard ? document.querySelectorAll('main .highlight pre') : []) {
  const block = document.createElement('div'), button = document.createElement('button');
  block.className = 'block';
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
