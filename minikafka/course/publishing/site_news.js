// Only the first theme is unfolded, until another one is gone to.
'use strict';
const unfold = () => document.querySelector('details:has(:target)')?.setAttribute('open', '');
for (const theme of [...document.querySelectorAll('details:has(h3)')].slice(1)) theme.open = false;
unfold();
addEventListener('hashchange', unfold);
