// The essay's cases: a slider and a switch choose one of the runs that were made with the site. The runs of a case are fetched when it
// comes near.

const NEAR = '600px';

for (const figure of document.querySelectorAll('.case')) {
  const slider = figure.querySelector('input'), button = figure.querySelector('[role=switch]'), says = figure.querySelector('.says');
  const places = JSON.parse(figure.dataset.places);
  let runs = null;

  const fetched = async () => {
    runs ??= fetch(`essay/${figure.id}.json`).then(found => found.json());
    return runs;
  };

  async function show() {
    figure.querySelector('output').textContent = places[slider.value];
    slider.setAttribute('aria-valuetext', places[slider.value]);
    const on = button?.getAttribute('aria-checked') === 'true', run = (await fetched())[Number(on)][slider.value];
    for (const width of ['wide', 'phone']) figure.querySelector(`.${width}`).innerHTML = run[width];
    says.textContent = run.says;
    says.dataset.kind = run.kind;
  }

  // The highest drawing decides: what is below stays where it is.
  async function reserve() {
    for (const width of ['wide', 'phone']) {
      const box = figure.querySelector(`.${width}`);
      let most = 0;
      for (const run of (await fetched()).flat()) {
        const [, , wide, high] = run[width].match(/viewBox="([^"]*)"/)[1].split(' ');
        most = Math.max(most, high / wide);
      }
      box.style.aspectRatio = `1 / ${most}`;
    }
  }

  slider.addEventListener('input', show);
  button?.addEventListener('click', () => {
    button.setAttribute('aria-checked', button.getAttribute('aria-checked') !== 'true');
    show();
  });
  figure.querySelector('.moves').hidden = false;
  new IntersectionObserver(([{ isIntersecting }], observer) => {
    if (!isIntersecting) return;
    observer.disconnect();
    reserve();
  }, { rootMargin: NEAR }).observe(figure);
}
