// The essay's cases: a slider and a switch choose one of the runs that were made with the site. The runs of a case are fetched when it
// comes near. Under the slider there's a mark for each place, blank until somebody has been there.

const NEAR = '600px', FADE_MS = 180;
const phone = matchMedia('(max-width: 980px)');  // essay.css
const still = matchMedia('(prefers-reduced-motion: reduce)');
const sign = kind => `<svg class="sign" aria-hidden="true"><use href="#is-${kind}"/></svg>`;

// What stays where it is looks still: the old drawing fades out over the new one.
function draw(box, drawing) {
  const old = box.lastElementChild;
  box.innerHTML = drawing;
  if (still.matches) return;
  old.setAttribute('aria-hidden', true);
  old.classList.add('leaving');
  box.prepend(old);
  old.style.zIndex = 1;
  old.animate({ opacity: [1, 0] }, FADE_MS).finished.then(() => old.remove());
}

for (const figure of document.querySelectorAll('.case')) {
  const slider = figure.querySelector('input'), button = figure.querySelector('[role=switch]'), says = figure.querySelector('.says');
  const places = JSON.parse(figure.dataset.places), names = JSON.parse(figure.dataset.marks);
  const seen = [{}, {}];
  const marks = places.map((_, place) => {
    const mark = document.createElement('i');
    mark.style.setProperty('--at', place / (places.length - 1));
    mark.dataset.place = names[place].replace(/ s$/, '');
    slider.parentElement.append(mark);
    return mark;
  });
  let runs = null;

  const fetched = async () => {
    runs ??= fetch(`essay/${figure.id}.json`).then(found => found.json());
    return runs;
  };
  const isOn = () => button?.getAttribute('aria-checked') === 'true';

  function mark(kind) {
    const kinds = seen[Number(isOn())];
    kinds[slider.value] = kind;
    marks.forEach((each, place) => {
      each.dataset.kind = kinds[place] ?? '';
      each.innerHTML = kinds[place] ? sign(kinds[place]) : '';
    });
  }

  async function show() {
    figure.querySelector('output').textContent = places[slider.value];
    slider.setAttribute('aria-valuetext', places[slider.value]);
    const all = await fetched(), run = all[Number(isOn())][slider.value];
    const width = phone.matches ? 'phone' : 'wide';
    draw(figure.querySelector(`.${width}`), run[width]);
    says.dataset.kind = run.kind;
    says.innerHTML = `<b>${sign(run.kind)}</b> <span></span>`;
    says.firstElementChild.append(run.word);
    says.lastElementChild.textContent = run.says.replace(/(\d) (?=(s|\d)\b)/g, '$1\u00a0');
    mark(run.kind);
  }

  slider.addEventListener('input', show);
  phone.addEventListener('change', () => runs && show());
  button?.addEventListener('click', () => {
    button.setAttribute('aria-checked', !isOn());
    show();
  });
  figure.querySelector('.moves').hidden = false;
  new IntersectionObserver(([{ isIntersecting }], observer) => {
    if (!isIntersecting) return;
    observer.disconnect();
    if (runs) return;  // somebody was faster
    slider.value = 0;  // before the accident, which is what is drawn without scripts
    show();
  }, { rootMargin: NEAR }).observe(figure);
}
