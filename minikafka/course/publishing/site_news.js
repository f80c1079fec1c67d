// On a phone only the first theme is unfolded, until another one is gone to.
'use strict';
if (matchMedia('(max-width: 560px)').matches) {
  for (const theme of [...document.querySelectorAll('details:has(h3)')].slice(1)) theme.open = false;
  addEventListener('hashchange', () => document.querySelector('details:has(:target)')?.setAttribute('open', ''));
}
